"""The problem of a chapter, as a command that shows it: python3 -m harness.demo NN (make demo)

A demo does the real thing over real sockets, says what it does and prints what it sees. Beginning
with the second, it shows what the server of the chapter before cannot do yet.
"""

from __future__ import annotations

import ctypes
import os
import select
import resource
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Optional

from harness import build, course, wire
from harness.client import Client
from harness.failure import Failure, NotJudged
from harness.process import ServerProcess
from harness.shown import NotReady, Shown, server_of

MIB = 1 << 20
IDLE_SECONDS = 0.7  # to watch what a server costs
CROWDS = (0, 1000, 5000)  # idle clients
SPARE = 200  # descriptors for everything else

# 01


def one_read_is_not_one_message() -> None:
    """What three sends, and then one large one, look like to the receiver."""
    sender, receiver = _connected_pair()
    with sender, receiver:
        print("A TCP connection. The sender calls send() three times:\n")
        for message in (b"one", b"two", b"three"):
            sender.sendall(message)
            print(f"    send({message!r})")
        time.sleep(0.1)  # the receiver has other things to do meanwhile
        print("\nA tenth of a second later the receiver calls recv() once, and gets\n")
        print(f"    {receiver.recv(1000)!r}")
        print("\nThree messages in one read, and nothing says where one of them ends.")
        print(f"Now the sender sends one message of {MIB:,} bytes. The receiver calls")
        print("recv() until it has all of it, and gets\n")
        sizes = _sizes_received(sender, receiver, MIB)
        shown = " + ".join(f"{size:,}" for size in sizes[:5])
        print(f"    {shown}{' + ...' if len(sizes) > 5 else ''}")
        print(f"\nbytes: one message in {_count(len(sizes), 'read')}. Run it again: other sizes.")


def _connected_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        return sender, listener.accept()[0]


def _sizes_received(sender: socket.socket, receiver: socket.socket, size: int) -> list[int]:
    """Sends one message of `size` bytes; how many of them each recv() returned."""
    thread = threading.Thread(target=sender.sendall, args=(bytes(size),), daemon=True)
    thread.start()
    sizes: list[int] = []
    while sum(sizes) < size:
        sizes.append(len(receiver.recv(size)))
    thread.join()
    return sizes


# 02


def one_slow_client_stops_everyone() -> None:
    """B gets no reply as long as A is slow, and then not before A has left."""
    with server_of("01", together=1) as server:
        frame = wire.encode(b"hello")
        a, b = server.connect("A"), server.connect("B")
        clock = Stopwatch()
        a.send(frame[:6])
        clock.tell("A sends 6 of the 9 bytes of a frame, and stalls")
        b.send(frame)
        clock.tell("B sends all 9 bytes of a frame")
        b.expect_nothing(2)
        clock.tell("B has no reply: the server sits in a read() on A's socket")
        a.send(frame[6:])
        a.expect_frame(b"hello")
        clock.tell("A sends the other 3 bytes and gets its reply")
        b.expect_nothing(0.5)
        clock.tell("B has no reply: A is still connected, so the server reads from A")
        a.close()
        b.expect_frame(b"hello")
        clock.tell("A leaves, and B gets its reply")
        print(f"\nB waited {clock.seconds():.1f} s for a reply that takes less than a millisecond.")


