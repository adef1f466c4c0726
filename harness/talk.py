"""What the claims say to a server again and again."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterable, Sequence

from harness import wire
from harness.client import Client
from harness.failure import Failure
from harness.measure import until_asleep, until_read
from harness.replies import Replies

LETTERS = b"abcdefghijklmnopqrstuvwxyz"
MIB = 1 << 20
SMALL_WINDOW = 16 << 10  # bytes of receive buffer: of a client that takes little at a time
GUEST_BYTES = 4 << 10
TABLE = 20  # guests at a time
PIECE = 64 << 10  # bytes, of a large frame that takes turns with another


def words(rng: random.Random, size: int) -> bytes:
    """`size` letters: as random as other bytes, and readable where a failure shows them."""
    return bytes(rng.choices(LETTERS, k=size))


def echo(client: Client, body: bytes) -> None:
    """One frame there and back: for a body that the kernel's buffers hold (some 100 KB)."""
    __tracebackhide__ = True
    client.send_frame(body)
    client.expect_frame(body)


def ping(client: Client, rng: random.Random) -> None:
    """A short frame there and back."""
    __tracebackhide__ = True
    echo(client, words(rng, 8))


def burst(client: Client, bodies: Sequence[bytes]) -> None:
    """Any number of frames of any size, sent without waiting for their replies."""
    __tracebackhide__ = True
    client.echo_all(b"".join(map(wire.encode, bodies)))


def burst_that_waits(server, client: Client, bodies: Sequence[bytes]) -> None:
    """The same; the server runs when all that the kernel takes is there, however busy we are."""
    __tracebackhide__ = True
    data = b"".join(map(wire.encode, bodies))
    server.process.pause()
    try:
        sent = client.send_some(data)
    finally:
        server.process.resume()
    client.echo_all(data, sent)


def send_in_pieces(client: Client, data: bytes, cuts: Iterable[int]) -> None:
    """Sends `data`, cut at these offsets, each piece after the server has read the one before."""
    __tracebackhide__ = True
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:]):
        client.send(data[start:end])
        until_read(client)


def send_in_turns(clients: Sequence[Client], bodies: Sequence[bytes]) -> None:
    """Each client sends a frame: a piece of one, a piece of the next, and so on."""
    __tracebackhide__ = True
    frames = [wire.encode(body) for body in bodies]
    for start in range(0, max(map(len, frames)), PIECE):
        for client, frame in zip(clients, frames):
            if start < len(frame):
                client.send(frame[start : start + PIECE])


def read_in_turns(clients: Sequence[Client], bodies: Sequence[bytes]) -> None:
    """Each client expects a frame with its body, and reads it in pieces beside the others."""
    __tracebackhide__ = True
    due = [Replies([body]) for body in bodies]
    while any(replies.missing for replies in due):
        for client, replies in zip(clients, due):
            if replies.missing:
                client.expect_part(replies, PIECE)


def interrupt(server) -> None:
    """Interrupts the call that the server waits in, if it can be done without killing it.

    Returns when the server waits again: what came earlier would end the wait in place of the signal.
    """
    until_asleep(server)
    if server.process.calls() is not None:  # the library with a handler for it is in the server
        server.process.signal(signal.SIGUSR1)
        until_asleep(server)


def come_and_go(server, rng: random.Random, count: int) -> None:
    """Guests, a few at a time; each gets a reply, and the ways in which they leave take turns.

    Their frames are large enough that whoever keeps one of each guest is soon seen to grow.
    """
    __tracebackhide__ = True
    body = rng.randbytes(GUEST_BYTES)
    frame = wire.encode(body)
    for first in range(0, count, TABLE):
        guests = [server.connect("guest") for _ in range(min(TABLE, count - first))]
        for guest in guests:
            guest.send(frame)
        for guest in guests:
            guest.expect_frame(body)
        _leave(guests, frame)


def _leave(guests: Sequence[Client], frame: bytes) -> None:
    """Each in another way."""
    __tracebackhide__ = True
    for number, guest in enumerate(guests):
        if number % 4 == 1:
            guest.send(frame[:-1])
            guest.close()
        elif number % 4 == 2:
            guest.send(frame[:2])
            guest.reset()
        elif number % 4 == 3:
            guest.send(frame)  # and its reply is not read
            guest.close()
        else:
            guest.close()


def expect_stop(server, number: signal.Signals) -> None:
    """Sends the signal and waits. A second is the rule; what is more is for a busy machine."""
    __tracebackhide__ = True
    server.conversation.note("the grader", f"sends {number.name} to the server")
    server.process.signal(number)
    seconds = server.patience.seconds
    if server.process.wait(seconds) is None:
        server.patience.expired()
        text = f"{seconds:g} s after {number.name} the server still runs"
        raise Failure(text, hint="not-ended")
    if not server.process.describe().startswith("exited with status 0"):
        text = f"after {number.name} the server did not exit with status 0"
        raise Failure(text, hint="wrong-exit")
