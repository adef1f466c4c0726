"""Chapter 06, the event manager by itself: what a server cannot be made to show over TCP.

The programs (harness/modules) call it on pairs of sockets and on pipes, with each backend.
"""

from __future__ import annotations

from harness.claims.marker import claim

BACKENDS = ("select", "poll", "epoll")
SANITIZERS = "address,undefined"

# The highest descriptors that are tried: select() has 1,024.
LIMITS = {"select": 1024, "poll": 4000, "epoll": 4000}

WAKES = 70_000  # more than a pipe holds

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault")
MOVED = dict.fromkeys(BROKEN, "watch-lost")
DELETED = dict.fromkeys(BROKEN, "called-after-del")
FREED = dict.fromkeys(BROKEN, "freed-in-a-callback")
WOKEN = {"in-the-module": "wake-up"}
AGAIN = {"in-the-module": "again-next-iteration"}
EDGE = {"in-the-module": "told-once"}


# 06.1 watch


@claim("06.1", points=4, module=True, hints=MOVED)
def test_06_watches(program):
    """Any descriptor can be watched, for what is requested last; a callback may add watches."""
    for backend, limit in LIMITS.items():
        program("06_watch", "many", backend=backend, limit=limit)
    program("06_watch", "changes", "add_in_a_callback", backend=BACKENDS)


@claim("06.1", points=1, module=True)
def test_06_refused_by_the_backend(program):
    """When the backend refuses, events_add() and events_set() fail with its errno, and nothing has
    changed."""
    program("06_watch", "refused", backend=BACKENDS)


@claim("06.1", points=3, module=True)
def test_06_watched_for_nothing(program):
    """A watch with interest 0 is called with EVENT_ERROR when its connection is reset."""
    program("06_watch", "nothing", backend=BACKENDS)


@claim("06.1", points=2, module=True, hints=DELETED)
def test_06_deleted_watches_are_not_called(program):
    """A deleted watch is not called, even if it is ready in the same iteration; if it is added
    again, nothing is left of what was reported before."""
    program("06_watch", "del_and_again", "del_twice", "added_again", backend=BACKENDS)


# 06.3 wake


@claim("06.3", points=4, module=True, hints=WOKEN)
def test_06_wake_from_another_thread(program):
    """A wake-up by another thread ends events_turn() each time, and ends one iteration only."""
    program("06_wake", "from_a_thread", backend=BACKENDS)


@claim("06.3", points=1, module=True, hints=WOKEN)
def test_06_wake_before_the_sleep(program):
    """A wake-up before the sleep is not lost, not even in a signal handler; 70,000 count as one."""
    for backend in BACKENDS:  # what many of them fill, they fill with one backend as well
        most = WAKES if backend == "epoll" else 100
        program("06_wake", "before_the_sleep", "in_a_signal_handler", backend=backend, most=most)


# 06.4 dispatch


@claim("06.4", points=4, module=True)
def test_06_one_call_an_iteration(program):
    """In an iteration each watch that is ready is called once, with all that was reported."""
    program("06_ready", "one_call", backend=BACKENDS)


@claim("06.4", points=1, module=True)
def test_06_both_directions_in_one_report(program):
    """With select and poll, a reset or a hang-up is readiness in both directions."""
    program("06_ready", "resets", "pipes", backend=("select", "poll"))


@claim("06.4", points=2, module=True, hints=FREED)
def test_06_callbacks_take_watches_away(program):
    """A callback may take away and free any watch that is due, its own too: nothing of it is used
    any more."""
    program("06_watch", "del_in_the_iteration", backend=BACKENDS)
    program("06_watch", "del_in_the_iteration", backend="epoll", sanitize=SANITIZERS)


# 06.5 again


@claim("06.5", points=6, chapters="06-09", module=True, hints=AGAIN)
def test_06_again_in_the_next_iteration(program):
    """A watch that requests another call gets one in the next iteration, which does not sleep."""
    program("06_again", "once", "ready_as_well", "beside_others", backend=BACKENDS)
    program("06_again", "still_due", "taken_away", backend=BACKENDS)
    program("06_again", "many", backend="epoll")


# 06.6 epoll


@claim("06.6", points=1, module=True)
def test_06_errors_wake_both_directions(program):
    """With epoll, a reset or a pipe without its other end is readiness in both directions."""
    program("06_ready", "resets", "pipes", backend="epoll")


@claim("06.6", points=1, module=True)
def test_06_hangup_is_told(program):
    """When the peer half-closes, epoll reports EVENT_HANGUP, with the last bytes or without."""
    for backend in BACKENDS:
        program("06_ready", "half_close", backend=backend, told=int(backend == "epoll"))


@claim("06.6", points=2, module=True, hints=EDGE)
def test_06_ready_before_the_watch(program):
    """Input that came before the watch is reported; events do not mix: neither those of 300
    descriptors nor the two directions of one."""
    checks = ("came_before", "both_events", "many_descriptors", "sleeps")
    program("06_ready", *checks, backend=BACKENDS)
    program("06_ready", "many_descriptors", backend="epoll", sanitize=SANITIZERS)


@claim("06.6", points=1, module=True)
def test_06_epoll_refuses_files(program):
    """A descriptor that epoll cannot watch is refused, with its errno."""
    program("06_watch", "refused_by_the_kernel", backend="epoll")
