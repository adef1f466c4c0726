"""prctl(2) for this process: how it ends, who may look into it, what happens to its orphans, and
which rights it has."""

from __future__ import annotations

import ctypes
import signal
import struct

# linux/prctl.h
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 4, 36, 38
_SET_PTRACER = 0x59616D61
_SET_PTRACER_ANY = ctypes.c_ulong(-1).value
_DROP_FROM_BOUNDS = 24
_CAPABILITIES = 64  # at most
_VERSION_3 = 0x20080522  # linux/capability.h; two sets of 32 bits follow the head

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Sends the signal to this process when the thread that started it ends. System calls only: may
    be called between fork and exec."""
    _libc.prctl(_SET_PDEATHSIG, number, 0, 0, 0)


def close_memory() -> None:
    """Lets only root read or change this process: its memory, descriptors and environment."""
    _libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Makes orphans below this process its children, and not those of init."""
    _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def renounce_privileges() -> None:
    """Programs that this process executes gain no privileges, not even with the setuid bit.

    Irrevocable. System calls only: may be called between fork and exec.
    """
    _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def allow_debuggers() -> None:
    """Allows any process of this user to attach to this one, and to the program that it executes.

    Where Yama's ptrace_scope is 1, as on Ubuntu, only an ancestor may do so otherwise.
    """
    _libc.prctl(_SET_PTRACER, _SET_PTRACER_ANY, 0, 0, 0)


def drop_capabilities() -> bool:
    """Leaves this process, and everything that it executes, none of capabilities(7): root is then a
    user like others. Returns whether it has none.

    Landlock alone does not bind root: since 6.14, CAP_PERFMON is enough to read the memory and the
    environment of every process in /proc.
    """
    renounce_privileges()  # else a program that root executes gets them again
    for number in range(_CAPABILITIES):
        _libc.prctl(_DROP_FROM_BOUNDS, number, 0, 0, 0)
    head, nothing = struct.pack("=Ii", _VERSION_3, 0), bytes(24)
    return _libc.capset(ctypes.c_char_p(head), ctypes.c_char_p(nothing)) == 0
