"""When nothing can happen any more: a server that waits for an event which nobody will make.

Then a reply that is not there will not come, however long one waits. What the server waits for
comes from the kernel, and so this works for every program; where the kernel does not tell, no
server is called quiescent.
"""

from __future__ import annotations

import ctypes
import math
import platform
import time
from collections.abc import Callable

from harness.waiting import procfs, sockets
from harness.waiting.sockets import is_delivering, is_owed, longest_time_out
from harness.waiting.threads import catches_alarm, has_timerfd, sleeps_for_ever

LOOK_SECONDS = 0.01  # between two looks, at least
DECIDED_SECONDS = 0.1  # of a wait, after which a server has shown by which clock it goes

_MEMBARRIER = {"x86_64": 324, "aarch64": 283}.get(platform.machine())
_GLOBAL = 1  # MEMBARRIER_CMD_GLOBAL of linux/membarrier.h
_PAUSE_SECONDS = 0.3  # where the kernel refuses

_libc = ctypes.CDLL(None, use_errno=True)

_ENDED = "ended"  # what _rest() says of a server that has


class Quiescence:
    """Whether servers will do nothing more, however long one waits: all of their threads are asleep
    in calls that have no time limit, or whose clock stands (clock.py); they use no CPU time, have
    no timer, and the kernel has nothing left to deliver between these clients and them.

    Where the claim lets time go by while it waits, a clock that stands goes on first: see
    Clock.within(). Without `sees_all` a server may work in processes that we do not see: then it is
    never called quiescent.
    """

    def __init__(
        self,
        processes: Callable[[], list],
        clients: Callable[[], list] = list,
        sees_all: bool = True,
    ) -> None:
        self._processes = processes
        self._clients = clients
        self._sees_all = sees_all
        self._began = self._looked = 0.0
        self._proof: list | None = None  # what _rest() says of servers that can do nothing
        self._found = 0.0

    def __call__(self, began: float) -> float:
        """For how many milliseconds of its clock nothing will happen, where a wait began at
        `began`, on time.monotonic(); math.inf: never. 0: something may."""
        now = time.monotonic()
        if began == self._began and now - self._looked < LOOK_SECONDS:
            return self._found
        self._begin(began)
        self._looked = now
        if now - began > DECIDED_SECONDS:
            self._decide_clocks()
        before, self._proof = self._proof, self._prove()
        # The claim that waits has looked between the two proofs, and has found nothing.
        rests = self._proof is not None and self._proof == before
        clocks = [one.clock for one in self._processes() if one.clock is not None]
        if rests and any([clock.go_on() for clock in clocks]):
            self._proof, rests = None, False
        rests = rests and self._sees_all
        self._found = min((one.ms_to_due() for one in clocks), default=math.inf) if rests else 0.0
        return self._found

    def time_left(self) -> bool:
        """Whether a clock will go on as soon as the servers are known to sleep."""
        return any(one.clock.may_go_on() for one in self._processes() if one.clock is not None)

    def owes(self) -> bool:
        """Whether the kernel has bytes for a client that waits for them."""
        try:
            return any(map(is_owed, self._clients()))
        except sockets.Unavailable:
            return False

    def _decide_clocks(self) -> None:
        """Finds out by which clocks the servers go: until then no wait of theirs is known to end
        only when we move it."""
        for process in self._processes():
            if process.clock is not None and process.alive():
                process.clock.decide()

    def _begin(self, began: float) -> None:
        if began != self._began:
            self._began, self._proof = began, None

    def _prove(self) -> list | None:
        """What _rest() says of the servers, if they can do nothing; else None.

        They sleep, and nothing is on its way to them. Then what the kernel had begun to deliver is
        delivered, and has woken its thread: so if no thread has run after that, none will.
        """
        rest = self._all_rest()
        if None in rest or all(one == _ENDED for one in rest) or self._may_be_woken():
            return None
        finish_deliveries()
        return rest if self._all_rest() == rest else None

    def _all_rest(self) -> list:
        return list(map(_rest, self._processes()))

    def _may_be_woken(self) -> bool:
        running = [one for one in self._processes() if _rest(one) != _ENDED]
        if any(map(_may_wake_up, running)):
            return True
        try:
            return any(map(is_delivering, self._clients()))
        except sockets.Unavailable:
            return True


def _rest(process) -> object | None:
    """What changes whenever a thread of this server runs; None if one runs now, or if a wait of one
    ends by itself."""
    pids = [pid for pid in process.pids() if not procfs.thread_states(pid) <= set("ZX")]
    if not pids and not process.alive():
        return _ENDED
    if process.paused and all(procfs.stopped(pid) for pid in pids):
        return process.cpu_seconds()
    if process.clock is not None and process.clock.stands:
        return process.clock.rest()
    return process.cpu_seconds() if pids and all(map(_is_asleep, pids)) else None


def _is_asleep(pid: int) -> bool:
    """Whether all its threads sleep for ever. One in the state D does not: in the middle of a call,
    the kernel gets a page for it, and then it goes on. Nor does one that is stopped."""
    return sleeps_for_ever(pid) and not procfs.thread_states(pid) & set("DTt")


def _may_wake_up(process) -> bool:
    """Whether something of its own may end its sleep, a timer or a time-out of a socket; or whether
    we have not heard yet what it has printed. Nothing wakes one that is paused."""
    if process.paused:
        return process.has_unheard_output()
    stands = process.clock is not None and process.clock.stands
    timer = not stands and _has_timer(process)
    return timer or any(map(longest_time_out, process.pids())) or process.has_unheard_output()


def _has_timer(process) -> bool:
    """Whether a timer of its own may wake it."""
    pids = process.pids()
    signals = process.shim.shared.kernel_timers if process.shim else any(map(catches_alarm, pids))
    return bool(signals) or any(map(has_timerfd, pids))


def finish_deliveries() -> None:
    """Returns when every packet whose delivery had begun is delivered, and the thread that waits
    for it has been woken. Takes about 10 ms.

    A processor delivers packets with its softirqs disabled, and the call returns only after each
    processor has left such code (an RCU grace period). So not even a virtual processor that its
    host has stopped in the middle of a delivery is missed. Where the kernel refuses the call, as
    with nohz_full, a pause has to do.
    """
    if _MEMBARRIER is None or _libc.syscall(_MEMBARRIER, _GLOBAL, 0, 0) != 0:
        time.sleep(_PAUSE_SECONDS)
