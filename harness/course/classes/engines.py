"""What an engine is, which runs the units of a class; and the one that is this machine.

The lab starts and watches an engine that exists, and makes none. All of them run the same command,
the same results appear in the same place, and a unit without a result is started once more.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes import pool
from harness.course.classes.pool import Job
from harness.lab.target import as_typed

TICK_SECONDS = 0.2  # between two looks at the results
LOOKS = 2000  # at results, in a second

Tick = Callable[[list[Job]], None]


class Engine(ABC):
    """`speed`: how many run at a time, for the reader. `at_once`: that number, None if unknown."""

    speed: str
    at_once: int | None = None

    @abstractmethod
    def run(self, jobs: list[Job], seconds: float, tick: Tick) -> Iterator[Job]:
        """Runs them and yields each when it is over. A unit without a result is started once more.
        One that takes longer than `seconds` is ended. `tick` is called again and again with the
        units that are known to run. If the caller stops, the units are ended. Raises WrongUsage."""


@dataclass
class Local(Engine):
    """Processes of this machine."""

    at_once: int

    @property
    def speed(self) -> str:
        return f"{self.at_once} at a time"

    def run(self, jobs: list[Job], seconds: float, tick: Tick) -> Iterator[Job]:
        return pool.run(jobs, self.at_once, seconds, tick)


def finished(waiting: dict[str, Job], works: Callable[[], bool], tick: Tick) -> Iterator[Job]:
    """Yields the jobs whose results appear while the engine `works`, and removes them from
    `waiting`: those left at the end have no result."""
    working = True
    while waiting and working:
        working = works()
        refresh(next(iter(waiting.values())).result.parent.parent)
        for job in [one for one in waiting.values() if one.has_result()]:
            del waiting[job.name]
            yield job
        tick([])
        if working:
            time.sleep(max(TICK_SECONDS, len(waiting) / LOOKS))


def refresh(directory: Path) -> None:
    """NFS may believe for a minute that a file of another machine is not there. A change of our own
    in the directory makes it ask again."""
    with contextlib.suppress(OSError):
        tempfile.NamedTemporaryFile(dir=directory, prefix=".").close()


def without_result(jobs: dict[str, Job], log: Path) -> Iterator[Job]:
    """The jobs that are left. Their own log says why, or that of the engine."""
    for job in jobs.values():
        own = job.log.exists() and job.log.stat().st_size
        job.fault = f"it left no result; see {as_typed(job.log if own else log)}"
        yield job
