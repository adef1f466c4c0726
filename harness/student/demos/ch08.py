"""What greedy clients take from a polite one, clients for which no descriptor is left, and replies
that a reset destroys."""

from __future__ import annotations

import select
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from harness.claims.scenarios.greedy import greedy
from harness.client import length_framing, messages
from harness.client.client import Client
from harness.student.demos.shown import Shown, Stopwatch, server_of
from harness.submission.sizes import MIB

GREEDY = (0, 5, 20)
SMALLEST = messages.request(messages.ECHO, 1, messages.string(b""))
REQUEST = messages.request(messages.ECHO, 2, messages.string(b"hi"))
DESCRIPTORS = 40  # of the server: enough for the greedy clients
MANY = 50  # clients, more than it has descriptors for
LOOKS = (0.5, 4.0)  # seconds after which the replies are counted
REPLIES = 20  # of the polite client, for each number of greedy ones
RESET_MS = 8_000  # at most, until the server has closed
REPLY = 10_000
REPLY_HEAD = length_framing.HEADER + messages.HEAD + 2  # of a string of this size
OWED = 100 * REPLY  # the kernel of a client that does not read takes less, the server's more


def show() -> None:
    """How long a polite client waits beside greedy ones; clients for which no descriptor is left;
    and replies that a reset destroys."""
    with _server() as server:
        _beside_greedy_clients(server)
        print()
        _at_the_limit(server)
        print()
        _destroyed_replies(server)


def show_part_one() -> None:
    """How long a polite client waits beside greedy ones."""
    with _server() as server:
        _beside_greedy_clients(server)


def show_part_two() -> None:
    """Clients for which no descriptor is left."""
    with _server() as server:
        _at_the_limit(server)


def show_part_three() -> None:
    """Replies that a reset destroys."""
    with _server() as server:
        _destroyed_replies(server)


PARTS = (show_part_one, show_part_two, show_part_three)


@contextmanager
def _server() -> Iterator[Shown]:
    arguments = ("--app", "rpc")
    with server_of("07", together=3, nofile=DESCRIPTORS, arguments=arguments) as server:
        yield server


def _beside_greedy_clients(server: Shown) -> None:
    print("A sends a request now and then. More and more other clients send the smallest")
    print("possible messages, as fast as they can, and read every reply.\n")
    print("    greedy clients   A's reply after (median)   the slowest of 20")
    polite = server.connect("A")
    for clients in GREEDY:
        with greedy(server, SMALLEST, clients) if clients else nullcontext():
            waits = [_reply_ms(polite) for _ in range(REPLIES)]
        median, slowest = statistics.median(waits), max(waits)
        print(f"    {clients:14} {median:23.1f} ms {slowest:16.1f} ms", flush=True)
    server.leave()


def _at_the_limit(server: Shown) -> None:
    print(f"The server may have {DESCRIPTORS} descriptors.", end=" ")
    print(f"{MANY} clients connect, and send a request.\n")
    clock, clients = Stopwatch(), [server.connect("one of many") for _ in range(MANY)]
    for client in clients:
        client.send_frame(REQUEST)
    for seconds in LOOKS:
        time.sleep(max(0, seconds - clock.seconds()))
        served = _readable(clients)
        clock.tell(f"{served} have their reply, {MANY - served} have none, and no end")
    print("\nThe server cannot accept the others. So it cannot close them, either.")
    server.leave()


def _readable(clients: list[Client]) -> int:
    """How many of them have received something."""
    ready = select.poll()
    for client in clients:
        ready.register(client.fileno(), select.POLLIN)
    return len(ready.poll(0))


def _destroyed_replies(server: Shown) -> None:
    print(f"B sends messages whose replies are {OWED:,} bytes, then a frame that is")
    print("too long, and goes on sending. A moment later it begins to read.\n")
    came, end = _breaks_a_rule(server)
    print(f"    {came:,} bytes came, then: {end}")
    print("\nThe server wrote all replies, and close() returned 0. The rest was on its way.")


def _reply_ms(client: Client) -> float:
    time.sleep(0.005)
    start = time.monotonic()
    client.send_frame(REQUEST)
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
