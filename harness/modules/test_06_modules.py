"""Chapter 06, the event manager by itself: what a server cannot be made to show over TCP.

A program calls it on pairs of sockets, with each backend, in the steps that a claim gives it:
harness/modules/06_events.c has them.
"""

from __future__ import annotations

from harness.claims.marker import claim

BACKENDS = ("select", "poll", "epoll")
SANITIZERS = "address,undefined"

WAKES = 70_000  # more than a pipe holds

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault")
MOVED = dict.fromkeys(BROKEN, "watch-lost")
DELETED = dict.fromkeys(BROKEN, "called-after-del")
FREED = dict.fromkeys(BROKEN, "freed-in-a-callback")
WOKEN = {"in-the-module": "wake-up"}
AGAIN = {"in-the-module": "again-next-iteration"}
EDGE = {"in-the-module": "told-once"}


def check(program, hint, *cases, backend=BACKENDS, **options):
    """Each case begins with a new manager."""
    for script in cases:
        program("06_events", "steps", hint=hint, script=script, backend=backend, **options)


# 06.1 watch


@claim("06.1", module=True, hints=MOVED)
def test_06_watches(program):
    """A descriptor is watched for what was requested last."""
    changes = """watch a r, turn, got a -, watch a w, input a, turn, only a w, watch a rw, turn,
        got a rw, watch a, input a, turn, got a -, watch a r, turn, got a r"""
    check(program, "watch-lost", changes)
    check(program, "told-the-same", "watch a r, watch a w, same a w, turn, got a w")


@claim("06.1", module=True)
def test_06_refused_by_the_backend(program):
    """When the backend refuses, events_add() and events_set() fail with its errno, and nothing has
    changed."""
    adds = "refused a r, input a, turn, got a -, watch a r, turn, got a r"
    sets = "watch a r, refused a w, input a, turn, got a r, watch a w, turn, got a w"
    check(program, "watch-refused", adds, sets)


@claim("06.1", module=True)
def test_06_watched_for_nothing(program):
    """A watch with interest 0 is called with EVENT_ERROR when nobody can read its pipe any more."""
    nothing = "pipe a, watch a w, turn, got a w, watch a, turn, got a -, end a, turn, got a e"
    check(program, "deaf-to-errors", nothing, backend=("poll", "epoll"))


@claim("06.1", module=True, hints=DELETED)
def test_06_deleted_watches_are_not_called(program):
    """A deleted watch is not called, even if it is ready in the same iteration; if it is added
    again, nothing is left of what was reported before."""
    check(program, "called-after-del", "watch a rw, input a, del a, turn, got a -")
    twice = "watch a r, twin b, del a, watch b r, del a, input a, turn, got b r"
    check(program, "deleted-twice", twice)
    both = """watch ab r, input ab, first drain others + del others + watch others r, turn, calls 1,
        turn, calls 0, watch others w, turn, only others w"""
    check(program, "called-after-del", both)


# 06.3 wake


@claim("06.3", module=True, hints=WOKEN)
def test_06_wake_from_another_thread(program):
    """A wake-up by another thread ends events_turn() each time, and ends one iteration only."""
    check(program, "wake-up", "woken 1, settle, asleep, woken 1, settle, asleep")


@claim("06.3", module=True, hints=WOKEN)
def test_06_wake_before_the_sleep(program):
    """A wake-up before the sleep is not lost, and keeps errno; 70,000 count as one."""
    check(program, "wake-up", "wake 1, woken, asleep, wake 100, woken, asleep")
    check(program, "wake-up", f"wake {WAKES}, woken, asleep", backend="epoll")


# 06.4 dispatch


@claim("06.4", module=True)
def test_06_one_call_an_iteration(program):
    """In an iteration each watch that is ready is called once, with all that was reported."""
    both = "input a, watch a rw, turn, only a rw, fill a, settle, input a, turn, only a r"
    several = "watch abc r, input abc, turn, got abc r, input b, turn, got b r, got ac -"
    check(program, "one-call-an-iteration", both, several)


@claim("06.4", module=True, hints=FREED)
def test_06_callbacks_take_watches_away(program):
    """A callback may take away and free any watch that is due, its own too: nothing of it is used
    any more."""
    ready = "watch abcdef r, input abcdef, first free *, turn, turn, calls 1"
    due = "watch abcdef r, input abcdef, again bdf, first free *, turn, turn, calls 1"
    check(program, "freed-in-a-callback", ready, due)
    check(program, "freed-in-a-callback", ready, backend="epoll", sanitize=SANITIZERS)


# 06.5 again


@claim("06.5", chapters="06-09", module=True, hints=AGAIN)
def test_06_again_in_the_next_iteration(program):
    """A watch that requests another call gets one in the next iteration, which does not sleep."""
    once = "watch a r, settle, again a, again a, calls 0, soon, only a, turn, got a -"
    ready = """fill a, watch a rw, settle, again a, input a, soon, got a r,
        again a, input a, drain a, soon, got a w"""
    beside = """watch ab r, then a again a, again a, input b, soon, only a, got b r,
        input b, soon, only a, got b r"""
    due = "watch ab r, input ab, first again others, turn, got ab r, turn, calls 0"
    check(program, "again-next-iteration", once, ready, beside, due)


# 06.6 epoll


@claim("06.6", module=True)
def test_06_errors_wake_both_directions(program):
    """With epoll, a pipe that nobody can read any more is writable."""
    ended = "pipe ab, fill ab, watch ab w, settle, end ab, turn, got ab w"
    check(program, "errors-wake-both", ended, backend="epoll")


@claim("06.6", module=True)
def test_06_hangup_is_told(program):
    """When the peer half-closes, epoll reports EVENT_HANGUP, with the last bytes or without."""
    half_closed = "watch ab r, input b, end ab, turn, got ab rh"
    check(program, "hangup-untold", half_closed, backend="epoll")


@claim("06.6", module=True, hints=EDGE)
def test_06_ready_before_the_watch(program):
    """Input that came before the watch is reported; events do not mix: neither those of 300
    descriptors nor the two directions of one."""
    before = """input a, watch a r, turn, got a r, watch a, input a, settle,
        watch a r, turn, got a r, watch a w, turn, got a w"""
    directions = """fill a, watch a r, watch a rw, settle, input a, turn, only a r,
        drain a, turn, only a w"""
    check(program, "told-once", before)
    check(program, "other-direction", directions)
    check(program, "does-not-wait", "watch a r, settle, sleep 100, got a -")
    program("06_events", "crowd", hint="told-once", backend="epoll", sanitize=SANITIZERS)


@claim("06.6", module=True)
def test_06_epoll_refuses_files(program):
    """A descriptor that epoll cannot watch is refused, with its errno."""
    check(program, "refusal-untold", "file a, refused a r", backend="epoll")
