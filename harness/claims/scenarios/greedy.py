"""Clients that take everything a server gives.

The greedy ones are in a process of their own, so that they cost the test that runs them no time.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.client import length_framing
from harness.client.stream import Stream
from harness.feedback.failure import TooBusy
from harness.submission.sizes import MIB

OFFERED_BYTES = MIB  # to one send, about
SENT_SECONDS = 10.0  # at most, until all of them have sent something
REPLY_SECONDS = 2.0  # and then until a reply comes; there may be none

# One client pauses whenever its process has to wait for a processor, and in a pause the starved
# clients are served. The kernel holds work for a while; for several clients, several times that.
CLIENTS = 4

# What runs there. Its arguments are its parent, with which it ends, whatever became of that, and
# the descriptors of its sockets; what they send again and again comes on its standard input. It
# prints a line when all have sent something, and one when a reply has come after that. From its
# first reply on a client waits for many at a time, so as to cost little. Python starts in two
# thirds of the time without the modules socket and site.
PROGRAM = """
import _socket, posix, select, sys
parent, *numbers = map(int, sys.argv[1:])
data = sys.stdin.buffer.read()
view, room = memoryview(data), bytearray(1 << 20)
poller = select.poll()
streams = {number: _socket.socket(fileno=number) for number in numbers}
sent = dict.fromkeys(streams, 0)
silent, answered, told = set(streams), set(), False
for number in numbers:
    poller.register(number, select.POLLIN | select.POLLOUT)
while streams and posix.getppid() == parent:
    for number, ready in poller.poll(1000):
        stream = streams[number]
        try:
            if ready & select.POLLIN:
                if not stream.recv_into(room):
                    raise ConnectionResetError
                if number not in answered:
                    answered.add(number)
                    stream.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVLOWAT, 64 << 10)
                if not silent and not told:
                    told = True
                    print(flush=True)
            if ready & select.POLLOUT:
                sent[number] += stream.send(view[sent[number] :])
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
def greedy(server, body: bytes, clients: int = CLIENTS) -> Iterator[None]:
    """While the block runs, clients send frames of `body` without a pause, and read every reply.

    When it begins, all of them have sent something, and a reply has come if one comes soon. They
    check nothing, and a server that closes a connection ends that one: what is claimed of these
    clients themselves is for other tests to say. Raises Failure when they cannot connect, and
    TooBusy when they do not begin.
    """
    what = f"frames of {len(body):,} bytes" if body else "empty frames"
    frame = length_framing.encode(body)
    with ExitStack() as stack:
        with server.conversation.step("greedy", f"{clients} clients send {what} without a pause"):
            streams = [
                stack.enter_context(Stream(server.address, server.patience).socket)
                for _ in range(clients)
            ]
        numbers = [stream.fileno() for stream in streams]
        data = frame * max(1, OFFERED_BYTES // len(frame))
        process = stack.enter_context(_started(numbers, data))
        if not _a_line(process, SENT_SECONDS):
            raise TooBusy(f"{clients} greedy clients did not begin within {SENT_SECONDS:g} s")
        _a_line(process, min(REPLY_SECONDS, server.patience.seconds))
        yield


def _a_line(process: subprocess.Popen, seconds: float) -> bool:
    """Waits for a line of its output, or for its end. Whether that came."""
    poller = select.poll()
    poller.register(process.stdout, select.POLLIN)
    if not poller.poll(1000 * seconds):
        return False
    os.read(process.stdout.fileno(), 1)
    return True


@contextmanager
def _started(numbers: list[int], data: bytes) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(os.getpid()), *map(str, numbers)],
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
