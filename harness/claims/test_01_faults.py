"""Chapter 01, what seldom happens: a stream is cut, a call fails, a socket has an option.

With the fault library in the server it is made to happen; a server that does not load it is judged
by the other claims. An option of a socket, or a flag of send(), may be set where it does a client
no harm, so it is the harm that is looked for: see socket(7), tcp(7).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence

from harness.claims.context.observe import (
    arrived_bytes,
    is_quiescent,
    sending,
    until_asleep,
    until_read,
)
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import LONG_REPLY, SMALL_WINDOW, connect_narrow, echo, words
from harness.claims.scenarios.single_faults import single_faults
from harness.client import length_framing
from harness.client.client import Client
from harness.feedback.failure import Failure, TooBusy
from harness.server.preload import Group, Plan, fail, piece
from harness.submission.sizes import KIB
from harness.waiting import sockets
from harness.waiting.wait import wait_until

# The client acknowledges nothing, so what the server's kernel holds back stays there. Otherwise it
# would be sent 40 ms later, with the acknowledgement that a client delays, or 200 ms later, when
# TCP_CORK and MSG_MORE give up. So this is the time between two looks, of which the first has seen
# no byte of the reply.
CERTAIN_SECONDS = 0.15
TRIES = 20

# Bytes: what the kernel takes at once of a server, and much more than the client's kernel takes.
LATE_BYTES = 100 * KIB

# How long a client does nothing, in seconds. Where the server has set a time-out on a socket it is
# so many times as long, and MORE: a send() that has moved some bytes returns after one time-out,
# and the kernel takes some bytes of the next one, too.
PAUSE, LONGEST_PAUSE, TIMES, MORE = 1.2, 17.0, 3, 1.5

BETWEEN = (errno.EAGAIN, errno.EINTR)  # what calls meet between two pieces

# What a general hint means when the stream was cut; and when calls failed between the pieces, since
# the same cut without that has been tried before.
CUT_HINTS = {
    Group.INPUT: {
        **dict.fromkeys(("silence", "stalled-reply", "not-taken"), "waits-for-more"),
        **dict.fromkeys(
            ("wrong-header", "wrong-body", "closed-early", "closed-in-reply", "reset-early"),
            "one-read-one-message",
        ),
    },
    Group.OUTPUT: {
        **dict.fromkeys(
            ("silence", "stalled-reply", "closed-early", "closed-in-reply", "reset-early"),
            "short-write",
        ),
        **dict.fromkeys(("wrong-header", "wrong-body", "extra-bytes"), "remainder-from-elsewhere"),
    },
}

# What a general hint means in a claim, see marker.claim.
CLOSED = {
    **dict.fromkeys(("closed-early", "closed-in-reply", "replies-missing"), "replies-lost-at-eof"),
    "reset-early": "reset-by-close",
}

GIVEN_UP = dict.fromkeys(
    ("closed-early", "closed-in-reply", "reset-early", "silence", "call-disturbed"), "given-up"
)

URGENT = dict.fromkeys(
    ("silence", "replies-missing", "stalled-reply", "wrong-header", "wrong-body", "closed-early")
    + ("closed-in-reply", "reset-early", "extra-bytes", "refused-as-too-long"),
    "urgent-in-the-stream",
)


# 01.5 one client's frames


@claim("01.5", needs="queues")
def test_01_replies_leave_at_once(launch, rng):
    """A short reply leaves as soon as it is written: the server's kernel holds none of it back."""
    for body in (words(rng, 8), b""):
        for _ in range(TRIES):
            server = launch()
            client = server.connect()
            certain = min(client.withhold_acknowledgements(), CERTAIN_SECONDS)
            left = _left_at_once(server, client, body, certain)
            client.abandon(by_reset=True)
            if left:
                break
        else:
            raise TooBusy(f"{1000 * certain:.0f} ms go by between two looks at a socket")


def _left_at_once(server, client: Client, body: bytes, certain: float) -> bool:
    """Returns true if the reply has left at once, and false if more than `certain` seconds went by
    between two looks, so that nobody can tell. Raises Failure if the server held it back."""
    size = len(length_framing.encode(body))
    last = time.monotonic()  # when no byte of the reply was written
    client.send_frame(body)
    found = None
    written = 0  # bytes: those that have come, and those that the server's kernel has

    def complete() -> bool:
        nonlocal last, found, written
        now, arrived = time.monotonic(), arrived_bytes(client)
        found = sending(client)
        written = max(found.unacknowledged, arrived + found.unsent) if found else 0
        if not written:
            last = now
        return found is None or written >= size

    if not wait_until(complete, server.patience):
        text = f"the server wrote {written} of {size} bytes of the reply and then no more"
        raise Failure(text, hint="stalled-reply" if written else "silence")
    if found and found.held_back:  # perhaps the server is about to release it
        until_asleep(server)
        found = sending(client)
    if found is None:
        text = "the server closed the connection instead of answering"
        raise Failure(text, hint="closed-early")
    if time.monotonic() - last > certain:
        return False
    if found.held_back:
        text = f"the server wrote the reply, and its kernel holds {found.unsent} of {size} bytes"
        reason = ", although nothing is on its way to the client"
        if found.in_flight:
            reason = " until the client has acknowledged the others"
        raise Failure(f"{text} back{reason}", hint="reply-held-back")
    return True


