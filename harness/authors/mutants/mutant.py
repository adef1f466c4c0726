"""What a wrong server is: a solution with a mistake in it, and what has to find the mistake."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness.lab import chapters, skeleton, sources

FRAMING = "framing"
NUMBERS = "signs and widths"
MESSAGES = "typed messages"
WRITES = "partial writes"
CALLS = "EAGAIN, EINTR, SIGPIPE and EOF"
STATE = "state shared or stale"
RESOURCES = "descriptors and memory"
LOOP = "event loop"
PRESSURE = "pipelining and back-pressure"
GROWTH = "growth"
TIMERS = "timers"
THREADS = "threads"
OPTIONS = "socket options"
COROUTINES = "coroutines"
COMPLETION = "operations in flight"
PROTOCOL = "the protocol of Redis"
KEYS = "keys, channels and transactions"
START = "start and end"

GROUPS = (
    *(START, FRAMING, NUMBERS, MESSAGES, WRITES, CALLS, OPTIONS, STATE),
    *(RESOURCES, LOOP, PRESSURE, TIMERS, THREADS, COROUTINES, COMPLETION, PROTOCOL, KEYS),
    GROWTH,
)


def socket_option(level: str, name: str, kind: str, value: str) -> dict[str, str]:
    """Edits by which each accepted socket gets an option more. `kind`, `value`: in C, "int" and
    "1"."""
    option = f"setsockopt(fd, {level}, {name}, &({kind}){{{value}}}, sizeof({kind}));"
    nodelay = "    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);"
    return {"net.c": f"\n {nodelay}\n+    {option}\n"}


class Unsound(Exception):
    """A fault of the catalogue; the message names the mutant and what is wrong with it."""


@dataclass(frozen=True)
class Mutant:
    """A solution with a mistake.

    `what` is the mistake, in a sentence as a teacher would say it. `test` is the claim that must
    fail, `hint` the key of the hint that it must fail with. `edits` has a change for each file that
    is changed: lines in front of which stands "-" (to go), "+" (to come) or a blank (to stay and
    to find the place by). A line "@@" stands between two changes of one file.
    """

    chapter: str
    name: str
    group: str
    what: str
    test: str
    hint: str
    edits: dict[str, str] = field(repr=False)

    @property
    def id(self) -> str:
        return f"{self.chapter}-{self.name}"

    def sources(self) -> dict[str, str]:
        """The C files of the wrong server by name. Raises Unsound, skeleton.NoSolutions."""
        files = skeleton.solution_without_marks(chapters.find(self.chapter))
        for name, changes in self.edits.items():
            if name not in files:
                raise Unsound(f"{self.id}: the solution has no {name}")
            for change in changes.strip("\n").split("\n@@\n"):
                files[name] = self._changed(files[name], change, name)
        return files

    def write(self, directory: Path) -> None:
        """Puts the sources into `directory`, which is made. Raises as sources() does."""
        sources.write(directory, self.sources())

    def _changed(self, text: str, change: str, file: str) -> str:
        before, after = _sides(change)
        found = ("\n" + text).count("\n" + before)
        if found != 1:
            lines = f"these lines occur {found} times, and not once"
            raise Unsound(f"{self.id}: {file}: {lines}:\n{before}")
        return ("\n" + text).replace("\n" + before, "\n" + after)[1:]


def _sides(change: str) -> tuple[str, str]:
    """The lines before and after a change. An empty line is one that stays."""
    lines = [line or " " for line in change.split("\n")]
    before = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
    after = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
    return before, after
