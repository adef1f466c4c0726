"""Chapter 10, coroutines by themselves: their switch, their stacks, and their waits.

The programs run them on pairs of sockets, and on a clock that only the grader moves. 10_co does the
steps that a claim gives it: harness/modules/10_co.c has them.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.modules.module_clock import near_wraps

BACKENDS = ("select", "poll", "epoll")

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault")
SWITCH = dict.fromkeys(BROKEN, "co-switch")
GUARD = dict.fromkeys(BROKEN, "stack-guard")
RUN = dict.fromkeys(BROKEN, "co-run")
WAKE = dict.fromkeys(BROKEN, "co-wake")
PARK = dict.fromkeys(BROKEN, "co-park")
SLEEP = dict.fromkeys(BROKEN, "co-sleep")
CANCEL = dict.fromkeys(BROKEN, "co-cancel")
READINESS = dict.fromkeys(BROKEN, "co-readiness")
READ = dict.fromkeys(BROKEN, "co-read")
WRITE = dict.fromkeys(BROKEN, "co-write")
WAIT = dict.fromkeys(BROKEN, "co-wait")
DEAF = dict.fromkeys(BROKEN, "co-deaf")
ACCEPT = dict.fromkeys(BROKEN, "co-accept")
CONNECT = dict.fromkeys(BROKEN, "co-connect")


def check(program, hint, *cases):
    """Each case begins with a new scheduler, 0.9 ms after a full one."""
    for script in cases:
        program("10_co", "steps", hint=hint, script=script, late_us=900)


# 10.1 switch

RUNS = (
    "run -, start a y y, run a, run a, run a, run -",
    "start a y, start b y, run *, run *, run *, run *, run *",  # co_run() may run one only
)


@claim("10.1", module=True, hints=SWITCH)
def test_10_a_coroutine_runs(program):
    """A coroutine begins with its argument, continues where it has stopped, and ends, once."""
    check(program, "co-switch", *RUNS)


@claim("10.1", module=True, native=True, hints=SWITCH)
def test_10_thousands_of_coroutines(program):
    """3,000 coroutines run in turn, and no stack is left at the end."""
    program("10_co", "thousands")


@claim("10.1", module=True, valgrind=True)
def test_10_ended_coroutines_are_freed(program):
    """Under valgrind: coroutines that have ended leave no memory behind, and none uses it later."""
    check(program, "co-switch", *RUNS)


# 10.2 guard


@claim("10.2", module=True, native=True, hints=GUARD)
def test_10_overflow_names_the_coroutine(program):
    """A stack overflow is SIGSEGV, and stderr names it; a wild pointer, or kill(2), is not one."""
    program("10_co", "overflows")


# 10.3 run


@claim("10.3", module=True, hints=RUN)
def test_10_everybody_ready_runs_once(program):
    """co_run() runs all that are ready, in order, once; new ones run in the next call."""
    in_order = "start a y y, start b y y, start c y y, run abc, run abc, run abc, run -"
    check(program, "co-run", in_order, "start a +n y, run a, run na, run n, run n, run -")


# 10.4 park

PARKS = (
    "start a p0, run a, pass 1, turn aL, idle",
    "start a p50, run a, pass 49999, turn -, pass 1, turn aL, idle",
    """start a p50 p p50 p, run a, pass 25000, turn -, wake a, turn aW, idle, pass 50000, turn -,
        wake a, turn aW, pass 50000, turn aL, idle, pass 86400000000, turn -, wake a, turn aW""",
)
SLEEPS = (
    """start a s50, run a, pass 10200, wake a, turn -, pass 10100, wake a, turn -, pass 29699,
        wake a, turn -, turn -, pass 2001, turn aL, idle""",
    "start a s50, run a, wake a, pass 52000, run *, pass 2000, turn aL, idle",
)
CANCELS = (
    """cancel -, start a p s86400000 p0 p1, run a, pass 1000, turn -, cancel a, cancel a,
        run aCaCaCaC, idle""",
    "start a s86400000 p5, run a, pass 1000, turn -, cancel a, run aCaC, idle",
    "start a p86400000 s5, cancel a, run aaCaC, idle",
)


@claim("10.4", module=True, hints=WAKE)
def test_10_parked_coroutines_are_woken(program):
    """co_wake() makes a parked coroutine ready, once, and does nothing to others, or to NULL."""
    parked = """wake -, start s p p, start y y y, wake s, wake y, run sy, wake y, wake s, wake s,
        run ysW, run y, run -, wake s, run sW"""
    meanwhile = """start s p p, run s, run -, start w +n !s !w p, run w, run nsW, run n, run n,
        wake w, wake s, run wWsW"""
    check(program, "co-wake", parked, meanwhile)


@claim("10.4", module=True, hints=PARK)
def test_10_parked_until_the_time_is_over(program):
    """co_park() ends at a wake-up or at its deadline, and leaves no timer set."""
    check(program, "co-park", *PARKS)


@claim("10.4", module=True, hints=SLEEP)
def test_10_sleeps_on_when_woken(program):
    """co_sleep() lasts as long as it should, however often the coroutine is woken."""
    check(program, "co-sleep", *SLEEPS)


@claim("10.4", module=True, hints=CANCEL)
def test_10_cancelled_for_good(program):
    """co_cancel() ends the wait of a coroutine at once, and every wait that it tries later."""
    check(program, "co-cancel", *CANCELS)


# 10.5 wait_for


@claim("10.5", module=True, hints=READINESS)
def test_10_waits_for_readiness(program):
    """co_read() parks its coroutine until its own socket is ready, with each backend."""
    program("10_io", "readiness", backend=BACKENDS)


@claim("10.6", module=True, hints=READINESS)
def test_10_how_a_wait_ends(program):
    """A wait ends because the socket is ready, late, woken or cancelled, and returns which."""
    program("10_io", "ends", backend=BACKENDS)


@claim("10.6", module=True)
def test_10_waits_when_the_machine_runs_for_weeks(program):
    """Waits last as long as they should when the clock reaches 2^31 and 2^32 milliseconds."""
    for hint, cases in (("co-park", PARKS), ("co-sleep", SLEEPS), ("co-cancel", CANCELS)):
        for script in cases:
            near_wraps(program, "10_co", "steps", hint=hint, script=script, late_us=900)
    near_wraps(program, "10_io", "ends", backend=BACKENDS)


@claim("10.5", module=True, hints=WAIT)
def test_10_waits_for_no_input(program):
    """co_wait() lasts until it is woken, late or cancelled, and returns which."""
    program("10_io", "waits", backend=BACKENDS)


@claim("10.5", module=True, hints=DEAF)
def test_10_hears_of_a_reset(program):
    """co_wait() ends when the peer resets the connection, and not when input or EOF comes."""
    program("10_io", "hears", backend=BACKENDS)


# 10.6 read_write


@claim("10.6", module=True, hints=READ)
def test_10_waiting_owns_no_buffer(program):
    """While co_read() waits, its empty buffer owns no memory; earlier bytes are kept."""
    program("10_io", "owns", backend=BACKENDS)


@claim("10.6", module=True, hints=READ)
def test_10_reads_to_eof(program):
    """However much arrives at once, all of it is read, in turn with others, and then EOF."""
    program("10_io", "to_the_end", "in_turns", backend=BACKENDS)


@claim("10.6", module=True, hints=WRITE)
def test_10_waits_until_the_peer_reads(program):
    """co_write() waits while the kernel takes nothing, continues when it does, loses nothing."""
    program("10_io", "writes", backend=BACKENDS)


# 10.7 accept_connect


@claim("10.7", module=True, hints=ACCEPT)
def test_10_waits_for_clients(program):
    """co_accept() waits for clients, accepts several at once, and loses none at EMFILE."""
    program("10_io", "clients", backend=BACKENDS)


@claim("10.7", module=True, hints=CONNECT)
def test_10_connects(program):
    """co_connect() returns when the connection is made, or has failed, with the reason in errno."""
    program("10_io", "connects", backend=BACKENDS)


@claim("10.7", module=True, hints=CONNECT)
def test_10_connects_while_others_run(program):
    """Without an answer co_connect() waits, others run and connect, and a cancel ends the wait."""
    program("10_io", "unanswered", backend=BACKENDS)
