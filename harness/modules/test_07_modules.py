"""Chapter 07, the timers by themselves, on a clock that goes on when the grader says so.

So nothing has to wait, and no call can be late: see harness/modules/fake_clock.h.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.cost import GROWTH_TRIES, HOPELESS_TRIES, N_LOG_N, TOO_CHEAP, grows
from harness.feedback.failure import Failure
from harness.modules.module_clock import near_wraps

# What a general hint means in a claim, see marker.claim.
FREED = dict.fromkeys(("in-the-module", "module-crashed", "memory-fault"), "timer-due-first")

FEW_TIMERS = 4_000  # where steps are counted, and twice as many

# CPU time compared with that of qsort(), which needs n log n steps, too. A heap costs 1 to 4 times
# as much, a search for each timer 100 times.
TIMERS = 100_000
SORTS = 20


# 07.1 sift


@claim("07.1", points=3, module=True)
def test_07_thousand_timers_in_order(program):
    """A thousand timers are called in the order of their deadlines, each as soon as it is due."""
    program("07_heap", "order")


@claim("07.1", points=2, module=True)
def test_07_equal_deadlines_in_order(program):
    """Timers with the same deadline are called in the order in which they were set."""
    program("07_heap", "equal")


# 07.2 take_out


@claim("07.2", points=4, module=True)
def test_07_order_after_cancelling(program):
    """Timers that are cancelled or reset leave the others in order and are not called."""
    program("07_heap", "cancelling")


@claim("07.2", points=2, module=True, native=True)
def test_07_many_timers_cost_n_log_n(program):
    """Timers, set and cancelled or called, take work that grows as n log n, as sorting does. No
    timer allocates much memory, and it is given back."""
    for check in ("cancelled", "called"):
        _cheap(program, check)
    program("07_heap", "memory")


def _cheap(program, check: str) -> None:
    if "steps" in program("07_heap", check, steps=True, timers=FEW_TIMERS):

        def steps(timers: int) -> float:
            return program("07_heap", check, steps=True, timers=timers)["steps"]

        grows(steps, FEW_TIMERS, f"{{:,}} timers, set and {check},", N_LOG_N, "timer-cost")
        return
    for number in range(GROWTH_TRIES):
        cost = program("07_heap", check, timers=TIMERS)
        limit = SORTS * max(cost["sorted"], TOO_CHEAP)
        if cost["timers"] <= limit:
            return
        if number + 1 >= HOPELESS_TRIES and cost["timers"] > 2 * limit:
            break
    raise Failure(
        f"{TIMERS:,} timers, set and {check}, cost {cost['timers']:.2f} s of CPU; "
        f"qsort() puts them in order in {cost['sorted']:.3f} s",
        hint="timer-cost",
    )


# 07.3 timers_run


@claim("07.3", points=3, module=True)
def test_07_rounds_do_not_drift(program):
    """A round ends one delay after the last one, however late the call; missed ones are gone."""
    program("07_rounds", "rounds")


@claim("07.3", points=3, module=True, hints=FREED)
def test_07_due_timers_are_collected_first(program):
    """Callbacks that set, cancel and free timers, even their own, disturb no other due timer."""
    program("07_timers", "due")


@claim("07.3", points=3, module=True)
def test_07_timers_at_once(program):
    """Of more timers that are due, one run calls TIMERS_AT_ONCE at most; the next calls more."""
    program("07_timers", "at_once")


# 07.4 timer_reset


@claim("07.4", points=4, module=True)
def test_07_reset_counts_from_the_last_start(program):
    """A reset counts its time from now, or from when the timer was set or last called."""
    program("07_rounds", "resets")


@claim("07.4", points=1, module=True)
def test_07_reset_of_an_alarm_that_is_owed(program):
    """An alarm that waits to be sent gets its new time from now, or from when it was due."""
    program("07_rounds", "resets")
    program("07_alarms", "owed")


# 07.5 timers_timeout


@claim("07.5", points=3, module=True)
def test_07_timeout_is_rounded_up(program):
    """After a wait as long as timers_timeout() says a timer is due; 0 if one is, -1 for none."""
    program("07_timers", "timeouts", "left_are_due")


@claim("07.5", points=1, module=True)
def test_07_time_of_day_is_set(program):
    """The timers keep their time when the time of day is set, back or forward."""
    program("07_timers", "time_of_day")


@claim("07.5", points=1, module=True)
def test_07_clock_of_a_machine_that_runs_for_weeks(program):
    """Timers keep their time when the clock reaches 2^31 and 2^32 ms, after 24.8 and 49.7 days."""
    near_wraps(program, "07_heap", "order", "equal", "cancelling")
    near_wraps(program, "07_rounds", "rounds", "resets")
    near_wraps(program, "07_timers", "due", "at_once", "timeouts", "time_of_day")


# 07.6 timeouts


@claim("07.6", points=1, module=True, chapters="07-09")
def test_07_idle_timer_is_not_moved(program):
    """Bytes that move only note the time; the idle timer waits for what is left when it is due."""
    program("07_limits", "idle")
