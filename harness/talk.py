"""What the claims say to a server again and again."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

from harness import wire
from harness.client import Client
from harness.measure import until_asleep, until_read

MIB = 1 << 20
SMALL_WINDOW = 16 << 10  # bytes of receive buffer: of a client that takes little at a time


def echo(client: Client, body: bytes) -> None:
    """One frame there and back: for a body that the kernel's buffers hold (some 100 KB)."""
    __tracebackhide__ = True
    client.send_frame(body)
    client.expect_frame(body)


def burst(client: Client, bodies: Sequence[bytes]) -> None:
    """Any number of frames of any size, sent without waiting for their replies."""
    __tracebackhide__ = True
    client.exchange(b"".join(map(wire.encode, bodies)), bodies)


def send_in_pieces(client: Client, data: bytes, cuts: Iterable[int]) -> None:
    """Sends `data`, cut at these offsets, each piece after the server has read the one before."""
    __tracebackhide__ = True
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:]):
        client.send(data[start:end])
        until_read(client)


def interrupt(server) -> None:
    """Interrupts the call that the server waits in, if it can be done without killing it."""
    until_asleep(server)
    if server.process.calls() is not None:  # the library with a handler for it is in the server
        server.process.signal(signal.SIGUSR1)
