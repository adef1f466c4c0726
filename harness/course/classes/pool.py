"""Runs grades, each as a process, some at a time. Whatever happens to one, the others go on."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.server.linux import prctl
from harness.submission.chapters import ROOT
from harness.submission.target import as_typed

TICK_SECONDS = 0.05  # between two looks at the processes
LAST_SECONDS = 60  # for those that were told to stop: they end their servers first


@dataclass
class Job:
    """The grade of one submission. `log`: the file with what its process prints, which is nothing
    if all is well."""

    name: str
    command: list[str]
    log: Path
    began: float = 0.0
    process: subprocess.Popen | None = None

    def start(self) -> None:
        self.began = time.monotonic()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,  # Ctrl-C reaches the pool, which tells its processes
                preexec_fn=lambda: prctl.die_with_parent(signal.SIGTERM),
            )

    @property
    def fault(self) -> str:
        """Returns a line that says why the process has left no result."""
        status = f"(status {self.process.returncode})"
        return f"its process left no result {status}; see {as_typed(self.log)}"


def run(jobs: list[Job], at_once: int, seconds: float) -> Iterator[Job]:
    """Runs them and yields each when it is over. One that takes longer than `seconds` is ended. If
    the caller stops, or Ctrl-C is pressed, all are ended."""
    waiting, running = list(reversed(jobs)), []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(waiting.pop())
                running[-1].start()
            time.sleep(TICK_SECONDS)
            _end([job for job in running if time.monotonic() - job.began >= seconds])
            for job in [one for one in running if one.process.poll() is not None]:
                running.remove(job)
                yield job
    finally:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C disturbs nothing
        try:
            _end(running)
        finally:
            signal.signal(signal.SIGINT, before)


def _end(jobs: list[Job]) -> None:
    """Tells the processes to stop, and kills those that do not. Their own children end with
    them."""
    started = [job.process for job in jobs if job.process]
    for process in started:
        process.terminate()
    end = time.monotonic() + LAST_SECONDS
    for process in started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.1, end - time.monotonic()))
        process.kill()
        process.wait()
