"""Slurm as the engine: a job array on a cluster whose machines share the files.

The array is found by its name, which is made of the place of the results. So nothing has to be
remembered: if this process is killed, the array goes on, and the next run waits for it.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.course.classes import plan, pool
from harness.course.classes.engines import Engine, Tick, finished, without_result
from harness.course.classes.labels import Class
from harness.course.classes.plan import Plan
from harness.course.classes.pool import Job
from harness.course.classes.progress import wrapped
from harness.lab import programs
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage

LOG = "slurm.log"
PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol")
MEMORY_MIB = 4096  # what an isolated grade may use
ASK_SECONDS = 2  # between two questions to the cluster
ANSWER_SECONDS = 60
ARRAY = 1001  # Slurm's own MaxArraySize
# Reasons for which a task waits, and that end by themselves.
USUAL = ("None", "Resources", "Priority", "JobArrayTaskLimit", "Cleaning", "BeginTime", "")


@dataclass
class Slurm(Engine):
    """`jobs`: tasks at a time, None for as many as the cluster runs. `work`: for our files, shared.
    `name`: of the array."""

    name: str
    work: Path
    jobs: int | None
    said: set[str] = field(default_factory=set)
    asked: float = -math.inf
    works: bool = True

    @property
    def speed(self) -> str:
        return f"Slurm, {self.jobs or 'as many as it can'} at a time"

    def run(self, jobs: list[Job], seconds: float, tick: Tick) -> Iterator[Job]:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the array survives the terminal
        waiting = {job.name: job for job in jobs}
        if self._ask():
            self._say(f"an array of an earlier run is still at work: squeue --name={self.name}")
            yield from self._watched(waiting, tick)
        plan.forget(self.work)
        (self.work / LOG).unlink(missing_ok=True)
        for _ in range(pool.STARTS):
            if not waiting:
                return
            left = list(waiting.values())
            with plan.written(self.work, left, min(len(left), largest()), seconds) as made:
                self._submit(made)
                yield from self._watched(waiting, tick)
        yield from without_result(waiting, self.work / LOG)

    def _submit(self, made: Plan) -> None:
        """Raises WrongUsage with what sbatch says if it refuses."""
        units = math.ceil(len(made.jobs) / made.tasks)
        limit = f"%{self.jobs}" if self.jobs else ""
        said = _answer(
            *("sbatch", "--parsable", f"--job-name={self.name}", f"--chdir={ROOT}"),
            *(f"--array=1-{made.tasks}{limit}", f"--time={math.ceil(units * made.seconds / 60)}"),
            *("--ntasks=1", "--cpus-per-task=1", f"--mem={MEMORY_MIB}M", "--requeue"),
            *(f"--output={self.work / LOG}", "--open-mode=append"),
            *("--wrap", made.command("$SLURM_ARRAY_TASK_ID")),
        )
        if said.returncode:
            raise WrongUsage(f"ENGINE=slurm: {_last_line(said.stderr) or 'sbatch has failed'}")
        number = said.stdout.strip().split(";")[0]
        self.asked, self.works = time.monotonic(), True
        self._say(f"job array {number}: squeue --job={number} shows it")

    def _watched(self, waiting: dict[str, Job], tick: Tick) -> Iterator[Job]:
        with self._cancelled():
            yield from finished(waiting, self._is_at_work, tick)

    def _is_at_work(self) -> bool:
        if time.monotonic() - self.asked >= ASK_SECONDS:
            self.works = self._ask()
        return self.works

    def _ask(self) -> bool:
        """Whether a task waits or runs. If the cluster does not answer, it may."""
        said = _answer("squeue", "--me", f"--name={self.name}", "--noheader", "--format=%t|%r")
        self.asked = time.monotonic()
        if said.returncode:
            self._say(f"squeue does not answer: {_last_line(said.stderr)}; this waits")
            return True
        tasks = [line.strip().split("|", 1) for line in said.stdout.splitlines() if "|" in line]
        waits = {reason for state, reason in tasks if state == "PD"} - set(USUAL)
        for reason in sorted(waits):
            self._say(f"tasks wait: {reason}")
        if tasks and all(state == "PD" and "held" in reason.lower() for state, reason in tasks):
            self._cancel()  # nobody would start them
            return False
        return bool(tasks)

    @contextmanager
    def _cancelled(self) -> Iterator[None]:
        """Cancels what is left of the array if the block is stopped, and waits until it is over."""
        try:
            yield
        except BaseException:
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                self._cancel()
                end = time.monotonic() + pool.LAST_SECONDS
                while self._ask() and time.monotonic() < end:
                    time.sleep(0.5)
            finally:
                signal.signal(signal.SIGINT, before)
            raise

    def _cancel(self) -> None:
        _answer("scancel", "--me", f"--name={self.name}")

    def _say(self, text: str) -> None:
        """Prints the text, unless it was printed before."""
        if text not in self.said:
            self.said.add(text)
            print(wrapped(f"slurm: {text}", 0), flush=True)


def find(of: Class, jobs: int | None) -> Slurm:
    """Raises WrongUsage if it is not installed, or there is no cluster."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            raise WrongUsage(
                f"ENGINE=slurm: {program} is missing; the package slurm-client has it, and the "
                "machine must belong to a cluster"
            )
    said = _answer("scontrol", "ping")
    if said.returncode:
        why = _last_line(said.stderr) or _last_line(said.stdout)
        raise WrongUsage(f"ENGINE=slurm: the cluster does not answer: {why}")
    place = hashlib.sha256(str(of.top).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return Slurm(f"class-{of.chapter.number}-{place}", of.top / ".work", jobs)


def largest() -> int:
    """Tasks that an array may have. With more submissions a task has several of them."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", _answer("scontrol", "show", "config").stdout)
    return max(1, int(found[1] if found else ARRAY) - 1)


def _answer(*command: str) -> subprocess.CompletedProcess[str]:
    return programs.answer(command, ANSWER_SECONDS)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
