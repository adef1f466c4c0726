"""Waits until the kernel has finished what it is in the middle of: see membarrier(2)."""

from __future__ import annotations

import ctypes
import platform
import time

_CALL = {"x86_64": 324, "aarch64": 283}.get(platform.machine())
_GLOBAL = 1  # MEMBARRIER_CMD_GLOBAL of linux/membarrier.h
_PAUSE_SECONDS = 0.3  # where the kernel refuses

_libc = ctypes.CDLL(None, use_errno=True)


def finish_deliveries() -> None:
    """Returns when every packet whose delivery had begun is delivered, and the thread that waits
    for it has been woken. Takes about 10 ms.

    A processor delivers packets with its softirqs disabled, and the call returns only after each
    processor has left such code (an RCU grace period). So not even a virtual processor that its
    host has stopped in the middle of a delivery is missed. Where the kernel refuses the call, as
    with nohz_full, a pause has to do.
    """
    if _CALL is None or _libc.syscall(_CALL, _GLOBAL, 0, 0) != 0:
        time.sleep(_PAUSE_SECONDS)
