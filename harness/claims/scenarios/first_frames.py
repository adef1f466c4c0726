"""What one tries first with a new server: short and longer frames, a second client, a goodbye.

Where that fails, most claims fail, each in its own words. So this looks for the cause, and says it.
"""

from __future__ import annotations

import random

from harness.claims.context.observe import unread_bytes, until_asleep, until_read
from harness.claims.scenarios.exchanges import echo, words
from harness.client import length_framing
from harness.client.client import Client
from harness.feedback.conversation import counted
from harness.feedback.failure import Failure
from harness.waiting.wait import wait_until

SIZES = (5, 5_000, 70_000)  # bytes; between them the buffers that one gives a fixed size
PROBE_SECONDS = 0.5  # for an answer that only names a cause
ENDS_SECONDS = 0.5  # for a server that has closed its sockets to be gone


def try_out(server, rng: random.Random, at_once: bool) -> None:
    """Raises Failure with the likely cause. `at_once`: it serves several clients at a time."""
    first = server.connect()
    _expect_frames_not_bytes(server, first, words(rng, SIZES[0]))
    _try_sizes(server, first, rng)
    if at_once:
        second = server.connect()
        _try("another client is not served while this one is connected", server, second, rng)
        first.close()
        _try("after one client has left, the other is no longer served", server, second, rng)
    else:
        first.close()
    text = "after the first client has left, another one is not served"
    try:
        last = server.connect()
    except Failure as failure:
        raise _ended(server, failure) from None
    _try(text, server, last, rng)


def _expect_frames_not_bytes(server, client: Client, body: bytes) -> None:
    """Checks that nothing comes back before the last byte of a frame is sent."""
    frame = length_framing.encode(body)
    sent = frame[:-1]
    client.send(sent)
    until_read(client)
    until_asleep(server)
    early = client.at_hand(len(frame), 0)
    if early:
        text = f"{counted(len(early), 'byte')} came back before the last byte of a frame was sent"
        # More than was sent, or something else: not an echo of bytes, but a reply too early.
        hint = "bytes-not-frames" if sent.startswith(early) else "one-read-one-message"
        raise Failure(text, hint=hint)
    try:
        client.send(frame[-1:])
        client.expect_frame(body)
    except Failure as failure:
        raise _cause(server, client, body, failure) from None


def _try(what: str, server, client: Client, rng: random.Random) -> None:
    """A short frame; `what` is the message if that fails."""
    try:
        echo(client, words(rng, SIZES[0]))
    except Failure as failure:
        raise _ended(server, failure, what) from None


def _ended(server, failure: Failure, what: str = "") -> Failure:
    """The failure of a client, after another one has left. A server that ends closes its sockets
    first."""
    if wait_until(lambda: not server.process.alive(), ENDS_SECONDS):
        text = "the server ended when its first client left: it " + server.describe()
        return Failure(text, hint="ends-with-a-client")
    return _also(failure, what, "one-client-only") if what else failure


def _also(failure: Failure, what: str, hint: str) -> Failure:
    text = f"{what}: {failure.message}"
    return Failure(text, hint=hint, expected=failure.expected, received=failure.received)


def _try_sizes(server, client: Client, rng: random.Random) -> None:
    """Exchanges one frame of each size, one after the other, on a connection that has had one."""
    passed = SIZES[0]
    for size in SIZES:
        body = words(rng, size)
        try:
            echo(client, body)
        except Failure as failure:
            if not server.process.alive():
                raise
            raise _later(failure, passed, size) from None
        passed = size


def _later(failure: Failure, passed: int, size: int) -> Failure:
    """The failure of a frame that does not come back after one that did."""
    if size == passed:
        what = "the first frame comes back, and the next one does not"
        return _also(failure, what, "one-frame-only")
    what = f"a frame of {passed:,} bytes comes back, and one of {size:,} does not"
    return _also(failure, what, "short-frames-only")


def _cause(server, client: Client, body: bytes, failure: Failure) -> Failure:
    """Why the very first frame did not come back; the failure itself if that cannot be told."""
    if not server.process.alive():
        return failure
    received = failure.received or b""
    unread = not received and unread_bytes(client)
    client.close()  # some serve one client at a time
    swapped = len(body).to_bytes(length_framing.HEADER, "big")
    if received.startswith(swapped):
        return Failure("the reply's length has its highest byte first", hint="byte-order")
    if received.startswith(body):
        return Failure("the body came back without its length in front", hint="no-header")
    if unread:
        return Failure(f"the server did not read the first frame: {failure.message}", hint="unread")
    if not received and _answer(server, swapped + body):
        text = "frames are answered only if their length has the highest byte first"
        return Failure(text, hint="byte-order")
    return failure


def _answer(server, data: bytes) -> bytes:
    """What comes back for this, on a connection of its own, b"" if nothing does."""
    try:
        client = server.connect()
        client.send(data)
        return client.at_hand(len(data), PROBE_SECONDS)
    except Failure:
        return b""
