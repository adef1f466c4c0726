"""Where a server keeps what it knows of each client: in a struct, or on a stack of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from harness.claims.context.observe import until_read
from harness.client import length_framing
from harness.server.process import ServerProcess
from harness.student.demos.shown import Shown, built, server_of
from harness.submission.chapters import find
from harness.submission.sizes import KIB
from harness.waiting import procfs

CLIENTS = 1000
SPARE = 200  # descriptors for everything else
CHAPTER = find("10").chapter_dir
HALF = length_framing.encode(b"ping")[:6]


def show() -> None:
    """What it costs to wait in a struct, and on a stack: a loop with callbacks, and threads."""
    one_loop = ("--threads", "1")
    with server_of("09", together=3, nofile=CLIENTS + SPARE, arguments=one_loop) as server:
        print(f"{CLIENTS:,} clients send half a frame each, and then nothing.\n")
        print("    server                           threads   resident for each client")
        _tell_cost("09: callbacks, one loop", server)
    with _thread_for_each() as server:
        _tell_cost("01's lines, a thread a client", server)
    print("\nA callback has returned. The fields of a struct tell how far its client is.")
    print("A thread is still inside read(): its stack tells, and it goes on from there.\n")
    print("    a switch to another and back")
    program = built("switch", CHAPTER / "co" / "context.c", within=CHAPTER)
    printed = subprocess.run([program], capture_output=True, text=True).stdout
    for line in printed.splitlines():
        told, nanoseconds = line.split("\t")
        print(f"    {told:29} {int(nanoseconds):10,} ns")


def _tell_cost(told: str, server: Shown) -> None:
    """Connects many clients, and prints what they cost the server."""
    before = server.process.resident_bytes()
    clients = [server.connect("half") for _ in range(CLIENTS)]
    for client in clients:
        client.send(HALF)
    for client in clients:
        until_read(client)
    kib = (server.process.resident_bytes() - before) / CLIENTS / KIB
    process = procfs.read_process(server.process.pid)
    print(f"    {told:29} {process.threads if process else 0:10,} {kib:22.1f} KiB", flush=True)


@contextmanager
def _thread_for_each() -> Iterator[Shown]:
    process = ServerProcess()
    shown = Shown(process.start([built("threads")], nofile=CLIENTS + SPARE))
    try:
        yield shown
    finally:
        shown.end()
