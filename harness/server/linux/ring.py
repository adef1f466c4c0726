"""Whether a program here may use io_uring(7)."""

from __future__ import annotations

import ctypes
import errno

_SETUP = 425  # io_uring_setup, the same on nearly every machine
_REFUSED = (errno.ENOSYS, errno.EPERM, errno.EACCES)
REMEDY = (
    "`sudo sysctl kernel.io_uring_disabled=0`, "
    "or in a container `--security-opt seccomp=unconfined`"
)

_libc = ctypes.CDLL(None, use_errno=True)


def problem() -> str:
    """Why it cannot be used; "" if it can."""
    _libc.syscall(_SETUP, 0, None)  # no entries: an error in any case
    refused = ctypes.get_errno() in _REFUSED
    return "this kernel does not have io_uring, or does not allow it" if refused else ""
