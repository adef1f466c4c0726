"""How long the harness waits, and the wait itself, in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from harness.failures.failure import TooBusy
from harness.server.linux import procfs

# (waits that have run out so far, seconds to wait now). A right server never lets one run out; one
# that hangs everywhere is still graded within a minute.
SCHEDULE = ((0, 8.0), (2, 2.0), (4, 1.0), (8, 0.5), (20, 0.25))

SPINS_PART = 4  # of a wait: one that is to do next to nothing, and computes for so long, spins
MOST_TIMES = 10  # so that the wait gets shorter, too, for a server that hangs everywhere
LOOK_SECONDS = 0.0005  # between two looks of wait_until()
WORKED_PART = 8  # of a wait: a server that has computed for so much of it is not held up
MORE_SECONDS = 0.5  # at most, for a thread that waits in line when a wait has run out
LEAST_SECONDS = 0.01  # a wait is not continued for less
LATE_SECONDS = 1.0  # between two looks at a wait: then we could not run ourselves
WAIT_SECONDS = 60  # of the clock, for a wait that other programs make longer
SHORT_SECONDS = 0.03  # of a wait, in which the patience is not read again
SELDOM_PART = 8  # of the time that has passed: the pause before the patience is read again
LOOK_SELDOM = 0.02  # of the time that has passed: the minimum pause between two later looks
SLEEPS, SPINS = "sleeps", "spins"  # what a server does for which it is hopeless to wait
SHORTER = os.environ.get("LAB_PATIENCE")  # seconds: for the lab's own tests of servers that hang


class Spent(NamedTuple):
    """What the processes of servers have had of the processors so far."""

    cpu: float = 0.0  # seconds, of all of them
    in_line: dict[int, float] = {}  # seconds of each thread that could have run, while others did
    runnable: bool = False  # a thread of them runs now, or waits in line

    def held_up(self, before: Spent, worked: float) -> float:
        """Seconds since `before` in which a runnable thread waited for a processor; 0 if the
        threads have computed for `worked` seconds, since then they may have waited for each
        other."""
        if self.cpu - before.cpu >= worked:
            return 0.0
        waits = (seconds - before.in_line.get(t, 0.0) for t, seconds in self.in_line.items())
        return max(waits, default=0.0)


class Spender(Protocol):
    """A server, as far as this module needs it."""

    def spent(self) -> Spent:
        ...


class Patience:
    """How long to wait without any progress before calling it a hang.

    Everything in a process shares one (PATIENCE), which shrinks as waits run out. All processes of
    a grade share it after share().
    """

    def __init__(self, schedule: tuple[tuple[int, float], ...] = SCHEDULE) -> None:
        self._schedule = schedule
        self._latest_first = schedule[::-1]
        self._ran_out = 0
        self._shared: int | None = None  # a descriptor: each wait reads how long the file is

    def share(self, file: Path) -> None:
        """Counts together with every process that names the same file; the file has one byte for
        each wait."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._shared = os.open(file, flags, 0o600)

    @property
    def ran_out(self) -> int:
        """How many waits have run out."""
        return self._ran_out if self._shared is None else os.fstat(self._shared).st_size

    @property
    def seconds(self) -> float:
        """How long a wait that begins now may take."""
        ran_out = self.ran_out
        return next(seconds for count, seconds in self._latest_first if count <= ran_out)

    @property
    def shortest(self) -> bool:
        """Whether it cannot shrink any more."""
        return self.ran_out >= self._schedule[-1][0] > 0

    def spent(self) -> Spent:
        """CPU time and waiting of the servers that are waited for. See Fair and Stretched."""
        return Spent()

    def hopeless(self, began: float) -> str:
        """What the server does so that a wait that began then, on time.monotonic(), has nothing
        more to wait for: SLEEPS or SPINS; "" if it has."""
        return ""

    def expired(self) -> None:
        """Counts a wait that ran out; each has to be counted once."""
        self._ran_out += 1
        if self._shared is not None:
            with suppress(OSError):  # the disk is full: then this one does not count
                os.write(self._shared, b".")

    def give_up(self) -> None:
        """Notes that the server does nothing at all: further waits are as short as they get."""
        for _ in range(self.ran_out, self._schedule[-1][0]):
            self.expired()


PATIENCE = Patience(((0, float(SHORTER)),)) if SHORTER else Patience()


