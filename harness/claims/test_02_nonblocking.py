"""Chapter 02: one slow client must not stop everyone. From here on any number of clients.

The claims of a TODO need that TODO and the ones before it: up to 02.2 one client at a time, up to
02.4 two. Up to 02.3 a client that has begun a frame completes it before another one is served.
"""

from __future__ import annotations

import os

from harness.claims.context.observe import arrived_bytes, eventually, until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.cost import no_cpu
from harness.claims.scenarios.exchanges import (
    LONG_REPLY,
    SMALL_WINDOW,
    burst,
    come_and_go,
    connect_and_ping,
    connect_narrow,
    echo,
    interrupt,
    ping,
    read_in_turns,
    send_in_turns,
)
from harness.claims.scenarios.greedy import greedy
from harness.client import length_framing
from harness.client.expected_replies import Replies
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB
from harness.waiting.threads import sleeps_in_close
from harness.waiting.wait import wait_until

# Of a processor. A sweep that sleeps a millisecond each time takes 2 %. One that never sleeps
# takes all the time it gets, which on a busy machine may be little.
BUSY_SHARE = 0.12

# Bytes: more than the kernel holds for a client with short segments, so that none is sent at once.
TWO_LARGE = (2_000_011, 3_000_001)

# Of a reply: the kernel takes it at once of a server, and the client's kernel takes little of it.
KERNEL_BYTES = 200 * KIB

DESCRIPTORS, SERVED = 32, 5
LET_GO = 0.3  # seconds, for a client that is gone; other claims find a server that keeps it longer

# What a general hint means in a claim, see marker.claim.
LARGE = dict.fromkeys(("closed-early", "reset-early", "refused-as-too-long"), "large-frame-refused")
SHORT_WRITE = {
    **dict.fromkeys(("stalled-reply", "closed-early", "closed-in-reply"), "short-write"),
    **dict.fromkeys(("wrong-body", "wrong-header"), "remainder-from-elsewhere"),
}
# A wrong place may lie outside the server's memory: EFAULT, and the server closes.
AFTER_SHORT_WRITE = {
    **SHORT_WRITE,
    "silence": "one-frame-only",
    "closed-early": "remainder-from-elsewhere",
}
BLOCKED = dict.fromkeys(("silence", "connect-stuck", "not-taken"), "blocked-by-another")
MIXED = dict.fromkeys(("wrong-header", "wrong-body"), "state-shared")
SLOW = {**BLOCKED, **MIXED, **dict.fromkeys(("closed-early", "reset-early"), "state-shared")}
MANY = dict.fromkeys(
    ("silence", "connect-stuck", "closed-early", "reset-early", "not-taken"), "table-too-small"
)
MANY.update(MIXED)
FULL = dict.fromkeys(("silence", "ended-early", "closed-early", "reset-early"), "accept-failed")
STARVED = dict.fromkeys(("silence", "connect-stuck"), "starved")
CLEAN = dict.fromkeys(("silence", "wrong-header", "wrong-body", "extra-bytes"), "state-left-over")


# 02.1 a buffer that grows


@claim("02.1", fatal="bytes", hints=LARGE)
def test_02_frame_of_every_size(server, rng):
    """Frames of all sizes, small, large and small again, come back on one connection."""
    client = server.connect()
    for power in (10, 12, 15, 16, 17, 18, 20, 22):
        for size in ((1 << power) - 5, (1 << power) - 4, 1 << power, 3):
            burst(client, [rng.randbytes(size)])


# 02.2 a short write is resumed


@claim("02.2", fatal="bytes", hints=SHORT_WRITE)
def test_02_short_write_is_resumed(server, rng, inherited):
    """A reply that the kernel takes in several parts arrives once, whole and in order."""
    part = MIB if inherited else 4 * MIB
    body = rng.randbytes(4 * part)
    client = connect_narrow(server) if inherited else server.connect(rcvbuf=SMALL_WINDOW)
    client.send_frame(body)
    until_read(client)
    for _ in range(3):
        interrupt(server)
    reply = Replies([body])
    for left in (3 * part, 2 * part, part, 0):  # the server goes on, and has to wait again
        while reply.missing > left:
            client.expect_part(reply, reply.missing - left)
        until_asleep(server)


