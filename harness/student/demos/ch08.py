"""What greedy clients take from a polite one, and what a close() takes from everybody."""

from __future__ import annotations

import select
import socket
import statistics
import threading
import time
from contextlib import nullcontext

from harness.claims.scenarios.greedy import greedy
from harness.client import length_framing, messages
from harness.client.client import Client
from harness.lab.units import MIB
from harness.student.demos.shown import Shown, server_of

GREEDY = (0, 5, 20)
SMALLEST = messages.request(messages.ECHO, 1, messages.string(b""))
REPLIES = 20  # of the polite client, for each number of greedy ones
RESET_MS = 8_000  # at most, until the server has closed
REPLY = 10_000
REPLY_HEAD = length_framing.HEADER + messages.HEAD + 2  # of a string of this size
OWED = 300 * REPLY  # more than a client's kernel takes before the client reads


def show() -> None:
    """How long a polite client waits beside greedy ones; and replies that a reset destroys."""
    with server_of("07", together=3, arguments=("--app", "rpc")) as server:
        print("A sends a request now and then. More and more other clients send the smallest")
        print("possible messages, as fast as they can, and read every reply.\n")
        print("    greedy clients   A's reply after (median)   the slowest of 20")
        polite = server.connect("A")
        for clients in GREEDY:
            with greedy(server, SMALLEST, clients) if clients else nullcontext():
                waits = [_reply_ms(polite) for _ in range(REPLIES)]
            median, slowest = statistics.median(waits), max(waits)
            print(f"    {clients:14} {median:23.1f} ms {slowest:16.1f} ms", flush=True)
        print(f"\nB sends messages whose replies are {OWED:,} bytes, then a frame that is")
        print("too long, and goes on sending. A moment later it begins to read.\n")
        came, end = _breaks_a_rule(server)
        print(f"    {came:,} bytes came, then: {end}")
        print("\nThe server wrote all replies, and close() returned 0. The rest was on its way.")


def _reply_ms(client: Client) -> float:
    time.sleep(0.005)
    start = time.monotonic()
    client.send_frame(messages.request(messages.ECHO, 2, messages.string(b"hi")))
    client.expect_frame(messages.reply(messages.ECHO, 2, messages.OK, messages.string(b"hi")))
    return 1000 * (time.monotonic() - start)


def _breaks_a_rule(server: Shown) -> tuple[int, str]:
    """How many bytes of its replies a client gets that ends in nonsense, and what comes then."""
    message = messages.request(messages.ECHO, 1, messages.string(bytes(REPLY - REPLY_HEAD)))
    data = length_framing.encode(message) * (OWED // REPLY) + b"\xff" * MIB
    came = 0
    with socket.create_connection(server.address) as b:
        problems: list[OSError] = []
        sender = threading.Thread(target=_send, args=(b, data, problems), daemon=True)
        sender.start()
        other_things = select.poll()  # that it has to do, until the reset has come
        other_things.register(b, 0)
        other_things.poll(RESET_MS)
        try:
            while part := b.recv(MIB):
                came += len(part)
        except OSError as error:
            problems.append(error)
        sender.join()
    resets = [error for error in problems if isinstance(error, ConnectionResetError)]
    end = next(iter(resets or problems), None)
    return came, end.strerror or str(end) if end else "the end"


def _send(stream: socket.socket, data: bytes, problems: list[OSError]) -> None:
    """The kernel tells of a reset once: to this call, or to the one that receives."""
    try:
        stream.sendall(data)
    except OSError as error:
        problems.append(error)
