"""Chapter 07, clients that take too long: --idle-timeout and --frame-timeout.

They find connections that are closed too early, or not at all. If we may have been too slow
ourselves, so that the server was right to close, it is tried again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.claims.instruments.observe import (
    eventually,
    is_open,
    kernel_bytes,
    until_asleep,
    until_read,
)
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import (
    SHORT_SEGMENT,
    SMALL_WINDOW,
    echo,
    owe_bytes,
    ping,
    words,
)
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.messages import ECHO, MESSAGES, OK, after, reply, request, rung, string
from harness.failures.failure import Failure, TooBusy
from harness.lab.units import KIB, MIB
from harness.server.patience import Deadline, Longer

if TYPE_CHECKING:
    from harness.claims.stage.stage import Server

TRIES = 5  # with a machine that is too slow for one of them
HELD_UP_PART = 0.25  # of a limit: a server that could not run for so long may be late for it
STEP = 0.05  # seconds between two bytes, or frames, of a client that takes its time

# What a client reads before its next pause: more than the kernel holds, so that the server has to
# send meanwhile. Most machines have at most 4 MiB of it.
CHUNK_BYTES = 5 * MIB
OWED_BYTES = 256 * KIB  # in the server, with the kernel full

# What a general hint means in a claim, see marker.claim.
ENDS = (
    *("silence", "stalled-reply", "replies-missing", "not-closed", "not-taken"),
    *("closed-early", "closed-in-reply", "reset-early", "extra-bytes"),
)
IDLE = dict.fromkeys(ENDS, "idle-timeout")
FRAME = dict.fromkeys(ENDS, "frame-timeout")
NOTHING_MOVES = ("silence", "not-taken")  # and the connection is still there


class Keeper:
    """Knows whether a connection had to stay open: when bytes of it moved less than `ms`
    milliseconds ago. The server has moved some at the time moved() is told, or later. It did not
    have to when other programs kept the server from running for a good part of that time."""

    def __init__(self, server: Server, ms: int) -> None:
        self._ms = ms
        self._last = time.monotonic()
        self._server = server
        self._before = server.process.spent()

    def moved(self, since: float) -> None:
        self._last = since

    def heard(self) -> None:
        """The server has all that it needs. If that was in time, only the server may be late."""
        if self.blames():
            self._last = math.inf

    def blames(self) -> bool:
        """The server, for a connection that is closed now."""
        seconds = self._ms / 1000
        held_up = self._server.process.spent().held_up(self._before, worked=seconds)
        return time.monotonic() - self._last < seconds and held_up < seconds * HELD_UP_PART


def until_quick(server: Server, attempt: Callable, ms: int):
    """The result of attempt(keeper); it is made again if it has failed, and we were too slow, or
    the server could not run."""
    __tracebackhide__ = True
    for _ in range(TRIES):
        keeper = Keeper(server, ms)
        try:
            return attempt(keeper)
        except Failure as failure:
            if failure.hint in NOTHING_MOVES or keeper.blames():  # the slow are closed
                raise
    raise TooBusy(f"{ms} ms go by between two bytes")


def not_before(began: float, ms: int, hint: str) -> None:
    """Fails if the connection, which has just been closed, was closed too early."""
    __tracebackhide__ = True
    passed = 1000 * (time.monotonic() - began)
    if passed < ms:
        text = f"the connection was closed after {passed:.0f} ms, and {ms} ms are allowed"
        raise Failure(text, hint=hint)


# 07.6 timeouts


@claim("07.6", points=4, cli=True, hints=IDLE)
def test_07_idle_clients_are_closed(launch, rng):
    """A client that is idle for --idle-timeout is closed, not before; an active one is not."""
    server = launch(("--idle-timeout", "300"))
    silent = server.connect("silent")
    idle, began = until_quick(server, lambda keeper: _greeted(server, rng), 300)
    idle.expect_eof()
    not_before(began, 300, "idle-timeout")
    silent.expect_eof()
    until_quick(server, lambda keeper: _talk(server.connect("talks"), rng, keeper), 300)


def _greeted(server, rng) -> tuple[Client, float]:
    """A client that has said something, and when it began."""
    client, began = server.connect("idle"), time.monotonic()
    ping(client, rng)
    return client, began


def _talk(client: Client, rng, keeper: Keeper) -> None:
    for _ in range(9):
        since = time.monotonic()
        ping(client, rng)
        keeper.moved(since)
        time.sleep(STEP)


@claim("07.6", points=2, cli=True, hints=IDLE)
def test_07_every_byte_counts(launch, rng):
    """A client is not idle while bytes of a frame arrive or bytes of a reply are sent."""
    server = launch(("--idle-timeout", "400"))
    until_quick(server, lambda keeper: _trickle(server.connect(), rng, keeper), 400)
    if kernel_bytes() < CHUNK_BYTES:
        until_quick(server, lambda keeper: _read_slowly(server, rng, keeper), 400)


def _trickle(client: Client, rng, keeper: Keeper) -> None:
    body = words(rng, 6)
    *firsts, last = length_framing.encode(body)
    for byte in firsts:
        since = time.monotonic()
        client.send(bytes([byte]))
        until_read(client)
        client.expect_nothing_yet()
        keeper.moved(since)
        time.sleep(STEP)
    client.send(bytes([last]))
    client.expect_frame(body)


def _read_slowly(server, rng, keeper: Keeper) -> None:
    client = server.connect(rcvbuf=SMALL_WINDOW)
    body = rng.randbytes(MIB) * (4 * CHUNK_BYTES // MIB)
    since = time.monotonic()
    client.send_frame(body)
    replies = Replies([body])
    for left in range(3, -1, -1):
        keeper.moved(since)
        time.sleep(0.15)
        since = time.monotonic()
        while replies.missing > left * CHUNK_BYTES:
            client.expect_part(replies, replies.missing - left * CHUNK_BYTES)


@claim("07.6", points=2, cli=True, waits=0.5, hints=IDLE)
def test_07_idle_waits_for_alarms(launch):
    """A client that only waits for its own alarms is not idle; when they are over, it is."""
    server = launch(("--idle-timeout", "100"), framing=MESSAGES)
    until_quick(server, lambda keeper: _wait_for_an_alarm(server.connect(), keeper), 100)


def _wait_for_an_alarm(client: Client, keeper: Keeper) -> None:
    client.send_frame(after(1, 350, b"late"))
    if until_read(client):
        keeper.heard()
    client.expect_closed_after([rung(1, b"late")])


@claim("07.6", points=1, cli=True, hints=IDLE)
def test_07_replies_not_taken(launch, rng):
    """A client that reads nothing of its reply for --idle-timeout is closed."""
    server = launch(("--idle-timeout", "300"))
    until_asleep(server)  # it may open more when it listens
    base = server.process.descriptors().total
    body = rng.randbytes(12 * MIB)
    until_quick(server, lambda keeper: server.connect(rcvbuf=SMALL_WINDOW).send_frame(body), 300)
    if not eventually(server, lambda: server.process.descriptors().total <= base):
        text = "a client that reads nothing of its reply is still connected"
        raise Failure(text, hint="idle-timeout")


@claim("07.6", points=4, cli=True, hints=FRAME)
def test_07_slow_senders_are_closed(launch, rng):
    """A client that sends a frame too slowly is closed after --frame-timeout; an idle one stays."""
    server = launch(("--frame-timeout", "250"))
    idle = server.connect("idle")
    echo(idle, words(rng, 5))
    slow, began = server.connect("slow"), time.monotonic()
    _send_until_closed(server, slow)
    not_before(began, 250, "frame-timeout")
    echo(idle, words(rng, 5))


def _send_until_closed(server, client: Client) -> None:
    """A frame without an end, byte by byte. That the next byte is refused is an end, too."""
    __tracebackhide__ = True
    deadline = Deadline(Longer(server.patience, 0))
    client.send(length_framing.header(1000))
    client.conversation.note(client.name, f"sends a byte of the body every {1000 * STEP:g} ms")
    while client.offer(b"x") >= 0 and is_open(client):
        if not deadline.left():
            server.patience.expired()
            text = f"the client still sends a frame byte by byte after {deadline.seconds:g} s"
            raise Failure(text, hint="frame-timeout")
        time.sleep(STEP)


@claim("07.6", points=2, cli=True, hints=FRAME)
def test_07_honest_senders_are_not(launch, rng):
    """Every frame has a time of its own: a client that completes each in time stays connected."""
    server = launch(("--frame-timeout", "300"))
    until_quick(server, lambda keeper: _overlap(server.connect(), rng, keeper), 300)


def _overlap(client: Client, rng, keeper: Keeper) -> None:
    """Each send completes a frame and begins the next."""
    bodies = [words(rng, 8) for _ in range(12)]
    stream = b"".join(map(length_framing.encode, bodies))
    client.send(stream[:6])
    for body, start in zip(bodies, range(6, len(stream), 12)):
        time.sleep(STEP)
        since = time.monotonic()
        client.send(stream[start : start + 12])
        client.expect_frame(body)
        keeper.moved(since)


@claim("07.6", points=2, cli=True, native=True, hints=FRAME)
def test_07_replies_before_a_frame_timeout(launch, rng):
    """Replies owed when the time of a frame is over are sent, then the connection is closed."""
    client = launch(("--frame-timeout", "150")).connect(rcvbuf=SMALL_WINDOW)
    owed = owe_bytes(client, rng, OWED_BYTES)
    client.send(length_framing.header(100))
    time.sleep(0.3)
    client.expect_closed_after(owed)


@claim("07.6", points=1, cli=True, native=True, needs="queues")
def test_07_both_times_end_together(launch, rng):
    """When a frame is late and the client is idle, it is closed, although replies are not sent."""
    server = launch(("--frame-timeout", "400", "--idle-timeout", "400"))
    until_asleep(server)  # it may open more when it listens
    base = server.process.descriptors().total
    client = server.connect(rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    owe_bytes(client, rng, OWED_BYTES, certain=True)
    until_asleep(server)
    client.send(length_framing.header(100))  # from its last byte on, both times run
    until_read(client)
    with server.paused():
        time.sleep(0.5)
    if not eventually(server, lambda: server.process.descriptors().total <= base):
        text = "a client that was idle, and late with a frame, is still connected"
        raise Failure(text, hint="time-outs-together")


@claim("07.6", points=1, cli=True, native=True, hints=FRAME)
def test_07_own_pauses_do_not_count(launch, rng):
    """While the server does not read because its client does not, the frame time stands still."""
    server = launch(("--frame-timeout", "300"), framing=MESSAGES)
    until_quick(server, lambda keeper: _pause_in_a_frame(server.connect(), rng, keeper), 300)
    until_quick(server, lambda keeper: _pause_by_an_alarm(server, rng, keeper), 300)


def _pause_in_a_frame(client: Client, rng, keeper: Keeper) -> None:
    """Fills the output of the server, so that it stops reading with a part of the next frame
    read."""
    text = string(rng.randbytes(4000))
    data = b"".join(length_framing.encode(request(ECHO, seq, text)) for seq in range(5000))
    sent = client.send_some(data)  # and it has not read for 0.3 s by now
    time.sleep(0.15)
    keeper.moved(time.monotonic())
    client.exchange(data[sent:], [reply(ECHO, seq, OK, text) for seq in range(5000)])


def _pause_by_an_alarm(server, rng, keeper: Keeper) -> None:
    """The output is filled by a reply for later, when a frame has begun."""
    client, text = server.connect(rcvbuf=SMALL_WINDOW), rng.randbytes(MIB) * 10
    client.send_frame(after(1, 50, text))
    keeper.moved(time.monotonic())
    frame = length_framing.encode(request(ECHO, 2, string(b"rest")))
    client.send(frame[:7])
    time.sleep(0.45)
    keeper.moved(time.monotonic())
    client.expect_frame(rung(1, text))
    client.send(frame[7:])
    client.expect_frame(reply(ECHO, 2, OK, string(b"rest")))
