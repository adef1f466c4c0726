"""How long the harness waits for a server, and the wait itself, in one place.

A wait ends when what it is for has happened; when nothing can happen any more; or when its time is
over, and the server has had its share of the processors.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from harness.feedback.failure import TooBusy

SHORTER = os.environ.get("LAB_PATIENCE")  # seconds: for the lab's own tests of servers that hang
SECONDS = float(SHORTER or 8)  # of a wait, for a server of which we may not see all processes
SEEN_SECONDS = float(SHORTER or 2)  # for one of which we see whether it could run
SPIN_PART = 4  # of a wait: a server built here that has computed for so much of it spins
LEAST_CPU_SECONDS = 0.25  # but not less: some need as much to start
LOOK_SECONDS = 0.0005  # between two looks of wait_until()
MORE_SECONDS = 0.05  # between two looks at a server when the time is over
IDLE_LOOKS = 3  # in a row, at which it could not run: then nobody holds it up
LATE_SECONDS = 1.0  # between two looks at a wait: then we could not run ourselves
WAIT_SECONDS = 90  # of the clock, for a wait that other programs make longer
SHORT_SECONDS = 0.03  # of a wait, in which nobody looks at the server
SELDOM_PART = 8  # of the time that has passed: the pause before the next look at the server
LOOK_SELDOM = 0.02  # of the time that has passed: the minimum pause between two later looks
SLEEPS, SPINS = "sleeps", "spins"  # what a server does for which it is hopeless to wait


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
    """How long to wait for servers without any progress before calling it a hang.

    `asleep` gets when a wait began, on time.monotonic(), and returns for how many milliseconds of
    its clock the servers sleep: math.inf for ever, 0 if they do not sleep, or that is not known.
    `owes` tells whether the kernel still has something of them for a client, `time_left` whether
    their clock will go on as soon as they are known to sleep. `spins_end`: a wait is over when they
    have computed for a part of it, see SPIN_PART. `times`, `least`: it is so many times as long,
    and not below `least` seconds, as something slows them down that runs one thread at a time.
    `least` is the minimum of CPU time as well, and half of it for a server that spins.
    """

    ran_out = 0  # waits in this process whose time was over, though something might have come
    counts = True

    def __init__(
        self,
        seconds: float = SECONDS,
        servers: Callable[[], Iterable[Active]] = list,
        *,
        asleep: Callable[[float], float] = lambda began: 0.0,
        owes: Callable[[], bool] = lambda: False,
        time_left: Callable[[], bool] = lambda: False,
        spins_end: bool = False,
        times: float = 1.0,
        least: float = 0.0,
    ) -> None:
        self.seconds = max(times * seconds, least)
        self.cpu_seconds = max(seconds, least, LEAST_CPU_SECONDS)  # with which they had their wait
        self._spin_seconds = max(self.seconds / SPIN_PART, least / 2, LEAST_CPU_SECONDS)
        self._servers = servers
        self.asleep = asleep
        self.owes = owes
        self.time_left = time_left
        self._spins_end = spins_end
        self._one_at_a_time = least > 0  # one of several may compute while another should

    def be_longer(self) -> None:
        """From now on waits take SECONDS at least: what is waited for needs some time of the
        machine's clock."""
        self.seconds = max(self.seconds, SECONDS)

    def lasting(self, seconds: float) -> Patience:
        """A patience of so many seconds for the same servers, to see whether they do anything
        more: that they do not is no sign of a busy machine."""
        found = Patience(seconds, self._servers)
        found.counts = False
        return found

    def activity(self) -> Activity:
        """What the servers that are waited for do now."""
        found = [server.activity_now() for server in self._servers()]
        return Activity(
            sum(one.cpu for one in found),
            any(one.runnable for one in found),
            sum(one.threads for one in found),
        )

    def spins(self, cpu: float, threads: int) -> bool:
        """Whether servers with so many threads, which have computed for `cpu` seconds of a wait,
        will do nothing else."""
        if not self._spins_end or self._one_at_a_time and threads > 1:
            return False
        return cpu >= self._spin_seconds


PATIENCE = Patience()


