"""Work that is counted: how much a server does, where CPU time would depend on what other programs
do.

    work.c, work.h   linked with a server that counts: see build.counted_server()

A step is a basic block of the program, or BYTES_A_STEP bytes that a function of the C library or
of the kernel has moved or looked at. A system call is CALL_STEPS of them, and one that waits
WATCHED_STEPS more for each descriptor that poll() or select() was given. With BLOCKS in the
environment of the server, a free block of memory that malloc() joins with others is JOINED_STEPS.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from pathlib import Path

from harness.feedback.failure import NotJudged

DIRECTORY = Path(__file__).parent
SOURCE = DIRECTORY / "work.c"
VARIABLE = "EVENT_LOOP_WORK"  # names the shared file to the program
BLOCKS = {"EVENT_LOOP_WORK_BLOCKS": "1"}  # look_at_blocks() of work.c looks

# -O1 as for sanitizers: it compiles faster, and what is counted is more like the source. With
# -fno-builtin the compiler leaves each memcpy() of the source a call, which can be counted. The
# checks of _FORTIFY_SOURCE are no part of the source.
FLAGS = ("-fsanitize-coverage=trace-pc", "-O1", "-fno-builtin", "-U_FORTIFY_SOURCE")
NOT_COUNTED = "-fno-sanitize-coverage=trace-pc"  # for files of the grader
WRAPPED = re.findall(r"^(?:WRAP|COSTS|CALLS|MOVES)\((\w+)", SOURCE.read_text(), re.M)
LINKING = tuple(f"-Wl,--wrap={name}" for name in WRAPPED)

BYTES_A_STEP = 16
CALL_STEPS = 100
WATCHED_STEPS = 10
JOINED_STEPS = 10
TALLIES = 256
_HEAD = 64  # bytes
_TALLY = struct.Struct("=QQQQQ24x")  # struct tally of work.c
SIZE = _HEAD + TALLIES * _TALLY.size


class Work:
    """The shared file, from the harness's side. Can be read when file and server are gone."""

    def __init__(self, path: Path) -> None:
        """Makes the file. Raises NotJudged if there is no space for it."""
        self.path = path
        with path.open("w+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, SIZE)
            except OSError as error:
                raise NotJudged(f"no space for the counters of work: {error.strerror}") from error
            self._map = mmap.mmap(file.fileno(), SIZE)

    def environment(self) -> dict[str, str]:
        return {VARIABLE: str(self.path)}

    def steps(self) -> int:
        """What all threads and processes of the server have done so far."""
        return sum(
            blocks
            + moved // BYTES_A_STEP
            + CALL_STEPS * calls
            + WATCHED_STEPS * watched
            + JOINED_STEPS * joined
            for blocks, moved, calls, watched, joined in _TALLY.iter_unpack(self._map[_HEAD:])
        )

    def moved(self) -> int:
        """How many bytes functions of the C library and of the kernel have moved or looked at. What
        the kernel moves for a ring is not counted."""
        return sum(tally[1] for tally in _TALLY.iter_unpack(self._map[_HEAD:]))
