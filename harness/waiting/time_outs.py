"""The time-outs that a process has set on its sockets. The kernel tells them only to a process that
has the socket, so each is copied for a moment: pidfd_getfd(2)."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterator

from harness.waiting import procfs

_PIDFD_GETFD = 438  # on all machines: asm-generic/unistd.h
_TIMEVAL = struct.Struct("@ll")  # seconds, microseconds
_BY_TIMEVAL = (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO)

_libc = ctypes.CDLL(None, use_errno=True)


def longest(pid: int) -> float:
    """The longest time-out in seconds; 0 if there is none, or the kernel does not tell."""
    return max((seconds for sock in _sockets(pid) for seconds in _set(sock)), default=0.0)


def _sockets(pid: int) -> Iterator[socket.socket]:
    """Copies of its sockets, each open until the next one is wanted."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        for number, target in procfs.descriptors(pid):
            copy = _copy(process, int(number)) if target.startswith("socket:") else -1
            if copy >= 0:
                with socket.socket(fileno=copy) as found:
                    yield found
    finally:
        os.close(process)


def _copy(process: int, number: int) -> int:
    return _libc.syscall(_PIDFD_GETFD, process, number, 0)


def _set(sock: socket.socket) -> Iterator[float]:
    """SO_RCVTIMEO and SO_SNDTIMEO in socket(7), TCP_USER_TIMEOUT in tcp(7)."""
    try:
        for option in _BY_TIMEVAL:
            raw = sock.getsockopt(socket.SOL_SOCKET, option, _TIMEVAL.size)
            seconds, microseconds = _TIMEVAL.unpack(raw)
            yield seconds + microseconds / 1e6
        yield sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
    except OSError:  # it is of another kind
        pass
