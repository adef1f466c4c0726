"""The demos of 01 to 05: a stream of bytes, one client at a time, polling, and frames."""

from __future__ import annotations

import ctypes
import socket
import statistics
import threading
import time

from harness.client import length_framing
from harness.client.client import Client
from harness.feedback.conversation import counted
from harness.student.demos.shown import WATCHED_SECONDS, Shown, Stopwatch, reply_ms, server_of
from harness.submission.sizes import MIB


def show_01() -> None:
    """Shows what three sends, and then one large one, look like to the receiver."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        receiver = listener.accept()[0]
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
        threading.Thread(target=sender.sendall, args=(bytes(MIB),), daemon=True).start()
        sizes: list[int] = []
        while sum(sizes) < MIB:
            sizes.append(len(receiver.recv(MIB)))
    shown = " + ".join(f"{size:,}" for size in sizes[:5])
    print(f"    {shown}{' + ...' if len(sizes) > 5 else ''}")
    reads = counted(len(sizes), "read")
    print(f"\nbytes: one message in {reads}. The kernel decides their sizes.")


def show_02() -> None:
    """B gets no reply while A is slow, and no reply before A has left."""
    with server_of("01", together=1) as server:
        frame = length_framing.encode(b"hello")
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


def show_03() -> None:
    """Shows what the server costs while nobody says anything, and how late it answers."""
    with server_of("02", together=3) as server:
        print("More and more clients connect, and say nothing. The last column is one")
        print("client that sends a small frame now and then.\n")
        print("   clients   processor used   read calls a second   reply after (median)")
        clients: list[Client] = []
        for crowd in (10, 100, 1000):
            clients += [server.connect("idle") for _ in range(crowd - len(clients))]
            share, reads = _while_idle(server)
            late = statistics.median(reply_ms(clients[0]) for _ in range(30))
            print(f"  {crowd:8,} {share:16.0%} {reads:>21} {late:19.2f} ms", flush=True)
        print("\nNothing happens, but the server works: it asks every client again and again")
        print("whether there is something to read. Nearly every answer is EAGAIN: no.")


def _while_idle(server: Shown) -> tuple[float, str]:
    """The share of a processor that the server uses, and its read calls a second."""
    process = server.process
    before, cpu, start = process.calls(), process.cpu_seconds(), time.monotonic()
    time.sleep(WATCHED_SECONDS)
    seconds = time.monotonic() - start
    share, after = (process.cpu_seconds() - cpu) / seconds, process.calls()
    if before is None or after is None:
        return share, "not counted"
    return share, f"{(after.inputs - before.inputs) / seconds:,.0f}"


def show_04() -> None:
    """Shows what small frames cost beside a large one, and what memory is kept for no use."""
    with server_of("03", together=70) as server:
        print("The same 400,000 bytes in one go: as one frame, then as 20,000 frames.\n")
        print("    frames   body of each   seconds   system calls")
        client = server.connect("A")
        for count in (1, 20_000):
            size = 400_000 // count - length_framing.HEADER
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
        print("\nAll are idle now, and it still keeps the memory of one frame for each. A faster")
        print("server has one more problem: replies that it has made and that no client reads.")


def _burst(server: Shown, client: Client, bodies: list[bytes]) -> tuple[float, int | None]:
    """Sends the frames in one go: seconds until the last reply, system calls of the server."""
    data = b"".join(map(length_framing.encode, bodies))
    before, start = server.calls(), time.monotonic()
    client.exchange(data, bodies)
    seconds, after = time.monotonic() - start, server.calls()
    return seconds, None if before is None or after is None else after - before


# What is sent, what is meant, and what a server of 04 does with it.
MISUNDERSTOOD = (
    (length_framing.encode(b"hello"), "a frame", "echoes it"),
    (b"hello\n", "a line", "closes: N = 1,819,043,176"),
    (b"hi\n", "a line", "waits for more of N"),
    (b"\0\0\0\1x", "a big-endian frame", "waits for 16,777,216 bytes"),
)


class Padded(ctypes.Structure):
    """A C struct as this machine lays it out: with holes, so that `value` is aligned."""

    _fields_ = (("kind", ctypes.c_int16), ("value", ctypes.c_int64), ("n", ctypes.c_int16))


def show_05() -> None:
    """Shows what a server makes of bytes in another framing, and a struct on the wire."""
    with server_of("04", together=2) as server:
        print("Four clients send some bytes. What does the server make of them?\n")
        print("    sent                      meant as            the server")
        for data, meant, does in MISUNDERSTOOD:
            client = server.connect(meant)
            client.send(data)
            if does.startswith("echoes"):
                client.expect_frame(b"hello")
            elif does.startswith("closes"):
                client.expect_eof()
            else:
                client.expect_nothing(0.5)
            print(f"    {data!r:25} {meant:19} {does}", flush=True)
    memory = bytearray(b"\xaa" * ctypes.sizeof(Padded))
    padded = Padded.from_buffer(memory)
    padded.kind, padded.value, padded.n = 1, 300, -2
    print("\nNothing in the bytes says how they are framed: both sides have to know it.")
    print("Nothing says what a frame contains, either. A struct, sent as it lies in memory:\n")
    print("    struct { int16_t kind; int64_t value; int16_t n; } s = {1, 300, -2};")
    print(f"    {'  '.join(memory[at : at + 8].hex(' ') for at in range(0, len(memory), 8))}")
    said = "aa is what was there before, and now the"
    print(f"\n{len(memory)} bytes, for 12 bytes of fields. {said}")
    print("client has it. Another compiler, or another machine, puts the fields elsewhere,")
    print("or their bytes in another order.")
