"""What a wrong server is: a solution with a mistake in it, and what has to find the mistake."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from harness.maintain.wrong_servers import patch
from harness.submission import skeleton, sources
from harness.submission.chapters import Chapter

GROUPS = (
    "start and end",
    "framing",
    "signs and widths",
    "typed messages",
    "partial writes",
    "EAGAIN, EINTR, SIGPIPE and EOF",
    "socket options",
    "state shared or stale",
    "descriptors and memory",
    "event loop",
    "pipelining and back-pressure",
    "timers",
    "threads",
    "coroutines",
    "operations in flight",
    "the protocol of Redis",
    "keys, channels and transactions",
    "growth",
)


@dataclass(frozen=True)
class WrongServer:
    """A solution with a mistake.

    `what` is the mistake, in a sentence as a teacher would say it. `test` is the claim that must
    fail, `hint` the key of the hint that it must fail with. `diff` is a unified diff of the
    solution's files without their marks.
    """

    chapter: Chapter
    name: str
    group: str
    what: str
    test: str
    hint: str
    diff: str = field(repr=False)

    @property
    def id(self) -> str:
        return f"{self.chapter.number}-{self.name}"

    def sources(self) -> dict[str, str]:
        """The C files of the wrong server by name. Raises patch.Refused, skeleton.NoSolutions."""
        right = solution(self.chapter)
        return {**right, **patch.changed(right, self.diff)}

    def write(self, directory: Path) -> None:
        """Puts the sources into `directory`, which is made. Raises as sources() does."""
        sources.write(directory, self.sources())


@lru_cache
def solution(chapter: Chapter) -> dict[str, str]:
    """The C files of a solution by name, without marks; not to be changed. Raises NoSolutions."""
    return skeleton.solution_without_marks(chapter)
