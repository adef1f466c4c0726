"""Tells how far it is: a line for each submission, and on a terminal one that changes."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
import unicodedata

from harness.course.classes.labels import shown
from harness.course.classes.records import NOT_JUDGED, Record
from harness.lab import command_line

WIDTH = 80
NAME = 32  # columns


class Progress:
    """Tells of `total` submissions, `done` of which have a result from an earlier run. `at_once` is
    None if it is not known how many are graded at a time."""

    def __init__(self, total: int, done: int, at_once: int | None) -> None:
        self._total = total
        self._done = done
        self._at_once = at_once
        self._seconds: list[float] = []
        self._moves = command_line.knows_escapes(sys.stdout)
        self._written = 0.0
        self._began = time.monotonic()

    def graded(self, label: str, record: Record, seconds: float) -> None:
        """Counts one more graded submission."""
        self._clear()
        self._done += 1
        self._seconds.append(seconds)
        score = "   blank" if record.score is None else f"{record.score:8g}"
        said = f"{seconds:5.0f} s  {self.left()}"
        count = f"{self._done:{len(str(self._total))}} of {self._total}"
        print(f"{count}  {fitted(label, NAME)} {score}  {said}".rstrip(), flush=True)
        if record.verdict == NOT_JUDGED:
            print(wrapped(f"not judged: {record.problem}", 6), flush=True)

    def left(self) -> str:
        """How many are left, and how long they will take if they are like those so far."""
        count = self._total - self._done
        if not count or not self._seconds:
            return f"{count} left" if count else ""
        mean = sum(self._seconds) / len(self._seconds)
        if self._at_once is None:
            left = (time.monotonic() - self._began) * count / len(self._seconds)
        else:
            left = mean * max(count / self._at_once, 1)
        return f"{count} left, {duration(left)}"

    def running(self, labels: list[tuple[str, float]]) -> None:
        """What runs now, and since when: (label, seconds)."""
        if not self._moves or time.monotonic() - self._written < 0.5:
            return
        self._written = time.monotonic()
        names = ", ".join(f"{fitted(shown(n), 16).strip()} {s:.0f} s" for n, s in labels)
        line = f"{self._done} of {self._total}, {self.left() or 'none left'}"
        line += f"; {names}" if names else ""
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{fitted(line, width).rstrip()}", end="", flush=True)

    def _clear(self) -> None:
        if self._moves:
            print("\r\033[K", end="")


def duration(seconds: float) -> str:
    """A time that is only guessed."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def wrapped(text: str, indent: int) -> str:
    """The text in lines for a terminal; a path stays whole."""
    space = " " * indent
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    )


def fitted(text: str, columns: int) -> str:
    """The text in exactly that many columns of a terminal; Chinese characters need two each."""
    text = shown(text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = text.encode(encoding, "replace").decode(encoding)
    if columns_of(text) > columns:
        while columns_of(text) > columns - 3:
            text = text[:-1]
        text += "..."
    return text + " " * (columns - columns_of(text))


def columns_of(text: str) -> int:
    """How many columns of a terminal it takes."""
    return sum(_width(char) for char in text)


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def transient(text: str) -> None:
    """A line that the next one replaces, on a terminal only."""
    if command_line.knows_escapes(sys.stderr):
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