class Around(Patience):
    """A patience that is as long as another one, which it shortens when a wait runs out."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience

    @property
    def seconds(self) -> float:
        return self._patience.seconds

    def spent(self) -> Spent:
        return self._patience.spent()

    def expired(self) -> None:
        self._patience.expired()

    def give_up(self) -> None:
        self._patience.give_up()


class Stretched(Around):
    """`times` as long as another patience, and not below `least` seconds, if that is at most
    MOST_TIMES as long.

    For a server that something slows down. Waits that run out shorten the other patience too.
    `lost`: for how many seconds, up to now, the server could have run while other programs had the
    processors; these do not count.
    """

    def __init__(
        self, patience: Patience, times: float, least: float, lost: Callable[[], float]
    ) -> None:
        super().__init__(patience)
        self._times = times
        self._least = least
        self._lost = lost

    @property
    def seconds(self) -> float:
        seconds = self._patience.seconds
        return max(self._times * seconds, min(self._least, MOST_TIMES * seconds))

    def spent(self) -> Spent:
        """All that was lost is excused, however much the servers have computed."""
        return Spent(in_line={0: self._lost()})


class Fair(Around):
    """A patience that does not count the time in which other programs keep the servers `processes`,
    or the grader itself, from running."""

    def __init__(self, patience: Patience, processes: Callable[[], Iterable[Spender]]) -> None:
        super().__init__(patience)
        self._processes = processes

    def spent(self) -> Spent:
        found = [process.spent() for process in self._processes()]
        in_line = procfs.seconds_in_line(os.getpid())
        for one in found:
            in_line.update(one.in_line)
        return Spent(sum(one.cpu for one in found), in_line, any(one.runnable for one in found))


class Watchful(Around):
    """A patience that gives up early. `hopeless` tells which waits are; it gets when one began,
    and for how many seconds a server that spins must have computed."""

    def __init__(self, patience: Patience, hopeless: Callable[[float, float], str]) -> None:
        super().__init__(patience)
        self._hopeless = hopeless

    def hopeless(self, began: float) -> str:
        return self._hopeless(began, self.seconds / SPINS_PART)


class Waited(NamedTuple):
    """How long somebody waited in vain, and what the server does if it will not do anything more:
    SLEEPS or SPINS."""

    seconds: float
    hopeless: str = ""

    @property
    def asleep(self) -> bool:
        """Whether the server waits, and will wait for ever."""
        return self.hopeless == SLEEPS

    def told(self, no_more: str) -> str:
        """ " for 8 s"; or ", and nothing will: the server sleeps", where `no_more` is "nothing
        will"."""
        if self.hopeless:
            return f", and {no_more}: the server {self.hopeless}"
        return f" for {self.seconds:g} s"


class Deadline:
    """Runs out `seconds` after it was made, or after the last restart().

    The deadline of a patience runs out earlier if the patience shrinks meanwhile: a wait that began
    before others ran out is not longer than one that begins afterwards. It also runs out earlier
    when the wait becomes hopeless, but not with `others`, which is for what the kernel does by
    itself after some time, or another program. `seconds` is then the time it took. `patient`: it
    belongs to a patience.

    It runs out later by the time in which other programs had the processors; see Fair. So left()
    has to be called after each pause(). It raises TooBusy when such a wait takes WAIT_SECONDS.
    """

    def __init__(self, limit: float | Patience, others: bool = False) -> None:
        self.patient = isinstance(limit, Patience)
        self._patience = limit if isinstance(limit, Patience) else None
        self._others = others
        self.seconds = limit.seconds if isinstance(limit, Patience) else limit
        self.restart()

    def restart(self) -> None:
        """Begins the wait again; called at every sign of progress."""
        self._restarted = self._looked = time.monotonic()
        self._late = self._excused = 0.0  # seconds that do not count
        self._before: Spent | None = None
        self._hopeless = ""

    def left(self) -> float:
        """Seconds that are left now, never below 0."""
        if self._patience is None:
            return max(0.0, self.seconds - (time.monotonic() - self._restarted))
        self._notice_late_look()
        passed = self._passed()
        if passed > SHORT_SECONDS:
            self._before = self._before or self._patience.spent()
            if passed < self.seconds:
                self._shrink(passed)
            if self._passed() >= self.seconds and not self._hopeless:
                self._excuse(self._before, self._patience.spent())
        return max(0.0, self.seconds - self._passed())

    @property
    def waited(self) -> Waited:
        """What to say of it when it has run out."""
        return Waited(self.seconds, self._hopeless)

    def pause(self) -> float:
        """Seconds after which left() has to be called again, if so many are left."""
        if self._patience is None:
            return LATE_SECONDS / 2
        waited = time.monotonic() - self._restarted
        return min(max(SHORT_SECONDS, waited / SELDOM_PART), LATE_SECONDS / 2)

    def _notice_late_look(self) -> None:
        """Time in which this program could not run is not the server's."""
        now = time.monotonic()
        self._late += max(0.0, now - self._looked - LATE_SECONDS)
        self._looked = now

    def _passed(self) -> float:
        return time.monotonic() - self._restarted - self._excused

    def _shrink(self, passed: float) -> None:
        """Makes it as short as the patience is now; it is over if nothing can come any more."""
        self._hopeless = "" if self._others else self._patience.hopeless(self._restarted)
        now = 0.0 if self._hopeless else self._patience.seconds
        self.seconds = min(self.seconds, max(round(passed, 1), now))

    def _excuse(self, before: Spent, spent: Spent) -> None:
        """Goes on for the time in which the servers could not run. Raises TooBusy if that is
        most of WAIT_SECONDS."""
        __tracebackhide__ = True
        worked = self.seconds / WORKED_PART
        excused = max(self._late, spent.held_up(before, worked))
        if spent.runnable and spent.cpu - before.cpu < worked:
            excused = max(excused, self._excused + min(MORE_SECONDS, self.seconds / 4))
        waited = time.monotonic() - self._restarted
        if self.seconds - (waited - excused) < LEAST_SECONDS:
            return
        if waited >= WAIT_SECONDS:
            text = "other programs kept the server from running for most of the time"
            raise TooBusy(f"in a wait of {waited:.0f} s {text}")
        self._excused = excused


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
            return bool(condition())  # we may have been kept from looking meanwhile
        passed = max(0.0, deadline.seconds - left)
        time.sleep(min(max(look_seconds, LOOK_SELDOM * passed), deadline.pause(), left))
    return True
