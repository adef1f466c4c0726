"""Runs grades, each as a process, some at a time. Whatever happens to one, the others go on."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.lab.chapters import ROOT
from harness.lab.target import as_typed
from harness.server.linux import prctl

TICK_SECONDS = 0.05  # between two looks at the processes
LAST_SECONDS = 60  # for those that were told to stop: they end their servers first
STARTS = 2  # of a process that ends without a result


@dataclass
class Job:
    """The grade of one submission. `log`: the file with what its process prints, which is nothing
    if all is well. `result`: the file that it leaves. `fault`: a line that says why it left none.
    """

    name: str
    command: list[str]
    log: Path
    result: Path
    starts: int = 0
    fault: str = ""
    began: float = 0.0
    process: subprocess.Popen | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._before = self._stamp()

    def has_result(self) -> bool:
        """Returns true if it has left a result, or has found one that another process left."""
        return self.process.returncode == 0 or self._stamp() not in (None, self._before)

    def _stamp(self) -> tuple[int, int] | None:
        """Changes with each result. None if there is none."""
        try:
            found = self.result.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def start(self) -> None:
        self.starts += 1
        self.began = time.monotonic()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the pool, which tells its processes
                preexec_fn=lambda: prctl.die_with_parent(signal.SIGTERM),
            )


def run(
    jobs: list[Job], at_once: int, seconds: float, tick: Callable[[list[Job]], None]
) -> Iterator[Job]:
    """Runs them and yields each when it is over. One without a result is started once more. One
    that takes longer than `seconds` is ended. `tick` is called again and again with those that run.
    If the caller stops, or Ctrl-C is pressed, all are ended.
    """
    waiting, running = list(reversed(jobs)), []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(waiting.pop())
                running[-1].start()
            tick(running)
            time.sleep(TICK_SECONDS)
            for job in [one for one in running if _is_over(one, seconds)]:
                running.remove(job)
                if job.starts < STARTS and not job.has_result():
                    waiting.append(job)
                else:
                    status = f"(status {job.process.returncode})"
                    job.fault = f"its process left no result {status}; see {as_typed(job.log)}"
                    yield job
    finally:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C disturbs nothing
        try:
            _end(running)
        finally:
            signal.signal(signal.SIGINT, before)


def _is_over(job: Job, seconds: float) -> bool:
    if job.process.poll() is not None:
        return True
    if time.monotonic() - job.began < seconds:
        return False
    job.starts = STARTS
    _end([job])
    return True


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
