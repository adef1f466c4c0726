"""Whether a reply leaves when it is written, or waits in the server's kernel for something else.

The client acknowledges nothing, so what the server's kernel holds back stays there. Otherwise it
would be sent 40 ms later, with the acknowledgement that a client delays, or 200 ms later, when
TCP_CORK and MSG_MORE give up.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.claims.context.observe import arrived_bytes, is_open, sending, until_asleep
from harness.client import length_framing
from harness.client.client import Client
from harness.feedback.failure import Failure, TooBusy
from harness.waiting.wait import wait_until

CLOSED = "the server closed the connection instead of answering"
HELD_BACK = "reply-held-back"  # the hint
TRIES = 20
# Between two looks, of which the first has seen no byte of the reply. After some 200 ms the kernel
# sends the remainder, whatever held it back.
CERTAIN_SECONDS = 0.15


def leaves_at_once(connect: Callable[[], tuple], body: bytes) -> None:
    """Asks for one short reply, and expects that all of it has left once it is written. `connect`:
    a server and a new client of it."""
    for _ in range(TRIES):
        server, client = connect()
        try:
            certain = min(client.withhold_acknowledgements(), CERTAIN_SECONDS)
            if _left(server, client, body, certain):
                return
        finally:
            client.abandon(by_reset=True)
    raise TooBusy(f"{1000 * certain:.0f} ms go by between two looks at a socket")


def _left(server, client: Client, body: bytes, certain: float) -> bool:
    """Whether the reply has left at once. False: it cannot be told, since more than `certain`
    seconds went by."""
    size = len(length_framing.encode(body))
    last = time.monotonic()  # when no byte of the reply was written
    client.send_frame(body)
    found = None
    written = 0  # bytes: those that have come, and those that the server's kernel has

    def complete() -> bool:
        nonlocal last, found, written
        now, arrived = time.monotonic(), arrived_bytes(client)
        found = sending(client)
        written = max(found.unacknowledged, arrived + found.unsent) if found else 0
        if not written:
            last = now
        return found is None or written >= size

    if not wait_until(complete, server.patience):
        _incomplete(client, written, size)
    if found and found.held_back:  # perhaps the server is about to release it
        until_asleep(server)
        found = sending(client)
    if found is None:
        raise Failure(CLOSED, hint="closed-early")
    if time.monotonic() - last > certain:
        return False
    if found.held_back:
        raise Failure(_told(found, size), hint=HELD_BACK)
    return True


def _incomplete(client: Client, written: int, size: int) -> None:
    """`written`: bytes; a FIN counts as one."""
    if not is_open(client):
        raise Failure(CLOSED, hint="closed-early")
    text = f"the server wrote {written} of {size} bytes of the reply and then no more"
    raise Failure(text, hint="stalled-reply" if written else "silence")


def _told(found, size: int) -> str:
    """A sentence about the bytes that are held back. `found`: a sockdiag.Sending."""
    held = f"the server wrote the reply, and its kernel holds {found.unsent} of {size} bytes back"
    if found.in_flight:
        return f"{held} until the client has acknowledged the others"
    return f"{held}, although nothing is on its way to the client"
