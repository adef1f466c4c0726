"""The demos of 09 to 12: threads, stacks, system calls, and a program that nobody here wrote."""

from __future__ import annotations

import os
import re
import shlex
import struct
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from shutil import which

from harness.claims.context.observe import until_read
from harness.claims.scenarios.beside_redis import OPTIONS
from harness.claims.scenarios.greedy import greedy
from harness.client import length_framing, messages, resp
from harness.client.client import Client
from harness.client.redis import here
from harness.feedback.conversation import Conversation
from harness.feedback.failure import NotJudged
from harness.feedback.printable import harmless, printable
from harness.student.demos.shown import NotReady, Shown, built, printed_by, server_of
from harness.submission.chapters import find
from harness.submission.sizes import KIB
from harness.waiting import procfs

# Chapter 09

WARM_SECONDS, WATCHED_SECONDS = 0.3, 1.0
MESSAGE = messages.request(messages.ECHO, 1, messages.string(b"hi"))
TIMES = 10_000_000  # as in threads.c


def show_09() -> None:
    """More clients get nothing more of a server with one loop, and two loops are not that easy."""
    with server_of("08", together=3, arguments=("--app", "rpc")) as server:
        print("Clients send the smallest messages, as fast as they can, and read the replies.\n")
        print("    clients   messages a second   processors that the server uses")
        for clients in (1, 2, 8):
            pace, processors = _pace(server, clients)
            used = f"{processors:.2f} of {len(os.sched_getaffinity(0))}"
            print(f"    {clients:7} {pace:19,.0f} {used:>33}", flush=True)
    print(f"\nTwo threads do the simplest thing together: they count. Each adds 1, {TIMES:,}")
    print("times. The sum should be twice that.\n")
    print("    counter                        in the end   seconds")
    for told, sum_, seconds in printed_by(built("threads"), "count"):
        print(f"    {told:24} {int(sum_):16,} {seconds:>9}")


def _pace(server: Shown, clients: int) -> tuple[float, float]:
    """Lets `clients` send without a pause. Returns the messages that the server answers in a
    second, and the seconds of CPU time that it uses meanwhile."""
    with Client(server.address, Conversation()) as observer, greedy(server, MESSAGE, clients):
        time.sleep(WARM_SECONDS)
        start, count, cpu = time.monotonic(), _sent(observer), server.process.cpu_seconds()
        time.sleep(WATCHED_SECONDS)
        seconds = time.monotonic() - start
        cpu = server.process.cpu_seconds() - cpu
        return (_sent(observer) - count) / seconds, cpu / seconds


def _sent(observer: Client) -> int:
    """The replies that the server has made so far."""
    observer.send_frame(messages.request(messages.STATS, 1))
    return struct.unpack("<3q", observer.read_frame()[messages.HEAD :])[2]


# Chapter 10

CLIENTS = 1000
SPARE = 200  # descriptors for everything else


def show_10() -> None:
    """Compares the memory that a waiting client costs, with callbacks and with threads."""
    limit = {"nofile": CLIENTS + SPARE}
    with server_of("09", together=3, arguments=("--threads", "1"), **limit) as server:
        print(f"{CLIENTS:,} clients send half a frame each, and then nothing.\n")
        print("    server                           threads   resident for each client")
        _tell_cost("09: callbacks, one loop", server)
    with Shown(built("threads"), "serve", **limit) as server:
        _tell_cost("01's lines, a thread a client", server)
    print("\nA callback has returned. The fields of a struct tell how far its client is.")
    print("A thread is still inside read(): its stack tells, and it goes on from there.\n")
    print("    a switch to another and back")
    for told, nanoseconds in _switches():
        print(f"    {told:29} {int(nanoseconds):10,} ns")


def _tell_cost(told: str, server: Shown) -> None:
    """Connects many clients, and prints what they cost the server."""
    before = server.process.resident_bytes()
    clients = [server.connect("half") for _ in range(CLIENTS)]
    for client in clients:
        client.send(length_framing.encode(b"ping")[:6])
    for client in clients:
        until_read(client)
    kib = (server.process.resident_bytes() - before) / CLIENTS / KIB
    process = procfs.read_process(server.process.pid)
    print(f"    {told:29} {process.threads if process else 0:10,} {kib:22.1f} KiB", flush=True)


def _switches() -> list[list[str]]:
    """What each way to switch costs, in ns. With -DCONTEXT_UCONTEXT it is swapcontext()."""
    place = find("10").chapter_dir
    words = (place / "co" / "context.c", "-iquote", place)
    call, own, thread = printed_by(built("switch", *words))
    other = printed_by(built("switch", *words, "-DCONTEXT_UCONTEXT"))[1]
    return [call, own, ["a coroutine, swapcontext()", other[1]], thread]


# Chapter 11

