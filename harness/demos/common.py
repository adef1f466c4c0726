"""What several demos need."""

from __future__ import annotations

import time

from harness.client.client import Client

WATCHED_SECONDS = 0.7  # to watch what a server costs


class Stopwatch:
    """Tells what happens, and when."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def tell(self, text: str) -> None:
        print(f"  {self.seconds():4.1f} s  {text}", flush=True)


def round_trip(client: Client) -> None:
    client.send_frame(b"ping")
    client.expect_frame(b"ping")
