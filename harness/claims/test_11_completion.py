"""Chapter 11: bytes are moved by operations that complete.

The library in the server sees its calls, but no operation. So what is done to operations is done
from outside: by many clients, small sockets, and clients that leave or read late. Modules are tried
one by one in test_11_modules.py, with a ring in which operations complete as the check wants it.
"""

from __future__ import annotations

import os
import signal

from harness.claims.context.observe import (
    bytes_within,
    eventually,
    until_asleep,
    until_read,
    written_bytes,
)
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import (
    SMALL_WINDOW,
    burst,
    connect_narrow,
    expect_failed_start,
    expect_stop,
    owe_bytes,
    ping,
    run_to_its_end,
    send_and_owe,
    words,
)
from harness.claims.scenarios.many_clients import served
from harness.client import length_framing
from harness.feedback.failure import Failure, NotJudged
from harness.server.linux import prctl
from harness.submission.sizes import KIB, MIB

RING = ("--io", "uring")
ONE_LOOP = ("--threads", "1")
WRONG_WAYS = ("=", "=URING", "=ring", "=poll", "=uring,epoll", "=0", "")

SMALL = ("LENT_COUNT=2", "RING_ENTRIES=2")  # see lent.h and ring.c
FEW = 12  # clients for these

CLIENTS, IN_FLIGHT, ROUNDS = 50, 16, 20
CALLS_A_REQUEST = 0.1
ASKED = 20  # frames of each client while calls are looked at
MOVING = ("read", "recv", "write", "send", "accept")  # parts of the names of calls

WAITING = 200  # clients in the backlog: as many fit, says the protocol
CLIENTS_A_CALL = 6

IDLE_CLIENTS = 10_000
SPARE = 200  # descriptors for everything else, here and in the server
A_CLIENT = 12 * KIB  # resident, as in chapter 10

LEAVING = 20  # clients that leave in each way
FILLED = 100 * KIB
SEND_BYTES = 2 * MIB  # what one send takes at most
HIGH_WATER = 3 * SEND_BYTES
LOW_WATER = HIGH_WATER - SEND_BYTES - 64 * KIB  # reached by the second send, and not by the first
OWED_BYTES = 3 * MIB
FLOOD = 10_000  # frames of 1,000 bytes: more than the kernel and the output of a client hold
LOT, LOTS = 30, 100  # frames at a time, fewer than fill 64 KiB; and how often at most

# What a general hint means in a claim, see marker.claim.
LOST = ("silence", "stalled-reply", "replies-missing", "not-taken", "wrong-body", "wrong-header")
GONE = ("closed-early", "closed-in-reply", "reset-early", "extra-bytes")
ENDED = ("ended-early", "crashed", "memory-fault", "not-closed", "connect-refused")
INPUT = dict.fromkeys((*LOST, *GONE, *ENDED), "ring-lost")
SENDS = dict.fromkeys((*LOST, *GONE, *ENDED), "ring-send")
LEAVE = dict.fromkeys((*LOST, *GONE, *ENDED), "ring-peer-gone")
STOPS = dict.fromkeys(("not-ended", "wrong-exit", "memory-fault", "memory-leak"), "ring-stop")
MISSING = {"died-at-start": "ring-missing"}


# 11.5 ring_cancel: a client that sends much is received without lent buffers, and so needs it


@claim("11.5", fatal="bytes", cli=True, needs="io_uring", hints=SENDS)
def test_11_sends_are_short(launch, rng):
    """A client with a small window reads late: it gets all replies in order, also after its FIN."""
    server = launch((*RING, *ONE_LOOP))
    late = server.connect("late", rcvbuf=SMALL_WINDOW)
    data = length_framing.encode(rng.randbytes(4 * MIB)) + length_framing.encode(b"after it")
    sent = late.send_some(data)
    other = server.connect("other")
    ping(other, rng)
    late.echo_all(data, sent)
    bodies = [rng.randbytes(rng.choice((0, 1, 700, 9_000))) for _ in range(2_000)]
    owed = send_and_owe(late, bodies)
    late.half_close()
    ping(other, rng)
    late.expect_frames(owed)
    late.expect_eof()
    marks = ("--high-water", str(HIGH_WATER), "--low-water", str(LOW_WATER))
    _frames_are_left(launch((*RING, *ONE_LOOP, *marks)), rng)