class Stopwatch:
    """Tells what happens, and when."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def tell(self, text: str) -> None:
        print(f"  {self.seconds():4.1f} s  {text}", flush=True)


# 03


def the_sweep_costs_a_processor() -> None:
    """What the server costs while nobody says anything, and how late it answers."""
    with server_of("02", together=3) as server:
        print("More and more clients connect, and say nothing. The last column is one")
        print("client that sends a small frame now and then.\n")
        print("   clients   processor used   read calls a second   reply after (median)")
        clients: list[Client] = []
        for crowd in (10, 100, 1000):
            clients += [server.connect("idle") for _ in range(crowd - len(clients))]
            share, reads = _while_idle(server.process)
            late = statistics.median(_round_trip_ms(clients[0]) for _ in range(30))
            print(f"  {crowd:8,} {share:16.0%} {reads:>21} {late:19.2f} ms", flush=True)
        print("\nNothing happens, and the server works: it asks every client, round and round,")
        print("whether there is something to read. Nearly every answer is EAGAIN, no.")


def _while_idle(process: ServerProcess) -> tuple[float, str]:
    """The share of a processor that the server uses, and its read calls a second."""
    before, cpu, start = process.calls(), process.cpu_seconds(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    seconds = time.monotonic() - start
    share, after = (process.cpu_seconds() - cpu) / seconds, process.calls()
    if before is None or after is None:
        return share, "not counted"
    return share, f"{(after.inputs - before.inputs) / seconds:,.0f}"


def _round_trip_ms(client: Client) -> float:
    time.sleep(0.005)
    start = time.monotonic()
    _round_trip(client)
    return 1000 * (time.monotonic() - start)


# 04


def one_frame_an_event() -> None:
    """What small frames cost beside a large one, and what memory is kept for nobody."""
    with server_of("03", together=70) as server:
        print("The same 400,000 bytes in one go: as one frame, then as 20,000 frames.\n")
        print("    frames   body of each   seconds   system calls")
        client = server.connect("A")
        for count in (1, 20_000):
            size = 400_000 // count - wire.HEADER
            seconds, calls = _burst(server, client, [bytes(size)] * count)
            told = "not counted" if calls is None else f"{calls:,}"
            print(f"  {count:8,} {size:14,} {seconds:9.3f} {told:>14}", flush=True)
        rate = f"{count / seconds:,.0f}"
        print(f"\n{rate} small frames a second. Each takes three waits in poll(): for its")
        print("header, for its body, and until its reply can be written.")
        base = server.process.resident_bytes()
        print(f"\nMemory the server holds:                              {base / MIB:5.1f} MiB")
        for _ in range(10):
            _burst(server, server.connect("B"), [bytes(8 * MIB)])
        held = server.process.resident_bytes()
        print(f"After ten more clients sent a frame of 8 MiB each:    {held / MIB:5.1f} MiB")
        print("\nAll are idle now, and it keeps the memory of a frame for each. A faster server")
        print("has one problem more: the replies that it has made and that nobody fetches.")


def _burst(server: Shown, client: Client, bodies: list[bytes]) -> tuple[float, Optional[int]]:
    """Sends the frames in one go: seconds until the last reply, system calls of the server."""
    data = b"".join(map(wire.encode, bodies))
    before, start = server.calls(), time.monotonic()
    client.exchange(data, bodies)
    seconds, after = time.monotonic() - start, server.calls()
    return seconds, None if before is None or after is None else after - before


# 05


class Padded(ctypes.Structure):
    """A C struct as this machine lays it out: with holes, so that `value` is aligned."""

    _fields_ = (("kind", ctypes.c_int16), ("value", ctypes.c_int64), ("n", ctypes.c_int16))


def bytes_have_no_borders() -> None:
    """What a server makes of bytes that are framed otherwise; and what a struct is on the wire."""
    with server_of("04", together=2) as server:
        print("Four clients, and what becomes of what they say:\n")
        print("    sent                      meant as            the server")
        for data, meant, look in MISUNDERSTOOD:
            client = server.connect(meant)
            client.send(data)
            print(f"    {data!r:25} {meant:19} {look(client, data)}", flush=True)
        print("\nNothing in the bytes says how they are framed: both sides have to know.")
        print("Nor how to read what is in a frame. A struct, sent as it lies in memory:\n")
        print("    struct { int16_t kind; int64_t value; int16_t n; } s = {1, 300, -2};")
        memory = _as_it_lies_in_memory()
        print(f"    {'  '.join(memory[at : at + 8].hex(' ') for at in range(0, len(memory), 8))}")
        print(f"\n{len(memory)} bytes, for 12 bytes of fields. aa is what was there", end=" ")
        print("before, and now the\nclient has it. Another compiler, or another machine, puts the fields elsewhere,")
        print("or their bytes in another order.")


def _echoed(client: Client, data: bytes) -> str:
    client.expect_frame(data[wire.HEADER :])
    return "echoes it"


def _closed(client: Client, data: bytes) -> str:
    client.expect_eof()
    return f"closes: N = {wire.declared_length(data):,}"


def _waiting(client: Client, data: bytes) -> str:
    client.expect_nothing(0.5)
    if len(data) < wire.HEADER:
        return "waits for the rest of N"
    return f"waits for {wire.declared_length(data):,} bytes"


MISUNDERSTOOD: tuple[tuple[bytes, str, Callable[[Client, bytes], str]], ...] = (
    (wire.encode(b"hello"), "a frame", _echoed),
    (b"hello\n", "a line", _closed),
    (b"hi\n", "a line", _waiting),
    (b"\0\0\0\1x", "a big-endian frame", _waiting),
)


def _as_it_lies_in_memory() -> bytes:
    memory = bytearray(b"\xaa" * ctypes.sizeof(Padded))
    padded = Padded.from_buffer(memory)
    padded.kind, padded.value, padded.n = 1, 300, -2
    return bytes(memory)


# 06


def idle_connections_are_not_free() -> None:
    """What one busy client costs the server, and gets, beside clients that say nothing."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    room = CROWDS[-1] + SPARE if allowed == resource.RLIM_INFINITY else allowed
    with server_of("05", together=2, nofile=min(room, CROWDS[-1] + SPARE)) as server:
        print("One client sends small frames, one after the other. More and more others")
        print("are connected, and say nothing at all.\n")
        print("    idle clients   requests a second   server CPU for a request")
        busy, idle = server.connect("busy"), 0
        for crowd in sorted({min(crowd, max(0, room - SPARE)) for crowd in CROWDS}):
            for _ in range(crowd - idle):
                server.connect("idle")
            idle = crowd
            rate, cost_us = _one_after_the_other(server.process, busy)
            print(f"    {idle:12,} {rate:19,.0f} {cost_us:23,.0f} µs", flush=True)
        if idle < CROWDS[-1]:
            print(f"\nNot more: {allowed:,} descriptors are allowed here (ulimit -Hn).")
        entries = idle + 3  # its own two, and the busy client
        print(f"\nFor each request the server writes a list of {entries:,} entries, and poll()")
        print("goes through it, to say that one of them is ready: always the same one. Nobody")
        print("else has said anything, and everybody is paid for.")


