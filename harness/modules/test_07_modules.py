"""Chapter 07, the timers by themselves, on a clock that goes on when the grader says so.

So nothing has to wait, and no call can be late: see harness/modules/fake_clock.h.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.cost import N_LOG_N, grows

# What a general hint means in a claim, see marker.claim.
FREED = dict.fromkeys(("in-the-module", "module-crashed", "memory-fault"), "timer-due-first")

FEW_TIMERS = 4_000  # where steps are counted, and twice as many


# 07.1 sift


@claim("07.1", module=True)
def test_07_thousand_timers_in_order(program):
    """A thousand timers are called in the order of their deadlines, each as soon as it is due."""
    program("07_timers", "order")


@claim("07.1", module=True)
def test_07_equal_deadlines_in_order(program):
    """Timers with the same deadline are called in the order in which they were set."""
    program("07_timers", "equal")


# 07.2 take_out


@claim("07.2", module=True)
def test_07_order_after_cancelling(program):
    """Timers that are cancelled or set again leave the others in order and are not called."""
    program("07_timers", "cancelling")


@claim("07.2", guard=True, module=True, native=True)
def test_07_many_timers_cost_n_log_n(program):
    """Timers, set and cancelled or called, take work that grows as n log n, as sorting does."""
    for cancels, what in ((1, "cancelled"), (0, "called")):

        def steps(timers: int) -> float:
            return program("07_timers", "cost", steps=True, timers=timers, cancels=cancels)["steps"]

        if not program("07_timers", "cost", steps=True, timers=1, cancels=cancels):
            return  # work cannot be counted on this machine
        grows(steps, FEW_TIMERS, f"{{:,}} timers, set and {what},", N_LOG_N, "timer-cost")


# 07.3 timers_run


@claim("07.3", module=True)
def test_07_rounds_do_not_drift(program):
    """A round ends one delay after the last one, however late the call; missed ones are gone."""
    program("07_timers", "rounds")


@claim("07.3", module=True, hints=FREED)
def test_07_due_timers_are_collected_first(program):
    """Callbacks that set and cancel timers, even their own, disturb no other due timer."""
    program("07_timers", "due")


@claim("07.3", module=True)
def test_07_timers_at_once(program):
    """Of more timers that are due, one run calls TIMERS_AT_ONCE at most; the next calls more."""
    program("07_timers", "at_once")


# 07.4 timer_reset


@claim("07.4", module=True)
def test_07_reset_counts_from_the_last_start(program):
    """A reset counts its time from now, or from when the timer was set or last called."""
    program("07_timers", "resets")


# 07.5 timers_timeout


@claim("07.5", module=True)
def test_07_timeout_is_rounded_up(program):
    """After a wait as long as timers_timeout() says a timer is due; 0 if one is, -1 for none."""
    program("07_timers", "timeouts", "left_are_due")
