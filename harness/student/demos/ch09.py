"""What one loop makes of several processors, and what two threads make of one counter."""

from __future__ import annotations

import os
import subprocess

from harness.client import messages
from harness.failures.failure import NotJudged
from harness.student.bench.threads import Running
from harness.student.demos.shown import built, server_of

CLIENTS = (1, 2, 8)
MESSAGE = messages.request(messages.ECHO, 1, messages.string(b"hi"))
TIMES = 10_000_000  # as in count.c


def show() -> None:
    """Shows that more clients get nothing more of a server with one loop, and why two loops are not
    that easy."""
    with server_of("08", together=3, arguments=("--app", "rpc")) as server:
        print("Clients send the smallest messages, as fast as they can, and read the replies.\n")
        print("    clients   messages a second   processors that the server uses")
        running = Running(server.process)
        for clients in CLIENTS:
            pace = running.pace(MESSAGE, clients)
            used = f"{pace.processors:.2f} of {len(os.sched_getaffinity(0))}"
            print(f"    {clients:7} {pace.messages:19,.0f} {used:>33}", flush=True)
    print(f"\nTwo threads do the simplest thing together: they count. Each adds 1, {TIMES:,}")
    print("times. The sum should be twice that.\n")
    print("    counter                        in the end   seconds")
    for told, sum_, seconds in _counted():
        print(f"    {told:24} {int(sum_):16,} {seconds:>9}")


def _counted() -> list[list[str]]:
    """What the program prints: how was counted, what came out, seconds. Raises NotJudged."""
    try:
        command = [built("count")]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotJudged(f"count.c: {error}") from error
    return [line.split("\t") for line in printed.splitlines()]
