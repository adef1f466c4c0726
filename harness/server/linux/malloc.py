"""How the C library of this process takes memory from the kernel."""

from __future__ import annotations

import ctypes

from harness.submission.sizes import MIB

# malloc.h of glibc, where mallopt(3) is
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
LARGEST = 32 * MIB  # of the second: a larger one is refused
KEPT = 64 * MIB
# For the environment of a program that uses much memory: it gets huge pages, of 2 MiB on most
# machines, and so the kernel is entered once for 512 pages. glibc 2.35 and later know it.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def keep_freed() -> None:
    """Keeps memory that is free again for the next use. Otherwise each large block is new, and the
    kernel has to clear every page of it: for frames of megabytes, that is half of their cost."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, LARGEST)
        mallopt(_TRIM_THRESHOLD, KEPT)
