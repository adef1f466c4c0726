"""Chapter 03: wait for readiness, do not ask for it. No CPU time when nothing can be done.

The claims of 03.1 use a few dozen connections, because the table of the skeleton holds no more.
"""

from __future__ import annotations

import signal
import statistics
import time

from harness.claims.context.observe import eventually, made_since, until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.cost import few_waits, launch_idle, no_cpu
from harness.claims.scenarios.exchanges import (
    LONG_REPLY,
    SMALL_WINDOW,
    connect_and_ping,
    connect_narrow,
    owe_bytes,
    ping,
    words,
)
from harness.claims.scenarios.first_frames import try_out
from harness.claims.scenarios.many_clients import connected
from harness.client import length_framing
from harness.feedback.failure import Failure
from harness.server.preload import Group, Plan, Step
from harness.submission.sizes import KIB, MIB
from harness.waiting.shared import SPURIOUS

# Of a processor. One that looks at 1,000 connections twenty times a second uses 0.6 % and more.
IDLE_MANY = 0.004

# A server without descriptors may try again now and then. One that spins uses all the time it gets.
# On a busy machine that may be little, so its calls are counted too: asyncio makes 130 a second.
FULL = 0.25
FULL_ITERATIONS = 250
FULL_LOG = 4  # bytes an iteration: the shortest line has more
AGAIN_MS = 200  # from 08 on a server tries to accept ten times a second
FULL_CALLS = 500  # of accept, or of a wait, in a second; and in less than that

READ_SECONDS = 5  # that a server may take to read some MiB
LATE_MS = 150  # of a reply; a right server may take some tens of milliseconds over it
LEAST_MS = 50  # of the soonest one: a busy machine does not make all of them late
OWED_BYTES = 256 * KIB  # below what a server may hold before it stops reading
OTHERS, REQUESTS = 200, 20
READS_A_REQUEST = 10  # at most, on average; one or two are needed
STUCK = 5  # clients that do not take their replies
WRITES_MORE = 3  # times as many as without them, at most
WRITES_TRIES = 10  # the kernel takes what it still has space for: a write then is no mistake
IDLE_CLIENTS = 1_150

# Wait calls in half a second with nothing to do. A server may look at a clock now and then: this
# is a look every 5 ms. One that asks for POLLOUT makes 100,000, one with a timeout of 1 ms 450.
IDLE_WAITS = 100
IDLE_SECONDS = 0.5
WAITS_A_REQUEST = 5  # at most, on average; one or two are needed


# What a general hint means in a claim, see marker.claim.
HALF_CLOSE = {
    **dict.fromkeys(("closed-early", "closed-in-reply"), "replies-lost-at-eof"),
    "reset-early": "reset-by-close",
}
MANY = dict.fromkeys(
    ("silence", "connect-stuck", "closed-early", "reset-early", "not-taken"), "table-too-small"
)
SIGNALS = dict.fromkeys(("ended-early", "closed-early", "reset-early"), "ended-by-a-signal")
CLEAN = {
    **dict.fromkeys(("wrong-header", "wrong-body", "silence"), "state-left-over"),
    **dict.fromkeys(("closed-early", "reset-early"), "closed-in-the-iteration"),
}
BACK = dict.fromkeys(("silence", "connect-stuck"), "server-stopped-accepting")
BLOCKED = dict.fromkeys(("silence", "connect-stuck"), "ready-for-nothing")


# 03.1 interest


@claim("03.1", explains=True)
def test_03_first_frames(server, rng):
    """Frames of 5, 5, 5,000 and 70,000 bytes, and those of a second client, come back."""
    try_out(server, rng, at_once=True)  # worth no points: it says once why most claims fail


@claim("03.1", native=True)
def test_03_peer_that_does_not_read_uses_no_cpu(launch, rng):
    """While a client does not read its reply the server uses no CPU time."""
    server = launch(steps=True)
    body = rng.randbytes(LONG_REPLY)
    client = connect_narrow(server)
    client.send_frame(body)
    until_read(client, READ_SECONDS)
    more = words(rng, 8)
    client.send_frame(more)  # a server that asks for input now has to take it
    no_cpu(server, "while a client does not read its reply", "spins-writing")
    client.expect_frame(body)
    client.expect_frame(more)


