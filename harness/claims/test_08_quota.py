"""Chapter 08, the quota: so many frames in an interval, and the rest waits, unread.

A frame may be answered late, by a server that is busy or a machine that is, but never before its
interval. So what comes too early is found at once, and what comes too late is tried again. If it
was late because other programs had the processors, it is not judged.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence

from harness.claims.instruments.observe import cpu_share, until_asleep, waits_in_silence
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.cost import HELD_BYTES, IDLE_SHARE, IDLE_WAITS, WATCHED, bounded
from harness.claims.scenarios.exchanges import ask, ping, words
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.framing import LENGTH, LINE, Fixed
from harness.client.messages import ECHO, MESSAGES, OK, reply, request, string
from harness.failures.failure import Failure, TooBusy
from harness.lab.units import MB, MIB
from harness.server.linux import procfs

FRAMES, MS = 50, 300  # the quota that is kept for INTERVALS
INTERVALS = 5
TOO_LATE = 1.1  # times those intervals
TRIES = 8
# ms. Prolonged by the frames that follow, it takes 1.6 times as long: the longer it is, the less a
# busy machine can add to the right one.
PROLONGED = (400, 400, 800, 1600, 3200)
CLOCK_MS = 2  # a server that counts whole milliseconds may begin an interval one too early
PAUSE = 0.003  # seconds between two frames of a client that goes on sending

FAR = 60_000  # ms: nobody waits for it
OFFERED_BYTES = 64 * MIB

# What a general hint means in a claim, see marker.claim.
WRONG = ("wrong-header", "wrong-body", "extra-bytes", "wrong-seq", "not-closed")
KEPT = dict.fromkeys((*MUTE, *GONE, *WRONG), "quota-kept")
WAITING = dict.fromkeys((*MUTE, *GONE, *WRONG), "quota-renewed")
UNREAD = dict.fromkeys((*MUTE, *GONE, "memory-grows"), "quota-unread")


def at_most(frames: int, ms: int) -> tuple[str, str]:
    """The options for so many frames in so many milliseconds."""
    return "--quota", f"{frames}/{ms}"


# 08.3 quota


@claim("08.3", points=2, cli=True, hints=KEPT)
def test_08_quota_is_of_a_connection(launch, rng):
    """Each connection has a quota of its own, and a new one starts with all of it."""
    server = launch(at_most(3, FAR))
    for _ in range(3):
        client = server.connect()
        for _ in range(3):
            ping(client, rng)
        client.send_frame(words(rng, 5))
        for _ in range(3):
            ping(server.connect(), rng)
        client.expect_nothing_yet()
    until_asleep(server)
    client.expect_nothing_yet()


@claim("08.3", points=2, cli=True, hints=KEPT)
def test_08_quota_in_pieces(launch, rng):
    """Each frame counts, whenever it arrives, in every framing and for messages too."""
    for framing, body in _framings(rng):
        server = launch(at_most(4, FAR), framing=framing)
        client, answer = server.connect(), _answer(framing, body)
        ask(client, body, answer)
        client.send_frames([body] * 2)
        client.expect_frames([answer] * 2)
        client.send_frames([body] * 3)
        client.expect_frame(answer)
        ask(server.connect("other"), body, answer)
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


@claim("08.3", points=2, cli=True, waits=1, hints=KEPT)
def test_08_unused_quota_is_gone(launch, rng):
    """Unused quota is not added to the next interval."""
    bodies = [words(rng, 8) for _ in range(9)]
    for _ in range(TRIES):
        client = launch(at_most(5, MS)).connect()
        for _ in range(2):
            ping(client, rng)
            time.sleep(1.3 * MS / 1000)
        began = time.monotonic()
        client.send_frames(bodies)
        client.expect_frames(bodies[:5])
        client.send_frame(b"one more")
        client.expect_frame(bodies[5])
        passed = 1000 * (time.monotonic() - began)
        if passed >= MS:
            return
    text = f"the sixth frame of an interval of {MS} ms was answered after {passed:.0f} ms"
    raise Failure(text, hint="quota-kept")


# 08.4 advance


@claim("08.4", points=5, cli=True, hints=KEPT)
def test_08_quota_is_kept(launch, rng):
    """N frames of a greedy client are answered per interval: never more, over 5 hardly fewer."""
    bodies = [words(rng, 8) for _ in range(20 * FRAMES)]
    due = INTERVALS * MS
    busy = True  # so that a right server may have been late in each of the tries
    for _ in range(TRIES):
        server = launch(at_most(FRAMES, MS))
        before = _ms_in_line(server)
        taken = _first_to_last(server.connect(), bodies)
        if taken <= TOO_LATE * due:
            return
        busy &= taken - (_ms_in_line(server) - before) <= TOO_LATE * due
    if busy:
        raise TooBusy(f"{due} ms took {taken:.0f} ms")
    text = f"the first frame of interval {INTERVALS} came {taken:.0f} ms after that of interval 0"
    raise Failure(f"{text}; due were {due} ms", hint="quota-renewed")


def _ms_in_line(server) -> float:
    """Milliseconds up to now in which the server or this program waited for a processor. They take
    turns, so both times count."""
    pids = (server.process.pid, os.getpid())
    return 1000 * sum(sum(procfs.seconds_in_line(pid).values()) for pid in pids)


def _first_to_last(client: Client, bodies: Sequence[bytes]) -> float:
    """Sends more than the quota, and then more and more. Returns the milliseconds from the first
    reply to the first of interval INTERVALS. None may come before its interval, counted from the
    first frame that is sent."""
    __tracebackhide__ = True
    size, sent = len(length_framing.encode(bodies[0])), FRAMES + 1
    replies, first, came = Replies(bodies), 0.0, 0
    began = time.monotonic()
    client.send_frames(bodies[:sent])
    while came <= INTERVALS * FRAMES:
        if sent < len(bodies) and not select.select([client], [], [], PAUSE)[0]:
            client.send_frame(bodies[sent])
            sent += 1
            continue
        client.expect_part(replies, replies.missing)
        passed = 1000 * (time.monotonic() - began)
        first = first or passed
        came = len(bodies) - -(-replies.missing // size)
        allowed = FRAMES * (1 + int(passed / MS))
        if came > allowed:
            text = f"{came} frames were answered within {passed:.0f} ms, and {allowed} are allowed"
            raise Failure(text, hint="quota-kept")
    return passed - first


@claim("08.4", points=6, cli=True, waits=1, hints=WAITING)
def test_08_waiting_frames_are_answered(launch, rng):
    """Frames over the quota are answered in their order, though nothing more arrives."""
    for framing, body in _framings(rng):
        client = launch(at_most(10, 60), framing=framing).connect()
        began = time.monotonic()
        client.send_frames([body] * 31)
        client.expect_frames([_answer(framing, body)] * 31)
        _have_waited(began, 31, 10, 60)
    _in_the_kernel(launch(at_most(100, 30)).connect(), rng)


def _have_waited(began: float, count: int, frames: int, ms: int) -> None:
    """Fails if all of `count` frames, sent since `began`, were answered before their interval."""
    __tracebackhide__ = True
    passed = 1000 * (time.monotonic() - began)
    if passed < (count - 1) // frames * ms - CLOCK_MS:
        text = f"{count} frames were answered within {passed:.0f} ms, and {frames} are allowed in "
        raise Failure(f"{text}{ms} ms", hint="quota-kept")


def _in_the_kernel(client: Client, rng) -> None:
    """Sends many frames at once, most of which have to wait in the kernel."""
    client.echo_all(b"".join(length_framing.encode(rng.randbytes(5000)) for _ in range(1000)))


@claim("08.4", points=2, cli=True, hints=WAITING)
def test_08_interval_begins_with_a_frame(launch, rng):
    """An interval begins with its first frame, and the frames that follow do not prolong it."""
    for interval in PROLONGED:
        client = launch(at_most(4, interval)).connect()
        began = time.monotonic()
        for _ in range(4):
            ping(client, rng)
            time.sleep(0.2 * interval / 1000)
        ping(client, rng)
        passed = 1000 * (time.monotonic() - began)
        if passed < interval:
            text = f"5 frames were answered within {passed:.0f} ms, and 4 are allowed in {interval}"
            raise Failure(f"{text} ms", hint="quota-kept")
        if passed < 1.5 * interval:
            return
    text = f"the next interval did not begin {interval} ms after the first frame, but after "
    text += f"{passed:.0f}"
    raise Failure(text, hint="quota-renewed")


# 08.3 and 08.4: what waits is not read


@claim("08.3", points=5, cli=True, native=True, waits=0.7, hints=UNREAD)
def test_08_over_quota_is_not_read(launch, rng):
    """A client over its quota is not read: it costs no memory, no CPU, and no wake-up."""
    server = launch(at_most(10, FAR))
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


def _rests(server) -> None:
    """Checks that the server sleeps, and is not woken."""
    __tracebackhide__ = True
    share = cpu_share(server, IDLE_SHARE, WATCHED)
    if share > IDLE_SHARE:
        text = f"with nothing to do until the next interval it uses {share:.1%} of a processor"
        raise Failure(text, hint="quota-unread")
    until_asleep(server)
    waits = waits_in_silence(server, WATCHED)
    if waits is not None and waits > IDLE_WAITS:
        text = f"with nothing to do until the next interval it made {waits:,} wait calls"
        raise Failure(f"{text} in {WATCHED:g} s", hint="quota-unread")


@claim("08.3", points=3, cli=True, waits=1, hints=WAITING)
def test_08_half_close_over_quota(launch, rng):
    """A client that half-closes with frames over its quota gets every reply, then it is closed."""
    for backend in ("poll", "epoll"):
        server = launch((*at_most(10, 80), "--backend", backend))
        for count, rest in ((31, b""), (20, b""), (15, b"\5\0")):
            client = server.connect()
            bodies = [words(rng, 8) for _ in range(count)]
            with server.paused():  # so that it hears of all at once
                began = time.monotonic()
                client.send(b"".join(map(length_framing.encode, bodies)) + rest)
                client.half_close()
            client.expect_closed_after(bodies)
            _have_waited(began, count, 10, 80)


@claim("08.3", points=2, cli=True, native=True, waits=0.5, hints=UNREAD)
def test_08_unused_quota_sets_no_timer(launch, rng):
    """No interval runs while no client sends: then the server sleeps. A used quota holds."""
    server = launch(at_most(10, 1))
    client = server.connect()
    for _ in range(3):
        ping(client, rng)
    _rests(server)
    ping(client, rng)
    kept = launch(at_most(1, FAR))
    client = kept.connect()
    ping(client, rng)
    client.send_frame(words(rng, 8))
    until_asleep(kept)
    client.expect_nothing_yet()


@claim("08.4", points=2, cli=True, hints=dict.fromkeys((*MUTE, *GONE), "quota-timeouts"))
def test_08_over_quota_is_not_idle(launch, rng):
    """A client held by its quota is not closed, neither as idle nor for a frame it has begun."""
    times = ("--idle-timeout", "400", "--frame-timeout", "400")
    client = launch((*at_most(2, 900), *times)).connect()
    began = time.monotonic()
    bodies = [words(rng, 8) for _ in range(5)]
    stream = b"".join(map(length_framing.encode, bodies))
    client.send(stream[:-3])
    client.expect_frames(bodies[:4])
    client.send(stream[-3:])
    client.expect_frame(bodies[4])
    _have_waited(began, 5, 2, 900)
    client.expect_eof()
