"""Chapter 07, clients that take too long: --idle-timeout and --frame-timeout.

The clock of the server is ours. So connections that are closed too early, or a millisecond too
late, are found however busy the machine is, and so is one that is closed although it was in time.
"""

from __future__ import annotations

from harness.claims.context.observe import (
    eventually,
    in_flight,
    kernel_bytes,
    until_asleep,
    until_read,
)
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import SMALL_WINDOW, echo, owe_bytes, ping, words
from harness.claims.scenarios.timed import (
    LATE_MS,
    MINUTE,
    MOMENT_MS,
    expect_at,
    expect_closed_at,
    in_time,
    pass_until,
)
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.messages import ECHO, MESSAGES, OK, after, reply, request, rung, string
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB
from harness.waiting.wait import wait_until

STEP = 50  # ms between two bytes, or frames, of a client that takes its time

# What a client reads before its next pause: more than the kernel holds, so that the server has to
# send meanwhile. Most machines have at most 4 MiB of it.
CHUNK_BYTES = 5 * MIB
OWED_BYTES = 256 * KIB  # in the server, with the kernel full
ALARM_MS = 50  # of an alarm that rings within the time of a frame
CUT = length_framing.encode(request(ECHO, 2, string(b"rest")))
SENT_SECONDS = 2.0  # for the kernel to send what the client's window takes

# What a general hint means in a claim, see marker.claim.
ENDS = (
    *("silence", "stalled-reply", "replies-missing", "not-closed", "not-taken"),
    *("closed-early", "closed-in-reply", "reset-early", "extra-bytes", "timer-late"),
)
IDLE = {**dict.fromkeys(ENDS, "idle-timeout"), "timer-late": "idle-late"}
FRAME = dict.fromkeys(ENDS, "frame-timeout")


def nearly(server, ms: float) -> float:
    """Just less than this limit; for a clock of the machine, much less."""
    return ms - MOMENT_MS if server.clock.ours else STEP


def long_after(server, ms: float) -> float:
    """A time far over this limit; for a clock of the machine, just over it."""
    return ms + MINUTE if server.clock.ours else 1.5 * ms


# 07.6 timeouts


@claim("07.6", points=5, cli=True, hints=IDLE)
def test_07_idle_clients_are_closed(launch, rng):
    """A client that is idle for --idle-timeout is closed, not before; an active one is not."""
    server = launch(("--idle-timeout", "300"), clock=True)
    began = server.clock.now_ms
    silent, idle = server.connect("silent"), server.connect("idle")
    with in_time(server):
        pass_until(server, began, 100)
        said = server.clock.now_ms
        ping(idle, rng)
    expect_closed_at(server, silent, began, 300)
    expect_closed_at(server, idle, said, 300)
    talks = server.connect("talks")
    for _ in range(9):
        said = server.clock.now_ms
        with in_time(server):
            ping(talks, rng)
        server.clock.advance(nearly(server, 300))
    expect_closed_at(server, talks, said, 300)


@claim("07.6", points=2, cli=True, hints=IDLE)
def test_07_every_byte_counts(launch, rng):
    """A client is not idle while bytes of a frame arrive or bytes of a reply are sent."""
    server = launch(("--idle-timeout", "400"), clock=True)
    with in_time(server):
        _trickle(server, server.connect(), rng)
        if kernel_bytes() < CHUNK_BYTES:
            _read_slowly(server, rng)


def _trickle(server, client: Client, rng) -> None:
    body = words(rng, 6)
    *firsts, last = length_framing.encode(body)
    for byte in firsts:
        client.send(bytes([byte]))
        until_read(client)
        client.expect_nothing_yet()
        server.clock.advance(nearly(server, 400))
    client.send(bytes([last]))
    client.expect_frame(body)


