"""Runs the units of one task of a plan, one after the other: `task.py PLAN NUMBER`.

This is what GNU parallel and Slurm start. Exit status: 0 each unit has left a result, 1 one has
not, 2 it was stopped.
"""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

from harness.course.classes import plan, pool
from harness.course.classes.labels import shown
from harness.lab import command_line
from harness.server.linux import prctl


def main(file: str, number: str) -> int:
    for stop in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(stop, signal.default_int_handler)
    prctl.die_with_parent(signal.SIGTERM)
    jobs, seconds = plan.share(Path(file), int(number))
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
