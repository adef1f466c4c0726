"""The demos of 06 to 08: idle clients, reports and time as events, and greedy clients."""

from __future__ import annotations

import resource
import select
import socket
import statistics
import struct
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from harness.claims.scenarios.greedy import greedy
from harness.client import length_framing, messages
from harness.client.client import Client
from harness.student.demos.shown import (
    WATCHED_SECONDS,
    Shown,
    Stopwatch,
    reply_ms,
    round_trip,
    server_of,
)
from harness.submission.sizes import MIB

# Chapter 06

IDLE_CLIENTS = (0, 1000, 5000)
SPARE = 200  # descriptors for everything else


def show_06_part_1() -> None:
    """A report that comes to the wrong client, since only a number says for whom it is."""
    print("A loop as it is often written first: a table has a callback for each descriptor.")
    print("B has reset its connection, A demands that B be closed, and C connects. Then one")
    print("poll() makes three reports, and the loop calls three callbacks:\n")
    print("    report               what the callback does")
    _turn()
    print("\nC did nothing. When poll() made its report, the number was that of B. Before the")
    print("loop came to it, the number had got another owner.")


def _turn() -> None:
    """One iteration of the loop, with real connections: prints each report, and what its callback
    has done."""
    listener = socket.create_server(("127.0.0.1", 0))
    clients = {name: socket.create_connection(listener.getsockname()) for name in "AB"}
    served = {name: listener.accept()[0] for name in "AB"}

    def on_a() -> str:
        number, said = served["B"].fileno(), served["A"].recv(100).decode()
        served["B"].close()
        return f'A sent "{said}": {number} is closed, and free'

    def on_listener() -> str:
        served["C"] = listener.accept()[0]
        callbacks[served["C"].fileno()] = lambda: on_reset("C")
        return f"C is accepted, and gets the number {served['C'].fileno()}"

    def on_reset(name: str) -> str:
        served[name].close()
        return f"closes the connection of {name}"

    callbacks: dict[int, Callable[[], str]] = {
        served["A"].fileno(): on_a,
        listener.fileno(): on_listener,
        served["B"].fileno(): lambda: on_reset("B"),
    }
    clients["A"].send(b"close B")
    clients["B"].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    clients["B"].close()  # with a reset
    clients["C"] = socket.create_connection(listener.getsockname(), 10)  # gets the number of B's
    loop = select.poll()
    for number in callbacks:
        loop.register(number, select.POLLIN)
    while len(reports := loop.poll()) < len(callbacks):
        pass  # what was sent may be on its way
    for number, ready in reports:
        what = "reset" if ready & select.POLLERR else "readable"
        print(f"    {f'{number} is {what}':20} {callbacks[number]()}", flush=True)
    print(f"\n    C reads: {'something' if clients['C'].recv(1) else 'the end'}")


