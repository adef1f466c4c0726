"""Chapter 08, a graceful end: what is owed arrives, no client is accepted, and there is a limit."""

from __future__ import annotations

import errno
import signal
import socket

from harness.claims.context.observe import eventually, until_asleep
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.exchanges import (
    SMALL_WINDOW,
    ask,
    expect_stop,
    owe_bytes,
    ping,
    words,
)
from harness.claims.scenarios.timed import LATE_MS, MOMENT_MS, expect_at, pass_until, soon
from harness.client import length_framing
from harness.client.messages import ECHO, MESSAGES, OK, after, reply, request, rung, string
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB

GRACE_MS = 3_000  # less than a client that takes nothing has, see test_08_closing.py
LONG = ("--grace", "60000")
QUOTA_MS = 1_000
ALARM_MS = 2_000
OWED_BYTES = 256 * KIB
CONNECT_SECONDS = 1.0
MANY = 2_000  # messages, of which an iteration answers 256: see --app rpc in docs/protocol.md

# What a general hint means in a claim, see marker.claim.
OWED = dict.fromkeys((*MUTE, *GONE), "grace-owed")
ENDS = {**OWED, "not-closed": "grace-idle", "not-ended": "grace-idle"}


# 08.9 grace


@claim("08.9", fatal="bytes", cli=True, hints=ENDS)
def test_08_replies_arrive_when_the_server_ends(launch, rng):
    """After SIGTERM with --grace: no new client, all owed replies, then EOF and status 0."""
    for backend in ((), ("--backend", "poll"), ("--backend", "select")):
        server = launch((*LONG, *backend))
        idle, begins, asks = (server.connect(name) for name in ("idle", "begins", "asks"))
        slow = server.connect("slow", rcvbuf=SMALL_WINDOW)
        owed = owe_bytes(slow, rng, OWED_BYTES)
        ping(idle, rng)
        begins.send(length_framing.encode(words(rng, 100))[:50])
        until_asleep(server)
        bodies = [words(rng, 50) for _ in range(100)]
        with server.paused():
            asks.send_frames(bodies)
            server.process.signal(signal.SIGTERM)
        asks.expect_frames(bodies)
        for client in (asks, idle, begins):
            client.expect_eof()
        _expect_refused(server)
        slow.expect_frames(owed)
        slow.expect_eof()
        for client in (asks, idle, begins, slow):
            client.close()
        _expect_end(server, "every client has all its replies and has closed")
        _expect_all_answered(launch((*LONG, *backend), framing=MESSAGES))


def _expect_all_answered(server) -> None:
    """A client has sent more than the budget of an iteration answers when the server is to end."""
    client, text = server.connect("many"), string(b"many")
    ask(client, request(ECHO, MANY, text), reply(ECHO, MANY, OK, text))  # it is accepted
    until_asleep(server)
    with server.paused():
        client.send_frames([request(ECHO, seq, text) for seq in range(MANY)])
        server.process.signal(signal.SIGTERM)
    client.expect_frames([reply(ECHO, seq, OK, text) for seq in range(MANY)])
    client.expect_eof()
    client.close()
    _expect_end(server, "its only client has all replies and has closed")


@claim("08.9", cli=True, hints={**OWED, "timer-early": "quota-early"})
def test_08_frames_that_wait_when_the_server_ends(launch, rng):
    """With --grace frames over the quota, and alarms, are answered in their time after SIGTERM."""
    server = launch((*LONG, "--quota", f"2/{QUOTA_MS}"), clock=True)
    client = server.connect()
    bodies = [words(rng, 20) for _ in range(5)]
    began = server.clock.now_ms
    client.send_frames(bodies[:3])
    client.expect_frames(bodies[:2])
    client.send_frames(bodies[3:])  # they stay in the kernel: over the quota it does not read
    _signal_at_rest(server, signal.SIGTERM)
    expect_at(server, client, bodies[2:4], began, QUOTA_MS)
    expect_at(server, client, bodies[4:], began, 2 * QUOTA_MS)
    client.expect_eof()
    client.close()
    _expect_end(server, "its only client has all replies and has closed")
    server = launch(LONG, framing=MESSAGES, clock=True)
    client, began = server.connect(), server.clock.now_ms
    client.send_frame(after(1, ALARM_MS, b"late"))
    _signal_at_rest(server, signal.SIGTERM)
    expect_at(server, client, [rung(1, b"late")], began, ALARM_MS)
    client.expect_eof()
    client.close()
    _expect_end(server, "the alarm of its only client has rung, and the client has closed")


@claim("08.9", cli=True, native=True, needs="queues", hints=OWED)
def test_08_grace_has_a_limit(launch, rng):
    """A client that does not read delays the end by the time of --grace, to the millisecond. A
    second signal ends the server at once."""
    for number in (signal.SIGTERM, signal.SIGINT):
        server = launch(("--grace", str(GRACE_MS)), clock=True)
        owe_bytes(server.connect("never reads", rcvbuf=SMALL_WINDOW), rng, OWED_BYTES, certain=True)
        server.clock.advance(1)  # from now on it is known whose clock it has
        began = server.clock.now_ms
        _signal_at_rest(server, number)
        _expect_refused(server)
        if server.clock.ours:
            pass_until(server, began, GRACE_MS - MOMENT_MS)
        if not server.process.alive() and server.clock.now_ms - began < GRACE_MS:
            text = f"with a client that does not read it ended before {GRACE_MS:,} ms were over"
            raise Failure(text, hint="grace-early")
        pass_until(server, began, GRACE_MS + LATE_MS)
        if not soon(server, lambda: not server.process.alive()):
            text = f"{LATE_MS} ms after the {GRACE_MS:,} ms of --grace the server still runs"
            raise Failure(text, hint="grace-late")
        _expect_status_0(server)
    for options, number in ((LONG, signal.SIGINT), (LONG, signal.SIGTERM), (("--grace", "0"), 0)):
        server = launch(options)
        owe_bytes(server.connect("never reads", rcvbuf=SMALL_WINDOW), rng, OWED_BYTES)
        until_asleep(server)
        if number:
            server.process.signal(signal.SIGTERM)
            _expect_refused(server)
        expect_stop(server, number or signal.SIGTERM)


def _signal_at_rest(server, number: signal.Signals) -> None:
    """Sends a signal to a server that waits, and returns when it waits again, or has ended."""
    server.clock.settle()
    server.process.signal(number)
    server.clock.settle()


def _refuses(server) -> bool:
    """Whether a connect() is refused now."""
    with socket.socket() as one:
        one.settimeout(CONNECT_SECONDS)
        return one.connect_ex(server.address) == errno.ECONNREFUSED


def _expect_refused(server) -> None:
    """Checks that the server, which has been told to end, listens no more, and still runs."""
    server.conversation.note("the grader", "connects, and has to be refused")
    if not eventually(server, lambda: _refuses(server)):
        raise Failure("after the signal the server still accepts clients", hint="grace-listens")
    if not server.process.alive():
        text = "the server ended at once, although it owes replies to a client"
        raise Failure(text, hint="grace-owed")


def _expect_end(server, when: str) -> None:
    """Expects the end of the server now, with status 0."""
    if not eventually(server, lambda: not server.process.alive()):
        raise Failure(f"the server still runs, although {when}", hint="grace-idle")
    _expect_status_0(server)


def _expect_status_0(server) -> None:
    if not server.process.describe().startswith("exited with status 0"):
        raise Failure("after the signal the server did not exit with status 0", hint="wrong-exit")
