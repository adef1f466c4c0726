"""What this process, and everything that it starts, may do and has: prctl(2) and its relatives.

How it ends, who may look into it, what happens to its orphans, its privileges, the system calls
that the kernel refuses to it (seccomp(2)), and its network (network_namespaces(7)).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import platform
import signal
import socket
import struct

# linux/prctl.h
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 4, 36, 38
_SET_SECCOMP, _FILTER = 22, 2
_SET_PTRACER = 0x59616D61
_SET_PTRACER_ANY = ctypes.c_ulong(-1).value
_DROP_FROM_BOUNDS = 24
_CAPABILITIES = 64  # at most
_VERSION_3 = 0x20080522  # linux/capability.h; two sets of 32 bits follow the head
_CLONE_NEWNET = 0x40000000  # linux/sched.h
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914  # linux/sockios.h
_IFF_UP = 1  # linux/if.h
_REQUEST = struct.Struct("16sh14x")  # struct ifreq: name, flags

# The name that the kernel has for the machine (linux/audit.h). A program for another machine, 32
# bits for instance, has other numbers of system calls.
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LASTING = {"x86_64": (29, 64, 68), "aarch64": (194, 190, 186)}  # shmget, semget, msgget
_RING = (425, 426, 427)  # io_uring_setup, _enter and _register, the same on nearly every machine
_X32 = 0x40000000  # and above: the numbers of a second interface of x86_64
_RING_REFUSED = (errno.ENOSYS, errno.EPERM, errno.EACCES)
RING_REMEDY = (
    "`sudo sysctl kernel.io_uring_disabled=0`, "
    "or in a container `--security-opt seccomp=unconfined`"
)

# linux/filter.h, linux/seccomp.h
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM

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


def enter_new_network() -> bool:
    """Gives the calling thread, and everything it starts from now on, an empty network: every port
    is free there. Returns whether that was possible: it needs CAP_SYS_ADMIN. It cannot be
    undone."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _REQUEST.pack(b"lo", 0))
        name, flags = _REQUEST.unpack(request)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _REQUEST.pack(name, flags | _IFF_UP))
    return True


def ring_problem() -> str:
    """Why io_uring(7) cannot be used here; "" if it can."""
    _libc.syscall(_RING[0], 0, None)  # no entries: an error in any case
    refused = ctypes.get_errno() in _RING_REFUSED
    return "this kernel does not have io_uring, or does not allow it" if refused else ""


def can_refuse_calls() -> bool:
    """Returns true if the functions below know the system calls of this machine."""
    return platform.machine() in _MACHINES


def refuse_lasting_memory() -> bool:
    """Makes shmget, semget and msgget fail with EPERM for ever: the kernel keeps System V memory,
    semaphores and queues when their makers have ended. Returns whether that was possible.

    Privileges are renounced, too: else only root may do this.
    """
    return can_refuse_calls() and _refuse(_LASTING[platform.machine()])


def refuse_io_uring() -> bool:
    """Makes io_uring_setup and its relatives fail with EPERM for ever, so that a server runs as on
    a machine without it. Returns whether that was possible."""
    return can_refuse_calls() and _refuse(_RING)


def _refuse(numbers: tuple[int, ...]) -> bool:
    """System calls only: may be called between fork and exec."""
    renounce_privileges()
    program = b"".join(_instructions(_MACHINES[platform.machine()], numbers))
    text = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(
        struct.pack("@HP", len(program) // 8, ctypes.addressof(text))
    )
    return _libc.prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(head), 0, 0) == 0


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
