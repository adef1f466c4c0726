"""What idle connections cost a server that polls."""

from __future__ import annotations

import resource
import time

from harness.client.client import Client
from harness.server.process import ServerProcess
from harness.student.demos.shown import WATCHED_SECONDS, round_trip, server_of

IDLE_CLIENTS = (0, 1000, 5000)  # idle clients
SPARE = 200  # descriptors for everything else


def show() -> None:
    """What one busy client costs the server, and gets, beside clients that say nothing."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = IDLE_CLIENTS[-1] + SPARE if allowed == resource.RLIM_INFINITY else allowed
    with server_of("05", together=2, nofile=min(most, IDLE_CLIENTS[-1] + SPARE)) as server:
        print("One client sends small frames, one after the other. More and more others are")
        print("connected, and send nothing at all.\n")
        print("    idle clients   requests a second   server CPU for a request")
        busy, idle = server.connect("busy"), 0
        for count in sorted({min(count, max(0, most - SPARE)) for count in IDLE_CLIENTS}):
            for _ in range(count - idle):
                server.connect("idle")
            idle = count
            rate, cost_us = _one_after_the_other(server.process, busy)
            print(f"    {idle:12,} {rate:19,.0f} {cost_us:23,.0f} µs", flush=True)
        if idle < IDLE_CLIENTS[-1]:
            print(f"\nNot more: {allowed:,} descriptors are allowed here (ulimit -Hn).")
        entries = idle + 3  # its own two, and the busy client
        print(f"\nFor each request the server writes a list of {entries:,} entries, and poll()")
        print("goes through it, to say that one of them is ready: always the same one. All the")
        print("others send nothing, and the server pays for each of them.")


def _one_after_the_other(process: ServerProcess, client: Client) -> tuple[float, float]:
    """Exchanges frames for a while. Returns frames a second, and µs of the server's CPU time for
    each."""
    round_trip(client)  # all that have connected are accepted before it is answered
    count, cpu, start = 0, process.cpu_seconds(), time.monotonic()
    while time.monotonic() < start + WATCHED_SECONDS:
        round_trip(client)
        count += 1
    seconds = time.monotonic() - start
    return count / seconds, 1e6 * (process.cpu_seconds() - cpu) / count