def show_06() -> None:
    """Shows what one busy client costs the server, and gets, beside clients that say nothing."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = IDLE_CLIENTS[-1] + SPARE
    most = most if allowed == resource.RLIM_INFINITY else min(allowed, most)
    with server_of("05", together=2, nofile=most) as server:
        print("One client sends small frames, one after the other. More and more others are")
        print("connected, and send nothing at all.\n")
        print("    idle clients   requests a second   server CPU for a request")
        busy, idle = server.connect("busy"), 0
        for count in sorted({min(count, max(0, most - SPARE)) for count in IDLE_CLIENTS}):
            for _ in range(count - idle):
                server.connect("idle")
            idle = count
            print(f"    {idle:12,} {_one_after_the_other(server, busy)}", flush=True)
        if idle < IDLE_CLIENTS[-1]:
            print(f"\nNot more: {allowed:,} descriptors are allowed here (ulimit -Hn).")
        entries = idle + 3  # its own two, and the busy client
        print(f"\nFor each request the server writes a list of {entries:,} entries, and poll()")
        print("goes through it, to say that one of them is ready: always the same one. All the")
        print("others send nothing, and the server pays for each of them.")


show_06_part_2 = show_06


def _one_after_the_other(server: Shown, client: Client) -> str:
    """Exchanges frames for a while. Returns how many in a second, and what each cost the server."""
    round_trip(client)  # all that have connected are accepted before it is answered
    count, cpu, start = 0, server.process.cpu_seconds(), time.monotonic()
    while time.monotonic() < start + WATCHED_SECONDS:
        round_trip(client)
        count += 1
    pace = count / (time.monotonic() - start)
    return f"{pace:19,.0f} {1e6 * (server.process.cpu_seconds() - cpu) / count:23,.0f} µs"


# Chapter 07

DEADLINE_SECONDS = 0.995


def show_07() -> None:
    """Clients that do nothing keep others out; and what it costs to look at the clock instead."""
    with server_of("06", together=3, nofile=50) as server:
        print("This server may have 50 descriptors. All its clients stay, and do nothing.\n")
        frame, clock = length_framing.encode(b"hello"), Stopwatch()
        server.connect("A").send(frame[:6])
        clock.tell("A sends 6 of the 9 bytes of a frame")
        for _ in range(60):
            server.connect("silent")
        clock.tell("60 others connect, and send nothing")
        b = server.connect("B")
        b.send(frame)
        clock.tell("B connects and sends a frame")
        b.expect_nothing(3)
        clock.tell("B has no reply, and the others are still there")
    print("\nAn event is something that happens. Nothing happened, so the server slept on.")
    print(f"A loop has something to do in {DEADLINE_SECONDS * 1000:.0f} ms. How it can wait:\n")
    print("    epoll_wait() for            waits   late by")
    for told, step in (("10 ms", 0.01), ("1 ms", 0.001), ("as long as is left", None)):
        waits, late = until_deadline(step)
        print(f"    {told:24} {waits:8,} {late * 1000:6.1f} ms", flush=True)


def until_deadline(step: float | None) -> tuple[int, float]:
    """Waits for DEADLINE_SECONDS, `step` seconds at a time: how often, and how late it ends."""
    deadline, waits = time.monotonic() + DEADLINE_SECONDS, 0
    with select.epoll() as events:
        while (left := deadline - time.monotonic()) > 0:
            events.poll(left if step is None else step)
            waits += 1
    return waits, -left


# Chapter 08

SMALLEST = messages.request(messages.ECHO, 1, messages.string(b""))
REQUEST = messages.request(messages.ECHO, 2, messages.string(b"hi"))
REPLY = messages.reply(messages.ECHO, 2, messages.OK, messages.string(b"hi"))
DESCRIPTORS = 40  # of the server: enough for the greedy clients
MANY = 50  # clients, more than it has descriptors for
RESET_MS = 8_000  # at most, until the server has closed
REPLY_BYTES = 10_000
OWED = 100 * REPLY_BYTES  # the kernel of a client that does not read takes less than the server's


def show_08() -> None:
    """The three parts, one after the other."""
    with _server_of_07() as server:
        _beside_greedy_clients(server)
        print()
        _at_the_limit(server)
        print()
        _destroyed_replies(server)


def show_08_part_1() -> None:
    with _server_of_07() as server:
        _beside_greedy_clients(server)


def show_08_part_2() -> None:
    with _server_of_07() as server:
        _at_the_limit(server)


def show_08_part_3() -> None:
    with _server_of_07() as server:
        _destroyed_replies(server)


def _server_of_07() -> AbstractContextManager[Shown]:
    return server_of("07", together=3, nofile=DESCRIPTORS, arguments=("--app", "rpc"))


def _beside_greedy_clients(server: Shown) -> None:
    """How long a polite client waits beside greedy ones."""
    print("A sends a request now and then. More and more other clients send the smallest")
    print("possible messages, as fast as they can, and read every reply.\n")
    print("    greedy clients   A's reply after (median)   the slowest of 20")
    polite = server.connect("A")
    for clients in (0, 5, 20):
        with greedy(server, SMALLEST, clients) if clients else nullcontext():
            waits = [reply_ms(polite, REQUEST, REPLY) for _ in range(20)]
        median, slowest = statistics.median(waits), max(waits)
        print(f"    {clients:14} {median:23.1f} ms {slowest:16.1f} ms", flush=True)
    server.leave()


def _at_the_limit(server: Shown) -> None:
    """Clients for which no descriptor is left."""
    print(f"The server may have {DESCRIPTORS} descriptors.", end=" ")
    print(f"{MANY} clients connect, and send a request.\n")
    clock, clients = Stopwatch(), [server.connect("one of many") for _ in range(MANY)]
    ready = select.poll()
    for client in clients:
        client.send_frame(REQUEST)
        ready.register(client.fileno(), select.POLLIN)
    for seconds in (0.5, 4.0):
        time.sleep(max(0, seconds - clock.seconds()))
        served = len(ready.poll(0))
        clock.tell(f"{served} have their reply, {MANY - served} have none, and no end")
    print("\nThe server cannot accept the others. So it cannot close them, either.")
    server.leave()


def _destroyed_replies(server: Shown) -> None:
    """Replies that a reset destroys."""
    print(f"B sends messages whose replies are {OWED:,} bytes, then a frame that is")
    print("too long, and goes on sending. A moment later it begins to read.\n")
    head = length_framing.HEADER + messages.HEAD + 2  # of a string of this size
    message = messages.request(messages.ECHO, 1, messages.string(bytes(REPLY_BYTES - head)))
    data = length_framing.encode(message) * (OWED // REPLY_BYTES) + b"\xff" * MIB
    came, problems = 0, []
    with socket.create_connection(server.address) as b:
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
    end = next((error.strerror for error in resets or problems), "the end")
    print(f"    {came:,} bytes came, then: {end}")
    print("\nThe server wrote all replies, and close() returned 0. The rest was on its way.")


def _send(stream: socket.socket, data: bytes, problems: list[OSError]) -> None:
    """The kernel tells of a reset once: to this call, or to the one that receives."""
    try:
        stream.sendall(data)
    except OSError as error:
        problems.append(error)
