"""The terminal that shows a grade: how wide it is, and the line that says how far a grade is."""

from __future__ import annotations

import os
import shutil
import sys
import time

from harness.grade import report, scoring
from harness.submission import command_line


class Progress:
    """One line that is written again and again: how many tests are over, and which one has run for
    the longest; nothing if stdout is not a terminal that can do that. `quiet`: it writes nothing,
    since another program uses the terminal."""

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self._total = total
        self._over = 0
        self._failed = 0
        self._running: dict[str, float] = {}  # when it began, by name; the oldest first
        self._shown = command_line.knows_escapes(sys.stdout) and not quiet
        self.tick()

    def more(self, count: int) -> None:
        self._total += count

    def begun(self, name: str) -> None:
        self._running[name] = time.monotonic()
        self.tick()

    def found(self, outcome: scoring.Outcome) -> None:
        self._running.pop(outcome.claim.name, None)
        self._over += 1
        self._failed += outcome.verdict == scoring.FAILED
        self.tick()

    def tick(self) -> None:
        if not self._shown:
            return
        failed = f", {self._failed} failed" if self._failed else ""
        line = f"  {self._over} of {self._total} tests{failed}"
        for name, began in list(self._running.items())[:1]:
            line += f"; {time.monotonic() - began:.0f} s in {name}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{line[:width]}", end="", flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", flush=True)


def look(verbose: bool) -> report.Look:
    """How a report looks in this terminal."""
    terminal = command_line.knows_escapes(sys.stdout)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    colour = terminal and not os.environ.get("NO_COLOR")
    return report.Look(max(60, min(columns, report.WIDEST)), colour, verbose)
