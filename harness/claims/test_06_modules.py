"""Chapter 06, the event manager by itself: what a server cannot be made to show over TCP.

The programs (harness/claims/programs) call it on pairs of sockets and on pipes, with each backend.
"""

from __future__ import annotations

from harness.claims.marker import claim

BACKENDS = ("select", "poll", "epoll")
SANITIZERS = "address,undefined"

# The highest descriptors of the table: select() has 1,024.
LIMITS = {"select": 1024, "poll": 4000, "epoll": 4000}

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault")
MOVED = dict.fromkeys(BROKEN, "watch-lost")
CANCELLED = dict.fromkeys(BROKEN, "cancelled-once")
BEYOND = dict.fromkeys(BROKEN, "beyond-the-table")
WOKEN = {"in-the-module": "wake-up"}
AGAIN = {"in-the-module": "again-next-iteration"}
EDGE = {"in-the-module": "told-once"}


# 06.1 table


@claim("06.1", points=3, module=True, hints=MOVED)
def test_06_table_grows(program):
    """Descriptors up to 3,000 can be watched; the watches before that stay, and no others exist."""
    for backend, limit in LIMITS.items():
        program("06_table", "grows", backend=backend, limit=limit)


@claim("06.1", points=3, module=True)
def test_06_add_twice_is_an_error(program):
    """Watching an event twice fails with EEXIST, and the first callback stays."""
    program("06_table", "add_twice", backend=BACKENDS)


@claim("06.1", points=1, module=True)
def test_06_add_that_is_refused(program):
    """When the backend refuses, events_add() fails with its errno and nothing has changed."""
    program("06_table", "add_refused", backend=BACKENDS)


# 06.2 cancel


@claim("06.2", points=3, module=True, hints=CANCELLED)
def test_06_cancel_calls_once_more(program):
    """A cancelled watch is deleted, then called once, with EVENT_CANCELLED."""
    program("06_cancel", "once", backend=BACKENDS)
    program("06_cancel", "free_in_the_callback", "add_in_the_callback", backend="epoll")


@claim("06.2", points=1, module=True, hints=BEYOND)
def test_06_cancel_beyond_the_table(program):
    """A descriptor that was never watched, whatever its number, has no watch to cancel."""
    program("06_cancel", "beyond_the_table", sanitize=SANITIZERS, backend="epoll")


@claim("06.2", points=1, module=True, hints=CANCELLED)
def test_06_cancel_in_the_iteration(program):
    """A watch that is cancelled in an iteration in which it is ready is not called twice."""
    program("06_cancel", "in_the_iteration", backend=BACKENDS)


@claim("06.2", points=3, module=True)
def test_06_cancel_all(program):
    """Both watches of a descriptor are cancelled, unless the first callback deletes the second."""
    program("06_cancel", "all", "all_but_one", backend="epoll")


@claim("06.2", points=1, module=True)
def test_06_free_cancels_what_is_left(program):
    """events_free() cancels every watch that is left, each once."""
    program("06_cancel", "at_the_end", backend="epoll")


# 06.3 wake


@claim("06.3", points=4, module=True, hints=WOKEN)
def test_06_wake_from_another_thread(program):
    """A wake-up by another thread ends events_turn() each time, and ends one iteration only."""
    program("06_wake", "from_a_thread", backend=BACKENDS)


@claim("06.3", points=1, module=True, hints=WOKEN)
def test_06_wake_before_the_sleep(program):
    """A wake-up before the sleep is not lost, not even in a signal handler; 70,000 count as one."""
    program("06_wake", "before_the_sleep", "in_a_signal_handler", backend=BACKENDS)


# 06.4 dispatch


@claim("06.4", points=1, module=True)
def test_06_both_directions_in_one_report(program):
    """With select and poll, a reset or a hang-up calls the watches of both directions at once."""
    program("06_ready", "resets", "pipes", backend=("select", "poll"))


@claim("06.4", points=1, module=True, hints=MOVED)
def test_06_table_grows_in_a_callback(program):
    """A callback may add watches: the table grows, and the next callback is the right one."""
    program("06_table", "grows_in_a_callback", backend=BACKENDS)


@claim("06.4", points=1, module=True)
def test_06_deleted_watches_are_not_called(program):
    """A deleted watch is not called, even if its event is ready in the same iteration."""
    program("06_table", "del_and_again", "del_in_the_iteration", backend=BACKENDS)


# 06.5 next_turn


@claim("06.5", points=5, chapters="06-09", module=True, hints=AGAIN)
def test_06_again_in_the_next_iteration(program):
    """A watch that requests another call gets one in the next iteration, which does not sleep."""
    program("06_again", "once", "beside_others", backend=BACKENDS)
    program("06_again", "taken_away", "many", backend="epoll")


# 06.6 epoll


@claim("06.6", points=1, module=True)
def test_06_errors_wake_both_directions(program):
    """With epoll, a reset or a pipe without its other end calls the watches of both directions."""
    program("06_ready", "resets", "pipes", backend="epoll")


@claim("06.6", points=1, module=True)
def test_06_hangup_is_told(program):
    """When the peer half-closes, epoll reports EVENT_HANGUP, with the last bytes or without."""
    for backend in BACKENDS:
        program("06_ready", "half_close", backend=backend, told=int(backend == "epoll"))


@claim("06.6", points=2, module=True, hints=EDGE)
def test_06_ready_before_the_watch(program):
    """Input that came before the watch is reported; events of 300 descriptors do not mix."""
    checks = ("came_before", "both_events", "many_descriptors")
    program("06_ready", *checks, backend=BACKENDS)
    program("06_ready", "many_descriptors", backend="epoll", sanitize=SANITIZERS)