class Waited(NamedTuple):
    """How long somebody waited in vain, and what the server does if it will not do anything more:
    SLEEPS or SPINS. One that sleeps does so for `ms` of its own clock, which stands."""

    seconds: float
    hopeless: str = ""
    ms: float = math.inf

    @property
    def asleep(self) -> bool:
        """Whether the server waits, and no time will end its wait."""
        return self.hopeless == SLEEPS

    def told(self, no_more: str) -> str:
        """ " for 8 s"; or ", and nothing will: the server sleeps", where `no_more` is "nothing
        will"."""
        if not self.hopeless:
            return f" for {self.seconds:g} s"
        until = "" if math.isinf(self.ms) else f" for the next {max(self.ms, 0.001):,.4g} ms"
        return f", and {no_more}{until}: the server {self.hopeless}"


class Deadline:
    """Runs out `seconds` after it was made, or after the last restart().

    That of a patience runs out earlier when the server sleeps for ever, or spins; but not with
    `others`, which is for what the kernel does by itself after some time, or another program.
    `seconds` is then the time it took. `patient`: it belongs to a patience.

    It runs out later while the server could run and has not had its CPU time, as other programs
    have the processors; and while the kernel still has bytes of it for a client. So left() has to
    be called after each pause(). It raises TooBusy when such a wait takes WAIT_SECONDS.
    """

    def __init__(self, limit: float | Patience, others: bool = False) -> None:
        self.patient = isinstance(limit, Patience)
        self._patience = limit if isinstance(limit, Patience) else None
        self._others = others
        self._seconds = limit
        self.restart()

    @property
    def _limit(self) -> float:
        return self._seconds if self._patience is None else self._patience.seconds

    def restart(self) -> None:
        """Begins the wait again; called at every sign of progress."""
        self.seconds = self._limit
        self._restarted = self._looked = time.monotonic()
        self._cpu_then = 0.0
        self._most_threads = -1
        self._hopeless = ""
        self._asleep_ms = 0.0
        self._idle_looks = 0
        self._over = False

    def left(self) -> float:
        """Seconds after which it is over, or after which to ask again; 0 when it is over."""
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
        if at_rest and not self._may_come():
            self._end(passed)
            return 0.0
        if passed >= WAIT_SECONDS:
            text = "other programs kept the server or the kernel from working most of the time"
            raise TooBusy(f"in a wait of {passed:.0f} s {text}")
        return MORE_SECONDS

    def _end(self, passed: float) -> None:
        self._over = True
        self.seconds = round(passed, 1) if passed < self._limit else self._limit
        if self._patience is not None and self._patience.counts and not self._hopeless:
            Patience.ran_out += 1

    def _may_come(self) -> bool:
        """Whether the kernel has something of the servers that a client waits for, or their clock
        may still make them do something."""
        if self._patience is None or self._others:
            return False
        return self._patience.owes() or not self._hopeless and self._patience.time_left()

    @property
    def waited(self) -> Waited:
        """What to say of it when it has run out."""
        return Waited(self.seconds, self._hopeless, self._asleep_ms or math.inf)

    def pause(self) -> float:
        """Seconds after which left() has to be called again, if so many are left."""
        if self._patience is None:
            return LATE_SECONDS / 2
        waited = time.monotonic() - self._restarted
        return min(max(SHORT_SECONDS, waited / SELDOM_PART), LATE_SECONDS / 2)

    def _look(self, patience: Patience, now: float) -> bool:
        """Ends it if nothing can come any more. Whether it is over once its time is: the servers
        have had their CPU time, or could not run at some looks."""
        activity = patience.activity()
        late = now - self._looked > LATE_SECONDS
        self._idle_looks = 0 if activity.runnable or late else self._idle_looks + 1
        if activity.threads > self._most_threads:  # at the first look, or it starts some
            self._most_threads, self._cpu_then = activity.threads, activity.cpu
        spent = activity.cpu - self._cpu_then
        if not self._others:
            spins = SPINS if patience.spins(spent, activity.threads) else ""
            self._asleep_ms = patience.asleep(self._restarted)
            self._hopeless = SLEEPS if self._asleep_ms else spins
        had_its_time = spent >= patience.cpu_seconds
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
            return bool(condition())  # other programs may have delayed this check
        passed = time.monotonic() - began
        time.sleep(min(max(look_seconds, LOOK_SELDOM * passed), deadline.pause(), left))
    return True
