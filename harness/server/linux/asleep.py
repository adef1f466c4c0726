"""What a thread that sleeps in a system call waits for, from the call's arguments: see
/proc/PID/syscall, /proc/PID/mem and /proc/PID/fdinfo in proc(5). It works for any program."""

from __future__ import annotations

import os
import re
import select
import struct
from typing import NamedTuple

from harness.server.linux import procfs
from harness.server.linux.syscalls import CALLS, is_endless

_POLLFD = struct.Struct("=ihh")  # descriptor, events, revents
_MOST = 65536  # descriptors of one wait that are looked at
_WATCHED = re.compile(r"^tfd:\s*(\d+) events:\s*([0-9a-f]+)", re.M)
_IN_OUT = {select.POLLIN: "POLLIN", select.POLLOUT: "POLLOUT"}  # epoll's bits are the same
READS_OR_WRITES = ("read", "readv", "recvfrom", "recvmsg", "write", "writev", "sendto", "sendmsg")
_OF_ONE = (*READS_OR_WRITES, "accept", "accept4")  # and of no time limit
_SETS = ((1, "readable"), (2, "writable"))  # arguments of select()


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
