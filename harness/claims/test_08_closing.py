"""Chapter 08, the end of a connection: what is owed arrives, and nobody is waited for for ever."""

from __future__ import annotations

from harness.claims.context.observe import in_flight, until_asleep
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.exchanges import SMALL_WINDOW, owe_bytes, ping, words
from harness.claims.scenarios.timed import LATE_MS, MOMENT_MS, in_time, pass_until, soon
from harness.claims.scenarios.waiting import every_end
from harness.claims.scenarios.waiting_states import FLOW_STATES
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.framing import LENGTH, LINE
from harness.client.messages import MESSAGES, after, every, rung
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB
from harness.waiting.wait import wait_until

AFTER_BYTES = 2 * MIB  # bytes after a frame that is too long
AFTER_FIN_BYTES = 20 * MIB  # the same, once the server has sent its FIN: more than the kernel holds
LINE_BYTES = 100 * KIB  # with so many, and no LF, a line is too long
LINGER_MS = 5_000  # the time of a peer that makes no progress
SENT_SECONDS = 2.0  # for the kernel to send what a client's window takes
STEP_MS = 50  # between two lots of one that keeps sending
EARLY_MS = 3_000  # with the clock of the machine: before that we look whether anybody is given up
ALARM_MS = 5_500  # of an alarm: later than a peer has that makes no progress
TAKES_MS = 2_000  # after the half-close, when a client takes something for the only time
PAUSE_MS = 4_900  # of a reader that takes its time: two of them are longer than LINGER_MS
MACHINES_PAUSE_MS = 2_900  # with the clock of the machine

OWED_BYTES = 256 * KIB  # in the server, with the kernel full; less than the default high-water
HIGH, OWED_TO_SLOW, OWED_TO_ALARMED = 16 * MIB, 7 * MIB, 12 * MIB
PART_BYTES = 64 * KIB
TAKEN_AT_ONCE = 100 * KIB  # far less than a third of what the kernel has: no event tells of it

# What a general hint means in a claim, see marker.claim.
LOST = (*MUTE, "not-closed")
ARRIVE = dict.fromkeys((*GONE, *LOST), "lost-at-close")
LINGER = dict.fromkeys((*GONE, *LOST), "linger")
ENDLESS = {**LINGER, "not-closed": "lost-at-close"}

_TOO_LONG = {LENGTH: length_framing.TOO_LONG, LINE: bytes(LINE_BYTES)}


# 08.7 settle


@claim("08.7", fatal="bytes", cli=True, hints=ARRIVE, refusals=True)
def test_08_replies_arrive_whatever_follows(launch, rng):
    """Owed replies arrive, though a frame that is too long follows, and much more after it."""
    for framing, end in _TOO_LONG.items():
        _expect_thrown_away(launch(framing=framing, clock=True))
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


def _expect_thrown_away(server) -> None:
    """What a client sends after the FIN of the server is taken, however much it is."""
    client = server.connect("goes on")
    client.send(_TOO_LONG[client.framing])
    client.expect_eof()
    with in_time(server):
        client.send(bytes(AFTER_FIN_BYTES))
    client.close()


def _descriptors(server) -> int:
    """How many descriptors are open before the first client comes. A server listens first, and may
    open more after that."""
    until_asleep(server)
    return server.process.descriptors().total


def _read_while_sending(client: Client, rest: bytes, bodies: list[bytes]) -> None:
    """Replies in front of what nobody reads any more; that this is refused at last, is no fault."""
    replies = Replies(bodies, client.framing)
    left = memoryview(rest)
    while replies.missing:
        left = left[max(0, client.offer(left)) :]
        client.expect_part(replies, 64 * KIB)
    client.expect_eof()


def _expect_descriptors(server, goal: int, otherwise: str) -> None:
    """Checks that `goal` descriptors or fewer are open, or soon are."""
    text = f"after {server.patience.seconds:g} s {otherwise}"
    if not soon(server, lambda: server.process.descriptors().total <= goal):
        raise Failure(text, hint="linger")


def _until_nearly_over(server, began: float, open_ones: int, who: str) -> None:
    """A moment before the time of a peer is over, which began at `began`, so many descriptors are
    open. With the clock of the machine it is some seconds before."""
    server.clock.advance(1)  # the server waits with a time limit now
    pass_until(server, began, LINGER_MS - MOMENT_MS if server.clock.ours else EARLY_MS)
    closed = server.process.descriptors().total < open_ones
    if closed and server.clock.now_ms - began < LINGER_MS:
        text = f"{who} was given up before {LINGER_MS:,} ms were over"
        raise Failure(text, hint="linger-early")


def _until_over(server, began: float, open_ones: int, who: str, most_ms: int = LINGER_MS) -> None:
    """When the time of a peer is over, no more descriptors than so many are open."""
    pass_until(server, began, most_ms + LATE_MS)
    text = f"{LATE_MS} ms after the {most_ms:,} ms of a peer that makes no progress {who}"
    if not soon(server, lambda: server.process.descriptors().total <= open_ones):
        raise Failure(f"{text} is still connected", hint="linger")


# 08.8 closing


