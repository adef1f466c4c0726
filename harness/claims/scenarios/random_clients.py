"""Clients that come, go, ask and broadcast without any order: what threads are tried with.

    storm(connect, rng, rounds)

Nothing is judged but that every request is answered, whatever else arrives meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import (
    AFTER,
    BROADCAST,
    ECHO,
    STATS,
    WHO,
    Reply,
    after,
    broadcast,
    request,
    string,
)

CLIENTS = 12
AT_ONCE = 5  # clients that have asked something before the first of them is heard
ASKED = 4  # requests of each
FLIGHT = 20  # broadcasts of each client, at the end
LEAVING = ("close", "reset", "half_close")
LEAVES = 0.25  # of the rounds, how many begin with a client that goes

Connect = Callable[[], Client]


def storm(connect: Connect, rng: random.Random, rounds: int) -> list[Client]:
    """Returns the clients, who are still there. Raises Failure where an answer does not come."""
    clients = [connect() for _ in range(CLIENTS)]
    for number in range(rounds):
        if rng.random() < LEAVES:
            _one_goes(clients, connect, rng)
        waiting = [(client, _ask(client, rng, number)) for client in rng.sample(clients, AT_ONCE)]
        for client, seqs in waiting:
            _hear(client, seqs)
    return clients


def broadcasts_in_flight(clients: list[Client]) -> None:
    """Sends broadcasts without waiting for their replies, which are in flight during what comes
    next."""
    for client in clients:
        client.send_frames([broadcast(seq, bytes(1000)) for seq in range(FLIGHT)])


def _one_goes(clients: list[Client], connect: Connect, rng: random.Random) -> None:
    """Replaces one client by a new one. Its last request may still be unanswered."""
    at = rng.randrange(len(clients))
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


def _hear(client: Client, seqs: set[int]) -> None:
    """Reads until all these are answered."""
    left = set(seqs)
    while left:
        came = Reply.of(client.read_frame())
        if came is not None:
            left.discard(came.seq)