@claim("03.1", native=True, hints=HALF_CLOSE)
def test_03_half_closed_peer_uses_no_cpu(launch, rng, inherited):
    """While a half-closed client does not read its reply the server uses no CPU time."""
    server = launch(steps=True)
    body = rng.randbytes(LONG_REPLY if inherited else 12 * MIB)
    client = connect_narrow(server) if inherited else server.connect(rcvbuf=SMALL_WINDOW)
    client.send_frame(body)
    until_read(client, READ_SECONDS)
    client.half_close()
    no_cpu(server, "while a half-closed client does not read its reply", "spins-half-closed")
    client.expect_closed_after([body])
    client = connect_narrow(server)  # and so little is owed that one may read on
    owed = owe_bytes(client, rng, OWED_BYTES)
    client.half_close()
    until_read(client)
    when = "while a half-closed client does not read its last replies"
    no_cpu(server, when, "spins-half-closed")
    client.expect_closed_after(owed)


@claim("03.1", sees_calls=True)
def test_03_waits_only_for_what_it_needs(server, rng):
    """It makes one wait call for what is needed: few per request, and none again while idle."""
    clients = connect_and_ping(server, rng, 20)
    before = server.process.calls()
    if before is None:  # the library that counts is not in this server
        return
    few_waits(server, "with 20 idle clients", "spins-idle", IDLE_WAITS, IDLE_SECONDS)
    before = server.process.calls()
    for _ in range(200):
        ping(clients[0], rng)
    waits = made_since(server, before, "waits")
    if waits > 200 * WAITS_A_REQUEST:
        text = f"the server made {waits:,} wait calls for 200 requests, one after the other"
        raise Failure(text, hint="waits-too-often")


@claim("03.1", guard=True)
def test_03_replies_come_at_once(launch, rng):
    """A server with nothing else to do answers at once: it does not sleep between two checks."""
    server = launch(clock=True)
    client, began = server.connect(), server.clock.now_ms
    for _ in range(9):
        body = rng.randbytes(16)
        client.send_frame(body)
        ours = server.clock.ours  # a sleep with a limit has shown by which clock it goes
        with server.clock.within():
            client.expect_frame(body)
        if not ours:
            return _replies_soon(client, rng)
    passed = server.clock.now_ms - began
    if passed > 0:
        raise Failure("an idle server answers only when its clock moves on", hint="late-reply")


def _replies_soon(client, rng) -> None:
    """The client is answered at once by a server that keeps the clock of the machine."""
    for _ in range(3):  # a busy machine can be slow once, but not three times
        times = []
        for _ in range(9):
            start = time.monotonic()
            ping(client, rng)
            times.append(1000 * (time.monotonic() - start))
        if statistics.median(times) <= LATE_MS and min(times) <= LEAST_MS:
            return
    text = f"an idle server takes {statistics.median(times):.0f} ms to answer (median of 9, "
    raise Failure(f"{text}the minimum is {min(times):.0f} ms)", hint="late-reply")


# 03.2 the pollfd array and the wait


@claim("03.2", native=True, descriptors=IDLE_CLIENTS + 200, hints=MANY)
def test_03_idle_clients_use_no_cpu(launch, rng):
    """With 1,150 idle clients the server uses no CPU time, not even for rare checks."""
    server = launch_idle(launch)
    first = server.connect()
    server.conversation.note("the grader", f"connects {IDLE_CLIENTS:,} clients")
    with connected(server, IDLE_CLIENTS):
        for client in (first, server.connect("last")):
            ping(client, rng)
        no_cpu(server, f"with {IDLE_CLIENTS:,} idle clients", "spins-idle", IDLE_MANY)


