"""Chapter 09, several loops: which serves which client, what they share, and how they end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from harness.claims.context.observe import eventually, until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import (
    ask,
    burst,
    connect_and_ping,
    expect_stop,
    ping,
    words,
)
from harness.claims.scenarios.greedy import greedy
from harness.claims.scenarios.many_clients import connected
from harness.claims.scenarios.rpc_talk import (
    LOOPS,
    THREADS,
    all_clients,
    broadcast_to,
    broadcasts_in_flight,
    echo_text,
    one_each,
    stats,
    storm,
    who,
)
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import (
    MALFORMED,
    MESSAGES,
    WHO,
    after,
    broadcast,
    pushed,
    reply,
    request,
)
from harness.feedback.failure import Failure, meaning
from harness.submission.sizes import KIB, MIB

# Bytes that the client of each loop has echoed, and the part of its even share of the CPU time that
# a thread has to have used.
WORK = 16 * MIB
SHARE = 0.3

STORM_ROUNDS = 150

# Clients that have sent as many broadcasts as fit between them and the server, and others.
SENDERS, LISTENERS = 20, 180
PIPELINED = 256 * KIB  # of each


# What a general hint means in a claim, see marker.claim.
MUTE = ("silence", "stalled-reply", "replies-missing", "closed-early", "reset-early", "not-taken")
SHARES = dict.fromkeys((*MUTE, "wrong-fields"), "loop-share")
SUMS = dict.fromkeys((*MUTE, "wrong-fields"), "stats-of-all")
STOPS = {"not-ended": "thread-not-told", "wrong-exit": "thread-left"}


# 09.3 hand_over


@claim("09.3", cli=True, hints=SHARES)
def test_09_every_loop_gets_its_share(launch):
    """Each of 4 loops serves 10 of 40 clients; without --threads there is a loop for each CPU. WHO
    says which one, and has no fields."""
    for loops in (LOOPS, 3, 1):
        clients = one_each(launch(("--threads", str(loops)), framing=MESSAGES), loops, 40 // loops)
        for index, mine in enumerate(clients):
            for client in (mine[0], mine[-1]):
                _is_served_by(client, index)
    default = launch(framing=MESSAGES)
    ask(default.connect(), request(WHO, 5, b"\0"), reply(WHO, 5, MALFORMED))
    counts = {os.sysconf("SC_NPROCESSORS_ONLN"), len(os.sched_getaffinity(0))}
    found = {who(default.connect()) for _ in range(2 * max(counts))}
    if not any(found == set(range(count)) for count in counts):
        text = f"without --threads the loops of {2 * max(counts)} clients are {sorted(found)}"
        raise Failure(f"{text}, with {max(counts)} CPUs", hint="loop-share")


def _is_served_by(client: Client, index: int) -> None:
    """Checks that the loop `index` still serves the client."""
    found = who(client)
    if found != index:
        text = f"a client that loop {index} has served is served by loop {found} now"
        raise Failure(text, hint="loop-share")
    echo_text(client, b"served", 1)


@claim("09.3", cli=True, native=True, hints=SHARES)
def test_09_each_loop_has_its_thread(launch, rng):
    """Four threads serve the clients of four loops, each a part of them."""
    server = launch(THREADS)
    clients = connect_and_ping(server, rng, LOOPS)
    before = _cpu_of_threads(server)
    data = rng.randbytes(MIB)
    for client in clients:
        burst(client, [data] * (WORK // MIB))
    used = {name: now - before.get(name, 0) for name, now in _cpu_of_threads(server).items()}
    even = sum(used.values()) / LOOPS
    busy = [seconds for seconds in used.values() if seconds > SHARE * even]
    if len(busy) < LOOPS:
        text = f"{len(busy)} threads served the clients of {LOOPS} loops"
        raise Failure(text, hint="loop-share")


def _cpu_of_threads(server) -> dict[str, int]:
    """Nanoseconds by thread, from schedstat, see proc(5); else ticks."""
    times = {}
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        try:
            times[task.name] = int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            times[task.name] = int(fields[11]) + int(fields[12])
    return times


# 09.4 count


@claim("09.4", cli=True, hints=SUMS)
def test_09_stats_of_all_loops(launch):
    """STATS counts connections and frames of all loops, whichever loop is asked."""
    server = launch(THREADS, framing=MESSAGES)
    clients = all_clients(server, 2)
    frames = len(clients)  # WHO of each
    for client in clients:
        for seq in range(5):
            echo_text(client, b"x", seq)
        frames += 5
    for client in clients:
        frames = _expect_stats(server, client, len(clients), frames)
    for gone in clients[1:]:
        gone.close()
    _expect_stats(server, clients[0], 1, frames)


def _expect_stats(server, client: Client, connections: int, frames: int) -> int:
    """Waits until STATS is as expected: a frame or a client that left may be counted a moment
    later. Returns the frames now."""
    found = (0, 0, 0)

    def as_due() -> bool:
        nonlocal found, frames
        frames += 1
        found = stats(client)
        return found == (connections, frames, frames - 1)

    if not eventually(server, as_due):
        due = f"{connections} connections, {frames} frames received and {frames - 1} sent"
        text = "STATS says {} connections, {} frames received and {} sent".format(*found)
        raise Failure(f"{text}; due is {due}", hint="stats-of-all")
    return frames


# 09.7 join


@claim("09.7", chapters="09", cli=True, valgrind=True)
def test_09_memory(launch, rng):
    """Under valgrind: clients of all loops come, go and broadcast, and SIGTERM ends it all."""
    server = launch(THREADS, framing=MESSAGES)
    clients = all_clients(server, 2)
    broadcast_to(clients[0], clients[1:], 1, words(rng, 20))
    for client in clients:  # from now on, all the time: many broadcasts meet a client that left
        client.send_frames(_many_broadcasts(1000))
    for leave in ("reset", "close", "reset", "close", "reset", "close", "half_close"):
        client = server.connect("leaves")
        client.send_frames([after(1, 60_000, b"far"), *_many_broadcasts(60)])
        until_read(client)
        getattr(client, leave)()
        client.abandon()
    expect_stop(server, signal.SIGTERM)


def _many_broadcasts(count: int) -> list[bytes]:
    return [broadcast(seq, b"in flight") for seq in range(2, 2 + count)]


@claim("09.7", cli=True, native=True, hints=STOPS)
def test_09_stops_under_load(launch, rng):
    """SIGTERM ends the server within a second: while it sleeps, with 100 clients, 20 of them
    greedy, and with thousands of BROADCASTs waiting."""
    idle = launch(THREADS)
    for _ in range(LOOPS):
        ping(idle.connect(), rng)
    until_asleep(idle)
    expect_stop(idle, signal.SIGTERM)
    for _ in range(2):
        server = launch(THREADS)
        leaving = [server.connect() for _ in range(80)]
        ping(leaving[-1], rng)
        with greedy(server, rng.randbytes(1020), 20):
            expect_stop(server, signal.SIGTERM)
    _broadcasts_wait(launch(THREADS, framing=MESSAGES))


def _broadcasts_wait(server) -> None:
    """Some clients have thousands of BROADCASTs waiting, and do not read."""
    one = length_framing.encode(broadcast(1, b""))
    data = one * (PIPELINED // len(one))
    with connected(server, SENDERS + LISTENERS) as streams:
        what = f"connects {len(streams)} clients; {SENDERS} send BROADCASTs and do not read"
        server.conversation.note("the grader", what)
        for sender in streams[:SENDERS]:
            sender.offer(data)
        streams[-1].read_exactly(len(length_framing.encode(pushed(b""))), "the first push")
        with meaning({"not-ended": "stop-in-order"}):
            expect_stop(server, signal.SIGTERM)


@claim("09.7", cli=True, native=True, needs="thread")
def test_09_no_data_races(launch, rng):
    """The thread sanitizer sees no race while clients of all loops come, go, ask and broadcast."""
    server = launch((*THREADS, "--max-conns", "1000"), framing=MESSAGES, sanitize="thread")
    clients = storm(server.connect, rng, STORM_ROUNDS)
    broadcasts_in_flight(clients)
    expect_stop(server, signal.SIGTERM)
