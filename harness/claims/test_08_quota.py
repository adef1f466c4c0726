"""Chapter 08, the quota: so many frames in an interval, and the rest waits, unread.

The clock of the server is ours, so an interval is neither shorter nor more than a millisecond
longer than it should be. One claim stays on the clock of the machine, and there a frame may be
late: a server that keeps its intervals only by our clock is found by it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from harness.claims.context.observe import until_asleep, until_read
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.cost import (
    HELD_BYTES,
    WATCHED,
    bounded,
    few_waits,
    launch_idle,
    no_cpu,
)
from harness.claims.scenarios.exchanges import ask, ping, words
from harness.claims.scenarios.timed import LATE_MS, expect_at, expect_closed_at
from harness.client import length_framing
from harness.client.client import Client
from harness.client.framing import LENGTH, LINE, Fixed
from harness.client.messages import ECHO, MESSAGES, OK, reply, request, string
from harness.feedback.failure import Failure, meaning
from harness.submission.sizes import MB, MIB

FRAMES, MS = 50, 307  # the quota that is kept for INTERVALS; no server counts in steps of 307 ms
INTERVALS = 5
PARTS = 5  # of an interval; in each the client sends something
# ms. With the clock of the machine each is tried until one is not too long. Prolonged by the frames
# that follow, it takes 1.6 times as long: the longer it is, the less a busy machine can add to the
# right one.
PROLONGED = (400, 400, 800, 1600, 3200)
CLOCK_MS = 2  # a server that counts whole milliseconds of the machine may begin that much too early

FAR = 60_000  # ms: nobody waits for it
OFFERED_BYTES = 64 * MIB

# What a general hint means in a claim, see marker.claim.
WRONG = ("wrong-header", "wrong-body", "extra-bytes", "wrong-seq", "not-closed")
TIMES = {"timer-early": "quota-early", "timer-late": "quota-late"}
HELD = {"silence": "quota-held"}
KEPT = {**dict.fromkeys((*MUTE, *GONE, *WRONG), "quota-kept"), **TIMES}
WAITING = {**dict.fromkeys((*MUTE, *GONE, *WRONG), "quota-renewed"), **TIMES}
RENEWED = {**KEPT, **dict.fromkeys(MUTE, "quota-renewed")}
HELD_OPEN = {
    **dict.fromkeys(MUTE, "quota-renewed"),
    **dict.fromkeys(GONE, "quota-timeouts"),
    **TIMES,
}
UNREAD = {
    **dict.fromkeys((*MUTE, *GONE, "memory-grows"), "quota-unread"),
    "extra-bytes": "quota-kept",
}


def at_most(frames: int, ms: int) -> tuple[str, str]:
    """The options for so many frames in so many milliseconds."""
    return "--quota", f"{frames}/{ms}"


# 08.3 quota


@claim("08.3", cli=True, hints=KEPT)
def test_08_quota_in_pieces(launch, rng):
    """Each frame of a connection counts, whenever it arrives, in every framing and for messages
    too; others are served meanwhile."""
    for framing, body in _framings(rng):
        server = launch(at_most(4, FAR), framing=framing)
        client, answer = server.connect(), _answer(framing, body)
        ask(client, body, answer)
        for _ in range(2):  # each connection has a quota of its own, and a new one all of it
            other = server.connect("other")
            other.send_frames([body] * 3)
            other.expect_frames([answer] * 3)
        client.send_frames([body] * 2)
        client.expect_frames([answer] * 2)
        client.send_frames([body] * 3)
        with meaning(HELD):
            ask(server.connect("another"), body, answer)
        client.expect_frame(answer)
        until_asleep(server)
        client.expect_nothing_yet()


def _framings(rng) -> list[tuple]:
    """The framings, each with a body."""
    message = request(ECHO, 7, string(b"text"))
    return [
        *((LENGTH, words(rng, 8)), (LINE, words(rng, 8) + b"\n")),
        *((Fixed(5), words(rng, 5)), (MESSAGES, message)),
    ]


def _answer(framing, body: bytes) -> bytes:
    return reply(ECHO, 7, OK, string(b"text")) if framing is MESSAGES else body


def _expect_no_more(server, client: Client) -> None:
    """The quota is used up. With the clock of the machine the next interval may have begun."""
    if server.clock.ours:
        server.clock.settle()
        client.expect_nothing_yet()


def _expect_at(server, client: Client, bodies: Sequence[bytes], began: float, ms: int) -> float:
    """Expects these frames in the interval after that of `ms` which began at `began`, at its first
    moment. Returns when this one began, or a little earlier."""
    early = 0 if server.clock.ours else CLOCK_MS
    expect_at(server, client, bodies, began, ms - early)
    return server.clock.now_ms if server.clock.ours else began + ms


# 08.4 advance


@claim("08.4", cli=True, hints=RENEWED)
def test_08_quota_is_kept(launch, rng):
    """N frames of a greedy client are answered per interval: never more, and none late."""
    server = launch(at_most(FRAMES, MS), clock=True)
    client = server.connect()
    for _ in range(2):  # what is left of an interval is not added to the next one
        ping(client, rng)
        server.clock.advance(1.3 * MS)
    began = server.clock.now_ms
    lots = [[words(rng, 8) for _ in range(FRAMES)] for _ in range(INTERVALS + 1)]
    client.send_frames([*lots[0], lots[1][0]])
    client.expect_frames(lots[0])
    _expect_no_more(server, client)
    for lot, after_it in zip(lots[1:], [*lots[2:], [b""]]):
        unsent, size = [*lot[1:], after_it[0]], FRAMES // PARTS
        for start in range(0, FRAMES, size):
            client.send_frames(unsent[start : start + size])
            server.clock.advance(MS // PARTS)
        began = _expect_at(server, client, lot, began, MS)


@claim("08.4", fatal="bytes", cli=True, hints=WAITING)
def test_08_waiting_frames_are_answered(launch, rng):
    """Frames over the quota are answered in their order, though nothing more arrives."""
    # With the clock of the machine
    for framing, body in _framings(rng):
        client = launch(at_most(10, 60), framing=framing).connect()
        began = time.monotonic()
        client.send_frames([body] * 31)
        client.expect_frames([_answer(framing, body)] * 31)
        _have_waited(began, 31, 10, 60)
    _in_the_kernel(launch(at_most(100, 30)).connect(), rng)


def _have_waited(began: float, count: int, frames: int, ms: int) -> None:
    """Fails if all of `count` frames, sent since `began`, were answered before their interval."""
    passed = 1000 * (time.monotonic() - began)
    if passed < (count - 1) // frames * ms - CLOCK_MS:
        text = f"{count} frames were answered within {passed:.0f} ms, and {frames} are allowed in "
        raise Failure(f"{text}{ms} ms", hint="quota-kept")


def _in_the_kernel(client: Client, rng) -> None:
    """Sends many frames at once, most of which have to wait in the kernel."""
    client.echo_all(b"".join(length_framing.encode(rng.randbytes(5000)) for _ in range(1000)))


@claim("08.4", cli=True, hints=WAITING)
def test_08_interval_begins_with_a_frame(launch, rng):
    """An interval begins when its first frame is answered, and those that follow do not prolong
    it."""
    for interval in PROLONGED:
        server = launch(at_most(4, interval), clock=True)
        client = server.connect()
        ping(server.connect("other"), rng)
        server.clock.advance(1.5 * interval)
        passed = _five_frames(server, client, rng, interval)
        if server.clock.ours or passed < 1.5 * interval:
            return
    text = f"the next interval did not begin {interval} ms after the first frame, but after "
    text += f"{passed:.0f}"
    raise Failure(text, hint="quota-late")


def _five_frames(server, client: Client, rng, interval: int) -> float:
    """The first one comes in two parts, the next three some time later, and the fifth has to wait.
    Returns the milliseconds from the first reply, or a little earlier, to the last."""
    body = words(rng, 8)
    frame = length_framing.encode(body)
    client.send(frame[:3])
    until_read(client)
    server.clock.advance(0.3 * interval)
    began = server.clock.now_ms
    client.send(frame[3:])
    client.expect_frame(body)
    for _ in range(3):
        server.clock.advance(0.2 * interval)
        ping(client, rng)
    client.send_frame(body)
    _expect_at(server, client, [body], began, interval)
    return server.clock.now_ms - began


# 08.3 and 08.4: what waits is not read


@claim("08.3", cli=True, native=True, hints=UNREAD)
def test_08_over_quota_is_not_read(launch, rng):
    """A client over its quota is not read: it costs no memory, no CPU, and no wake-up."""
    server = launch_idle(launch, argv_extra=at_most(10, FAR))
    ping(server.connect(), rng)
    base = server.process.resident_bytes()
    client = server.connect()
    body = rng.randbytes(1000)
    sent = client.send_some(length_framing.encode(body) * (OFFERED_BYTES // 1000), quiet=0.2)
    bounded(server, base, HELD_BYTES, f"with {sent / MB:.0f} MB of a client over its quota")
    _rests(server)
    client.expect_frames([body] * 10)
    client.expect_nothing_yet()
    ping(server.connect(), rng)
    server = launch_idle(launch, argv_extra=at_most(10, 1))
    client = server.connect()
    for _ in range(3):
        ping(client, rng)
    _rests(server)  # no interval runs while no client sends


def _rests(server) -> None:
    """Checks that the server sleeps, and is not woken."""
    when = "with nothing to do until the next interval"
    no_cpu(server, when, "quota-unread", seconds=WATCHED)
    few_waits(server, when, "quota-unread")


@claim("08.4", fatal="bytes", cli=True, hints=WAITING)
def test_08_half_close_over_quota(launch, rng):
    """A client that half-closes with frames over its quota gets every reply, then it is closed."""
    for backend in ("poll", "epoll"):
        server = launch((*at_most(10, 80), "--backend", backend), clock=True)
        for count, rest in ((31, b""), (20, b""), (15, b"\5\0")):
            client = server.connect()
            bodies = [words(rng, 8) for _ in range(count)]
            with server.paused():  # so that it hears of all at once
                began = server.clock.now_ms
                client.send(b"".join(map(length_framing.encode, bodies)) + rest)
                client.half_close()
            client.expect_frames(bodies[:10])
            for start in range(10, count, 10):
                began = _expect_at(server, client, bodies[start : start + 10], began, 80)
            server.clock.advance(80 + LATE_MS)  # without quota it does not read the FIN
            client.expect_eof()


@claim("08.4", cli=True, hints=HELD_OPEN)
def test_08_over_quota_is_not_idle(launch, rng):
    """A client held by its quota is not closed, neither as idle nor for a frame it has begun."""
    times = ("--idle-timeout", "400", "--frame-timeout", "400")
    server = launch((*at_most(2, 900), *times), clock=True)
    client, began = server.connect(), server.clock.now_ms
    bodies = [words(rng, 8) for _ in range(5)]
    stream = b"".join(map(length_framing.encode, bodies))
    client.send(stream[:-3])
    client.expect_frames(bodies[:2])
    began = _expect_at(server, client, bodies[2:4], began, 900)
    client.send(stream[-3:])
    began = _expect_at(server, client, bodies[4:], began, 900)
    expect_closed_at(server, client, began, 400)
