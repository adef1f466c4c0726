"""What one frame an event costs, and what memory is kept."""

from __future__ import annotations

import time

from harness.client import length_framing
from harness.client.client import Client
from harness.student.demos.shown import Shown, server_of
from harness.submission.sizes import MIB


def show() -> None:
    """What small frames cost beside a large one, and what memory is kept for no use."""
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
