"""Chapter 10: a connection is a coroutine, and the server does everything it did before."""

from __future__ import annotations

import signal

from harness.claims.context.observe import until_asleep, until_read
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.cost import WATCHED, launch_idle, no_cpu
from harness.claims.scenarios.exchanges import SMALL_WINDOW, expect_stop, ping, words
from harness.claims.scenarios.many_clients import served
from harness.claims.scenarios.timed import expect_at
from harness.claims.scenarios.waiting import every_end
from harness.claims.scenarios.waiting_states import FLOW_STATES, TIMER_STATES
from harness.client import length_framing
from harness.client.messages import (
    ECHO,
    MESSAGES,
    OK,
    after,
    broadcast,
    pushed,
    reached,
    reply,
    request,
    rung,
    string,
)
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB

LOW_WATER = ("--high-water", str(64 * KIB))
LATE_BYTES = 16 * MIB  # of a reply: more than the kernel takes, four times over
OWED_TEXTS, OWED_MS = 40, 600  # texts of 100 KB that become due while nobody reads
PIPELINED = 1_500  # messages in one send: answered in several iterations
HELD, QUOTA_MS = 5, 300
CLOCK_MS = 2  # with the clock of the machine an interval may seem so much shorter
UNREAD_BYTES = 6 * MIB

CLIENTS = 10_000
SPARE = 200  # descriptors for everything else, here and in the server
A_CLIENT = 12 * KIB  # resident: the pages of its stack that are touched, and what it is

STATES, STUCK = 40, 6  # clients in each state when the server is stopped

# What a general hint means in a claim, see marker.claim.
LOST = (*MUTE, "not-closed")
TIMES = ("timer-early", "timer-late", "timer-timeout")
SERVES = dict.fromkeys((*LOST, *GONE, *TIMES, "wrong-seq", "wrong-fields"), "co-serve")
STOPS = dict.fromkeys(("not-ended", "wrong-exit"), "co-stop")


# 10.8 send_rest


@claim("10.8", fatal="bytes", cli=True, hints=dict.fromkeys((*LOST, *GONE, "wrong-seq"), "co-send"))
def test_10_serves_on_when_the_peer_reads(launch, rng):
    """A client that reads late gets its 16 MiB, alarms that rang meanwhile, and EOF."""
    server = launch(LOW_WATER)
    late = server.connect("late", rcvbuf=SMALL_WINDOW)
    body = rng.randbytes(LATE_BYTES)
    data = length_framing.encode(body)
    sent = late.send_some(data)
    late.echo_all(data, sent)
    late.half_close()
    late.expect_eof()
    server = launch(LOW_WATER, framing=MESSAGES, clock=True)
    late, text = server.connect("late", rcvbuf=SMALL_WINDOW), words(rng, 100_000)
    for seq in range(OWED_TEXTS):
        late.send_frame(after(seq, OWED_MS, text))
    until_read(late)
    other = server.connect("other")
    began = server.clock.now_ms
    other.send_frame(after(1, OWED_MS, b"after them all"))
    expect_at(server, other, [rung(1, b"after them all")], began, OWED_MS)
    until_asleep(server)
    late.expect_frames(rung(seq, text) for seq in range(OWED_TEXTS))


# 10.9 serve_frames


@claim("10.9", cli=True, native=True, hints=SERVES)
def test_10_waits_for_the_right_thing(launch, rng):
    """Frames left over, a full output, a used-up quota, a broadcast: each time it goes on."""
    _frames_left_over(launch, rng)
    _next_interval(launch, rng)
    _low_water(launch, rng)
    _reply_to_a_broadcast(launch)


def _frames_left_over(launch, rng) -> None:
    """Sends more frames than are answered in one iteration, and nothing after them."""
    server = launch_idle(launch, framing=MESSAGES)
    client, text = server.connect(), string(b"left over")
    client.send_frames([request(ECHO, seq, text) for seq in range(PIPELINED)])
    client.expect_frames([reply(ECHO, seq, OK, text) for seq in range(PIPELINED)])
    _sleeps(server, "when all is answered")


