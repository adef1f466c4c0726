"""The rights of root, one by one: capabilities(7)."""

from __future__ import annotations

import ctypes
import struct

from harness.server.linux import prctl

_VERSION_3 = 0x20080522  # linux/capability.h; two sets of 32 bits follow the head
_DROP_FROM_BOUNDS = 24  # linux/prctl.h
_LAST = 63

_libc = ctypes.CDLL(None, use_errno=True)


def drop() -> bool:
    """Leaves this process, and everything that it executes, no capability: root is then a user like
    others. Returns whether it has none.

    Landlock alone does not bind root: since 6.14, CAP_PERFMON is enough to read the memory and the
    environment of every process in /proc.
    """
    prctl.renounce_privileges()  # else a program that root executes gets them again
    for number in range(_LAST + 1):
        _libc.prctl(_DROP_FROM_BOUNDS, ctypes.c_ulong(number), 0, 0, 0)
    head, nothing = struct.pack("=Ii", _VERSION_3, 0), bytes(24)
    return _libc.capset(ctypes.c_char_p(head), ctypes.c_char_p(nothing)) == 0
