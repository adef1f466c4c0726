"""Chapter 07, what replies for later cost: waits, CPU time, memory, and where nobody reads them."""

from __future__ import annotations

import signal
import time

from harness.claims.context.observe import made_since, until_asleep
from harness.claims.marker import claim
from harness.claims.scenarios.cost import (
    HELD_BYTES,
    WATCHED,
    bounded,
    few_waits,
    launch_idle,
    no_cpu,
)
from harness.claims.scenarios.exchanges import SMALL_WINDOW, expect_stop
from harness.claims.scenarios.rpc_talk import echo_text
from harness.claims.scenarios.timed import LATE_MS
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import (
    AFTER,
    BAD_ARGUMENT,
    CANCEL,
    CANCELLED,
    MESSAGES,
    OK,
    after,
    cancel,
    every,
    reply,
    rung,
    rung_again,
)
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB

FAR = 60_000  # ms: nobody waits for it
WAITS_A_TIMER = 6  # on average; one is needed, and a server may look once more before it sleeps

# What a general hint means in a claim, see marker.claim.
LOST = ("silence", "stalled-reply", "replies-missing")
RINGS = {**dict.fromkeys(LOST, "alarm-lost"), "wrong-seq": "alarm-of-another"}
RESUME = dict.fromkeys(LOST, "alarms-not-resumed")


def cancel_one(client: Client) -> None:
    """Cancels the AFTER with seq 1; its last reply comes in front of that of CANCEL, or behind."""
    client.send_frame(cancel(7, 1))
    replies = {client.read_frame(), client.read_frame()}
    if replies != {reply(CANCEL, 7, OK), reply(AFTER, 1, CANCELLED)}:
        raise Failure("CANCEL did not have the two replies that are due", hint="alarm-cancel")


# 07.3 timers_run


@claim("07.3", points=3, cli=True, native=True, hints=RESUME)
def test_07_alarms_that_nobody_reads(launch, rng):
    """EVERY 1 ms to a client that does not read costs no memory and no CPU; all replies come."""
    server = launch(framing=MESSAGES, steps=True)
    echo_text(server.connect())
    base = server.process.resident_bytes()
    client = server.connect(rcvbuf=SMALL_WINDOW)
    text, count = rng.randbytes(200_000), 100
    client.send_frame(every(1, 1, count, text))
    time.sleep(2 * count / 1000)  # who piles replies up has made them by now
    when = "while the client does not read the replies of an EVERY"
    no_cpu(server, when, "spins-writing", seconds=WATCHED)
    bounded(server, base, HELD_BYTES, f"of {count} replies of 200 KB that the client does not read")
    client.expect_frames([rung_again(1, index, text) for index in range(count)])
    echo_text(client)


@claim("07.3", points=2, chapters="07-09", cli=True, native=True, hints={"silence": "memory-grows"})
def test_07_alarms_hold_32_mib(launch):
    """The alarms of a connection may hold 32 MiB together; more than that is a bad argument."""
    server = launch(framing=MESSAGES)
    client = server.connect()
    text = bytes(12 * MIB)
    client.send_frames([after(1, FAR, text), after(2, FAR, text)])
    client.exchange(length_framing.encode(after(3, FAR, text)), [reply(AFTER, 3, BAD_ARGUMENT)])
    cancel_one(client)
    client.send_frame(after(3, FAR, text))
    echo_text(client)


@claim("07.3", points=2, cli=True)
def test_07_stop_with_alarms(launch):
    """SIGTERM ends the server within a second, with status 0, whatever timers are set."""
    server = launch(("--idle-timeout", "50000"), framing=MESSAGES)
    client = server.connect()
    client.send_frames([after(1, FAR, b"x"), every(2, FAR, 5, b"y")])
    echo_text(client)
    expect_stop(server, signal.SIGTERM)


# 07.5 timers_timeout


@claim("07.5", points=3, cli=True, native=True)
def test_07_sleeps_until_the_first_timer(launch):
    """While no timer is due, or none is set, the server sleeps: it uses no CPU and no wait ends."""
    for backend in ("select", "poll", "epoll"):
        server = launch_idle(launch, argv_extra=("--backend", backend), framing=MESSAGES)
        client = server.connect()
        echo_text(client)
        _sleeps(server, f"with no timer set, and {backend},")
        client.send_frame(after(1, 10, b"x"))
        server.clock.advance(10 + LATE_MS)
        client.expect_frame(rung(1, b"x"))
        _sleeps(server, f"after the only timer has rung, with {backend},")
    client.send_frames([after(1, FAR, b"x"), every(2, 2_000_000_000, 3, b"y")])
    echo_text(client)
    when = "with the first timer due in a minute"
    _sleeps(server, when)
    no_cpu(server, when, "timer-timeout", seconds=WATCHED)


def _sleeps(server, when: str) -> None:
    until_asleep(server)
    few_waits(server, when, "timer-timeout")


@claim("07.5", points=3, cli=True, sees_calls=True, hints=RINGS)
def test_07_no_wait_ends_too_early(launch):
    """Twenty timers cost some twenty waits: each one ends when a timer is due, and not before.

    On the clock of the machine, so that a server cannot know that time is moved.
    """
    server = launch(framing=MESSAGES)
    client = server.connect()
    echo_text(client)
    until_asleep(server)
    before = server.process.calls()
    count, began = 20, time.monotonic()
    client.send_frames([after(seq, 15 * seq, b"x") for seq in range(1, count + 1)])
    for seq in range(1, count + 1):
        client.expect_frame(rung(seq, b"x"))
        passed = 1000 * (time.monotonic() - began)
        if passed < 15 * seq:
            text = f"a reply that was due after {15 * seq} ms came after {passed:.0f} ms"
            raise Failure(text, hint="timer-early")
    if before is None:  # the library that counts is not in this server
        return
    waits = made_since(server, before, "waits")
    if waits > WAITS_A_TIMER * count:
        text = f"for {count} timers, one after the other, the server made {waits:,} wait calls"
        raise Failure(text, hint="timer-timeout")
