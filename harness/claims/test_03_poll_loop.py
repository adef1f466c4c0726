"""Chapter 03: wait for readiness, do not ask for it. No CPU time when nothing can be done.

The claims of 03.1 keep to a few dozen connections, which the table of the skeleton has room for.
"""

from __future__ import annotations

import resource
import signal
import statistics
import time

from harness import wire
from harness.failure import Failure, NotJudged
from harness.flood import flooding
from harness.measure import cpu_share, eventually, until_read
from harness.plugin import claim
from harness.talk import MIB, SMALL_WINDOW, echo


# Shares of a processor. A server that waits uses none. One that looks at 50 connections every
# millisecond uses 2 % and more; one that looks at 1,000 twenty times a second uses 0.6 % and more.
IDLE_FEW = 0.01
IDLE_MANY = 0.004

# A server without descriptors may try again now and then; one that spins uses all there is.
FULL = 0.25

LATE_MS = 150  # of a reply; a right server may take some tens of milliseconds over it
CROWD = 1_150

# What a general hint means in a claim, see plugin.claim.
HALF_CLOSE = dict.fromkeys(
    ("closed-early", "closed-in-reply", "reset-early"), "replies-lost-at-eof"
)
MANY = dict.fromkeys(("silence", "connect-stuck"), "table-too-small")
SIGNALS = dict.fromkeys(("ended-early", "closed-early", "reset-early"), "ended-by-a-signal")
STARVED = dict.fromkeys(("silence", "connect-stuck"), "starved")
CLEAN = dict.fromkeys(("wrong-header", "wrong-body", "silence"), "state-left-behind")


def no_cpu(server, what: str, limit: float, hint: str) -> None:
    share = cpu_share(server, limit)
    server.conversation.note("the grader", "watches what the server costs while nothing happens")
    if share > limit:
        raise Failure(f"{what} the server uses {share:.1%} of a processor", hint=hint)


# 03.1 interest


@claim("03.1", points=10, native=True)
def test_03_idle_server_uses_no_cpu(server):
    """With fifty idle clients the server uses no CPU time."""
    for _ in range(50):
        echo(server.connect(), b"and now nothing")
    no_cpu(server, "with 50 idle clients", IDLE_FEW, "spins-idle")


@claim("03.1", points=10, native=True)
def test_03_peer_that_does_not_read_uses_no_cpu(server, rng):
    """While a client does not take its reply the server uses no CPU time."""
    body = rng.randbytes(12 * MIB)
    client = server.connect(rcvbuf=SMALL_WINDOW)
    client.send_frame(body)
    until_read(client)
    no_cpu(server, "while a client does not take its reply", IDLE_FEW, "spins-writing")
    client.expect_frame(body)


@claim("03.1", points=8, native=True, hints=HALF_CLOSE)
def test_03_half_closed_peer_uses_no_cpu(server, rng):
    """While a client that has half-closed does not take its reply the server uses no CPU time."""
    body = rng.randbytes(12 * MIB)
    client = server.connect(rcvbuf=SMALL_WINDOW)
    client.send_frame(body)
    until_read(client)
    client.half_close()
    no_cpu(server, "while a half-closed client takes no reply", IDLE_FEW, "spins-half-closed")
    client.expect_closed_after([body])


@claim("03.1", points=6)
def test_03_replies_come_at_once(server):
    """A server with nothing else to do answers at once, and does not sleep between two looks."""
    client = server.connect()
    for _ in range(3):  # a busy machine can be slow once, but not three times
        times = []
        for number in range(9):
            start = time.monotonic()
            echo(client, b"ping %d" % number)
            times.append(1000 * (time.monotonic() - start))
        if statistics.median(times) <= LATE_MS:
            return
    text = f"an idle server takes {statistics.median(times):.0f} ms to answer (median of 9)"
    raise Failure(text, hint="late-reply")


# 03.2 the pollfd array


@claim("03.2", points=10, hints=MANY)
def test_03_more_than_a_thousand_connections(server):
    """1,150 clients are connected at once, and every one is served."""
    clients = _crowd(server)
    for client in clients:
        client.send_frame(b"%d" % client.fileno())
    for client in clients:
        client.expect_frame(b"%d" % client.fileno())


@claim("03.2", points=8, native=True)
def test_03_idle_crowd_uses_no_cpu(server):
    """With 1,150 idle clients the server uses no CPU time, however seldom it might look."""
    clients = _crowd(server)
    echo(clients[0], b"first")
    echo(clients[-1], b"last")
    no_cpu(server, f"with {CROWD:,} idle clients", IDLE_MANY, "spins-idle")


