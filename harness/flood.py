"""A client that sends as fast as it can and takes every reply, beside the test that runs it."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness import wire

SEND_BYTES = 256 << 10  # offered to one send
LOOK_MS = 50  # how long the thread may take to notice that it is to end


@contextmanager
def flooding(server, body: bytes) -> Iterator[None]:
    """While the block runs, a client sends frames of `body` without a pause and reads the replies.

    It checks nothing, and a server that closes the connection ends it: what is claimed of the
    flood itself is for other tests to say.
    """
    server.conversation.note("flood", f"sends frames of {len(body):,} bytes without a pause")
    over = threading.Event()
    stream = socket.create_connection(server.address)
    stream.setblocking(False)
    thread = threading.Thread(target=_flood, args=(stream, wire.encode(body), over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        stream.close()


def _flood(stream: socket.socket, frame: bytes, over: threading.Event) -> None:
    """Sends whole rounds of frames, so that the stream stays in step, until `over` is set."""
    data = memoryview(frame * max(1, SEND_BYTES // len(frame)))
    poller = select.poll()
    poller.register(stream, select.POLLIN | select.POLLOUT)
    sent = 0
    while not over.is_set():
        for _, ready in poller.poll(LOOK_MS):
            try:
                if ready & select.POLLIN and not stream.recv(SEND_BYTES):
                    return
                if ready & select.POLLOUT:
                    sent = (sent + stream.send(data[sent:])) % len(data)
            except BlockingIOError:
                pass
            except OSError:
                return
