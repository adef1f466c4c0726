"""Clients that send as fast as they can and take every reply, beside the test that runs them."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.client import length_framing

SEND_BYTES = 256 << 10  # offered to one send, at least
LOOK_MS = 50  # how long the thread may take to notice that it is to end
BEGIN_SECONDS = 2.0  # at most, until the flood has begun

# One client pauses whenever its thread has to wait for a processor, and a pause is all that those
# whom it starves need. The kernel holds work for a while; for several clients, several times that.
CLIENTS = 4


@contextmanager
def flooding(server, body: bytes, clients: int = CLIENTS) -> Iterator[None]:
    """While the block runs, clients send frames of `body` without a pause and read the replies.

    When it begins, all of them have begun. They check nothing, and a server that closes a
    connection ends that one: what is claimed of the flood itself is for other tests to say.
    """
    what = f"frames of {len(body):,} bytes without a pause"
    server.conversation.note("flood", f"sends {what}, from {clients} clients")
    begun, over = threading.Event(), threading.Event()
    with ExitStack() as stack:
        streams = [
            stack.enter_context(socket.create_connection(server.address)) for _ in range(clients)
        ]
        thread = threading.Thread(
            target=_flood, args=(streams, length_framing.encode(body), begun, over)
        )
        thread.daemon = True
        thread.start()
        begun.wait(BEGIN_SECONDS)
        try:
            yield
        finally:
            over.set()
            thread.join()


def _flood(
    streams: list[socket.socket], frame: bytes, begun: threading.Event, over: threading.Event
) -> None:
    """Sends whole rounds of frames, so that each stream stays in step, until `over` is set.

    `begun` is set when all have sent and a reply has come. One thread for all: more of them would
    only wait for each other.
    """
    data = memoryview(frame * max(1, SEND_BYTES // len(frame)))
    poller = select.poll()
    by_number = {stream.fileno(): stream for stream in streams}
    sent = dict.fromkeys(by_number, 0)  # of this round
    silent = set(by_number)
    for stream in streams:
        stream.setblocking(False)
        poller.register(stream, select.POLLIN | select.POLLOUT)
    while by_number and not over.is_set():
        for number, ready in poller.poll(LOOK_MS):
            try:
                if ready & select.POLLIN:
                    if not by_number[number].recv(SEND_BYTES):
                        raise ConnectionResetError
                    if not silent:
                        begun.set()
                if ready & select.POLLOUT:
                    taken = by_number[number].send(data[sent[number] :])
                    sent[number] = (sent[number] + taken) % len(data)
                    silent.discard(number)
            except BlockingIOError:
                pass
            except OSError:
                poller.unregister(number)
                del by_number[number]