def _crowd(server):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < CROWD + 200:
        raise NotJudged(f"this machine allows fewer than {CROWD + 200} descriptors (ulimit -Hn)")
    return [server.connect() for _ in range(CROWD)]


# 03.3 the wait


@claim("03.3", points=8, hints=SIGNALS)
def test_03_storm_of_signals(server, rng):
    """Signals that interrupt the wait end neither the server nor a connection."""
    if server.process.calls() is None:
        return  # the library with the handler is not in this server: a signal would kill it
    client = server.connect()
    for number in range(100):
        server.process.signal(signal.SIGUSR1)
        if number % 5 == 0:
            echo(client, rng.randbytes(number))
    echo(server.connect(), b"still here?")


# 03.4 dispatch


@claim("03.4", points=8, hints=STARVED)
def test_03_flood_starves_nobody(server, rng):
    """A client that never stops sending does not keep the others from being served."""
    quiet = [server.connect("quiet")]
    with flooding(server, rng.randbytes(8)):
        quiet += [server.connect("late"), server.connect("later")]
        for number in range(5):
            for client in quiet:
                echo(client, b"%d" % number)


@claim("03.4", points=6)
def test_03_resets_are_noticed(server, rng):
    """Clients that reset while the server waits for them, to read or to write, are let go."""
    echo(server.connect(), b"stays")
    base = server.process.descriptors().total
    readers = [server.connect(rcvbuf=SMALL_WINDOW) for _ in range(5)]
    for reader in readers:
        reader.send_frame(rng.randbytes(8 * MIB))
        until_read(reader)
    writers = [server.connect() for _ in range(5)]
    for writer in writers:
        writer.send(wire.header(10) + b"half")
        until_read(writer)
    for client in readers + writers:
        client.reset()
    _let_go(server, base, "10 clients have reset their connections")


# 03.5 closing


@claim("03.5", points=8)
def test_03_every_second_client_leaves(server):
    """When every second of fifty clients leaves at once, those are let go and the others served."""
    clients = [server.connect() for _ in range(50)]
    for client in clients:
        echo(client, b"here")
    base = server.process.descriptors().total
    server.process.pause()
    for client in clients[::2]:
        client.close()
    server.process.resume()
    for client in clients[1::2]:
        echo(client, b"still here")
    _let_go(server, base - 25, "25 of 50 clients have closed their connections")


@claim("03.5", points=6, hints=CLEAN)
def test_03_leaving_and_arriving_in_one_turn(server):
    """Clients that arrive while others leave are not taken for them."""
    old = [server.connect("old") for _ in range(10)]
    for client in old:
        echo(client, b"here")
        client.send(wire.header(6) + b"ol")
        until_read(client)
    server.process.pause()
    for client in old[::2]:
        client.reset()
    new = [server.connect("new") for _ in range(10)]
    for number, client in enumerate(new):
        client.send_frame(b"new %d" % number)
    server.process.resume()
    for number, client in enumerate(new):
        client.expect_frame(b"new %d" % number)
    for client in old[1::2]:
        client.send(b"d one")
        client.expect_frame(b"old on")


def _let_go(server, goal: int, after: str) -> None:
    """The server holds at most `goal` descriptors, soon."""
    if not eventually(server, lambda: server.process.descriptors().total <= goal):
        more = server.process.descriptors().total - goal
        text = f"{after}, and the server still holds {more} of the descriptors"
        raise Failure(text, hint="descriptor-leak")


# 03.6 out of descriptors. valgrind has a limit of its own, and closes what it accepts above it.


@claim("03.6", points=6, native=True)
def test_03_out_of_descriptors_costs_no_cpu(launch):
    """With no descriptor left the server does not spin on the client that it cannot accept."""
    server, served, _ = _full(launch)
    no_cpu(server, "with no descriptor left", FULL, "spins-full")
    echo(served[0], b"still served")


@claim("03.6", points=6, native=True)
def test_03_out_of_descriptors_and_back(launch):
    """With no descriptor left the clients it has are served; when some leave, others are let in."""
    server, served, waiting = _full(launch)
    for client in waiting:
        client.send_frame(b"let me in")
    for client in served:
        echo(client, b"still served")
    for client in served:
        client.close()
    for client in waiting:
        client.expect_frame(b"let me in")
        client.close()


def _full(launch):
    """A server that may open 32 descriptors, 10 clients it serves, and 30 more who want in."""
    server = launch(nofile=32)
    served = [server.connect("served") for _ in range(10)]
    for client in served:
        echo(client, b"in time")
    waiting = [server.connect("waiting") for _ in range(30)]
    return server, served, waiting
