"""Greedy clients in a process of their own, so that they cost the test that runs them no time.

They offer a server more than it can take, and take every reply. harness/scenarios/flood.py has such
clients in a thread: where delays are measured, those would be delays of our own.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.evidence.failure import NotJudged

BEGIN_SECONDS = 10.0  # at most, until all of them have sent something

# What runs there. Its arguments are its parent, with which it ends, whatever became of that, and
# the descriptors of its sockets; what they send again and again comes on its standard input. It
# prints a line when all have begun, and waits for many replies at a time, so as to cost little.
PROGRAM = """
import os, select, socket, sys
parent, *numbers = map(int, sys.argv[1:])
data = sys.stdin.buffer.read()
view, room = memoryview(data), bytearray(1 << 20)
poller = select.poll()
streams = {number: socket.socket(fileno=number) for number in numbers}
sent = dict.fromkeys(streams, 0)
silent = set(streams)
for number, stream in streams.items():
    stream.setblocking(False)
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 64 << 10)
    poller.register(number, select.POLLIN | select.POLLOUT)
while streams and os.getppid() == parent:
    for number, ready in poller.poll(1000):
        try:
            if ready & select.POLLIN and not streams[number].recv_into(room):
                raise ConnectionResetError
            if ready & select.POLLOUT:
                sent[number] += streams[number].send(view[sent[number] :])
                sent[number] %= len(data)
                if number in silent:
                    silent.remove(number)
                    if not silent:
                        print(flush=True)
        except BlockingIOError:
            pass
        except OSError:
            poller.unregister(number)
            del streams[number]
"""


@contextmanager
def greedy(server, data: bytes, clients: int, what: str) -> Iterator[None]:
    """While the block runs, clients send `data`, some 1 MiB, again and again, and read the replies.

    When it begins, all of them have begun. They check nothing. `what` it is that they send is told
    in the conversation. Raises NotJudged when they do not begin.
    """
    server.conversation.note("greedy", f"{clients} clients send {what} without a pause")
    with ExitStack() as stack:
        streams = [
            stack.enter_context(socket.create_connection(server.address)) for _ in range(clients)
        ]
        numbers = [stream.fileno() for stream in streams]
        process = stack.enter_context(_started(numbers, data))
        if not select.select([process.stdout], [], [], BEGIN_SECONDS)[0]:
            raise NotJudged(f"{clients} greedy clients did not begin within {BEGIN_SECONDS:g} s")
        yield


@contextmanager
def _started(numbers: list[int], data: bytes) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", PROGRAM, str(os.getpid()), *map(str, numbers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=numbers,
    )
    try:
        process.stdin.write(data)
        process.stdin.close()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Silent:
    """Clients that send, and never read. Their segments are short, and so the kernel holds little
    for them: what a server holds for them is soon all that can be sent."""

    SEGMENT_BYTES = 1000
    BUFFER_BYTES = 16 << 10
    QUIET_SECONDS = 0.3  # in which none of them could send: then the server takes no more

    def __init__(self, server, clients: int) -> None:
        server.conversation.note("silent", f"{clients} clients connect that will never read")
        self._streams = [self._connected(server.address) for _ in range(clients)]

    def _connected(self, address: tuple[str, int]) -> socket.socket:
        stream = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.SEGMENT_BYTES)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            stream.setsockopt(socket.SOL_SOCKET, option, self.BUFFER_BYTES)
        stream.connect(address)
        stream.setblocking(False)
        return stream

    def send(self, data: bytes, times: int) -> int:
        """Each sends `data` so often, as long as the server takes any of it: bytes sent, of all."""
        poller = select.poll()
        streams = {stream.fileno(): stream for stream in self._streams}
        left = dict.fromkeys(streams, times * len(data))
        for number in streams:
            poller.register(number, select.POLLOUT)
        while any(left.values()):
            ready = poller.poll(1000 * self.QUIET_SECONDS)
            if not ready:
                break
            for number, _ in ready:
                left[number] -= _offer(streams[number], data, left[number])
                if not left[number]:
                    poller.unregister(number)
        return sum(times * len(data) - rest for rest in left.values())

    def close(self) -> None:
        for stream in self._streams:
            stream.close()

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _offer(stream: socket.socket, data: bytes, left: int) -> int:
    """Sends the next part of what is left, and returns its size. Who is gone has sent all."""
    at = -left % len(data)
    try:
        return stream.send(memoryview(data)[at:])
    except BlockingIOError:
        return 0
    except OSError:
        return left
