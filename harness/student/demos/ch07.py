"""Clients that do nothing, and what it costs to look at the clock."""

from __future__ import annotations

import select
import time

from harness.client import length_framing
from harness.student.demos.shown import Stopwatch, server_of

DEADLINE_SECONDS = 0.995


def show() -> None:
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
