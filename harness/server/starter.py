"""The words before a command line that start its process with limits: those of shim/start.c.

A function between fork and exec could do the same. But then Python forks, which copies the page
tables of the grader, where it uses vfork(2) otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from harness.server import shim

NONE = -1  # instead of a descriptor

# A number of the module resource, and its limits, soft and hard.
Limit = tuple[int, int, int]


def words(
    limits: Iterable[Limit], report: int = NONE, confinement: int = NONE, preload: str = ""
) -> list[str]:
    """What to put before a program's file and its arguments. The process inherits both descriptors;
    the program gets none of them, and the libraries `preload`. Raises NotJudged."""
    each = [":".join(map(str, limit)) for limit in limits]
    return [_program(), str(report), str(confinement), preload, *each, "--"]


@functools.cache
def _program() -> str:
    return str(shim.starter())
