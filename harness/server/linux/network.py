"""A new network namespace, see network_namespaces(7)."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914  # linux/sockios.h
_IFF_UP = 1  # linux/if.h
_REQUEST = struct.Struct("16sh14x")  # struct ifreq: name, flags

_libc = ctypes.CDLL(None, use_errno=True)


def enter_new() -> bool:
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
