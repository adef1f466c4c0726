"""The units of a class as a file, from which each task of an engine takes its own.

`python3 -m harness.course.classes.plan PLAN NUMBER` runs those of one task, one after the other:
GNU parallel and Slurm start it. Exit status: 0 each unit has left a result, 1 one has not, 2 it was
stopped.

The file is in the directory of results, which all machines of an engine share. It has the command
of each unit, and the variables that make a grade what it is on the machine that asks for it.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes import pool
from harness.course.classes.labels import shown
from harness.course.classes.pool import STARTS, Job
from harness.course.classes.unit import KEPT
from harness.lab import command_line
from harness.lab.chapters import ROOT
from harness.server.linux import prctl

CARRIED = (*KEPT, "CC", "LANG", "LC_ALL")  # PATH is that of each machine


@dataclass(frozen=True)
class Plan:
    """`tasks`: how many tasks share the jobs. `seconds`: the limit of one job."""

    file: Path
    jobs: list[Job]
    tasks: int
    seconds: float

    def command(self, number: str) -> str:
        """The shell's command for the task of that number, which may be a variable of the shell."""
        words = [sys.executable, "-m", "harness.course.classes.plan", str(self.file)]
        return f"cd {shlex.quote(str(ROOT))} && exec {shlex.join(words)} {number}"


@contextmanager
def written(work: Path, jobs: list[Job], tasks: int, seconds: float) -> Iterator[Plan]:
    """A plan in a file of its own, which is there while the block runs."""
    work.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(".json", "plan-", work)
    rows = [[job.name, job.command, str(job.log), str(job.result)] for job in jobs]
    environment = {name: os.environ[name] for name in CARRIED if name in os.environ}
    plan = {"jobs": rows, "tasks": tasks, "seconds": seconds, "environment": environment}
    with open(descriptor, "w", encoding="ascii") as file:
        json.dump(plan, file)
    try:
        yield Plan(Path(name), jobs, tasks, seconds)
    finally:
        Path(name).unlink(missing_ok=True)


def forget(work: Path) -> None:
    """Removes the plans of runs that were killed. Nothing may be running."""
    for file in work.glob("plan-*.json"):
        file.unlink(missing_ok=True)


def share(file: Path, number: int) -> tuple[list[Job], float]:
    """The jobs of one task, counted from 1, each to be started once; and the limit of one."""
    plan = json.loads(file.read_text())
    os.environ.update(plan["environment"])
    rows = plan["jobs"][number - 1 :: plan["tasks"]]
    jobs = [Job(name, argv, Path(log), Path(result)) for name, argv, log, result in rows]
    for job in jobs:
        job.starts = STARTS - 1
    return jobs, plan["seconds"]


def main(file: str, number: str) -> int:
    for stop in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(stop, signal.default_int_handler)
    prctl.die_with_parent(signal.SIGTERM)
    jobs, seconds = share(Path(file), int(number))
    try:
        done = list(pool.run(jobs, 1, seconds))
    except KeyboardInterrupt:
        return 2
    failed = [job for job in done if not job.has_result()]
    for job in failed:
        print(shown(f"{socket.gethostname()}: {job.name}: {job.fault}"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(*sys.argv[1:])))