SERVERS = {"06": (), "10": ("--threads", "1"), "11": ("--threads", "1", "--io", "uring")}
WRITTEN_SECONDS = 0.1  # until strace has written its last line
COLUMNS = (
    {"read", "readv", "recvfrom", "recvmsg"},
    {"write", "writev", "sendto", "sendmsg"},
    {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"},
    {"io_uring_enter"},
)
# Clients, each of which sends so many frames at once in each round, and then reads the replies.
LOADS = {
    "50 clients, each with 16 frames in flight": (50, 16, 5),
    "50 clients, each with one frame in flight": (50, 1, 10),
    "one client, with one frame in flight": (1, 1, 100),
}


def show_11() -> None:
    """System calls for frames, counted by strace, of the servers of 06, 10 and 11."""
    if not which("strace"):
        raise NotJudged("it needs strace: make setup")
    printed_by("strace", "-o", "/dev/null", "true")
    # One processor for the server and its clients, so that it is busy while they send. With two,
    # the counts depend on which of them is faster.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tables: dict[str, list[str]] = {told: ["", told] for told in LOADS}
    missing = []
    for number, arguments in SERVERS.items():
        try:
            for told, row in _rows(number, arguments).items():
                tables[told].append(row)
        except NotReady:
            if number != "11":
                raise
            missing = ["", "No rows of 11: it does not work yet. make grade CH=11 tells why."]
    print("System calls for 100 frames of 64 bytes, counted by strace.\n")
    print(f"    {'':28}    read    send    wait    ring     all")
    print(*sum(tables.values(), []), *missing, sep="\n")


def _rows(number: str, arguments: tuple[str, ...]) -> dict[str, str]:
    """A row for each load: the calls of a server of that chapter. Raises NotReady."""
    rows = {}
    with tempfile.TemporaryDirectory(prefix="lab-demo-") as place:
        trace = Path(place, "trace")
        how = {"wrapper": ("strace", "-f", "-o", str(trace)), "writable": [trace.parent]}
        started = server_of(number, 3, arguments, told=False, preload=[], **how)
        with started as server:
            for told, load in LOADS.items():
                calls = _calls(server, trace, load)
                cells = [f"{100 * each:8.1f}" if each else f"{'-':>8}" for each in calls]
                rows[told] = f"    {server.source:28}{''.join(cells)}"
    return rows


def _calls(server: Shown, trace: Path, load: tuple[int, int, int]) -> list[float]:
    """Calls for each frame: those of each of COLUMNS, and all of the server."""
    count, frames, rounds = load
    clients = [server.connect("one of them") for _ in range(count)]
    _go_round(clients, frames)  # now all are accepted
    time.sleep(WRITTEN_SECONDS)
    before = trace.stat().st_size
    for _ in range(rounds):
        _go_round(clients, frames)
    time.sleep(WRITTEN_SECONDS)
    with trace.open() as lines:
        lines.seek(before)
        calls = Counter(re.findall(r"^\d+ +(\w+)\(", lines.read(), re.M))
    server.leave()
    counts = [sum(calls[name] for name in column) for column in COLUMNS] + [calls.total()]
    return [number / (count * frames * rounds) for number in counts]


def _go_round(clients: list[Client], frames: int) -> None:
    bodies = [bytes(64)] * frames
    for client in clients:
        client.send_frames(bodies)
    for client in clients:
        client.expect_frames(bodies)


# Chapter 12

COMMANDS = (("PING",), ("SET", "name", "Ada Lovelace"), ("GET", "name"), ("GETT", "name"))
SECONDS = 10  # for redis-cli to end


def show_12() -> None:
    """The bytes of a command, and what both servers reply. Raises NotJudged without redis-cli."""
    if not here.program("redis-cli"):
        raise NotJudged("redis-cli is not installed: `make setup` installs it")
    data = resp.command("PING")
    lines = data.splitlines(keepends=True)
    print("`redis-cli PING` sends this:\n")
    print("    " + "   ".join(line.hex(" ") for line in lines))
    signs = "   ".join(" ".join(f"{printable(bytes([one]))} " for one in line) for line in lines)
    print(f"    {signs.rstrip()}\n", flush=True)
    with server_of("11", together=1, arguments=("--threads", "1")) as server:
        print("The server of 11 takes the first four bytes for the length of a frame:")
        length = struct.unpack("<I", data[:4])[0]
        print(f"{length:,} bytes. So it has nothing to say to this client:\n")
        _ask(server.address, COMMANDS[:1])
    redis = here.redis_server()
    if redis:
        with Shown(redis.program, *shlex.split(OPTIONS), mode="port") as server:
            print("\nThe same program, and Redis:\n")
            _ask(server.address, COMMANDS)


def _ask(address: tuple[str, int], commands: tuple[tuple[str, ...], ...]) -> None:
    cli = [here.program("redis-cli"), "-h", address[0], "-p", str(address[1]), "--no-raw"]
    for words in commands:
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        print(f"    $ redis-cli {shown}", flush=True)
        how = {"capture_output": True, "text": True, "timeout": SECONDS}
        try:
            done = subprocess.run([*cli, *words], **how)
            said = (done.stdout + done.stderr).strip()
        except subprocess.TimeoutExpired:
            said = f"(nothing for {SECONDS} s)"
        print(f"    {harmless(said)[:74]}", flush=True)