@claim("03.2", hints=SIGNALS)
def test_03_storm_of_signals(server, rng):
    """Signals that interrupt the wait end neither the server nor a connection."""
    if server.process.calls() is None:
        return  # the library with the handler is not in this server: a signal would kill it
    client = server.connect()
    ping(client, rng)
    if not until_asleep(server):
        text = "with nothing to do the server does not wait, so no signal can interrupt a wait"
        raise Failure(text, hint="spins-idle")
    for number in range(100):
        if number % 10:  # else it comes when it comes
            until_asleep(server)
        server.process.signal(signal.SIGUSR1)
        if number % 5 == 0:
            ping(client, rng)
    ping(server.connect(), rng)


# 03.3 dispatch


@claim("03.3")
def test_03_reads_only_the_ready(server, rng):
    """A request costs few read and write calls, however many other clients are connected."""
    clients = connect_and_ping(server, rng, OTHERS)
    if server.process.calls() is None:  # the library that counts is not in this server
        return
    reads, writes = _calls(server, clients[0], rng)
    if reads > REQUESTS * READS_A_REQUEST:
        text = f"{REQUESTS} requests of one client, beside {OTHERS - 1} idle ones, took {reads:,}"
        raise Failure(f"{text} read calls", hint="reads-every-client")
    body = rng.randbytes(LONG_REPLY)
    for _ in range(STUCK):
        stuck = connect_narrow(server, "stuck")
        stuck.send_frame(body)
        until_read(stuck, READ_SECONDS)
    for _ in range(WRITES_TRIES):
        until_asleep(server)
        _, beside = _calls(server, clients[0], rng)
        if beside <= WRITES_MORE * writes:
            return
    text = f"{REQUESTS} requests of one client took {writes:,} write calls, and {beside:,}"
    raise Failure(f"{text} beside {STUCK} that do not read", hint="writes-to-every-client")


def _calls(server, client, rng) -> tuple[int, int]:
    """How many read and write calls the server makes for some requests."""
    before = server.process.calls()
    for _ in range(REQUESTS):
        ping(client, rng)
    now = server.process.calls()
    return now.inputs - before.inputs, now.outputs - before.outputs


@claim("03.3", guard=True, hints=BLOCKED, sees_calls=True)
def test_03_readiness_that_was_none(server, rng):
    """A wait that reports input when none is there delays no other client.

    Linux may do that: see the section BUGS of select(2).
    """
    if server.shim is None:
        return
    quiet, live = server.connect("quiet"), server.connect("live")
    for client in (quiet, live):
        ping(client, rng)
    number = server.shim.shared.connections - 2
    for _ in range(5):
        server.shim.schedule(Plan(Group.INPUT, [Step(SPURIOUS)], connection=number))
        body = words(rng, 1)
        quiet.send_frame(body)
        for _ in range(3):
            ping(live, rng)
        server.shim.schedule()
        quiet.expect_frame(body)


@claim("03.3", guard=True)
def test_03_resets_are_noticed(server, rng):
    """Clients that reset while the server waits to read from or write to them are closed."""
    ping(server.connect(), rng)
    base = server.process.descriptors().total
    readers = [connect_narrow(server) for _ in range(5)]
    for reader in readers:
        reader.send_frame(rng.randbytes(LONG_REPLY))
        until_read(reader)
    writers = [server.connect() for _ in range(5)]
    for writer in writers:
        writer.send(length_framing.header(10) + rng.randbytes(4))
        until_read(writer)
    for client in readers + writers:
        client.reset()
    _let_go(server, base, "10 clients have reset their connections")


@claim("03.3")
def test_03_many_leave_in_one_iteration(server, rng):
    """When 25 of fifty clients leave at once, those are closed and the others are served; then
    those leave together, and are closed though no other event follows."""
    ping(server.connect(), rng)
    base = server.process.descriptors().total
    clients = connect_and_ping(server, rng, 50)
    full = server.process.descriptors().total
    with server.paused():
        for client in clients[::2]:
            client.close()
    for client in clients[1::2]:
        ping(client, rng)
    _let_go(server, full - 25, "25 of 50 clients have closed their connections")
    with server.paused():
        for client in clients[1::2]:
            client.close()
    _let_go(server, base, "the other 25 have left together")