@claim("01.5", chapters="01-05", hints=URGENT)
def test_01_urgent_data_is_no_part_of_the_stream(server, rng):
    """A byte of urgent data between two frames belongs to none of them."""
    client = server.connect()
    echo(client, words(rng, 8))
    client.send_urgent(b"!")
    echo(client, words(rng, 8))


# 01.6 one client after the other


@claim("01.6", fatal="bytes", sees_calls=True)
def test_01_cut_everywhere(server, rng):
    """Three frames come back wherever they are cut, on arrival and in the reply."""
    _cut_everywhere(server, [words(rng, 2), b"", words(rng, 1)])


def _cut_everywhere(server, bodies: Sequence[bytes]) -> None:
    """Exchanges these frames again and again, each time cut at another place, by a client that
    half-closes at once. At last each byte moves alone.

    Each cut is tried a second time with EAGAIN, if the socket is non-blocking, and EINTR between
    the pieces. Does nothing if the library that cuts is not in the server.
    """
    if server.shim is None:
        return
    try:
        _exchange(server, bodies)
    except Failure as failure:
        failure.message = f"although nothing is cut: {failure.message}"
        raise
    size = sum(len(length_framing.encode(body)) for body in bodies)
    for way in (Group.INPUT, Group.OUTPUT):
        for places, where in _places(size):
            for errors in ((), BETWEEN):
                when = f"when the {'input' if way == Group.INPUT else 'output'} is cut {where}"
                when += ", and calls between meet EAGAIN or EINTR" if errors else ""
                _cut(server, bodies, _plan(server, way, places, errors), when)


def _places(size: int) -> Iterator[tuple[Sequence[int], str]]:
    """Where a stream of `size` bytes is cut, as offsets and as the end of a sentence."""
    for place in range(1, size):
        yield (place,), f"after byte {place} of {size}"
    yield range(1, size), "after each byte"


def _plan(server, way: Group, places: Sequence[int], errors: Sequence[int]) -> Plan:
    """The schedule that cuts the stream of the next connection so. The remainder comes in one."""
    steps = []
    for start, end in zip((0, *places), places):
        steps += [piece(end - start), *map(fail, errors)]
    return Plan(way, steps, connection=server.shim.shared.connections)


def _cut(server, bodies: Sequence[bytes], plan: Plan, when: str) -> None:
    server.conversation.restart()
    server.conversation.note("the grader", f"makes sure that {when[len('when '):]}")
    server.shim.schedule(plan)
    try:
        _exchange(server, bodies)
    except Failure as failure:
        failure.message = f"it fails {when}: {failure.message}"
        failure.hint = _meaning(plan, failure.hint)
        raise
    server.shim.require_calls()


def _exchange(server, bodies: Sequence[bytes]) -> None:
    client = server.connect()
    client.send_frames(bodies)
    client.half_close()
    client.expect_closed_after(bodies)


def _meaning(plan: Plan, hint: str) -> str:
    way = Group(plan.groups)
    if not any(step.error for step in plan.steps):
        return CUT_HINTS[way].get(hint, hint)
    stuck = way == Group.OUTPUT and hint == "replies-missing"  # all of a reply, and no more
    return "stuck-after-pause" if stuck else "call-disturbed"


@claim("01.6", sees_calls=True)
def test_01_single_faults(launch, run, rng):
    """When any one of its calls fails, the server continues and serves the other clients."""
    single_faults(launch, rng, allocations=bool(run.sources))


@claim("01.6", fatal="bytes", hints=CLOSED)
def test_01_replies_outlive_the_close(server, rng):
    """A client that half-closes and reads late gets the replies that the kernel has by then."""
    bodies = [rng.randbytes(LATE_BYTES) for _ in range(2)]
    client = server.connect(rcvbuf=SMALL_WINDOW)
    client.send_frames(bodies)
    client.half_close()
    until_read(client)
    until_asleep(server)  # it has closed, if the kernel has taken all
    client.expect_closed_after(bodies)


@claim("01.6", hints=GIVEN_UP)
def test_01_slow_clients_are_kept(launch, rng):
    """A client may do nothing for a while, inside a frame or while a reply waits for it."""
    short, long = words(rng, 8), rng.randbytes(LONG_REPLY)
    frame = length_framing.encode(short)
    servers = launch(), launch()
    sender = servers[0].connect("sender")
    reader = connect_narrow(servers[1], "reader")
    sender.send(frame[:6])
    reader.send_frame(long)
    for client in (sender, reader):
        until_read(client)
    longest = max(sockets.longest_time_out(server.process.pid) for server in servers)
    seconds = min(TIMES * longest + MORE, LONGEST_PAUSE) if longest else PAUSE
    if not all(map(is_quiescent, servers)):  # else nothing can happen, however long they wait
        sender.conversation.note("the grader", f"lets both clients do nothing for {seconds:g} s")
        time.sleep(seconds)
    sender.send(frame[6:])
    sender.expect_frame(short)
    reader.expect_frame(long)
