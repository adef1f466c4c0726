"""What a server that sleeps waits for, from the arguments of the system calls in which its threads
sleep: see /proc/PID/syscall, /proc/PID/mem and /proc/PID/fdinfo in proc(5). It works for any
program."""

from __future__ import annotations

import os
import re
import select
import struct
from collections.abc import Iterable
from typing import NamedTuple

from harness.feedback.conversation import counted
from harness.waiting import procfs, sockdiag
from harness.waiting.sockets import is_in_backlog
from harness.waiting.threads import CALLS, is_endless

_POLLFD = struct.Struct("=ihh")  # descriptor, events, revents
_MOST = 65536  # descriptors of one wait that are looked at
_WATCHED = re.compile(r"^tfd:\s*(\d+) events:\s*([0-9a-f]+)", re.M)
_IN_OUT = {select.POLLIN: "POLLIN", select.POLLOUT: "POLLOUT"}  # epoll's bits are the same
READS_OR_WRITES = ("read", "readv", "recvfrom", "recvmsg", "write", "writev", "sendto", "sendmsg")
_OF_ONE = (*READS_OR_WRITES, "accept", "accept4")  # and of no time limit
_SETS = ((1, "readable"), (2, "writable"))  # arguments of select()
_CALLED = {
    **{"pselect6": "select", "ppoll": "poll", "recvfrom": "recv", "sendto": "send"},
    "rt_sigtimedwait": "sigtimedwait",
}
SHOWN = 4  # descriptors, of those that a server waits for


class Asleep(NamedTuple):
    """The call in which one thread sleeps; "" if it is none of those that can wait. `watched`: its
    descriptors, and what for ("POLLIN")."""

    call: str
    watched: dict[int, str]
    limited: bool = True  # it may end by itself: the call has a time limit


def threads(pid: int) -> list[Asleep]:
    """What each thread of the process waits for; [] if one of them runs, or the kernel does not
    tell."""
    lines = procfs.of_threads(pid, "syscall")
    found = [(_of(pid, line.split()), line) for line in lines]
    if not all(one for one, _ in found):
        return []
    return [one._replace(limited=not is_endless(line)) for one, line in found]


def _of(pid: int, words: list[str]) -> Asleep | None:
    """`words`: the call's number and six arguments in hexadecimal, stack and program counter."""
    if len(words) < 7 or not words[0].isdigit():
        return None
    call, arguments = CALLS.get(int(words[0]), ""), [int(word, 16) for word in words[1:7]]
    if call in ("poll", "ppoll"):
        return Asleep(call, _polled(pid, *arguments[:2]))
    if call in ("select", "pselect6"):
        return Asleep("select", _selected(pid, arguments))
    if call.startswith("epoll"):
        return Asleep("epoll_wait", _epolled(pid, arguments[0]))
    return Asleep(call, {arguments[0]: ""} if call in _OF_ONE else {})


def _polled(pid: int, address: int, count: int) -> dict[int, str]:
    data = memory(pid, address, min(count, _MOST) * _POLLFD.size)
    entries = _POLLFD.iter_unpack(data[: len(data) // _POLLFD.size * _POLLFD.size])
    return {fd: _wanted(events) for fd, events, _ in entries if fd >= 0}


def _selected(pid: int, arguments: list[int]) -> dict[int, str]:
    """The kernel copies the sets and leaves the program's as they are until it returns."""
    count = min(arguments[0], _MOST)
    wanted: dict[int, list[str]] = {}
    for place, word in _SETS:
        bits = int.from_bytes(memory(pid, arguments[place], (count + 7) // 8), "little")
        for fd in range(count):
            if bits >> fd & 1:
                wanted.setdefault(fd, []).append(word)
    return {fd: " or ".join(words) for fd, words in sorted(wanted.items())}


def _epolled(pid: int, epoll_fd: int) -> dict[int, str]:
    text = procfs.read(f"/proc/{pid}/fdinfo/{epoll_fd}").decode()
    return {int(fd): _wanted(int(events, 16)) for fd, events in _WATCHED.findall(text)}


def _wanted(events: int) -> str:
    names = [name for bit, name in _IN_OUT.items() if events & bit]
    return " or ".join(names) or "nothing"


def memory(pid: int, address: int, size: int) -> bytes:
    """Bytes of the program's memory; b"" if they are not ours to read."""
    if not address or not size:
        return b""
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), size, address)
    except OSError:
        return b""


class _Peer(NamedTuple):
    """The client at the other end of a descriptor, and how many of its bytes are not read."""

    name: str
    unread: int


def told(process, clients: Iterable) -> str:
    """What a server that is asleep waits for, and what it has not read: "asleep in poll(): fd 3
    POLLIN, fd 6 (A) POLLIN". "" if it is not asleep, or the kernel does not tell."""
    found = threads(process.pid)
    calls = dict.fromkeys(map(_called, filter(lambda one: one.call, found)))
    if not calls:
        return ""
    peers = _peers(process.pid, clients)
    watched = {fd: what for one in found for fd, what in one.watched.items()}
    text = "asleep in " + ", ".join(calls)
    if watched:
        shown = sorted(sorted(watched, key=lambda fd: (fd not in peers, fd))[:SHOWN])
        text += ": " + ", ".join(f"{_named(fd, peers)} {watched[fd]}".strip() for fd in shown)
        text += f" and {len(watched) - SHOWN:,} more" if len(watched) > SHOWN else ""
    unread = [fd for fd, peer in peers.items() if peer.unread]
    for fd in unread[:SHOWN]:
        text += f"; it has not read {counted(peers[fd].unread, 'byte')} of {_named(fd, peers)}"
    return text


def not_accepted(clients: Iterable) -> str:
    """ "; it has not accepted A, B", of these clients; "" if it has accepted all."""
    names = list(dict.fromkeys(client.name for client in clients if is_in_backlog(client)))
    if not names:
        return ""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"; it has not accepted {', '.join(names[:SHOWN])}{more}"


def blocked_by(process, clients: Iterable) -> str:
    """The client whose socket blocks a single-threaded server in a read or write; "" if there is
    none, or the kernel does not tell."""
    found = threads(process.pid)
    if len(found) != 1 or found[0].call not in READS_OR_WRITES:
        return ""
    peers = _peers(process.pid, clients)
    return next((peers[fd].name for fd in found[0].watched if fd in peers), "")


def _called(one: Asleep) -> str:
    limit = " with a time limit" if one.limited else ""
    return f"{_CALLED.get(one.call, one.call)}(){limit}"


def _named(fd: int, peers: dict[int, _Peer]) -> str:
    return f"fd {fd} ({peers[fd].name})" if fd in peers else f"fd {fd}"


def _peers(pid: int, clients: Iterable) -> dict[int, _Peer]:
    """The peer of each descriptor of the server that is connected with one of these clients."""
    numbers = {target: int(fd) for fd, target in procfs.descriptors(pid)}
    found = {}
    for client in clients:
        try:
            end = None if client.closed else sockdiag.end(*reversed(client.ends))
        except sockdiag.Unavailable:
            return {}
        fd = numbers.get(f"socket:[{end.inode}]") if end else None
        if fd is not None:
            found[fd] = _Peer(client.name, end.unread)
    return dict(sorted(found.items()))