def _one_after_the_other(process: ServerProcess, client: Client) -> tuple[float, float]:
    """Frames there and back, for a while: how many a second, µs of the server's CPU for each."""
    _round_trip(client)  # all that have connected are accepted before it is answered
    count, cpu, start = 0, process.cpu_seconds(), time.monotonic()
    while time.monotonic() < start + IDLE_SECONDS:
        _round_trip(client)
        count += 1
    seconds = time.monotonic() - start
    return count / seconds, 1e6 * (process.cpu_seconds() - cpu) / count


def _round_trip(client: Client) -> None:
    client.send_frame(b"ping")
    client.expect_frame(b"ping")


# 07

DEADLINE_SECONDS = 0.995


def nobody_tells_when_nothing_happens() -> None:
    """Clients that do nothing keep others out; and what it costs to look at the clock instead."""
    with server_of("06", together=3, nofile=50) as server:
        print("It may have 50 descriptors. All its clients stay, and do nothing.\n")
        frame, clock = wire.encode(b"hello"), Stopwatch()
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
    print("\nAn event is something that happens. Here nothing did, so nobody woke the server.")
    print(f"A loop has something to do in {DEADLINE_SECONDS * 1000:.0f} ms. How it can wait:\n")
    print("    epoll_wait() for            waits   late by")
    for told, step in (("10 ms", 0.01), ("1 ms", 0.001), ("as long as is left", None)):
        waits, late = _until_deadline(step)
        print(f"    {told:24} {waits:8,} {late * 1000:6.1f} ms", flush=True)


def _until_deadline(step: Optional[float]) -> tuple[int, float]:
    """Waits for DEADLINE_SECONDS, `step` seconds at a time: how often, and how late it ends."""
    deadline, waits = time.monotonic() + DEADLINE_SECONDS, 0
    with select.epoll() as events:
        while (left := deadline - time.monotonic()) > 0:
            events.poll(left if step is None else step)
            waits += 1
    return waits, -left


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


DEMOS: dict[str, Callable[[], None]] = {
    "01": one_read_is_not_one_message,
    "02": one_slow_client_stops_everyone,
    "03": the_sweep_costs_a_processor,
    "04": one_frame_an_event,
    "05": bytes_have_no_borders,
    "06": idle_connections_are_not_free,
    "07": nobody_tells_when_nothing_happens,
}


def main(arguments: list[str]) -> int:
    """Runs the demo of one chapter. Returns the exit status: 0, or 2 with the reason on stderr."""
    try:
        if len(arguments) != 1:
            raise course.UnknownChapter("which chapter? For instance: make demo CH=02")
        chapter = course.find(arguments[0])
        DEMOS[chapter.number]()
    except (course.UnknownChapter, NotReady, NotJudged, build.NoCompiler) as error:
        print(f"demo: {error}", file=sys.stderr)
    except Failure as failure:
        print(f"demo: the server did something else: {failure.message}", file=sys.stderr)
    except BrokenPipeError:  # `make demo CH=01 | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
