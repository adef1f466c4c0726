"""Chapter 10, coroutines by themselves: their switch, their stacks, and what they wait for.

The programs run them on pairs of sockets, and on a clock that goes on when the grader says so.
"""

from __future__ import annotations

from harness.grading.plugin import claim

BACKENDS = ("select", "poll", "epoll")

# What a general hint means in a claim, see plugin.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault")
SWITCH = dict.fromkeys(BROKEN, "co-switch")
GUARD = dict.fromkeys(BROKEN, "stack-guard")
TURN = dict.fromkeys(BROKEN, "co-turn")
WAKE = dict.fromkeys(BROKEN, "co-wake")
PARK = dict.fromkeys(BROKEN, "co-park")
SLEEP = dict.fromkeys(BROKEN, "co-sleep")
CANCEL = dict.fromkeys(BROKEN, "co-cancel")
NEWS = dict.fromkeys(BROKEN, "co-news")
READ = dict.fromkeys(BROKEN, "co-read")
WRITE = dict.fromkeys(BROKEN, "co-write")
ACCEPT = dict.fromkeys(BROKEN, "co-accept")


# 10.1 resume


@claim("10.1", points=7, module=True, hints=SWITCH)
def test_10_a_coroutine_runs(program):
    """A coroutine begins with its argument, goes on where it has stopped, and ends, once."""
    program("10_co", "runs")
    program("10_co", "keep_variables")


@claim("10.1", points=4, module=True, native=True, hints=SWITCH)
def test_10_ten_thousand_coroutines(program):
    """10,000 coroutines take turns; each keeps its variables, and in the end no stack is left."""
    program("10_co", "crowd")


@claim("10.1", points=3, module=True, valgrind=True)
def test_10_ended_coroutines_are_freed(program):
    """Under valgrind: coroutines that have ended leave nothing behind, and nobody touches them."""
    program("10_co", "runs")
    program("10_line", "everybody_once")


# 10.2 guard


@claim("10.2", points=6, module=True, native=True, hints=GUARD)
def test_10_overflow_names_the_coroutine(program):
    """Who uses up its stack is ended by SIGSEGV, and stderr names it; a wild pointer is no such."""
    program("10_overflow", "names")


# 10.3 run


@claim("10.3", points=6, module=True, hints=TURN)
def test_10_everybody_ready_runs_once(program):
    """co_run() runs all who are ready, in order, once; who gets ready meanwhile runs next time."""
    program("10_line", "everybody_once")


@claim("10.3", points=1, module=True, hints=WAKE)
def test_10_who_is_parked_is_woken(program):
    """co_wake() makes one ready who is parked, once, and does nothing to others, or to NULL."""
    program("10_line", "wakes")


# 10.4 park


@claim("10.4", points=6, module=True, hints=PARK)
def test_10_parked_until_the_time_is_over(program):
    """co_park() ends when it is woken, or at its time, and leaves no timer behind."""
    program("10_wait", "parks")


# 10.5 sleep


@claim("10.5", points=3, module=True, hints=SLEEP)
def test_10_sleeps_on_when_woken(program):
    """co_sleep() lasts as long as it should, however often the coroutine is woken."""
    program("10_wait", "sleeps")


# 10.6 co_cancel


@claim("10.6", points=4, module=True, hints=CANCEL)
def test_10_cancelled_for_good(program):
    """co_cancel() ends the wait of a coroutine, at once, and every wait that it tries later."""
    program("10_wait", "cancels")


# 10.7 wait_for


@claim("10.7", points=6, module=True, hints=NEWS)
def test_10_waits_for_news(program):
    """In co_read() a coroutine is parked until its own socket has news, with each backend."""
    for backend in BACKENDS:
        program("10_read", "news", backend=backend)


@claim("10.7", points=3, module=True, hints=NEWS)
def test_10_how_a_wait_ends(program):
    """A wait for news ends in time, for a wake-up, or because it is cancelled, and says so."""
    for backend in BACKENDS:
        program("10_read", "ends", backend=backend)


# 10.8 co_read


@claim("10.8", points=3, module=True, hints=READ)
def test_10_waiting_owns_no_buffer(program):
    """While co_read() waits its buffer owns no memory; what came before is kept."""
    for backend in BACKENDS:
        program("10_input", "owns", backend=backend)


@claim("10.8", points=3, module=True, hints=READ)
def test_10_reads_to_the_end(program):
    """However much comes at once, all is read, in turns with others, and then the end."""
    for backend in BACKENDS:
        program("10_input", "to_the_end", backend=backend)
        program("10_input", "in_turns", backend=backend)


# 10.9 co_write


@claim("10.9", points=4, module=True, hints=WRITE)
def test_10_waits_until_the_peer_reads(program):
    """co_write() waits while the kernel takes nothing, goes on when it does, and loses nothing."""
    for backend in BACKENDS:
        program("10_write", "writes", backend=backend)


# 10.10 co_accept


@claim("10.10", points=3, module=True, hints=ACCEPT)
def test_10_waits_for_clients(program):
    """co_accept() waits until somebody comes, leaves out nobody, and says what it lacks."""
    for backend in BACKENDS:
        program("10_accept", "clients", backend=backend)