@claim("02.2", fatal="bytes", hints=AFTER_SHORT_WRITE)
def test_02_frame_after_a_short_write(server, rng):
    """After a reply that took several writes, the next frames are read and answered as usual."""
    bodies = [rng.randbytes(size) for size in (2 * LONG_REPLY, 5, LONG_REPLY, 0)]
    client = connect_narrow(server)
    for body in bodies:
        client.send_frame(body)
        until_read(client)
        interrupt(server)
        client.expect_frame(body)


# 02.3 nobody waits for a client that is silent, or does not read


@claim("02.3", fatal="one", hints=BLOCKED)
def test_02_idle_client_stops_nobody(server, rng):
    """A client is served while another one is connected and has sent nothing."""
    server.connect()
    ping(server.connect(), rng)


@claim("02.3", fatal="one", hints=BLOCKED)
def test_02_client_between_frames_stops_nobody(server, rng):
    """Two clients take turns, each idle while the other is served."""
    one, other = server.connect(), server.connect()
    for _ in range(10):
        ping(one, rng)
        ping(other, rng)


@claim("02.3", fatal="one", hints=SLOW)
def test_02_stalled_reader_stops_nobody(server, rng):
    """A client is served while another does not read its reply; that one gets it exactly, later."""
    body = rng.randbytes(LONG_REPLY)
    stalled = connect_narrow(server, "stalled")
    stalled.send_frame(body)
    until_read(stalled)
    live = server.connect("live")
    for _ in range(10):
        ping(live, rng)
    stalled.expect_frame(body)
    ping(stalled, rng)


@claim("02.5", fatal="one", hints=BLOCKED)
def test_02_closing_stops_nobody(server, rng):
    """Clients are served while the kernel still sends the replies of one that was closed."""
    clients = connect_and_ping(server, rng, os.cpu_count() + 1)  # so each thread has one
    body = rng.randbytes(KERNEL_BYTES)
    late = server.connect("late", rcvbuf=SMALL_WINDOW)
    late.send_frame(body)
    late.half_close()
    until_read(late)
    until_asleep(server)  # the server has closed, if its kernel has taken all
    for client in clients:
        client.send_frame(b"served")
    for client in clients:
        _expect_no_close_in_between(server, client)
        client.expect_frame(b"served")
    late.expect_closed_after([body])


def _expect_no_close_in_between(server, client) -> None:
    """Returns when a reply has begun to come, or when it does not; a close() is not the reason."""

    def closing() -> bool:
        return any(map(sleeps_in_close, server.process.pids())) and not arrived_bytes(client)

    if wait_until(lambda: arrived_bytes(client) or closing(), server.patience) and closing():
        text = f"the server waits in a close(), and {client.name} waits for its reply"
        raise Failure(text, hint="blocked-in-close")


# 02.4 nobody waits for a client that stalls inside a frame


@claim("02.4", fatal="one", hints=SLOW)
def test_02_stalled_sender_stops_nobody(server, rng):
    """A client is served while another stalls inside a frame; that one gets its reply later."""
    body = rng.randbytes(10)
    frame = length_framing.encode(body)
    stalled, live = server.connect("stalled"), server.connect("live")
    for cut in (1, 3, 4, 5, 13):
        stalled.send(frame[:cut])
        until_read(stalled)
        ping(live, rng)
        stalled.send(frame[cut:])
        stalled.expect_frame(body)


@claim("02.4", fatal="bytes", hints=SLOW)
def test_02_two_large_frames_at_once(server, rng):
    """Two large frames whose pieces arrive and are read alternately do not mix."""
    bodies = [rng.randbytes(size) for size in TWO_LARGE]
    clients = [connect_narrow(server) for _ in bodies]
    send_in_turns(clients, bodies)
    read_in_turns(clients, bodies)


# 02.5 any number of clients


@claim("02.5", fatal="bytes", hints=MANY)
def test_02_fifty_clients_byte_by_byte(server, rng):
    """Fifty clients in turn send one byte of their frames; each gets its own frames back."""
    bodies = [rng.randbytes(10) for _ in range(50)]
    clients = [server.connect() for _ in bodies]
    frames = [length_framing.encode(body) for body in bodies]
    for offset in range(len(frames[0])):
        for client, frame in zip(clients, frames):
            client.send(frame[offset : offset + 1])
        until_read(clients[-1])
    for client, body in zip(clients, bodies):
        client.expect_frame(body)