def _next_interval(launch, rng) -> None:
    server = launch(("--quota", f"{HELD}/{QUOTA_MS}"), clock=True)
    client, began = server.connect(), server.clock.now_ms
    bodies = [words(rng, 8) for _ in range(3 * HELD)]
    client.send_frames(bodies)
    client.expect_frames(bodies[:HELD])
    for start in range(HELD, len(bodies), HELD):
        early = 0 if server.clock.ours else CLOCK_MS
        expect_at(server, client, bodies[start : start + HELD], began, QUOTA_MS - early)
        began = server.clock.now_ms if server.clock.ours else began + QUOTA_MS
    server = launch_idle(launch, argv_extra=("--quota", f"{HELD}/60000"))
    client = server.connect()
    client.send_frames(bodies)
    client.expect_frames(bodies[:HELD])
    client.send_frames(bodies)
    _sleeps(server, "while a quota is used up")


def _low_water(launch, rng) -> None:
    server = launch_idle(launch, argv_extra=LOW_WATER)
    client = server.connect(rcvbuf=SMALL_WINDOW)
    data = length_framing.encode(words(rng, 1000)) * (UNREAD_BYTES // 1000)
    sent = client.send_some(data)
    _sleeps(server, "while a client does not read")
    client.echo_all(data, sent)
    _sleeps(server, "when the client has read all")


def _reply_to_a_broadcast(launch) -> None:
    """A request that follows a broadcast is answered after it."""
    client = launch(("--threads", "3"), framing=MESSAGES).connect()
    for seq in range(0, 100, 2):
        client.send_frames([broadcast(seq, b"all"), request(ECHO, seq + 1, string(b"next"))])
        client.expect_frames(
            [pushed(b"all"), reached(seq, 1), reply(ECHO, seq + 1, OK, string(b"next"))]
        )


def _sleeps(server, when: str) -> None:
    """Checks that the server does nothing now."""
    no_cpu(server, when, "co-serve", seconds=WATCHED)


@claim("10.9", cli=True, native=True, refusals=True)
def test_10_every_state_and_each_end(launch, rng):
    """In each state in which a coroutine waits, a client that closes, resets, half-closes or does
    nothing is forgotten or served."""
    ways = (("--backend", "poll"), ("--backend", "epoll"))
    every_end(launch, rng, (*TIMER_STATES, *FLOW_STATES), ways=ways)


# What coroutines cost


@claim(
    "10.9",
    chapters="10",
    native=True,
    cli=True,
    descriptors=CLIENTS + SPARE,
)
def test_10_ten_thousand_clients(launch, rng):
    """10,000 clients are served, and each costs only a few pages of its stack."""
    server = launch(nofile=CLIENTS + SPARE)
    ping(server.connect(), rng)
    base = server.process.resident_bytes()
    with served(server, CLIENTS):
        each = (server.process.resident_bytes() - base) / CLIENTS
        ping(server.connect(), rng)
    if each > A_CLIENT:
        text = f"with {CLIENTS:,} clients each costs {each / KIB:.1f} KiB of memory"
        raise Failure(text, hint="co-memory")


# The end


@claim("10.9", cli=True, native=True, hints=STOPS, refusals=True)
def test_10_stops_in_any_state(launch, rng):
    """SIGTERM ends the server whatever its coroutines wait for, clients and free space too."""
    served = 4 * STATES + STUCK
    options = ("--quota", f"{HELD}/60000", "--max-conns", str(served), "--threads", "3")
    server = launch(options, clock=True)
    _in_all_states(server, rng)
    until_asleep(server)
    expect_stop(server, signal.SIGTERM)
    server = launch(nofile=32)
    waiting = [server.connect() for _ in range(40)]
    ping(waiting[0], rng)
    expect_stop(server, signal.SIGTERM)


def _in_all_states(server, rng) -> None:
    """STATES clients of each kind, but STUCK of those that do not read; then some have to wait."""
    for _ in range(STUCK):
        server.connect("unread", rcvbuf=SMALL_WINDOW).send_frame(rng.randbytes(8 * MIB))
    for _ in range(STATES):
        ping(server.connect("silent"), rng)
        server.connect("begins").send(length_framing.encode(words(rng, 100))[:-1])
        server.connect("held").send_frames([b"held"] * (HELD + 1))
        lingers = server.connect("lingers")
        lingers.send(length_framing.TOO_LONG)
        lingers.expect_eof()
    for _ in range(STATES):
        server.connect("waits").send_frame(b"here")
