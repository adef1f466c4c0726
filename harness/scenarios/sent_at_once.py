"""Whether a reply leaves when it is written, or waits in the server's kernel for something else.

The client drops what arrives, so it acknowledges nothing. What the server's kernel holds back then
would otherwise have been sent 40 ms later, with the acknowledgement that a client delays, or 200 ms
later, when TCP_CORK and MSG_MORE give up.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.client import length_framing
from harness.client.client import Client
from harness.evidence.failure import Failure, TooBusy
from harness.instruments.observe import sending, until_asleep
from harness.server.patience import wait_until

HELD_BACK = "reply-held-back"  # the hint
TRIES = 5
# Between two looks, of which the first has seen no byte of the reply. After some 200 ms the kernel
# sends the remainder, whatever held it back.
CERTAIN_SECONDS = 0.15


def leaves_at_once(connect: Callable[[], tuple], body: bytes) -> None:
    """Asks for one short reply, and expects that all of it has left once it is written. `connect`:
    a server and a new client of it."""
    __tracebackhide__ = True
    for _ in range(TRIES):
        server, client = connect()
        client.drop_incoming()
        client.send_frame(body)
        try:
            if _left(server, client, len(length_framing.encode(body))):
                return
        finally:
            client.abandon(by_reset=True)
    raise TooBusy(f"{1000 * CERTAIN_SECONDS:.0f} ms go by between two looks at a socket")


def _left(server, client: Client, size: int) -> bool:
    """Whether the reply of `size` bytes has left at once. False: it cannot be told."""
    __tracebackhide__ = True
    last = time.monotonic()  # when no byte of it was written
    found = None

    def written() -> bool:
        nonlocal last, found
        now = time.monotonic()
        found = sending(client)
        if found and not found.unacknowledged:
            last = now
        return found is None or found.unacknowledged >= size

    if not wait_until(written, server.patience):
        server.patience.expired()
        _incomplete(found.unacknowledged if found else 0, size)
    if found and found.held_back:  # perhaps the server is about to release it
        until_asleep(server)
        found = sending(client)
    if found is None:
        raise Failure("the server closed the connection instead of answering", hint="closed-early")
    if time.monotonic() - last > CERTAIN_SECONDS:
        return False
    if found.held_back:
        raise Failure(_told(found, size), hint=HELD_BACK)
    return True


def _incomplete(written: int, size: int) -> None:
    __tracebackhide__ = True
    text = f"the server wrote {written} of {size} bytes of the reply and then no more"
    raise Failure(text, hint="stalled-reply" if written else "silence")


def _told(found, size: int) -> str:
    """What is held back, in a sentence. `found`: a sockdiag.Sending."""
    held = f"the server wrote the reply, and its kernel holds {found.unsent} of {size} bytes back"
    if found.in_flight:
        return f"{held} until the client has acknowledged the others"
    return f"{held}, although nothing is on its way to the client"
