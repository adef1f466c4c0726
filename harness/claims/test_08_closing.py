"""Chapter 08, the end of a connection: what is owed arrives, and nobody is waited for for ever."""

from __future__ import annotations

import time

from harness.claims.instruments.observe import until_asleep, until_read
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.exchanges import SMALL_WINDOW, owe_bytes, ping, words
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.framing import LENGTH, LINE
from harness.client.messages import MESSAGES, after, every, rung
from harness.failures.failure import Failure, TooBusy
from harness.lab.units import KIB, MIB
from harness.server.patience import Deadline, Longer, wait_until

AFTER_BYTES = 2 * MIB  # bytes after a frame that is too long
LINGER_SECONDS = 5  # the time of a peer that makes no progress
TOLD_SECONDS = 4  # in which a peer gets the FIN after its last reply
EARLY_SECONDS = 3  # before that nobody is given up
LATE_MS = 5500  # of an alarm: later than a peer has that makes no progress, not than the pauses
PAUSE_SECONDS = 2.9  # of a reader that takes its time: two of them are longer than LINGER_SECONDS
TRIES = 3  # with a machine that makes the pauses too long

OWED_BYTES = 256 * KIB  # in the server, with the kernel full; less than the default high-water
HIGH, OWED_TO_SLOW = 16 * MIB, 7 * MIB
PART_BYTES = 64 * KIB
TAKEN_AT_ONCE = 100 * KIB  # far less than a third of what the kernel has: no event tells of it

# What a general hint means in a claim, see marker.claim.
LOST = (*MUTE, "not-closed")
ARRIVE = dict.fromkeys((*GONE, *LOST), "lost-at-close")
LINGER = dict.fromkeys((*GONE, *LOST), "linger")
ENDLESS = {**LINGER, "not-closed": "lost-at-close"}


# 08.7 settle


@claim("08.7", points=5, cli=True, hints=ARRIVE, refusals=True)
def test_08_replies_arrive_whatever_follows(launch, rng):
    """Owed replies arrive, though a frame that is too long follows, and much more after it."""
    too_long = {LENGTH: length_framing.TOO_LONG, LINE: b""}
    for framing, end in too_long.items():
        server = launch(framing=framing)
        base = _descriptors(server)
        for count, window in ((1, None), (100, SMALL_WINDOW), (300, SMALL_WINDOW), (5000, None)):
            bodies = [words(rng, 1000) + (b"\n" if framing is LINE else b"") for _ in range(count)]
            client = server.connect(rcvbuf=window)
            data = b"".join(map(framing.encode, bodies)) + end + bytes(AFTER_BYTES)
            sent = client.send_some(data, quiet=0.1)
            until_asleep(server)
            if sent == len(data):
                client.expect_closed_after(bodies)
            else:
                _read_while_sending(client, data[sent:], bodies)
            client.close()
        if not wait_until(lambda: server.process.descriptors().total <= base, 1):
            _expect_descriptors(server, base, "clients that have closed are still connected")


def _descriptors(server) -> int:
    """How many descriptors are open before the first client comes. A server listens first, and may
    open more after that."""
    until_asleep(server)
    return server.process.descriptors().total


def _read_while_sending(client: Client, rest: bytes, bodies: list[bytes]) -> None:
    """Replies in front of what nobody reads any more; that this is refused at last, is no fault."""
    __tracebackhide__ = True
    replies = Replies(bodies, client.framing)
    left = memoryview(rest)
    while replies.missing:
        left = left[max(0, client.offer(left)) :]
        client.expect_part(replies, 64 * KIB)
    client.expect_eof()


def _expect_descriptors(server, goal: int, otherwise: str, seconds: float = 0) -> None:
    """Checks that `goal` descriptors or fewer are open soon, or within `seconds` more."""
    __tracebackhide__ = True
    longer = Longer(server.patience, seconds)
    text = f"after {longer.seconds:g} s {otherwise}"
    if not wait_until(lambda: server.process.descriptors().total <= goal, longer):
        longer.expired()
        raise Failure(text, hint="linger")


# 08.8 closing


@claim(
    "08.8", points=4, cli=True, native=True, waits=5, hints=LINGER, refusals=True, needs="queues"
)
def test_08_never_reading_client_is_closed_in_the_end(launch, rng):
    """A client that half-closes and never reads, or never closes, is closed after 5 s."""
    server = launch()
    base = _descriptors(server)
    client, silent = server.connect(rcvbuf=SMALL_WINDOW), server.connect("silent")
    owe_bytes(client, rng, OWED_BYTES, certain=True)
    began = time.monotonic()
    client.half_close()
    silent.send(length_framing.TOO_LONG)
    silent.expect_eof()
    server.conversation.note("the grader", "waits until both are closed")
    late = "a client that reads nothing, or that never closes, is still connected"
    if not wait_until(lambda: server.process.descriptors().total < base + 2, EARLY_SECONDS):
        _expect_descriptors(server, base, late, LINGER_SECONDS - EARLY_SECONDS)
        return
    text = f"a client with owed replies was closed after {time.monotonic() - began:.1f} s"
    raise Failure(text, hint="linger")