def _frames_are_left(server, rng) -> None:
    """The output is at high water, frames are left, and FIN follows them. Then the client takes so
    much at once that several sends complete one after the other."""
    late = server.connect("late")
    owed = owe_bytes(late, rng, HIGH_WATER - FILLED)
    size = len(length_framing.encode(owed[0]))
    late.send_frames(owed[:1])  # so short that a server may leave its next receive in flight
    owed += owed[:1]
    until_read(late)
    for _ in range(FILLED // size):  # a few at a time: the server reads all of them at once
        if (bytes_within(late, size * len(owed)) or 0) > HIGH_WATER:
            break
        late.send_frames(owed[:FEW])
        owed += owed[:FEW]
        until_read(late)
    late.half_close()
    until_asleep(server)
    count = (written_bytes(late) or 0) // size
    with server.paused():
        late.expect_frames(owed[:count])
    late.expect_frames(owed[count:])
    late.expect_eof()


# 11.6 calls


@claim("11.6", cli=True, native=True, needs="io_uring")
def test_11_accepts_in_batches(launch, rng):
    """200 clients that wait in the backlog are served with less than a ring call for 6 of them."""
    server = launch((*RING, *ONE_LOOP))
    ping(server.connect(), rng)
    before = _ring_calls(server)
    with server.paused():
        clients = [server.connect() for _ in range(WAITING)]
        for client in clients:
            client.send_frame(b"here")
    for client in clients:
        client.expect_frame(b"here")
    calls = _ring_calls(server) - before
    if calls * CLIENTS_A_CALL >= WAITING:
        text = f"{WAITING} clients were accepted and answered in {calls} calls for the ring"
        raise Failure(text, hint="ring-accepts-one")


def _ring_calls(server) -> int:
    """How many calls for the ring the server has made."""
    if server.shim is None or not server.shim.shared.rings:
        raise NotJudged("the calls of this server for its ring cannot be counted")
    return server.shim.shared.rings


# 11.7 forget


@claim("11.7", cli=True, needs="io_uring", hints=LEAVE)
def test_11_peers_leave_in_flight(launch, rng):
    """Clients reset, close or half-close with operations in flight; others are served on."""
    server = launch((*RING, *ONE_LOOP))
    stays = server.connect("stays")
    big = length_framing.encode(rng.randbytes(OWED_BYTES))
    for number in range(LEAVING):
        for leave in ("reset", "close", "half_close"):
            client = server.connect("leaves", rcvbuf=SMALL_WINDOW)
            client.send_some(big if number % 2 else big[: len(big) // 2], quiet=0.01)
            getattr(client, leave)()
            client.abandon()
        idle = server.connect("idle")
        ping(idle, rng)
        idle.send(big[:3])
        until_read(idle)
        idle.reset()
        ping(stays, rng)
    burst(stays, [rng.randbytes(size) for size in (0, 70_000, 1, 300_000)])
    if not eventually(server, lambda: server.process.descriptors().sockets <= 2):
        text = f"{4 * LEAVING} clients have left, and sockets of them are still open"
        raise Failure(text, hint="ring-peer-gone")


@claim("11.7", cli=True, valgrind=True, needs="io_uring", hints=STOPS)
def test_11_stops_with_operations_in_flight(launch, rng):
    """Under valgrind: SIGTERM while operations are in flight ends it with 0, and frees all."""
    marks = ("--high-water", str(64 * KIB))
    server = launch((*RING, *ONE_LOOP, *marks))
    _trickles(server, length_framing.encode(words(rng, 1000)) * LOT, rng)
    expect_stop(server, signal.SIGTERM)
    server = launch((*RING, "--threads", "2", *marks))
    for _ in range(2):
        ping(server.connect("silent"), rng)
        server.connect("begins").send(length_framing.encode(words(rng, 100))[:-1])
        large = server.connect("large")
        large.send(length_framing.encode(rng.randbytes(300_000))[:-1])
        until_read(large)
        unread = server.connect("unread", rcvbuf=SMALL_WINDOW)
        unread.send_some(length_framing.encode(rng.randbytes(OWED_BYTES)))
        floods = server.connect("floods", rcvbuf=SMALL_WINDOW)
        floods.send_some(length_framing.encode(words(rng, 1000)) * FLOOD)
        leaves = server.connect("leaves", rcvbuf=SMALL_WINDOW)
        leaves.send_some(length_framing.encode(rng.randbytes(OWED_BYTES)))
        leaves.reset()
    until_asleep(server)
    expect_stop(server, signal.SIGTERM)


def _trickles(server, lot: bytes, rng) -> None:
    """A client that does not read sends a little at a time, until the server takes no more. Some of
    it has arrived after the server has stopped reading."""
    client = connect_narrow(server, "trickles")
    ping(client, rng)  # so short that a server may leave its next receive in flight
    for _ in range(LOTS):
        if client.send_some(lot, quiet=0.05) < len(lot):
            return
        until_asleep(server)


# All together: 11.8 open


@claim("11.8", cli=True, native=True, needs="io_uring", hints=INPUT)
def test_11_rings_for_two(launch, rng):
    """Built with rings for two operations and with two lent buffers, it loses nothing either."""
    server = launch((*RING, *ONE_LOOP), defines=SMALL, shim=False)
    clients = [server.connect() for _ in range(FEW)]
    for size in (8, 100, 3_000, 40_000, 200_000):
        bodies = [rng.randbytes(size) for _ in clients]
        for client, body in zip(clients, bodies):
            client.send_frame(body)
        for client, body in zip(clients, bodies):
            client.expect_frame(body)
    burst(clients[0], [rng.randbytes(number % 300) for number in range(3_000)])
    burst(clients[1], [rng.randbytes(8 * MIB)])
    for client in clients[2:6]:
        client.reset()
    for client in clients[6:]:
        ping(client, rng)
        client.close()
    expect_stop(server, signal.SIGTERM)


@claim("11.8", cli=True, native=True, needs="io_uring")
def test_11_uses_the_ring_by_default(launch, rng):
    """Without options bytes are moved by the ring: no call reads, sends, accepts or polls."""
    server = launch(ONE_LOOP)
    ping(server.connect("first"), rng)
    if server.shim is None:
        raise NotJudged("the library that counts calls is not in this server")
    before, last = server.process.calls(), server.shim.record_after(0)[1]
    for _ in range(5):
        client = server.connect()
        for _ in range(ASKED):
            ping(client, rng)
        burst(client, [rng.randbytes(100_000)])
    after = server.process.calls()
    called = [entry for entry in server.shim.record_after(last)[0] if _moves(server, entry)]
    names = {f"{entry.function}()" for entry in called}
    if after.accepts > before.accepts:
        names.add("accept()")
    if after.waits > before.waits:
        names.add("a function that waits for readiness")
    if names:
        text = f"five clients were served, and the server called {', '.join(sorted(names))}"
        raise Failure(text, hint="not-by-the-ring")


def _moves(server, entry) -> bool:
    """Whether this is a call on a socket that moves bytes. A wake-up is none."""
    if not any(part in entry.function for part in MOVING):
        return False
    try:
        return os.readlink(f"/proc/{server.process.pid}/fd/{entry.fd}").startswith("socket:")
    except OSError:
        return False


@claim("11.8", cli=True, native=True, needs="io_uring")
def test_11_few_ring_calls(launch, rng):
    """50 clients with 16 requests in flight cost less than 0.1 calls for the ring a request."""
    server = launch((*RING, *ONE_LOOP))
    clients = [server.connect() for _ in range(CLIENTS)]
    bodies = [rng.randbytes(64) for _ in range(IN_FLIGHT)]
    for client in clients:
        ping(client, rng)
    before = _ring_calls(server)
    for _ in range(ROUNDS):
        with server.paused():
            for client in clients:
                client.send_frames(bodies)
        for client in clients:
            client.expect_frames(bodies)
    calls, requests = _ring_calls(server) - before, ROUNDS * CLIENTS * IN_FLIGHT
    if calls >= CALLS_A_REQUEST * requests:
        text = f"{requests:,} requests took {calls:,} calls for the ring"
        raise Failure(text, hint="ring-calls-too-many")


@claim("11.8", cli=True, native=True, needs="io_uring", hints=MISSING)
def test_11_without_io_uring(launch, run, rng):
    """Where the kernel refuses io_uring, --io uring says so and ends with 1, the default serves."""
    for given in WRONG_WAYS:
        expect_failed_start([*run.argv, f"--io{given}"], 2, "usage")
    if not prctl.can_refuse_calls():
        raise NotJudged("on this machine io_uring cannot be refused to a server")
    _expect_reason([*run.argv, *RING])
    for options in ((), ("--io", "epoll"), ("--backend", "poll")):
        server = launch(options, ring=False)
        if not options and not eventually(server, lambda: server.process.stderr.total):
            text = "io_uring is refused, and the server logs nothing about it"
            raise Failure(text, hint="ring-missing")
        ping(server.connect(), rng)
        expect_stop(server, signal.SIGTERM)


def _expect_reason(argv) -> None:
    """Checks that the server ends with status 1 and a line on stderr where io_uring is missing."""
    process, ended = run_to_its_end(argv, ring=False)
    if ended is None:
        text = "io_uring is refused, but with --io uring the server keeps running"
        raise Failure(text, hint="ring-missing")
    if ended.code != 1 or not process.stderr.total:
        said = "something" if process.stderr.total else "nothing"
        text = (
            f"io_uring is refused: with --io uring the server {ended}, and said {said} on stderr; "
            "due are status 1 and the reason"
        )
        raise Failure(text, hint="ring-missing")


@claim("11.8", cli=True, native=True, descriptors=IDLE_CLIENTS + SPARE, needs="io_uring")
def test_11_idle_clients_own_no_buffer(launch, rng):
    """Each of 10,000 clients that wait costs at most 12 KiB of memory, as in chapter 10."""
    server = launch(RING, nofile=IDLE_CLIENTS + SPARE)
    ping(server.connect(), rng)
    base = server.process.resident_bytes()
    with served(server, IDLE_CLIENTS):
        each = (server.process.resident_bytes() - base) / IDLE_CLIENTS
    if each > A_CLIENT:
        text = f"with {IDLE_CLIENTS:,} clients each costs {each / KIB:.1f} KiB of memory"
        raise Failure(text, hint="ring-idle")
