"""What claims say to a server with --app rpc, also to one with several loops: which of them serves
each client, and what is broadcast to all; and clients that come, go and ask without any order.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Sequence

from harness.claims.scenarios.exchanges import ask
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import (
    AFTER,
    BROADCAST,
    ECHO,
    MESSAGES,
    OK,
    STATS,
    WHO,
    Reply,
    after,
    broadcast,
    pushed,
    reached,
    reply,
    request,
    string,
)
from harness.feedback.compare import first_difference
from harness.feedback.failure import Failure

SEQ = 77  # of what is asked here
LOOPS = 4
THREADS = ("--threads", str(LOOPS))

# A storm of clients: what threads are tried with.
CLIENTS = 12
AT_ONCE = 5  # clients that have asked something before the first of them is heard
ASKED = 4  # requests of each
FLIGHT = 20  # broadcasts of each client, at the end
LEAVING = ("close", "reset", "half_close")
LEAVES = 0.5  # of the rounds, in how many a client goes


def echo_text(client: Client, text: bytes = b"ok", seq: int = 99) -> None:
    """Sends an ECHO, and expects its reply: nothing else comes before it."""
    ask(client, request(ECHO, seq, string(text)), reply(ECHO, seq, OK, string(text)))


def asked(client: Client, cmd: int) -> Reply:
    """The reply to a request without fields, with status 0. Pushes before it are passed over."""
    client.send_frame(request(cmd, SEQ))
    return answered(client, cmd, SEQ)


def answered(client: Client, cmd: int, seq: int) -> Reply:
    """The next frame that is no push: the reply with this cmd and seq, and status 0."""
    while True:
        body = client.read_frame()
        came = Reply.of(body)
        if came is None or came.seq >= 0:
            break
    if came is None or came[:3] != (cmd, seq, OK):
        text = f"{came or f'a frame of {len(body)} bytes'} came; due is the reply to cmd {cmd}"
        raise Failure(f"{text}, seq {seq}, with status 0", hint="wrong-seq", received=body)
    return came


def who(client: Client) -> int:
    """The index of the loop that serves it."""
    fields = asked(client, WHO).fields
    if len(fields) != 4:
        text = f"the reply to WHO has {len(fields)} bytes after the status, instead of 4"
        raise Failure(text, hint="wrong-fields", received=fields)
    return struct.unpack("<i", fields)[0]


def stats(client: Client) -> tuple[int, int, int]:
    """What STATS says: connections, frames received, frames sent."""
    fields = asked(client, STATS).fields
    if len(fields) != 24:
        text = f"the reply to STATS has {len(fields)} bytes after the status, instead of 24"
        raise Failure(text, hint="wrong-fields", received=fields)
    return struct.unpack("<qqq", fields)


def one_each(server, loops: int, count: int) -> list[list[Client]]:
    """`count` clients for each of the loops, whichever of them the server has given which to."""
    clients: list[list[Client]] = [[] for _ in range(loops)]
    for _ in range(loops * count):
        client = server.connect()
        clients[who(client) % loops].append(client)
    if any(len(mine) != count for mine in clients):
        shares = ", ".join(str(len(mine)) for mine in clients)
        text = f"of {loops * count} clients the {loops} loops have {shares}"
        raise Failure(f"{text}; due is {count} each", hint="loop-share")
    return clients


def all_clients(server, count: int) -> list[Client]:
    """`count` clients for each of LOOPS loops."""
    return [client for mine in one_each(server, LOOPS, count) for client in mine]


def expect_in_any_order(client: Client, bodies: Iterable[bytes]) -> None:
    left = list(bodies)
    while left:
        came = client.read_frame()
        if came not in left:
            raise wrong_reply(left[0], came)
        left.remove(came)


def wrong_reply(due_body: bytes, body: bytes) -> Failure:
    """The failure for a frame that came in place of the one that is due."""
    due, came = length_framing.encode(due_body), length_framing.encode(body)
    at = first_difference(due, came) or 0
    found = MESSAGES.difference(due, came, at, "the reply")
    return Failure(found.text, hint=found.hint, expected=due, received=found.came)


def broadcast_to(sender: Client, others: Sequence[Client], seq: int, text: bytes) -> None:
    """Broadcasts a text. Every client gets it, also the sender, and the reply says how many they
    are."""
    count = 1 + len(others)
    sender.send_frame(broadcast(seq, text))
    for other in others:
        other.expect_frame(pushed(text))
    expect_in_any_order(sender, [pushed(text), reached(seq, count)])


def storm(connect: Callable[[], Client], rng: random.Random, rounds: int) -> list[Client]:
    """Clients come, go, ask and broadcast without any order. Only that every request is answered is
    judged, whatever else arrives meanwhile. Returns the clients that are still there."""
    clients = [connect() for _ in range(CLIENTS)]
    for number in range(rounds):
        rng.shuffle(clients)
        waiting = [(client, _ask(client, rng, number)) for client in clients[:AT_ONCE]]
        if rng.random() < LEAVES:  # a new one arrives while the loops have work
            _one_goes(clients, rng.randrange(AT_ONCE, CLIENTS), connect, rng)
        for client, seqs in waiting:
            hear_replies(client, seqs)
    return clients


def broadcasts_in_flight(clients: list[Client]) -> None:
    """Sends broadcasts without waiting for their replies, which are in flight during what comes
    next."""
    for client in clients:
        client.send_frames([broadcast(seq, bytes(1000)) for seq in range(FLIGHT)])


def _one_goes(
    clients: list[Client], at: int, connect: Callable[[], Client], rng: random.Random
) -> None:
    """Replaces the client at this place by a new one. Its last request may still be unanswered."""
    _ask(clients[at], rng, 0)
    getattr(clients[at], rng.choice(LEAVING))()
    clients[at].abandon()
    clients[at] = connect()


def _ask(client: Client, rng: random.Random, number: int) -> set[int]:
    """Sends some requests in one go. Returns their seqs."""
    seqs = range(number * ASKED, (number + 1) * ASKED)
    client.send(b"".join(length_framing.encode(_request(rng, seq)) for seq in seqs))
    return set(seqs)


def _request(rng: random.Random, seq: int) -> bytes:
    cmd = rng.choice((WHO, STATS, ECHO, AFTER, BROADCAST, BROADCAST))
    if cmd == AFTER:
        return after(seq, rng.choice((0, 1, 5)), b"later")
    if cmd == BROADCAST:
        return broadcast(seq, bytes(rng.choice((1, 100, 5000))))
    return request(cmd, seq, *([string(b"now")] if cmd == ECHO else []))


def hear_replies(client: Client, seqs: Iterable[int]) -> None:
    """Reads until all these are answered, whatever else arrives."""
    left = set(seqs)
    while left:
        came = Reply.of(client.read_frame())
        if came is not None:
            left.discard(came.seq)