@claim("08.8", cli=True, native=True, hints=LINGER, refusals=True, needs="queues")
def test_08_never_reading_client_is_closed_in_the_end(launch, rng):
    """A client that half-closes and never reads, or never closes, is closed after 5 s, whatever
    its alarms do."""
    _expect_given_up(launch)
    server = launch(clock=True)
    base = _descriptors(server)
    client, silent = server.connect(rcvbuf=SMALL_WINDOW), server.connect("silent")
    owe_bytes(client, rng, OWED_BYTES, certain=True)
    wait_until(lambda: not in_flight(client), SENT_SECONDS)
    began = server.clock.now_ms
    client.half_close()
    silent.send(length_framing.TOO_LONG)
    silent.expect_eof()
    server.conversation.note("the grader", "waits until both are closed")
    who = "a client that reads nothing, or that never closes,"
    _until_nearly_over(server, began, base + 2, who)
    _until_over(server, began, base, who)


def _expect_given_up(launch) -> None:
    """A client whose own alarms ring is given up when it takes nothing for 5 s."""
    server = launch(("--high-water", str(HIGH)), framing=MESSAGES, clock=True)
    base = _descriptors(server)
    client = server.connect("has alarms", rcvbuf=SMALL_WINDOW)
    client.send_frames([after(1, 0, bytes(OWED_TO_ALARMED)), every(2, 1000, 100, b"")])
    server.clock.settle()
    wait_until(lambda: not in_flight(client), SENT_SECONDS)
    server.clock.settle()
    began, who = server.clock.now_ms, "a client that takes nothing, while its alarms ring,"
    client.half_close()
    _until_nearly_over(server, began, base + 1, who)
    _until_over(server, began, base, who)


@claim("08.8", cli=True, hints=ENDLESS, refusals=True)
def test_08_endless_sender_is_closed_in_the_end(launch, rng):
    """A client that keeps sending after a frame that is too long is closed in the end."""
    server = launch(clock=True)
    base = _descriptors(server)
    client, other = server.connect(), server.connect("other")
    began = server.clock.now_ms
    client.send(length_framing.TOO_LONG)
    with server.clock.within():
        client.expect_eof()
    waited = server.clock.now_ms - began
    if server.clock.ours and waited > 0:
        text = f"the client heard of the end only after {waited:,.0f} ms of the server's clock"
        raise Failure(text, hint="lost-at-close")
    server.conversation.note(client.name, "keeps sending")
    for _ in range(LINGER_MS // STEP_MS - 1):
        client.offer(bytes(1000))
        server.clock.advance(STEP_MS)
    pass_until(server, began, LINGER_MS - 1.1)
    client.offer(bytes(1000))
    who = "a client that keeps sending"
    _until_nearly_over(server, began, base + 2, who)
    client.offer(bytes(1000))
    _until_over(server, began, base + 1, who)
    ping(other, rng)


@claim("08.8", fatal="bytes", cli=True, native=True, hints=LINGER, needs="queues")
def test_08_slow_reader_gets_everything(launch, rng):
    """Of half-closed clients a slow one gets everything, and one that never reads is closed."""
    later = launch(framing=MESSAGES, clock=True)
    other = later.connect("other")
    other.send_frame(after(1, ALARM_MS, b"late"))
    other.half_close()
    server = launch(("--high-water", str(HIGH)), clock=True)
    base = _descriptors(server)
    never = server.connect("never reads", rcvbuf=SMALL_WINDOW)
    owe_bytes(never, rng, OWED_BYTES, certain=True)
    never.half_close()
    client = server.connect(rcvbuf=SMALL_WINDOW)
    owed = owe_bytes(client, rng, OWED_TO_SLOW, certain=True)
    client.half_close()
    with in_time(server):
        _read_slowly(server, client, Replies(owed))
        client.expect_eof()
    client.close()
    pass_until(later, later.clock.now_ms, ALARM_MS)
    other.expect_frame(rung(1, b"late"))
    other.expect_eof()
    server.clock.advance(LINGER_MS + LATE_MS)
    _expect_descriptors(server, base, "a client that reads nothing is still connected")


def _read_slowly(server, client: Client, replies: Replies) -> None:
    """Reads all replies, with two pauses that are nearly too long."""
    for left in (replies.missing - TAKEN_AT_ONCE, 0):
        server.clock.settle()
        pause = PAUSE_MS if server.clock.ours else MACHINES_PAUSE_MS
        client.conversation.note(client.name, f"reads nothing for {pause:,} ms")
        server.clock.advance(pause)
        while replies.missing > left:
            client.expect_part(replies, min(PART_BYTES, replies.missing - left))


@claim("08.8", cli=True, native=True, hints=LINGER, needs="queues")
def test_08_takes_some_and_then_nothing(launch, rng):
    """A half-closed client takes a little, then nothing more: it is closed 5 to 10 s later."""
    server = launch(clock=True)
    base = _descriptors(server)
    client = server.connect(rcvbuf=SMALL_WINDOW)
    replies = Replies(owe_bytes(client, rng, OWED_BYTES, certain=True))
    client.half_close()
    server.clock.advance(TAKES_MS)
    with in_time(server):
        client.expect_part(replies, TAKEN_AT_ONCE)
    wait_until(lambda: not in_flight(client), SENT_SECONDS)
    server.conversation.note(client.name, "reads nothing more")
    who = "a client that has taken something"
    began = server.clock.now_ms
    _until_nearly_over(server, began, base + 1, who)
    _until_over(server, began, base, f"{who} before", 2 * LINGER_MS)


@claim("08.8", guard=True, chapters="08", cli=True, native=True, refusals=True)
def test_08_every_state_and_each_end(launch, rng):
    """Over quota or lingering, with each backend: a client that closes, resets, half-
    closes or does nothing is forgotten or served."""
    every_end(launch, rng, FLOW_STATES)
