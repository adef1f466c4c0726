"""Where a program has crashed: what the shim has noted, as lines of the source."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Collection
from itertools import groupby
from typing import NamedTuple

from harness.server.preload import Crash

SECONDS = 10  # that addr2line may take
CALLERS = 2  # shown
FIRST_PAGE = 4096  # bytes, at address 0: of nobody
BEYOND_THE_STACK = 64 << 10  # bytes below the stack pointer, that a function may have reached for
_LINE = re.compile(r"(?:.*/)?([^/]+):([1-9]\d*)(?: \(.*\))?$")  # "/x/conn.c:12 (discriminator 3)"


class Frame(NamedTuple):
    function: str
    file: str  # its name without directories
    line: int


def place(crash: Crash, sources: Collection[str]) -> str:
    """`conn.c:123, read_some(), called from dispatch() at server.c:88`; "" if it is not known.

    `sources`: the student's files; frames in others are left out, unless there are only others.
    """
    found = _frames(crash)
    own = [frame for frame in found if frame.file in sources] or found
    if not own:
        return ""
    first, *callers = [frame for frame, _ in groupby(own)]
    words = [f"{first.file}:{first.line}", f"{first.function}()"]
    words += [f"called from {one.function}() at {one.file}:{one.line}" for one in callers[:CALLERS]]
    return ", ".join(words) + _cause(crash)


def _frames(crash: Crash) -> list[Frame]:
    """The frames of a crash that are in the program and whose lines are known; none without debug
    information."""
    words = ["addr2line", "-f", "-i", "-e", str(crash.file)]  # -i: functions put into others
    addresses = list(map(hex, crash.frames))
    if not addresses or not crash.file.is_file():
        return []
    try:
        done = subprocess.run([*words, *addresses], capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):  # it comes with gcc; a clang may be here alone
        return []
    lines = done.stdout.decode(errors="replace").splitlines()
    places = zip(lines[0::2], map(_LINE.match, lines[1::2]))
    return [Frame(function, found[1], int(found[2])) for function, found in places if found]


def _cause(crash: Crash) -> str:
    """What the addresses tell."""
    if crash.used is None or crash.signal != signal.SIGSEGV:
        return ""
    if crash.address == crash.pc:
        return f"; it called address {crash.address:#x}, where there is no function"
    if crash.address < FIRST_PAGE:
        return f"; it used address {crash.address:#x}: a null pointer"
    if -BEYOND_THE_STACK < crash.address - crash.sp < FIRST_PAGE:
        return "; its stack is used up"
    return ""
