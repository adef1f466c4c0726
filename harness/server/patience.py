"""How long the harness waits, and the wait itself, in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# (waits that have run out so far, seconds to wait now). A right server never lets one run out; one
# that hangs everywhere is still graded within a minute.
SCHEDULE = ((0, 8.0), (2, 2.0), (4, 1.0), (8, 0.5), (20, 0.25))

HANGS_PART = 4  # of a wait: a server that has slept for such a part, and for ever, hangs
MOST_TIMES = 10  # so that the wait gets shorter, too, for a server that hangs everywhere
LOOK_SECONDS = 0.0005  # between two looks of wait_until()
WORKED_PART = 8  # of a wait: a server that has computed for so much of it is not held up
SHORT_SECONDS = 0.03  # of a wait, in which the patience is not read again
LOOK_SELDOM = 0.02  # of the time that has passed: the minimum pause between two later looks
SHORTER = os.environ.get("LAB_PATIENCE")  # seconds: for the lab's own tests of servers that hang


class Spent(NamedTuple):
    """What the threads of the servers have had of the processors so far."""

    cpu: float  # seconds, of all of them
    in_line: dict[int, float]  # seconds of each that could have run, while others did

    def held_up(self, before: Spent, worked: float) -> float:
        """For how many seconds since `before` other programs kept a thread from running; 0 if they
        have computed for `worked` seconds."""
        if self.cpu - before.cpu >= worked:
            return 0.0
        waits = (seconds - before.in_line.get(t, 0.0) for t, seconds in self.in_line.items())
        return max(waits, default=0.0)


class Patience:
    """How long to wait without any progress before calling it a hang.

    Everything in a process shares one (PATIENCE), which shrinks as waits run out. All processes of
    a grade share it after share().
    """

    def __init__(self, schedule: tuple[tuple[int, float], ...] = SCHEDULE) -> None:
        self._schedule = schedule
        self._ran_out = 0
        self._file: Path | None = None

    def share(self, file: Path) -> None:
        """Counts together with every process that names the same file; the file has one byte for
        each wait."""
        self._file = file

    @property
    def ran_out(self) -> int:
        """How many waits have run out."""
        if self._file is not None:
            try:
                return self._file.stat().st_size
            except OSError:  # no wait has run out, or the file is lost
                pass
        return self._ran_out

    @property
    def seconds(self) -> float:
        """How long a wait that begins now may take."""
        ran_out = self.ran_out
        return [seconds for count, seconds in self._schedule if count <= ran_out][-1]

    @property
    def shortest(self) -> bool:
        """Whether it cannot shrink any more."""
        return self.ran_out >= self._schedule[-1][0] > 0

    def lost(self) -> float:
        """Seconds up to now that do not count. See Stretched."""
        return 0.0

    def spent(self) -> Spent:
        """By the servers that it waits for. See Fair."""
        return Spent(0.0, {})

    def hopeless(self, began: float) -> bool:
        """Whether a wait that began then, on time.monotonic(), has nothing more to wait for."""
        return False

    def expired(self) -> None:
        """To be called once for every wait that ran out."""
        self._ran_out += 1
        if self._file is not None:
            try:
                with self._file.open("ab") as file:
                    file.write(b".")
            except OSError:  # no descriptor is free: then this one is counted here alone
                pass

    def give_up(self) -> None:
        """Notes that the server does nothing at all: further waits are as short as they get."""
        for _ in range(self.ran_out, self._schedule[-1][0]):
            self.expired()


PATIENCE = Patience(((0, float(SHORTER)),)) if SHORTER else Patience()


class Stretched(Patience):
    """`times` as long as another patience, and not below `least` seconds, if that is at most
    MOST_TIMES as long.

    For a server that something slows down. Waits that run out shorten the other patience too.
    `lost`: for how many seconds, up to now, the server could have run while other programs had the
    processors; these do not count.
    """

    def __init__(
        self, patience: Patience, times: float, least: float, lost: Callable[[], float]
    ) -> None:
        self._patience = patience
        self._times = times
        self._least = least
        self._lost = lost

    @property
    def seconds(self) -> float:
        seconds = self._patience.seconds
        return max(self._times * seconds, min(self._least, MOST_TIMES * seconds))

    def give_up(self) -> None:
        self._patience.give_up()

    def lost(self) -> float:
        return self._lost()

    def expired(self) -> None:
        self._patience.expired()


class Fair(Patience):
    """Another patience. The time in which other programs keep the servers from running does not
    count. `spent`: what the servers have had so far."""

    def __init__(self, patience: Patience, spent: Callable[[], Spent]) -> None:
        self._patience = patience
        self._spent = spent

    @property
    def seconds(self) -> float:
        return self._patience.seconds

    def spent(self) -> Spent:
        return self._spent()

    def give_up(self) -> None:
        self._patience.give_up()

    def expired(self) -> None:
        self._patience.expired()


class Watchful(Patience):
    """Another patience. `hangs` tells which waits are hopeless: it gets when the wait began, and
    for how many seconds a server that hangs must have slept."""

    def __init__(self, patience: Patience, hangs: Callable[[float, float], bool]) -> None:
        self._patience = patience
        self._hangs = hangs

    @property
    def seconds(self) -> float:
        return self._patience.seconds

    def spent(self) -> Spent:
        return self._patience.spent()

    def hopeless(self, began: float) -> bool:
        return self._hangs(began, self.seconds / HANGS_PART)

    def give_up(self) -> None:
        self._patience.give_up()

    def lost(self) -> float:
        return self._patience.lost()

    def expired(self) -> None:
        self._patience.expired()


class Deadline:
    """Runs out `seconds` after it was made, or after the last restart().

    The deadline of a patience runs out earlier if the patience shrinks meanwhile: a wait that began
    before others ran out is not longer than one that begins afterwards. It also runs out earlier
    when the wait becomes hopeless, but not with `kernel`, which is for what the kernel does by
    itself after some time. `seconds` is then the time it took. `patient`: it belongs to a patience.
    """

    def __init__(self, limit: float | Patience, kernel: bool = False) -> None:
        self.patient = isinstance(limit, Patience)
        self._patience = limit if isinstance(limit, Patience) else None
        self._kernel = kernel
        self.seconds = limit.seconds if isinstance(limit, Patience) else limit
        self.restart()

    def restart(self) -> None:
        """Called at every sign of progress."""
        self._began, self._restarted = self._now(), time.monotonic()
        self._before: Spent | None = None

    def left(self) -> float:
        """Seconds that are left now, never below 0."""
        passed = self._now() - self._began
        if self._patience is not None and passed > SHORT_SECONDS:
            self._before = self._before or self._patience.spent()
            if passed < self.seconds:
                now = 0.0 if self._is_hopeless() else self._patience.seconds
                self.seconds = min(self.seconds, max(round(passed, 1), now))
            else:
                worked = self.seconds / WORKED_PART
                passed -= self._patience.spent().held_up(self._before, worked)
        return max(0.0, self.seconds - passed)

    def _is_hopeless(self) -> bool:
        return not self._kernel and self._patience.hopeless(self._restarted)

    def _now(self) -> float:
        return time.monotonic() - (self._patience.lost() if self._patience is not None else 0.0)


def wait_until(
    condition: Callable[[], object], limit: float | Patience, look_seconds: float = LOOK_SECONDS
) -> bool:
    """Checks until the condition holds, at most for that many seconds. Returns whether it holds.

    The longer it takes, the longer the pauses between two checks, from `look_seconds` on.
    """
    deadline = Deadline(limit)
    while not condition():
        left = deadline.left()
        if not left:
            return False
        passed = max(0.0, deadline.seconds - left)
        time.sleep(min(max(look_seconds, LOOK_SELDOM * passed), left))
    return True