def _read_slowly(server, rng) -> None:
    client = server.connect(rcvbuf=SMALL_WINDOW)
    body = rng.randbytes(MIB) * (4 * CHUNK_BYTES // MIB)
    client.send_frame(body)
    replies = Replies([body])
    for left in range(3, -1, -1):
        server.clock.advance(300 if server.clock.ours else STEP)
        while replies.missing > left * CHUNK_BYTES:
            client.expect_part(replies, replies.missing - left * CHUNK_BYTES)


@claim("07.6", points=2, cli=True, hints=IDLE)
def test_07_idle_waits_for_alarms(launch):
    """A client that only waits for its own alarms is not idle; when they are over, it is."""
    server = launch(("--idle-timeout", "100"), framing=MESSAGES, clock=True)
    client, began = server.connect(), server.clock.now_ms
    client.send_frame(after(1, 350, b"late"))
    expect_at(server, client, [rung(1, b"late")], began, 350)
    # The alarm and the end may each be late.
    expect_closed_at(server, client, began + 350, 100, 2 * LATE_MS)


@claim("07.6", points=1, cli=True, hints=IDLE)
def test_07_replies_not_taken(launch, rng):
    """A client that reads nothing of its reply for --idle-timeout is closed."""
    server = launch(("--idle-timeout", "300"), clock=True)
    until_asleep(server)  # it may open more when it listens
    base = server.process.descriptors().total
    client, began = server.connect(rcvbuf=SMALL_WINDOW), server.clock.now_ms
    with in_time(server):
        client.send_frame(rng.randbytes(12 * MIB))
    wait_until(lambda: _all_is_sent(server, client), SENT_SECONDS)
    if server.clock.ours:
        pass_until(server, began, 300 - MOMENT_MS)
        if server.process.descriptors().total <= base:
            text = "a client that reads nothing of its reply was closed before 300 ms were over"
            raise Failure(text, hint="idle-timeout")
    pass_until(server, began, 300 + LATE_MS)
    if not eventually(server, lambda: server.process.descriptors().total <= base):
        text = "a client that reads nothing of its reply is still connected"
        raise Failure(text, hint="idle-timeout")


def _all_is_sent(server, client: Client) -> bool:
    """Whether the server has done what it can, and its kernel waits for no acknowledgement that
    would let it send more."""
    server.clock.settle()
    return not in_flight(client)


@claim("07.6", points=3, cli=True, hints=FRAME)
def test_07_slow_senders_are_closed(launch, rng):
    """A client that sends a frame too slowly is closed after --frame-timeout; an idle one stays."""
    server = launch(("--frame-timeout", "250"), clock=True)
    idle = server.connect("idle")
    echo(idle, words(rng, 5))
    slow, began = server.connect("slow"), server.clock.now_ms
    slow.send(length_framing.header(1000))
    for step in range(1, 5):
        pass_until(server, began, step * STEP)
        with in_time(server):
            slow.send(b"x")
            slow.expect_nothing_yet()
    expect_closed_at(server, slow, began, 250)
    server.clock.advance(long_after(server, 250))
    echo(idle, words(rng, 5))


@claim("07.6", points=2, cli=True, hints=FRAME)
def test_07_honest_senders_are_not(launch, rng):
    """Every frame has a time of its own: a client that completes each in time stays
    connected, and may pause after it."""
    server = launch(("--frame-timeout", "300"), clock=True)
    client = server.connect()
    with in_time(server):
        _overlap(server, client, rng)
    server.clock.advance(long_after(server, 300))  # no frame has begun
    echo(client, words(rng, 5))


def _overlap(server, client: Client, rng) -> None:
    """Each send completes a frame and begins the next."""
    bodies = [words(rng, 8) for _ in range(12)]
    stream = b"".join(map(length_framing.encode, bodies))
    client.send(stream[:6])
    for body, start in zip(bodies, range(6, len(stream), 12)):
        server.clock.advance(nearly(server, 300))
        client.send(stream[start : start + 12])
        client.expect_frame(body)


@claim("07.6", points=2, cli=True, native=True, hints=FRAME)
def test_07_replies_before_a_frame_timeout(launch, rng):
    """Replies owed when the time of a frame is over are sent, then the connection is closed."""
    server = launch(("--frame-timeout", "150"), clock=True)
    client = server.connect(rcvbuf=SMALL_WINDOW)
    owed = owe_bytes(client, rng, OWED_BYTES)
    client.send(length_framing.header(100))
    server.clock.advance(300)
    client.expect_closed_after(owed)


@claim("07.6", points=1, cli=True, native=True, hints=FRAME)
def test_07_own_pauses_do_not_count(launch, rng):
    """While the server does not read because its client does not, the frame time stands still, and
    then it goes on."""
    server = launch(("--frame-timeout", "300"), framing=MESSAGES, clock=True)
    with in_time(server):
        _pause_in_a_frame(server, server.connect(), rng)
        honest = _pause_by_an_alarm(server, rng)
        honest.send(CUT[7:])
        honest.expect_frame(reply(ECHO, 2, OK, string(b"rest")))
        late = _pause_by_an_alarm(server, rng)
    left = 300 - ALARM_MS if server.clock.ours else 0  # the output had space before all was read
    expect_closed_at(server, late, server.clock.now_ms, left)


def _pause_in_a_frame(server, client: Client, rng) -> None:
    """Fills the output of the server, so that it stops reading with a part of the next frame
    read."""
    text = string(rng.randbytes(4000))
    data = b"".join(length_framing.encode(request(ECHO, seq, text)) for seq in range(5000))
    sent = client.send_some(data)
    server.clock.advance(long_after(server, 300))
    client.exchange(data[sent:], [reply(ECHO, seq, OK, text) for seq in range(5000)])


def _pause_by_an_alarm(server, rng) -> Client:
    """The output is filled by a reply for later, ALARM_MS after CUT has begun. Then it is read."""
    client, text = server.connect(rcvbuf=SMALL_WINDOW), rng.randbytes(MIB) * 10
    client.send_frame(after(1, ALARM_MS, text))
    client.send(CUT[:7])
    server.clock.advance(long_after(server, 300))
    client.expect_frame(rung(1, text))
    return client
