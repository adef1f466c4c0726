"""What it costs to ask every client again and again."""

from __future__ import annotations

import statistics
import time

from harness.client.client import Client
from harness.server.process import ServerProcess
from harness.student.demos.shown import WATCHED_SECONDS, round_trip, server_of


def show() -> None:
    """What the server costs while nobody says anything, and how late it answers."""
    with server_of("02", together=3) as server:
        print("More and more clients connect, and say nothing. The last column is one")
        print("client that sends a small frame now and then.\n")
        print("   clients   processor used   read calls a second   reply after (median)")
        clients: list[Client] = []
        for crowd in (10, 100, 1000):
            clients += [server.connect("idle") for _ in range(crowd - len(clients))]
            share, reads = _while_idle(server.process)
            late = statistics.median(_reply_ms(clients[0]) for _ in range(30))
            print(f"  {crowd:8,} {share:16.0%} {reads:>21} {late:19.2f} ms", flush=True)
        print("\nNothing happens, but the server works: it asks every client again and again")
        print("whether there is something to read. Nearly every answer is EAGAIN: no.")


def _while_idle(process: ServerProcess) -> tuple[float, str]:
    """The share of a processor that the server uses, and its read calls a second."""
    before, cpu, start = process.calls(), process.cpu_seconds(), time.monotonic()
    time.sleep(WATCHED_SECONDS)
    seconds = time.monotonic() - start
    share, after = (process.cpu_seconds() - cpu) / seconds, process.calls()
    if before is None or after is None:
        return share, "not counted"
    return share, f"{(after.inputs - before.inputs) / seconds:,.0f}"


def _reply_ms(client: Client) -> float:
    time.sleep(0.005)
    start = time.monotonic()
    round_trip(client)
    return 1000 * (time.monotonic() - start)
