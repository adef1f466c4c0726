"""How long the harness waits, and the wait itself, in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from harness.failures.failure import TooBusy

# (waits that have run out so far, seconds to wait now). A right server never lets one run out; one
# that answers nothing at all is still graded within a minute, see give_up().
SCHEDULE = ((0, 8.0), (2, 2.0), (4, 1.0), (8, 0.5), (20, 0.25))

CPU_PART = 4  # of a wait: a server built here that has computed for so much of it spins
LEAST_CPU_SECONDS = 0.25  # but not for less: some need as much to start
LOOK_SECONDS = 0.0005  # between two looks of wait_until()
MORE_SECONDS = 0.05  # between two looks at a server when the time is over
IDLE_LOOKS = 3  # in a row, at which it could not run: then nobody holds it up
LATE_SECONDS = 1.0  # between two looks at a wait: then we could not run ourselves
WAIT_SECONDS = 90  # of the clock, for a wait that other programs make longer
SHORT_SECONDS = 0.03  # of a wait, in which nobody looks at the server
SELDOM_PART = 8  # of the time that has passed: the pause before the next look at the server
LOOK_SELDOM = 0.02  # of the time that has passed: the minimum pause between two later looks
SLEEPS, SPINS = "sleeps", "spins"  # what a server does for which it is hopeless to wait
SHORTER = os.environ.get("LAB_PATIENCE")  # seconds: for the lab's own tests of servers that hang


class Activity(NamedTuple):
    """What the processes of servers do at a moment."""

    cpu: float = 0.0  # seconds for which they have computed so far
    runnable: bool = False  # a thread of them runs, or could if it had a processor or its pages
    threads: int = 0  # of all processes: one more is progress


class Active(Protocol):
    """A server, as far as this module needs it."""

    def activity_now(self) -> Activity:
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
    def ran_out_here(self) -> int:
        """How many have in this process."""
        return self._ran_out

    @property
    def seconds(self) -> float:
        """How long a wait that begins now may take."""
        ran_out = self.ran_out
        return next(seconds for count, seconds in self._latest_first if count <= ran_out)

    @property
    def cpu_seconds(self) -> float:
        """CPU time with which a server has had such a wait."""
        return self.seconds

    def lasting(self, seconds: float) -> Patience:
        """A patience of so many seconds for the same servers, which does not shrink: in that time
        they take no more, as they have had it, or could not have run."""
        return Patience(((0, seconds),))

    def activity(self) -> Activity:
        """What the servers that are waited for do now."""
        return Activity()

    def spins(self, cpu: float, threads: int) -> bool:
        """Whether servers with so many threads, which have computed for `cpu` seconds of a wait,
        will do nothing else."""
        return False

    def asleep(self, began: float) -> bool:
        """Whether all servers sleep, so that a wait that began then, on time.monotonic(), has
        nothing more to wait for."""
        return False

    def delivers(self) -> bool:
        """Whether the kernel has something of the servers for a client that waits for it."""
        return False

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


class ForServers(Patience):
    """Another patience, which shrinks with this one, for these servers.

    `asleep` gets when the wait began, and tells whether they sleep for ever. `delivers` tells
    whether the kernel still has something of them. `spins_end`: a wait is over when they have
    computed for a part of it, see CPU_PART. `times`, `least`: it is so many times as long, and not
    below `least` seconds, as something slows them down that runs one thread at a time. `least` is
    the minimum of CPU time as well, and half of it for a server that spins.
    """

    def __init__(
        self,
        patience: Patience,
        servers: Callable[[], Iterable[Active]],
        asleep: Callable[[float], bool] | None = None,
        delivers: Callable[[], bool] | None = None,
        spins_end: bool = False,
        times: float = 1.0,
        least: float = 0.0,
    ) -> None:
        self._patience = patience
        self._servers = servers
        self._asleep = asleep
        self._delivers = delivers
        self._spins_end = spins_end
        self._times = times
        self._least = least

    @property
    def ran_out(self) -> int:
        return self._patience.ran_out

    @property
    def seconds(self) -> float:
        return max(self._times * self._patience.seconds, self._least)

    @property
    def cpu_seconds(self) -> float:
        return max(self._patience.seconds, self._least)

    def lasting(self, seconds: float) -> Patience:
        return ForServers(super().lasting(seconds), self._servers)

    def activity(self) -> Activity:
        found = [server.activity_now() for server in self._servers()]
        return Activity(
            sum(one.cpu for one in found),
            any(one.runnable for one in found),
            sum(one.threads for one in found),
        )

    def spins(self, cpu: float, threads: int) -> bool:
        one_at_a_time = self._least > 0  # one of several may compute while another should
        if not self._spins_end or one_at_a_time and threads > 1:
            return False
        return cpu >= max(self.seconds / CPU_PART, self._least / 2, LEAST_CPU_SECONDS)

    def asleep(self, began: float) -> bool:
        return self._asleep is not None and self._asleep(began)

    def delivers(self) -> bool:
        return self._delivers is not None and self._delivers()

    def expired(self) -> None:
        self._patience.expired()

    def give_up(self) -> None:
        self._patience.give_up()


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
    when the server sleeps for ever, or spins; but not with `others`, which is for what the kernel
    does by itself after some time, or another program. `seconds` is then the time it took.
    `patient`: it belongs to a patience.

    It runs out later while the server could run and has not had its CPU time, as other programs
    have the processors; and while the kernel still has bytes of it for a client. So left() has to
    be called after each pause(). It raises TooBusy when such a wait takes WAIT_SECONDS.
    """

    def __init__(self, limit: float | Patience, others: bool = False) -> None:
        self.patient = isinstance(limit, Patience)
        self._patience = limit if isinstance(limit, Patience) else None
        self._others = others
        self._limit = limit.seconds if isinstance(limit, Patience) else limit
        self.restart()

    def restart(self) -> None:
        """Begins the wait again; called at every sign of progress."""
        self.seconds = self._limit
        self._restarted = self._looked = time.monotonic()
        self._cpu_then = 0.0
        self._most_threads = -1
        self._hopeless = ""
        self._idle_looks = 0
        self._over = False

    def left(self) -> float:
        """Seconds after which it is over, or after which to ask again; 0 when it is over."""
        __tracebackhide__ = True
        if self._over:
            return 0.0
        now = time.monotonic()
        passed = now - self._restarted
        at_rest = True
        if self._patience is not None and passed > SHORT_SECONDS:
            at_rest = self._look(self._patience, now)
        self._looked = now
        if passed < self._limit and not self._hopeless:
            return self._limit - passed
        if at_rest and self._is_delivered():
            self._over = True
            self.seconds = round(passed, 1) if passed < self._limit else self._limit
            return 0.0
        if passed >= WAIT_SECONDS:
            text = "other programs kept the server or the kernel from working most of the time"
            raise TooBusy(f"in a wait of {passed:.0f} s {text}")
        return MORE_SECONDS

    def _is_delivered(self) -> bool:
        """Whether the kernel has nothing of the servers that a client waits for."""
        patience = None if self._others else self._patience
        return patience is None or not patience.delivers()

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

    def _look(self, patience: Patience, now: float) -> bool:
        """Makes it as short as the patience is now, and ends it if nothing can come any more.
        Whether it is over once its time is: the servers have had their CPU time, or could not run
        at some looks."""
        activity = patience.activity()
        late = now - self._looked > LATE_SECONDS
        self._idle_looks = 0 if activity.runnable or late else self._idle_looks + 1
        if activity.threads > self._most_threads:  # at the first look, or it starts some
            self._most_threads, self._cpu_then = activity.threads, activity.cpu
        spent = activity.cpu - self._cpu_then
        had_its_time = spent >= max(patience.cpu_seconds, LEAST_CPU_SECONDS)
        if not self._others:
            spins = SPINS if patience.spins(spent, activity.threads) else ""
            self._hopeless = SLEEPS if patience.asleep(self._restarted) else spins
        passed = now - self._restarted
        if passed < self._limit:
            self._limit = min(self._limit, max(round(passed, 1), patience.seconds))
        return bool(self._hopeless) or had_its_time or self._idle_looks >= IDLE_LOOKS


def wait_until(
    condition: Callable[[], object], limit: float | Patience, look_seconds: float = LOOK_SECONDS
) -> bool:
    """Checks until the condition holds, at most for that many seconds. Returns whether it holds.

    The longer it takes, the longer the pauses between two checks, from `look_seconds` on.
    """
    deadline = Deadline(limit)
    began = time.monotonic()
    while not condition():
        left = deadline.left()
        if not left:
            return bool(condition())  # we may have been kept from looking meanwhile
        passed = time.monotonic() - began
        time.sleep(min(max(look_seconds, LOOK_SELDOM * passed), deadline.pause(), left))
    return True
