"""GNU parallel as the engine: on this machine, or by ssh on several that share the files."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes import plan, pool
from harness.course.classes.engines import Engine, Tick, finished, without_result
from harness.course.classes.plan import Plan
from harness.course.classes.pool import Job
from harness.lab import programs
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage
from harness.server import kill
from harness.server.linux import prctl, procfs

PROGRAM = "parallel"
ANSWER_SECONDS = 20
MISSING = "ENGINE=parallel: GNU parallel is missing; the package parallel has it"
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10"  # asks for no password, waits for no dead machine


@dataclass
class Parallel(Engine):
    """`jobs`: at a time on each machine, None for one for each processor. `top`: of the results."""

    program: str
    top: Path
    jobs: int | None
    sshlogin: str | None

    @property
    def speed(self) -> str:
        number = self.jobs or "one for each processor"
        where = f"on each of {self.sshlogin}" if self.sshlogin else "on this machine"
        return f"GNU parallel, {number} at a time {where}"

    def run(self, jobs: list[Job], seconds: float, tick: Tick) -> Iterator[Job]:
        work, waiting = self.top / ".work", {job.name: job for job in jobs}
        log = work / "parallel.log"
        plan.forget(work)
        if not jobs:
            return
        with plan.written(work, jobs, len(jobs), seconds) as made:
            with log.open("wb") as file, _running(self.command(made), file) as process:
                yield from finished(waiting, lambda: process.poll() is None, tick)
        yield from without_result(waiting, log)

    def command(self, made: Plan) -> list[str]:
        """A job that leaves no result is tried again, on another machine if there is one."""
        words = [self.program, "--plain", "--retries", str(pool.STARTS), "--ssh", SSH]
        words += ["--term-seq", f"TERM,{pool.LAST_SECONDS * 1000},KILL,100"]
        words += ["--jobs", str(self.jobs or "100%")]
        words += ["--sshlogin", self.sshlogin] if self.sshlogin else []
        return [*words, made.command("{}"), ":::", *map(str, range(1, made.tasks + 1))]


def find(top: Path, jobs: int | None, sshlogin: str | None) -> Parallel:
    """Raises WrongUsage if it is not installed."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise WrongUsage(MISSING)
    said = programs.answer([program, "--version"], ANSWER_SECONDS)
    if "GNU parallel" not in said.stdout:  # moreutils has a program of this name, too
        raise WrongUsage(f"{MISSING} ({program} is another program)")
    return Parallel(program, top, jobs, sshlogin)


@contextmanager
def _running(command: list[str], log) -> Iterator[subprocess.Popen]:
    """The process while the block runs. When the block ends, nothing that it started is left on
    this machine; on others GNU parallel ends it when the connection is closed."""
    prctl.adopt_orphans()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PARALLEL_SHELL": "/bin/sh"},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=lambda: prctl.die_with_parent(signal.SIGTERM),
    )
    try:
        yield process
    finally:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(pool.LAST_SECONDS)
            kill.until_gone(procfs.below, pool.LAST_SECONDS)
            process.poll()
        finally:
            signal.signal(signal.SIGINT, before)
