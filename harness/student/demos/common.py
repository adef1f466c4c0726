"""What several demos need."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from harness.client.client import Client
from harness.failures.failure import LabFault
from harness.lab import files
from harness.lab.command_line import BUILD
from harness.server import build

WATCHED_SECONDS = 0.7  # to watch what a server costs


class Stopwatch:
    """Tells what happens, and when."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def tell(self, text: str) -> None:
        print(f"  {self.seconds():4.1f} s  {text}", flush=True)


def built(name: str, *more: Path, within: Path | None = None) -> str:
    """The program made of NAME.c of this directory, and of `more`, which include headers as from
    the directory `within`. Raises NotJudged."""
    source, program = Path(__file__).with_name(f"{name}.c"), BUILD / "demos" / name
    with files.appearing(program) as made:
        command = [*build.find_compiler(), "-O2", "-pthread", "-o", made, source, *more]
        command += ["-iquote", within] if within else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise LabFault(source.name, done.stderr)
    return str(program)


def round_trip(client: Client) -> None:
    client.send_frame(b"ping")
    client.expect_frame(b"ping")
