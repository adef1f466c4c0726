"""What claims say to a server with --app rpc, also to one with several loops: which of them serves
each client, and what is broadcast to all.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from harness.claims.scenarios.exchanges import ask
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import (
    ECHO,
    MESSAGES,
    OK,
    STATS,
    WHO,
    Reply,
    broadcast,
    pushed,
    reached,
    reply,
    request,
    string,
)
from harness.failures.compare import first_difference
from harness.failures.failure import Failure

SEQ = 77  # of what is asked here
LOOPS = 4
THREADS = ("--threads", str(LOOPS))


def echo_text(client: Client, text: bytes = b"ok", seq: int = 99) -> None:
    """Sends an ECHO, and expects its reply: nothing else comes before it."""
    ask(client, request(ECHO, seq, string(text)), reply(ECHO, seq, OK, string(text)))


def asked(client: Client, cmd: int, seq: int = SEQ) -> Reply:
    """The reply to a request without fields, with status 0. Pushes before it are passed over."""
    client.send_frame(request(cmd, seq))
    return answered(client, cmd, seq)


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


def expect_in_any_order(client: Client, bodies: Iterable[bytes]) -> None:
    left = list(bodies)
    while left:
        came = client.read_frame()
        if came not in left:
            due, frame = length_framing.encode(left[0]), length_framing.encode(came)
            at = first_difference(due, frame) or 0
            found = MESSAGES.difference(due, frame, at, "the reply")
            raise Failure(found.text, hint=found.hint, expected=due, received=found.came)
        left.remove(came)


def broadcast_to(sender: Client, others: Sequence[Client], seq: int, text: bytes) -> None:
    """Broadcasts a text. Every client gets it, also the sender, and the reply says how many they
    are."""
    count = 1 + len(others)
    sender.send_frame(broadcast(seq, text))
    for other in others:
        other.expect_frame(pushed(text))
    expect_in_any_order(sender, [pushed(text), reached(seq, count)])
