"""Refuses system calls to this process and everything that it starts, see seccomp(2).

Used for System V memory, semaphores and queues: the kernel keeps them when their makers have ended.
And for io_uring, so that a server runs as on a machine without it.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from harness.server.linux import prctl

# The name that the kernel has for the machine (linux/audit.h). A program for another machine, 32
# bits for instance, has other numbers of system calls.
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LASTING = {"x86_64": (29, 64, 68), "aarch64": (194, 190, 186)}  # shmget, semget, msgget
_RING = (425, 426, 427)  # io_uring_setup, _enter and _register, the same on both
_X32 = 0x40000000  # and above: the numbers of a second interface of x86_64

# linux/filter.h, linux/seccomp.h
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM

_SET_SECCOMP, _FILTER = 22, 2  # linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)


def known() -> bool:
    """Whether the functions below know this machine."""
    return platform.machine() in _MACHINES


def refuse_lasting_memory() -> bool:
    """Makes shmget, semget and msgget fail with EPERM for ever. Returns whether that was possible.

    Privileges are renounced, too: else only root may do this.
    """
    return known() and _refuse(_LASTING[platform.machine()])


def refuse_io_uring() -> bool:
    """Makes io_uring_setup and its relatives fail with EPERM for ever. Returns whether that was
    possible."""
    return known() and _refuse(_RING)


def _refuse(numbers: tuple[int, ...]) -> bool:
    """System calls only: may be called between fork and exec."""
    prctl.renounce_privileges()
    program = b"".join(_instructions(_MACHINES[platform.machine()], numbers))
    text = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(text))
    place = ctypes.c_char_p(head)
    return _libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), place, 0, 0) == 0


def _instructions(architecture: int, refused: tuple[int, ...]) -> list[bytes]:
    """The filter. A jump counts the instructions that it passes over."""
    last = len(refused) + 1  # from the first comparison of a number to the one that allows
    return [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_IF_EQUAL, architecture, 0, last + 2),
        _instruction(_LOAD, _NUMBER),
        _instruction(_IF_AT_LEAST, _X32, last, 0),
        *(_instruction(_IF_EQUAL, one, last - 1 - i, 0) for i, one in enumerate(refused)),
        _instruction(_RETURN, _ALLOW),
        _instruction(_RETURN, _REFUSE),
    ]


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One struct sock_filter."""
    return struct.pack("=HBBI", code, then, otherwise, value)
