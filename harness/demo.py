"""The problem of a chapter, as a command that shows it: python3 -m harness.demo NN (make demo)

A demo does the real thing over real sockets, says what it does and prints what it sees. Beginning
with the second, it shows what the server of the chapter before cannot do yet.
"""

from __future__ import annotations

import os
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from harness import build, course, wire
from harness.client import Client
from harness.conversation import Conversation
from harness.course import Chapter
from harness.failure import Failure, NotJudged
from harness.patience import PATIENCE, Patience
from harness.process import ServerProcess
from harness.shim import shim_library

MIB = 1 << 20
IDLE_SECONDS = 0.7  # to watch what a server costs
PROBE = Patience(((0, 1.0),))  # for a server that may not be finished


class NotReady(Exception):
    """The server that is to be shown does not work yet. The message says what to do."""


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
    with _server_of("01", together=1) as server:
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
    with _server_of("02", together=3) as server:
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
    client.send_frame(b"ping")
    client.expect_frame(b"ping")
    return 1000 * (time.monotonic() - start)


# 04


def one_frame_an_event() -> None:
    """What small frames cost beside a large one, and what memory is kept for nobody."""
    with _server_of("03", together=70) as server:
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


# The servers


class Shown:
    """A server that is shown, and its clients."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self._clients: list[Client] = []

    def connect(self, name: str, patience: Patience = PATIENCE) -> Client:
        client = Client(self.process.address, Conversation(), name, patience=patience)
        self._clients.append(client)
        return client

    def calls(self) -> Optional[int]:
        """How many reads, writes and waits it has made so far; None when nobody counts."""
        calls = self.process.calls()
        return calls and calls.inputs + calls.outputs + calls.waits

    def works(self, together: int) -> bool:
        """Whether two rounds of `together` clients at once are served, each a frame."""
        try:
            for _ in range(2):
                clients = [self.connect("probe", PROBE) for _ in range(together)]
                for client in clients:
                    client.send_frame(b"are you there?")
                    client.expect_frame(b"are you there?")
                self.leave()
        except Failure:
            return False
        return True

    def leave(self) -> None:
        """All clients close their connections."""
        for client in self._clients:
            client.abandon()
        self._clients.clear()

    def end(self) -> None:
        self.leave()
        self.process.destroy()


@contextmanager
def _server_of(number: str, together: int) -> Iterator[Shown]:
    """The student's server of that chapter if it `works`, else the solution's. Raises NotReady.

    `together`: how many clients at once it has to serve; 1, or more than its stubs can.
    """
    chapter = course.find(number)
    shown = _working(chapter.chapter_dir, together)
    if shown:
        print(f"Server: chapters/{chapter.slug}\n", flush=True)
    else:
        shown = _working(chapter.solution_dir, together)
        if not shown:
            raise NotReady(_what_to_do(chapter))
        print(f"Server: solutions/{chapter.slug}, since chapters/{chapter.slug} is not done\n")
    try:
        yield shown
    finally:
        shown.end()


def _working(source: Path, together: int) -> Optional[Shown]:
    """The server made of these sources, None when they do not become one that works."""
    shown = _start(source)
    if shown and not shown.works(together):
        shown.end()
        return None
    return shown


def _start(source: Path) -> Optional[Shown]:
    """The server made of these sources, None when they do not become one that listens."""
    process = ServerProcess()
    try:
        binary = build.cached_server(source).binary
        process.start([str(binary), "-p", "0"], preload=_counting(), patience=PROBE)
    except (build.BuildFailed, Failure):
        return None
    return Shown(process)


def _counting() -> "list[Path]":
    """The library that counts system calls, nothing when it cannot be made here."""
    try:
        return [shim_library()]
    except NotJudged:
        return []


def _what_to_do(chapter: Chapter) -> str:
    return (
        f"this shows the server of chapter {chapter.number}, which does not work yet:\n"
        f"      make grade CH={chapter.number}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


DEMOS: dict[str, Callable[[], None]] = {
    "01": one_read_is_not_one_message,
    "02": one_slow_client_stops_everyone,
    "03": the_sweep_costs_a_processor,
    "04": one_frame_an_event,
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
