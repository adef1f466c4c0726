"""How long the harness waits, and the wait itself, in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

# (waits that have run out so far, seconds to wait now). A right server never lets one run out; one
# that hangs everywhere is still graded within a minute.
SCHEDULE = ((0, 8.0), (2, 2.0), (4, 1.0), (10, 0.5), (40, 0.25))

LOOK_SECONDS = 0.0005  # between two looks of wait_until()
LOOK_SELDOM = 0.02  # of the time that has passed: the least pause between two later looks
SHORTER = os.environ.get("LAB_PATIENCE")  # seconds: for the lab's own tests of servers that hang


class Patience:
    """How long to wait without any progress before calling it a hang.

    Everything in a process shares one (PATIENCE), so that it shrinks as waits run out; and all
    processes of a grade do, after share().
    """

    def __init__(self, schedule: tuple[tuple[int, float], ...] = SCHEDULE) -> None:
        self._schedule = schedule
        self._ran_out = 0
        self._file: Path | None = None

    def share(self, file: Path) -> None:
        """Counts together with every process that names the same file; it has a byte a wait."""
        self._file = file

    @property
    def ran_out(self) -> int:
        """How many waits have run out."""
        if self._file is not None:
            try:
                return self._file.stat().st_size
            except OSError:  # none has, or the file is lost
                pass
        return self._ran_out

    @property
    def seconds(self) -> float:
        """What a wait that begins now may take."""
        ran_out = self.ran_out
        return [seconds for count, seconds in self._schedule if count <= ran_out][-1]

    def expired(self) -> None:
        """To be called once for every wait that ran out."""
        self._ran_out += 1
        if self._file is not None:
            try:
                with self._file.open("ab") as file:
                    file.write(b".")
            except OSError:  # no descriptor is free: then this one is counted here alone
                pass


PATIENCE = Patience(((0, float(SHORTER)),)) if SHORTER else Patience()


class Stretched(Patience):
    """`times` as long as another patience, and never below `least` seconds.

    For a server that something slows down. Waits that run out shorten the other one too.
    """

    def __init__(self, patience: Patience, times: float, least: float) -> None:
        self._patience = patience
        self._times = times
        self._least = least

    @property
    def seconds(self) -> float:
        return max(self._least, self._times * self._patience.seconds)

    def expired(self) -> None:
        self._patience.expired()


class Deadline:
    """Runs out `seconds` after it was made, or after the last restart()."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.restart()

    def restart(self) -> None:
        """Called at every sign of progress."""
        self._end = time.monotonic() + self.seconds

    def left(self) -> float:
        """Seconds that are left, never below 0."""
        return max(0.0, self._end - time.monotonic())


def wait_until(
    condition: Callable[[], object], seconds: float, look_seconds: float = LOOK_SECONDS
) -> bool:
    """Looks until the condition holds, at most for `seconds`. Whether it does.

    The longer it takes, the longer the pauses between two looks, from `look_seconds` on.
    """
    deadline = Deadline(seconds)
    while not condition():
        left = deadline.left()
        if not left:
            return False
        time.sleep(min(max(look_seconds, LOOK_SELDOM * (seconds - left)), left))
    return True
