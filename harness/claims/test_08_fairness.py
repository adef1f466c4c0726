"""Chapter 08, an iteration of the loop: no client keeps it for long, and none is forgotten."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.claims.context.observe import (
    SENDS,
    WAITS,
    arrived_bytes,
    eventually,
    made_since,
    most_accepted_in_an_iteration,
    until_asleep,
)
from harness.claims.marker import MUTE, claim
from harness.claims.scenarios.exchanges import ask, burst_that_waits, ping, words
from harness.claims.scenarios.greedy import greedy
from harness.claims.scenarios.many_clients import connected
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import ECHO, MESSAGES, OK, SUM, i64, reply, request, string, sum_of
from harness.feedback.conversation import counted
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB
from harness.waiting.sockets import first_stamp, taken_before, want_stamps
from harness.waiting.wait import wait_until

if TYPE_CHECKING:
    from harness.claims.context.stage import Server
    from harness.client.stream import Stream
    from harness.waiting.shared import Entry

BACKENDS = ("select", "poll", "epoll")

GREEDY_CLIENTS = 40
STAMPED_SECONDS = 2.0  # until the kernel stamps what comes

# A client beside those that are over their quota, where time is real. It is held if each of its
# waits takes as long: then they end with the intervals.
ASKED_AGAIN, HELD_SECONDS = 5, 1.0

# Clients in the backlog at the same time; the protocol promises that as many fit.
WAITING = 200
ACCEPTED_AT_MOST = 64

# The budget of an iteration is 256 KiB, and a message takes 1 KiB of it.
MESSAGES_SENT, MESSAGES_A_BUDGET = 10_000, 256

# Messages of 4 bytes, whose replies have 16: the more of them are in a read, the longer it takes.
SHORTEST = b""
SHORTEST_REPLY = 16
GREEDY_LOT = 4096  # of them, from each greedy client; their replies fit into the kernel
IN_AN_ITERATION = 2 * MESSAGES_A_BUDGET  # to one client: its turn, and what was left of the last
BEFORE_POLITE = 4 * MESSAGES_A_BUDGET  # to one client: a server may take a few events at a time
POLITE = request(ECHO, 1, string(b"polite")), reply(ECHO, 1, OK, string(b"polite"))
QUOTA = 1000
ASKED = 50  # times, while the others wait for their next interval

# What a general hint means in a claim, see marker.claim.
LONG = dict.fromkeys(("silence", "connect-stuck"), "iteration-too-long")
HELD = dict.fromkeys(("silence", "iteration-too-long"), "quota-held")


# 08.1 budget


@claim("08.1", points=5, cli=True, native=True, hints=LONG)
def test_08_fire_hoses_do_not_keep_the_loop(launch):
    """Beside 40 greedy clients a polite one is answered soon: each has one budget an iteration."""
    pressed = launch(framing=MESSAGES)
    polite = pressed.connect("polite")
    ask(polite, *POLITE)
    until_asleep(pressed)
    sends = [one for one in _record_after(pressed, 0) if one.function in SENDS]
    if pressed.shim is None:
        return
    if not sends:  # they are operations of io_uring
        return _few_come_before(launch(("--threads", "1"), framing=MESSAGES))
    record = _all_at_once(pressed, polite)
    text = "messages of one client were answered"
    most = _most_in_an_iteration(record)
    if most > IN_AN_ITERATION:
        text = f"in one iteration of the loop {most:,} {text}"
        text += f"; the budget of one is enough for {MESSAGES_A_BUDGET}"
        raise Failure(text, hint="iteration-too-long")
    _check_before_polite(_most_before(record, sends[-1].connection))


def _check_before_polite(most: int) -> None:
    if most > BEFORE_POLITE:
        text = f"{most:,} messages of one client were answered before the first one of a polite "
        raise Failure(f"{text}client", hint="iteration-too-long")


def _all_at_once(server: Server, polite: Client) -> list[Entry]:
    """Returns the calls of the server after _sent_at_once(), up to its next sleep."""
    last = server.shim.shared.recorded
    with _sent_at_once(server, polite):
        polite.expect_frame(POLITE[1])
        until_asleep(server)
        return _record_after(server, last)


@contextmanager
def _sent_at_once(server: Server, polite: Client) -> Iterator[list[Stream]]:
    """Greedy clients have sent, and the polite one after them, when the server looks. Returns the
    greedy ones."""
    data = length_framing.encode(SHORTEST) * GREEDY_LOT
    with connected(server, GREEDY_CLIENTS) as streams:
        what = f"{GREEDY_LOT:,} empty frames each, all at once"
        server.conversation.note("greedy", f"{GREEDY_CLIENTS} clients send {what}")
        ask(polite, *POLITE)  # all of them are accepted
        until_asleep(server)
        with server.paused():
            for stream in streams:
                stream.send_all(data)
            polite.send_frame(POLITE[0])
        yield streams


def _few_come_before(server: Server) -> None:
    """Like _most_before(), where nobody sees what the server sends: what the kernel has delivered
    to each greedy client is compared with the first reply to the polite one. The loop is one, as
    another thread may go on while that of the polite client waits for a processor."""
    polite = server.connect("polite")
    want_stamps(polite)
    if not wait_until(lambda: _stamp_of_reply(server, polite), STAMPED_SECONDS):
        return  # this kernel does not stamp TCP
    with _sent_at_once(server, polite) as streams:
        for stream in streams:
            want_stamps(stream.socket)
        first = _stamp_of_reply(server, polite, asked=True)
        with server.paused():  # or what it sends now is joined with what came before
            came = [taken_before(stream.socket, first) for stream in streams]
    _check_before_polite(max(came) // SHORTEST_REPLY)


def _stamp_of_reply(server: Server, polite: Client, asked: bool = False) -> int | None:
    """The stamp of the next reply, which the client takes."""
    if not asked:
        polite.send_frame(POLITE[0])
    eventually(server, lambda: arrived_bytes(polite))
    stamp = first_stamp(polite)
    polite.expect_frame(POLITE[1])
    return stamp


def _record_after(server: Server, last: int) -> list[Entry]:
    return server.shim.record_after(last)[0] if server.shim else []


def _most_in_an_iteration(record: Sequence[Entry]) -> int:
    """How many messages of one client were answered at most between two waits of a thread."""
    answered: dict[int, Counter] = {}  # by thread, since it has waited
    most = 0
    for entry in record:
        if entry.function in WAITS:
            answered[entry.thread] = Counter()
        elif entry.function in SENDS and entry.result > 0 and entry.thread in answered:
            answered[entry.thread][entry.connection] += entry.result
            most = max(most, answered[entry.thread][entry.connection])
    return most // SHORTEST_REPLY


def _most_before(record: Sequence[Entry], polite: int) -> int:
    """How many messages of another client were answered at most before this connection was sent to,
    by the same thread."""
    sends = [entry for entry in record if entry.function in SENDS and entry.result > 0]
    first = next((one for one in sends if one.connection == polite), None)
    answered: Counter = Counter()
    for entry in sends[: sends.index(first)] if first else ():
        if entry.thread == first.thread:
            answered[entry.connection] += entry.result
    return max(answered.values(), default=0) // SHORTEST_REPLY


@claim("08.1", points=3, cli=True, sees_calls=True, hints=dict.fromkeys(MUTE, "budget-used-up"))
def test_08_nothing_stalls_after_the_budget(launch, rng):
    """Work that is left after one iteration is done in the next ones, though nothing arrives."""
    bodies = [words(rng, 8)] * 100_000
    for backend in BACKENDS:
        options = ("--backend", backend)
        server = launch(options)
        burst_that_waits(server, server.connect(), bodies)
        client = server.connect()
        client.echo_all(length_framing.encode(rng.randbytes(MIB) * 4))
        _ask_much(launch(options, framing=MESSAGES))


def _ask_much(server) -> None:
    """Sums of nothing, which are all there when the server looks, and more than one budget is
    for."""
    client = server.connect()
    data = b"".join(length_framing.encode(sum_of(seq)) for seq in range(MESSAGES_SENT))
    replies = [reply(SUM, seq, OK, i64(0)) for seq in range(MESSAGES_SENT)]
    before = server.process.calls()
    with server.paused():
        sent = client.send_some(data, quiet=0.05)
    client.exchange(data[sent:], replies)
    if before is None:  # the library that counts is not in this server
        return
    waits = made_since(server, before, "waits")
    if waits < MESSAGES_SENT // MESSAGES_A_BUDGET:
        text = f"{MESSAGES_SENT:,} messages were answered in {counted(waits, 'iteration')} of the "
        text += f"loop; the budget of one is enough for {MESSAGES_A_BUDGET}"
        raise Failure(text, hint="iteration-too-long")


# 08.3 quota


@claim("08.3", points=2, cli=True, native=True, hints=HELD)
def test_08_over_quota_delays_nobody_else(launch):
    """While 40 greedy clients wait for their next interval, others are served as if alone."""
    held = launch(("--quota", f"{QUOTA}/2000"), framing=MESSAGES, clock=True)
    with connected(held, GREEDY_CLIENTS) as streams:
        what = f"send {GREEDY_LOT:,} empty frames each"
        held.conversation.note("greedy", f"{GREEDY_CLIENTS} clients {what}")
        for stream in streams:
            stream.send_all(length_framing.encode(SHORTEST) * GREEDY_LOT)
        if held.clock.ours:
            return _served_at_once(held, streams)
    with greedy(held, SHORTEST, GREEDY_CLIENTS):
        _served_soon(held)


def _served_at_once(server: Server, over_quota: Sequence[Stream]) -> None:
    """A client is served while the clock of the server stands, so that no interval ends."""
    client, began = server.connect("polite"), server.clock.now_ms
    with server.clock.within():
        for _ in range(ASKED):
            ask(client, *POLITE)
    passed = server.clock.now_ms - began
    if passed > 0:
        text = f"a client had to wait {passed:,.0f} ms while {GREEDY_CLIENTS} others were over"
        raise Failure(f"{text} their quota", hint="quota-held")
    server.clock.settle()
    most = max(arrived_bytes(stream.socket) for stream in over_quota) // SHORTEST_REPLY
    if most > QUOTA:
        text = f"{most:,} frames of one client were answered, and {QUOTA:,} are allowed"
        raise Failure(f"{text} in an interval", hint="quota-kept")


def _served_soon(server: Server) -> None:
    """A client is served while intervals end by the clock of the machine. Other programs may make
    some of its waits long, but not each."""
    client, times = server.connect("polite"), []
    for _ in range(ASKED_AGAIN):
        start = time.monotonic()
        ask(client, *POLITE)
        times.append(time.monotonic() - start)
    if min(times) > HELD_SECONDS:
        text = f"while {GREEDY_CLIENTS} others are over their quota, a client waits "
        raise Failure(f"{text}{min(times):.1f} s for each reply", hint="quota-held")


# 08.5 accept_clients


@claim("08.5", points=1, cli=True, native=True, hints={"silence": "accepts-rest"}, sees_calls=True)
def test_08_many_connects_do_not_hold_the_loop(launch, rng):
    """One iteration accepts at most 64 of 200 waiting clients; all of them are served."""
    for backend in BACKENDS:
        server = launch(("--backend", backend))
        ping(server.connect("served"), rng)
        with server.paused():
            waiting = [server.connect("waiting") for _ in range(WAITING)]
        for client in waiting:
            ping(client, rng)
        most = most_accepted_in_an_iteration(server)
        if most > ACCEPTED_AT_MOST:
            text = f"one iteration of the loop accepted {most} clients"
            raise Failure(f"{text}, and {ACCEPTED_AT_MOST} are allowed", hint="accepts-all")