@claim("02.5", fatal="one", hints=STARVED)
def test_02_flood_starves_nobody(server, rng):
    """Clients that never stop sending do not keep the others from being served."""
    quiet = [server.connect("quiet")]
    with greedy(server, rng.randbytes(8)):
        for _ in range(5):
            quiet.append(server.connect("late"))
            for client in quiet:
                ping(client, rng)


@claim("02.5", native=True, hints=FULL)
def test_02_out_of_descriptors_serves_on(launch, rng):
    """With no descriptor left for the next client, the connected ones are served."""
    server = launch(nofile=DESCRIPTORS)
    served = connect_and_ping(server, rng, SERVED, "served")
    for _ in range(2 * DESCRIPTORS):
        server.connect("waiting")
    for client in served:
        ping(client, rng)


@claim("02.5", fatal="growth", hints=MANY)
def test_02_connections_leave_nothing_behind(server, rng):
    """After 200 connections, twenty at a time, the server holds no more descriptors."""
    for _ in range(4):  # so that this is about many clients, not about one at a time
        ping(server.connect(), rng)
    base = server.process.descriptors().total
    come_and_go(server, rng, 200)
    last = server.connect("last")
    ping(last, rng)
    last.close()
    if not eventually(server, lambda: server.process.descriptors().total <= base):
        more = server.process.descriptors().total - base
        text = f"{more} more descriptors are open than before 200 clients came and went"
        raise Failure(text, hint="descriptor-leak")


@claim("02.5", fatal="bytes", hints=CLEAN)
def test_02_descriptor_used_again_has_a_clean_state(server, rng):
    """A client gets nothing that an earlier client with the same descriptor left unfinished."""
    for _ in range(4):
        ping(server.connect(), rng)
    base = server.process.descriptors().total
    half = length_framing.header(100) + rng.randbytes(50)
    whole = length_framing.encode(rng.randbytes(MIB))
    for unfinished in 3 * (half, whole):
        first = connect_narrow(server, "first")
        first.send(unfinished)
        until_read(first)
        first.reset()
        wait_until(lambda: server.process.descriptors().total <= base, LET_GO)
        second = server.connect("second")
        echo(second, rng.randbytes(20))
        second.close()
        wait_until(lambda: server.process.descriptors().total <= base, LET_GO)


@claim("02.5", chapters="02", native=True)
def test_02_sleeps_when_nothing_moves(launch, rng):
    """With ten idle clients the server leaves most of the CPU to other processes."""
    server = launch(steps=True)
    for _ in range(10):
        ping(server.connect(), rng)
    no_cpu(server, "with nothing to do", "busy-sweep", BUSY_SHARE)


@claim("02.5", valgrind=True, hints=MANY, refusals=True)
def test_02_memory(server, rng):
    """Under valgrind: clients in all states at once, then a stop; no byte is misused or kept."""
    frame = length_framing.encode(rng.randbytes(1000))
    reader = connect_narrow(server, "reader")
    reader.send_frame(rng.randbytes(512 * KIB))
    for _ in range(20):  # each is in the table when the next one comes
        ping(server.connect("idle"), rng)
    clients = [server.connect() for _ in range(8)]
    for start, end in ((0, 3), (3, 4), (4, 600), (600, len(frame))):
        for client in clients:
            client.send(frame[start:end])
        until_read(clients[-1])
    for client in clients:
        client.expect_frame(frame[length_framing.HEADER :])
    clients[0].half_close()
    clients[0].expect_eof()
    clients[1].send(length_framing.TOO_LONG)
    clients[1].expect_eof()
    for client, sent in zip(clients[2:], (0, 2, 200, 0, 2, 200)):
        client.send(frame[:sent])
        until_read(client)
    until_asleep(server)
    reader.read_some(1000)
    clients[2].close()
    clients[3].reset()
    clients[4].reset()
    ping(server.connect("last"), rng)
