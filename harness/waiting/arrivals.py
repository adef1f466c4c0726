"""When something came for a client: the kernel stamps each segment, see SO_TIMESTAMP in socket(7).

On this machine a segment arrives while the server sends it. So the order of the stamps is that in
which the server has sent, however late we look.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Protocol

_STAMPS = 35  # SO_TIMESTAMPNS of asm-generic/socket.h, which is also the type of the message
_STAMP = struct.Struct("=qq")  # s, ns
_PART_BYTES = 1024  # bytes of one read() get one stamp: that of the last segment


class Connected(Protocol):
    def fileno(self) -> int:
        ...


def want_stamps(client: Connected) -> None:
    """From now on what comes is stamped. The kernel may begin a moment later."""
    with _socket_of(client) as ours:
        ours.setsockopt(socket.SOL_SOCKET, _STAMPS, 1)


def first_stamp(client: Connected) -> int | None:
    """The stamp of what can be read first, in ns; it is not taken. None: there is none."""
    with _socket_of(client) as ours:
        return _received(ours, 1, socket.MSG_PEEK)[1]


def taken_before(client: Connected, stamp: int) -> int:
    """Reads what has come. Returns how many bytes have come before this stamp, or fewer: where the
    kernel has joined segments they have the stamp of the last one."""
    before = 0
    with _socket_of(client) as ours:
        while True:
            size, came = _received(ours, _PART_BYTES)
            if not size or came is None or came >= stamp:
                return before
            before += size


def _socket_of(client: Connected) -> socket.socket:
    return socket.socket(fileno=os.dup(client.fileno()))


def _received(ours: socket.socket, most: int, flags: int = 0) -> tuple[int, int | None]:
    """How many bytes were read, and their stamp."""
    try:
        data, more, _, _ = ours.recvmsg(most, socket.CMSG_SPACE(_STAMP.size), flags)
    except OSError:
        return 0, None
    for level, kind, found in more:
        if (level, kind) == (socket.SOL_SOCKET, _STAMPS) and len(found) == _STAMP.size:
            seconds, ns = _STAMP.unpack(found)
            return len(data), seconds * 1_000_000_000 + ns
    return len(data), None
