"""In which calls the threads of a process sleep: whether only an event from outside can end that,
and what they wait for.

See /proc/PID/syscall, /proc/PID/mem and /proc/PID/fdinfo in proc(5). It works for any program.
"""

from __future__ import annotations

import os
import platform
import re
import select
import signal
import struct
from collections.abc import Iterable
from typing import NamedTuple

from harness.feedback.conversation import counted
from harness.waiting import procfs, sockets
from harness.waiting.sockets import is_in_backlog

# The calls that can wait, by their numbers in the kernel's unistd.h for each machine.
_X86_64 = {
    **{0: "read", 1: "write", 7: "poll", 19: "readv", 20: "writev", 23: "select", 34: "pause"},
    **{43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4"},
    **{128: "rt_sigtimedwait", 202: "futex", 232: "epoll_wait", 270: "pselect6", 271: "ppoll"},
    **{281: "epoll_pwait", 288: "accept4", 426: "io_uring_enter", 441: "epoll_pwait2"},
}
_AARCH64 = {
    **{22: "epoll_pwait", 63: "read", 64: "write", 65: "readv", 66: "writev", 72: "pselect6"},
    **{73: "ppoll", 98: "futex", 137: "rt_sigtimedwait", 202: "accept", 206: "sendto"},
    **{207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 260: "wait4"},
    **{426: "io_uring_enter", 441: "epoll_pwait2"},
}
CALLS = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine(), {})

# Of those that have a time limit, which argument it is, counted from 0: a negative int or a null
# pointer means no limit, and so do flags without _EXT_ARG.
_INT, _POINTER, _FLAG = "int", "pointer", "flag"
_EXT_ARG = 8  # of io_uring_enter: one more argument, with a time limit
_LIMITS = {
    **{"poll": (_INT, 2), "ppoll": (_POINTER, 2), "select": (_POINTER, 4)},
    **{"pselect6": (_POINTER, 4), "epoll_wait": (_INT, 3), "epoll_pwait": (_INT, 3)},
    **{"epoll_pwait2": (_POINTER, 3), "futex": (_POINTER, 3), "io_uring_enter": (_FLAG, 3)},
    "rt_sigtimedwait": (_POINTER, 2),
}
# They do nothing else than to let time pass.
_SLEEPS = {"x86_64": {35, 230}, "aarch64": {101, 115}}.get(platform.machine(), set())
_CAUGHT = re.compile(rb"^SigCgt:\s*([0-9a-f]+)$", re.M)
_CLOSE = {"x86_64": "3", "aarch64": "57"}.get(platform.machine())


def sleeps_for_ever(pid: int) -> bool:
    """Returns true if all its threads are asleep in calls without a time limit. False if the kernel
    does not say."""
    lines = procfs.of_threads(pid, "syscall")
    return bool(lines) and all(map(is_endless, lines))


def sleeps_in_close(pid: int) -> bool:
    """Returns true if all its threads are asleep, and one of them in close(). False if the kernel
    does not say."""
    numbers = [line.split()[0] for line in procfs.of_threads(pid, "syscall") if line.strip()]
    return bool(numbers) and "running" not in numbers and _CLOSE in numbers


def has_timerfd(pid: int) -> bool:
    """Returns true if it has a timer that is a descriptor, set or not."""
    return any("[timerfd]" in target for target in procfs.descriptor_targets(pid))


def catches_alarm(pid: int) -> bool:
    """Returns true if it has a handler of SIGALRM, so that a timer may wake it. Under valgrind each
    program has, which is valgrind's."""
    caught = _CAUGHT.search(procfs.read(f"/proc/{pid}/status"))
    return caught is None or bool(int(caught[1], 16) >> (signal.SIGALRM - 1) & 1)


def is_limited(line: str) -> bool:
    """Returns true if one thread sleeps in a call that has a time limit, or is one. `line`: see
    is_endless()."""
    words = line.split()
    if len(words) < 2 or not words[0].isdigit():
        return False
    number, counter = int(words[0]), int(words[-1], 16)
    if counter == 0:  # a thread of the kernel, such as a worker of a ring, has no program
        return False
    known = CALLS.get(number) in _LIMITS
    return number in _SLEEPS or known and not is_endless(line)


def is_endless(line: str) -> bool:
    """Returns true if one thread sleeps in a call without a time limit. `line`: the call's number
    and six arguments in hexadecimal, stack and program counter; "running" if it does not sleep."""
    number, *arguments = line.split() or ["running"]
    if not number.isdigit() or int(number) not in CALLS:
        return False
    limit = _LIMITS.get(CALLS[int(number)])
    if limit is None:
        return True
    kind, place = limit
    given = int(arguments[place], 16)
    if kind == _FLAG:
        return not given & _EXT_ARG
    return given == 0 if kind == _POINTER else bool(given & 0x8000_0000)


# What a server that sleeps waits for

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


def sleeping(pid: int) -> list[Asleep]:
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
    found = sleeping(process.pid)
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
    found = sleeping(process.pid)
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
            end = None if client.closed else sockets.end(*reversed(client.ends))
        except sockets.Unavailable:
            return {}
        fd = numbers.get(f"socket:[{end.inode}]") if end else None
        if fd is not None:
            found[fd] = _Peer(client.name, end.unread)
    return dict(sorted(found.items()))