@claim("03.3", guard=True, hints=CLEAN)
def test_03_leave_and_arrive_in_one_iteration(server, rng):
    """Clients that arrive while others leave are not mistaken for them."""
    bodies = [words(rng, 6) for _ in range(10)]
    old = [server.connect("old") for _ in bodies]
    for client, body in zip(old, bodies):
        ping(client, rng)
        client.send(length_framing.encode(body)[:6])
        until_read(client)
    with server.paused():
        for client in old[::2]:
            client.reset()
        new = [(server.connect("new"), words(rng, 5)) for _ in range(10)]
        for client, body in new:
            client.send_frame(body)
    for client, body in new:
        client.expect_frame(body)
    for client, body in list(zip(old, bodies))[1::2]:
        client.send(length_framing.encode(body)[6:])
        client.expect_frame(body)


def _let_go(server, goal: int, after: str) -> None:
    """The server holds at most `goal` descriptors, soon."""
    if not eventually(server, lambda: server.process.descriptors().total <= goal):
        more = server.process.descriptors().total - goal
        text = f"{after}, and the server still holds {more} of the descriptors"
        raise Failure(text, hint="descriptor-leak")


# 03.4 out of descriptors. valgrind has a limit of its own, and closes what it accepts above it.


@claim("03.4", native=True)
def test_03_out_of_descriptors_costs_no_cpu(launch, rng):
    """With no descriptor left the server does not spin on the client that it cannot accept."""
    server, served, _ = _full(launch, rng, steps=True)
    before, start = server.process.calls(), time.monotonic()
    no_cpu(server, "with no descriptor left", "spins-full", FULL)
    if before is not None:  # the library that counts is in the server
        after, seconds = server.process.calls(), time.monotonic() - start
        made = max(after.accepts - before.accepts, after.waits - before.waits) / max(seconds, 1)
        if made > FULL_CALLS:
            text = f"with no descriptor left the server tries again {made:,.0f} times a second"
            raise Failure(text, hint="spins-full")
    ping(served[0], rng)


@claim("03.4", guard=True, cli=True, native=True, hints=BACK)
def test_03_out_of_descriptors_is_told_once(launch, rng):
    """With no descriptor left the log says so, and not in every iteration of the loop."""
    server, served, _ = _full(launch, rng, clock=True)
    with server.clock.within():
        ping(served[0], rng)
        before = server.process.stderr.total
        for _ in range(FULL_ITERATIONS):
            ping(served[0], rng)
    printed = server.process.stderr.total - before
    if printed > FULL_LOG * FULL_ITERATIONS:
        text = f"with no descriptor left the log grew by {printed:,} bytes"
        raise Failure(f"{text} in {FULL_ITERATIONS:,} iterations", hint="log-grows")


@claim("03.4", native=True, hints=BACK)
def test_03_out_of_descriptors_and_back(launch, rng):
    """With no descriptor left the open clients are served; when some leave, others are accepted."""
    server, served, waiting = _full(launch, rng, clock=True)
    body = words(rng, 8)
    for client in waiting:
        client.send_frame(body)
    with server.clock.within():
        for client in served:
            ping(client, rng)
    for client in served:
        client.close()
    places = len(served)
    for first in range(0, len(waiting), places):
        server.clock.advance(AGAIN_MS)
        with server.clock.within():
            for client in waiting[first : first + places]:
                client.expect_frame(body)
                client.close()
    with server.clock.within():
        ping(server.connect("late"), rng)


def _full(launch, rng, **options):
    """A server that may open 32 descriptors, 10 clients it serves, and 30 more that want in.

    With a clock that stands none of them waits too long: from 08 on it is turned away after 3 s.
    """
    server = launch(nofile=32, **options)
    with server.clock.within():
        served = connect_and_ping(server, rng, 10, "served")
    waiting = [server.connect("waiting") for _ in range(30)]
    return server, served, waiting
