"""Chapter 07, clients that take too long: --idle-timeout and --frame-timeout.

The clock of the server is ours. So connections that are closed too early, or a millisecond too
late, are found however busy the machine is, and so is one that is closed although it was in time.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import SMALL_WINDOW, echo, ping, words
from harness.claims.scenarios.timed import MINUTE, MOMENT_MS, expect_closed_at, in_time, pass_until
from harness.claims.scenarios.waiting import every_end
from harness.claims.scenarios.waiting_states import TIMER_STATES
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import ECHO, MESSAGES, OK, after, reply, request, rung, string
from harness.submission.sizes import MIB

STEP = 50  # ms between two bytes, or frames, of a client that takes its time
ALARM_MS = 50  # of an alarm that rings within the time of a frame
CUT = length_framing.encode(request(ECHO, 2, string(b"rest")))

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


@claim("07.6", cli=True, hints=IDLE)
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


@claim("07.6", cli=True, hints=FRAME)
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


@claim("07.6", guard=True, cli=True, hints=FRAME)
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


@claim("07.6", cli=True, native=True, hints=FRAME)
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


@claim("07.6", chapters="07-08", cli=True, native=True, refusals=True)
def test_07_every_state_and_each_end(launch, rng):
    """In each state in which it waits, a client that closes, resets, half-closes or does nothing is
    forgotten or served, with every backend."""
    every_end(launch, rng, TIMER_STATES)