@claim("08.8", points=2, cli=True, waits=5, hints=ENDLESS, refusals=True)
def test_08_endless_sender_is_closed_in_the_end(launch, rng):
    """A client that keeps sending after a frame that is too long is closed in the end."""
    server = launch()
    base = _descriptors(server)
    client, other = server.connect(), server.connect("other")
    began = time.monotonic()
    client.send(length_framing.TOO_LONG)
    client.expect_eof()
    told = time.monotonic() - began
    if told > TOLD_SECONDS:
        text = f"the client got a FIN only after {told:.1f} s"
        raise Failure(text, hint="lost-at-close")
    server.conversation.note(client.name, "keeps sending")
    deadline = Deadline(Longer(server.patience, LINGER_SECONDS))
    while client.offer(bytes(1000)) >= 0:
        if not deadline.left():
            server.patience.expired()
            text = f"after {deadline.seconds:g} s the client can still send"
            raise Failure(text, hint="linger")
        time.sleep(0.05)
    passed = time.monotonic() - began
    if passed < EARLY_SECONDS:
        raise Failure(f"the connection was closed after {passed:.1f} s", hint="linger")
    ping(other, rng)
    _expect_descriptors(server, base + 1, "the client is still connected")


@claim("08.8", points=2, cli=True, native=True, waits=6, hints=LINGER, needs="queues")
def test_08_slow_reader_gets_everything(launch, rng):
    """Of half-closed clients a slow one gets everything, and one that never reads is closed."""
    other = launch(framing=MESSAGES).connect("other")
    other.send_frame(after(1, LATE_MS, b"late"))
    other.half_close()
    for _ in range(TRIES):
        server = launch(("--high-water", str(HIGH)))
        base = _descriptors(server)
        never = server.connect("never reads", rcvbuf=SMALL_WINDOW)
        owe_bytes(never, rng, OWED_BYTES, certain=True)
        never.half_close()
        client = server.connect(rcvbuf=SMALL_WINDOW)
        owed = owe_bytes(client, rng, OWED_TO_SLOW, certain=True)
        client.half_close()
        paused = _read_slowly(client, Replies(owed))
        if not paused:
            client.expect_eof()
            client.close()
            other.expect_frame(rung(1, b"late"))
            other.expect_eof()
            late = "a client that reads nothing is still connected"
            _expect_descriptors(server, base, late, LINGER_SECONDS)
            return
    raise TooBusy(f"a pause took {paused:.1f} s")


def _read_slowly(client: Client, replies: Replies) -> float:
    """Reads all replies, with two pauses. Returns 0. If the server closes the connection after we
    took nothing for so long that it may do so, returns these seconds."""
    __tracebackhide__ = True
    moved = time.monotonic()  # the server has sent something after that
    for left in (replies.missing - TAKEN_AT_ONCE, 0):
        client.conversation.note(client.name, f"reads nothing for {PAUSE_SECONDS:g} s")
        time.sleep(PAUSE_SECONDS)
        began = time.monotonic()
        try:
            while replies.missing > left:
                client.expect_part(replies, min(PART_BYTES, replies.missing - left))
        except Failure as failure:
            passed = time.monotonic() - moved
            if failure.hint not in GONE or passed < LINGER_SECONDS:
                raise
            return passed
        moved = began
    return 0.0


@claim("08.7", points=2, cli=True, valgrind=True, hints=LINGER, refusals=True)
def test_08_memory(launch, rng):
    """Under valgrind: clients over quota, suspended, waiting and closing; then the server stops."""
    options = ("--quota", "20/300", "--high-water", "65536", "--max-conns", "7")
    server = launch((*options, "--frame-timeout", "60000"), framing=MESSAGES)
    messages = [every(seq, 20, 5, b"x") for seq in range(30)] + [after(99, 60_000, b"far")]
    for leave in ("close", "reset", "half_close"):
        client = server.connect("leaves")
        client.send_frames(messages)
        until_read(client)
        getattr(client, leave)()
    held, lingers = server.connect("held"), server.connect("lingers")
    held.send_frames(messages)
    lingers.send(length_framing.TOO_LONG + bytes(100))
    lingers.expect_eof()
    lingers.offer(b"more")
    until_asleep(server)
    if lingers.offer(b"still more") < 0:
        raise Failure("the connection was closed while its client went on sending", hint="linger")
    unread = server.connect("unread", rcvbuf=SMALL_WINDOW)
    unread.send_frame(after(1, 0, bytes(MIB)))
    for _ in range(4):
        server.connect("waits").send_frames(messages[:3])
    until_read(held, 0.3)
