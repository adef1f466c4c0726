"""The clock of a server that has loaded the shim: it stands still until a claim moves it.

So a claim can say that a reply comes after 60,000 ms and not after 59,999, however busy the machine
is, and an hour takes some milliseconds. The clock goes from one time at which a wait of the server
ends to the next, and each time lets the server do what is due.

A server that goes by another clock keeps that of the machine from its start, and advance() sleeps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from harness.feedback.failure import NotJudged
from harness.waiting import procfs
from harness.waiting.shared import NO_DUE, Mode, Shim, Waiter
from harness.waiting.threads import catches_alarm, has_timerfd, is_limited, sleeps_for_ever
from harness.waiting.wait import Activity, wait_until

MS = 1_000_000  # ns
LOOK_SECONDS = 0.0002  # between two looks at the server
WAITS_SECONDS = 2.0  # until one that has come to rest is in a wait that we know
LEAVE_SECONDS = 10.0  # for a thread to notice that its wait is over: a slice lasts 5 ms
MOST_SLEEP_MS = 10_000  # with the clock of the machine
MOST_STEPS = 200  # in one advance(): one that always looks round goes to the end at once
WITHIN_MS = 5_000  # for a reply; a server without descriptors may try again after a second
MOST_MOVES = 20  # in one within(), for the same reason


class Effort(NamedTuple):
    """What a server may use until it is at rest: CPU seconds, and looks at which it was not at rest
    although none of its threads wanted a processor.

    So time in which a thread stands in line for one does not count, except for `seconds` of the
    machine's time as a last resort.
    """

    cpu: float
    looks: int
    seconds: float = 30.0


SETTLE = Effort(cpu=2.0, looks=100_000)
FIRST = Effort(cpu=1.0, looks=1_000)  # for one that has just begun to listen
RESTLESS = Effort(cpu=0.1, looks=100, seconds=1.0)  # for one that has not come to rest before


class Start(NamedTuple):
    """How the clock of a server begins. `uptime_ms`: what the monotonic clock shows when the server
    begins, by default what that of the machine shows."""

    uptime_ms: int | None = None

    def set(self, shim: Shim) -> None:
        """Lets the clock go on while the server starts: it may sleep until something is there."""
        machine = time.monotonic_ns()
        ahead = 0 if self.uptime_ms is None else self.uptime_ms * MS - machine
        shim.set_clock(Mode.FLOWS, ahead, time.time_ns() - machine)


class OwnClock(Exception):
    """The server does not use the clock that it was given; the text says why. The given clock and
    the machine's differ by then, so the claim has to begin again with the machine's clock."""


class Clock:
    """The clock of one server that runs.

    `pid` is the server's, `arrived` says whether nothing is on its way to the server, or from it to
    us, whose arrival wakes it. `tell` gets a text for each step, `moved` the ns by which the clock
    is about to be moved. Raises OwnClock when the server turns out to go by another clock.
    """

    def __init__(self, shim: Shim | None, pid: int) -> None:
        self.arrived: Callable[[], bool] = lambda: True
        self.tell: Callable[[str], object] = str
        self.moved: Callable[[int], object] = int
        self._shim = shim
        self._pid = pid
        self.spins = False  # it has used all CPU time of SETTLE without coming to rest
        self._restless = self._decided = False
        self._monotonic = self._realtime = self._reads = self._generation = 0
        self._waits: dict[tuple[int, int], int] = {}
        self._before: tuple[dict[tuple[int, int], int] | None, float] = (None, 0.0)
        self._looking = 0.0  # CPU seconds: see activity()
        self._allowed = self._moves = 0  # until when within() lets it go, and how often it has
        if shim is not None:
            machine, ahead = time.monotonic_ns(), shim.shared.clock.monotonic_ns
            # At a whole millisecond, after every time that the server has seen so far.
            self._monotonic = (machine + ahead) // MS * MS + 2 * MS
            self._realtime = time.time_ns() // MS * MS + 2 * MS
            self._set(Mode.STANDS)
            self._restless = not self._settle(FIRST)
            self._reads = shim.shared.clock.reads
            self._waits = {(one.pid, one.tid): one.count for one in shim.waiters()}

    @property
    def ours(self) -> bool:
        """Whether it stands still until it is moved: otherwise it is the machine's.

        That is decided when the server has first waited with a limit: only then it shows by which
        clock it goes. So ask it then. Later the server may still begin a wait that the library does
        not see. Raises OwnClock.
        """
        self.decide()
        return self._shim is not None

    def decide(self) -> None:
        """Finds out whether it is ours, see there."""
        if self._shim is not None and not self._decided:
            self.settle()
            self._by_first_wait()
        if self._shim is not None and self._waits_unseen():
            raise OwnClock("it waits in calls that the library does not see")

    @property
    def stands(self) -> bool:
        """Whether it is known to be ours: then no wait of the server ends by itself."""
        return self._decided and self._shim is not None

    @property
    def now_ms(self) -> float:
        """The server's monotonic clock."""
        return (self._monotonic if self._shim is not None else time.monotonic_ns()) / MS

    def advance(self, ms: float) -> None:
        """Moves the clock forward. Returns when the server has done all that was due, and waits."""
        self.tell(f"lets {_counted(ms)} go by")
        self.settle()
        if not self.ours:
            if ms > MOST_SLEEP_MS:
                text = f"this server has a clock of its own, and {_counted(ms)} are too long"
                raise NotJudged(text)
            time.sleep(ms / 1000)
            return
        target = self._monotonic + round(ms * MS)
        for step in range(MOST_STEPS):
            self._go_to(min(self._next_due(), target) if step + 1 < MOST_STEPS else target)
            self.settle()
            if self._monotonic == target:
                return

    @contextmanager
    def within(self, ms: float = WITHIN_MS) -> Iterator[None]:
        """Lets up to `ms` go by, all in all, while a claim waits in this block: whenever the server
        can do nothing more before that. For a claim to which it is all the same when a reply
        comes; in every other wait the clock stands."""
        self._allowed, self._moves = self._monotonic + round(ms * MS), 0
        try:
            yield
        finally:
            self._allowed = 0

    def go_on(self) -> bool:
        """Moves the clock of a server that can do nothing more to the next time at which a wait of
        it ends, as far as within() allows. Returns whether it has moved."""
        if not self.may_go_on():
            return False
        if self._moves == 0:
            most = _counted((self._allowed - self._monotonic) / MS)
            self.tell(f"lets time go by until something comes, at most {most}")
        self._moves += 1
        self._go_to(self._next_due() if self._moves < MOST_MOVES else self._allowed)
        return True

    def may_go_on(self) -> bool:
        """Whether a wait of the server ends before the time that within() allows is over."""
        if not self.stands or self._monotonic >= self._allowed:
            return False
        return self._next_due() <= self._allowed

    def ms_to_due(self) -> float:
        """How long it has to go on until a wait of the server ends; math.inf if none does."""
        due = self._next_due() if self.stands else NO_DUE
        return math.inf if due == NO_DUE else (due - self._monotonic) / MS

    def jump(self, ms: float) -> None:
        """Sets the time of day forward, or back; the monotonic clock does not notice."""
        if not self.ours:
            return
        self.tell(f"sets the time of day {'back' if ms < 0 else 'forward'} by {abs(ms):,} ms")
        self.settle()
        self._realtime += round(ms * MS)
        self._set(Mode.STANDS)
        waiting = {(one.pid, one.tid): one.count for one in self._waiting() if one.due_ns != NO_DUE}
        self._until(lambda: not any(self._unaware(waiting)))
        self.settle()

    def settle(self) -> bool:
        """Waits until each thread of the server waits, and nothing is on its way to it. Whether
        that happened: a server that spins, say, never comes to rest."""
        return self._shim is not None and self._settle(SETTLE)

    def calm(self) -> bool:
        """Like settle(), but False at once if the server did not come to rest before."""
        return not self._restless and self.settle()

    def _settle(self, most: Effort) -> bool:
        most = RESTLESS if self._restless else most
        began, looks = time.monotonic(), 0
        used = self._cpu_seconds_from_now()
        before: dict[tuple[int, int], int] | None = None
        while time.monotonic() - began < most.seconds:
            now = self.rest() if self.arrived() else None
            if now is not None and now == before:
                self._restless = False
                return True
            if now is None or before is not None:  # not the first of two looks that are the same
                looks += not self._wants_to_run()
                if looks >= most.looks or next(used) > most.cpu:
                    break
            if now is None:
                time.sleep(LOOK_SECONDS)
            before = now
        self.spins |= next(used) > SETTLE.cpu
        self._restless = True
        return False

    def activity(self, found: Activity) -> Activity:
        """What the server does by itself, where `found` is all that it does.

        The library wakes each thread in its wait, every so often, to look at this clock. That costs
        CPU time, and on a busy machine the thread is in line for a processor most of the time.
        """
        waits = self.rest(in_line=True) if self.stands else None
        before, cpu = self._before
        if waits is not None and waits == before:
            self._looking += found.cpu - cpu
        self._before = waits, found.cpu
        runnable = found.runnable and waits is None
        return Activity(found.cpu - self._looking, runnable, found.threads)

    def rest(self, in_line: bool = False) -> dict[tuple[int, int], int] | None:
        """A number for each thread, which is the same as before if the thread has done nothing
        since. None: one of them runs, or wants to. `in_line`: it may, within its wait.

        First we look at their states, and then at their waits. If the numbers are the same twice,
        each was asleep in its wait between the two looks at these: so none can have woken another.
        """
        threads: dict[tuple[int, int], int | None] = {}
        for pid in self._pids():
            for tid, state in procfs.states(pid).items():
                if state in "STtZX":
                    threads[pid, tid] = 0 if state in "TtZX" else procfs.times_run(pid, tid)
                elif in_line:
                    threads[pid, tid] = None
                else:
                    return None
        for waiter in self._waiting():
            if waiter.due_ns <= self._monotonic and self._can_run(waiter):
                return None  # it was stopped, and has not noticed yet that its wait is over
            if (waiter.pid, waiter.tid) in threads:
                threads[waiter.pid, waiter.tid] = -waiter.count
        return None if None in threads.values() else threads

    # Inside: all of these are for a clock that is ours

    def _set(self, mode: Mode) -> None:
        self._generation = self._shim.set_clock(mode, self._monotonic, self._realtime)

    def _by_first_wait(self) -> None:
        """Decides whether the server goes by this clock. One that makes its system calls by itself
        waits nowhere that we know. One that reads the counter of a processor waits with a limit and
        has asked for no time."""
        # On a busy machine it may not wait yet.
        wait_until(lambda: self._waiting() or self._shows_nothing(), WAITS_SECONDS)
        if self._shows_nothing():
            return
        waiters = self._waiting()
        limited = any(
            one.due_ns != NO_DUE and one.count > self._waits.get((one.pid, one.tid), 0)
            for one in waiters
        )
        if self._shim.shared.clock.reads > self._reads:
            self._decided = True
        elif limited or not waiters and self._sleeps():
            raise OwnClock("it does not read the given one")

    def _sleeps(self) -> bool:
        return all(state == "S" for pid in self._pids() for state in procfs.states(pid).values())

    def _shows_nothing(self) -> bool:
        """Whether it has ended, or sleeps for ever in a call that is none of our waits."""
        return self._has_ended() or not self._waiting() and self._sleeps_for_ever()

    def _sleeps_for_ever(self) -> bool:
        """Whether no time wakes it. A program that makes its own system calls may have a timer that
        the library does not count: so a handler of SIGALRM is one here."""
        pids = self._pids()
        timers = any(has_timerfd(pid) or catches_alarm(pid) for pid in pids)
        return not timers and all(map(sleeps_for_ever, pids))

    def _has_ended(self) -> bool:
        return all(state in "ZX" for state in procfs.states(self._pid).values())

    def _waits_unseen(self) -> bool:
        """Whether the kernel has a timer for it, or a thread of it sleeps with a limit in a call
        that is none of our waits: inside the C library, say, or made without it."""
        if self._shim.shared.kernel_timers:
            return True
        found = self._unseen_waits()
        return bool(found and found & self._unseen_waits())  # twice: one may just enter or leave it

    def _unseen_waits(self) -> set[tuple[int, int, str]]:
        found = {
            (pid, tid, line)
            for pid in self._pids()
            for tid, line in procfs.by_thread(pid, "syscall").items()
            if is_limited(line)
        }
        ours = {(one.pid, one.tid) for one in self._waiting()} if found else set()
        return {(pid, tid, line) for pid, tid, line in found if (pid, tid) not in ours}

    def _waiting(self) -> list[Waiter]:
        return [waiter for waiter in self._shim.waiters() if waiter.waits]

    def _next_due(self) -> int:
        """When a wait ends that does not yet; NO_DUE if none does."""
        dues = (waiter.due_ns for waiter in self._waiting())
        return min(filter(lambda due: due > self._monotonic, dues), default=NO_DUE)

    def _go_to(self, ns: int) -> None:
        """Moves the clock. Returns when every wait that is over then has ended."""
        if ns > self._monotonic:
            self.moved(ns - self._monotonic)
        self._realtime += ns - self._monotonic
        self._monotonic = ns
        over = {
            (waiter.pid, waiter.tid): waiter.count
            for waiter in self._waiting()
            if waiter.due_ns <= ns
        }
        self._set(Mode.STANDS)
        self._until(lambda: not any(self._still(over)))

    def _still(self, waits: dict[tuple[int, int], int]) -> Iterable[Waiter]:
        """The threads that are in these waits, given by their numbers, and could leave them."""
        for waiter in self._waiting():
            if waits.get((waiter.pid, waiter.tid)) == waiter.count and self._can_run(waiter):
                yield waiter

    def _unaware(self, waits: dict[tuple[int, int], int]) -> Iterable[Waiter]:
        """The threads of _still() that have not looked at the clock since it was moved."""
        return (one for one in self._still(waits) if one.seen != self._generation)

    @staticmethod
    def _until(condition: Callable[[], bool]) -> None:
        began = time.monotonic()
        while not condition() and time.monotonic() - began < LEAVE_SECONDS:
            time.sleep(LOOK_SECONDS)

    def _can_run(self, waiter: Waiter) -> bool:
        """Whether the thread exists, and is not stopped."""
        return procfs.states(waiter.pid).get(waiter.tid, "X") not in "TtZX"

    def _pids(self) -> set[int]:
        return {waiter.pid for waiter in self._shim.waiters()} | set(self._family())

    def _wants_to_run(self) -> bool:
        return any("R" in procfs.states(pid).values() for pid in self._pids())

    def _cpu_seconds_from_now(self) -> Iterator[float]:
        """CPU time of all processes of the server since the first look at it, which costs nothing
        if there is none."""
        began = self._cpu_seconds()
        while True:
            yield self._cpu_seconds() - began

    def _cpu_seconds(self) -> float:
        """CPU time so far of all processes of the server, also of children that have ended."""
        family = self._family().values()
        return sum(procfs.cpu_seconds(one.pid) + one.reaped_cpu for one in family)

    def _family(self) -> dict[int, procfs.Process]:
        return procfs.family(self._pid)


def _counted(ms: float) -> str:
    """ "60,000 ms", or "59,999.999 ms"."""
    return f"{ms:,.3f}".rstrip("0").rstrip(".") + " ms"
