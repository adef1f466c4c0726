"""What one loop makes of several processors, and what two threads make of one counter."""

from __future__ import annotations

import os
import struct
import subprocess
import time

from harness.claims.scenarios.greedy import greedy
from harness.client import messages
from harness.client.client import Client
from harness.feedback.conversation import Conversation
from harness.feedback.failure import NotJudged
from harness.student.demos.shown import Shown, built, server_of

WARM_SECONDS, WATCHED_SECONDS = 0.3, 1.0
CLIENTS = (1, 2, 8)
MESSAGE = messages.request(messages.ECHO, 1, messages.string(b"hi"))
TIMES = 10_000_000  # as in count.c


def show() -> None:
    """Shows that more clients get nothing more of a server with one loop, and why two loops are not
    that easy."""
    with server_of("08", together=3, arguments=("--app", "rpc")) as server:
        print("Clients send the smallest messages, as fast as they can, and read the replies.\n")
        print("    clients   messages a second   processors that the server uses")
        for clients in CLIENTS:
            pace, processors = _pace(server, clients)
            used = f"{processors:.2f} of {len(os.sched_getaffinity(0))}"
            print(f"    {clients:7} {pace:19,.0f} {used:>33}", flush=True)
    print(f"\nTwo threads do the simplest thing together: they count. Each adds 1, {TIMES:,}")
    print("times. The sum should be twice that.\n")
    print("    counter                        in the end   seconds")
    for told, sum_, seconds in _counted():
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


def _counted() -> list[list[str]]:
    """What the program prints: how was counted, what came out, seconds. Raises NotJudged."""
    try:
        command = [built("count")]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotJudged(f"count.c: {error}") from error
    return [line.split("\t") for line in printed.splitlines()]
