"""prctl(2) for this process: how it ends, who may look into it, and what happens to its orphans."""

from __future__ import annotations

import ctypes
import signal

# linux/prctl.h
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 4, 36, 38
_SET_PTRACER = 0x59616D61
_SET_PTRACER_ANY = ctypes.c_ulong(-1).value

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
