"""Servers are measured: each is started, asked and ended, all of them in turn and again.

What drifts on a machine drifts for all of them. A run in which somebody else was on the processors
is repeated.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.server.spawn import LOCALHOST, free_port
from harness.student.bench.subjects import BYTES, Load, Row, Subject
from harness.waiting import procfs
from harness.waiting.wait import wait_until

WARM_MS, MEASURED_MS = 150, 600  # before anything is counted, and while it is
START_SECONDS = 10  # until a server listens
LOOK_SECONDS = 0.01  # between two attempts to connect
RUN_SECONDS = 60  # until a program that asks must have ended
TICK = os.sysconf("SC_CLK_TCK")
FOREIGN = 0.05  # of the time: with more of it spent on others a run is disturbed
TRIES = 4


class Failed(Exception):
    """The server did not answer as it should. `str()` is one line."""


@dataclass(frozen=True)
class Place:
    """The processors of server and load: the same one for both, or one each."""

    server: int
    load: int

    @property
    def name(self) -> str:
        return "one core" if self.server == self.load else "two cores"


@dataclass(frozen=True)
class Figures:
    """What one run gave. `found`: the JSON of the load generator. `foreign`: the part of the time
    that the processors worked for others."""

    found: dict
    foreign: float

    def value(self, row: Row) -> float:
        """Requests a second, or resident bytes for each of the idle connections."""
        if row.figure == BYTES:
            before, after = self.found["resident_bytes"]
            return (after - before) / row.load.idle
        return self.found["requests"] / self.found["seconds"]


@dataclass(frozen=True)
class Bench:
    """How everything is measured. `generator`: the program that asks. `ask`: runs the program, and
    has the arguments of ask()."""

    generator: Path
    place: Place
    ask: Callable[[Bench, int, int, Load], dict] | None = None


@dataclass
class Cell:
    """One server in one row: a value for each round, or why there is none.

    `skipped`: it is not asked, since it serves one client at a time.
    """

    values: list[float] = field(default_factory=list)
    why: str = ""
    skipped: bool = False
    disturbed: int = 0  # rounds whose every try was

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values and not self.why else None


Cells = dict[tuple[str, str], Cell]  # by the names of subject and row


def rounds(
    bench: Bench,
    subjects: Sequence[Subject],
    rows: Sequence[Row],
    count: int,
    told: Callable[[str], None],
) -> Cells:
    """Measures every server in every row `count` times, a round of all before the next."""
    cells: Cells = {
        (subject.name, row.key): Cell(skipped=subject.one_client and not row.load.one_client)
        for subject in subjects
        for row in rows
    }
    for number in range(1, count + 1):
        for row in rows:
            for subject in subjects:
                cell = cells[subject.name, row.key]
                name = f"{bench.place.name}: round {number} of {count}"
                told(f"{name}, row {row.key}, {subject.name}")
                if not cell.why and not cell.skipped:
                    _measure(cell, bench, subject, row)
    return cells


def _measure(cell: Cell, bench: Bench, subject: Subject, row: Row) -> None:
    """Measures until nobody disturbs; after TRIES the least disturbed run counts."""
    tried: list[Figures] = []
    try:
        while len(tried) < TRIES and all(figures.foreign > FOREIGN for figures in tried):
            tried.append(run(bench, subject, row.load))
    except Failed as error:
        cell.why = str(error)
        return
    best = min(tried, key=lambda figures: figures.foreign)
    cell.disturbed += best.foreign > FOREIGN
    cell.values.append(best.value(row))


def run(bench: Bench, subject: Subject, load: Load) -> Figures:
    """Measures once. Raises Failed."""
    with _started(subject, bench.place.server) as (process, port):
        before, used = _busy_seconds(bench.place), _used(process.pid)
        start = time.monotonic()
        found = (bench.ask or ask)(bench, process.pid, port, load)
        elapsed = time.monotonic() - start
        used = _used(process.pid) - used
        foreign = _busy_seconds(bench.place) - before - used
    return Figures(found, max(0.0, foreign / elapsed))


def ask(bench: Bench, pid: int, port: int, load: Load) -> dict:
    """Returns the JSON that the load generator printed. Raises Failed."""
    words = [bench.generator, port, pid, *load.words, WARM_MS, MEASURED_MS]
    return json.loads(asked(list(map(str, words)), bench.place.load))


def asked(words: Sequence[str], cpu: int) -> str:
    """Returns the output of a program that asks a server. Raises Failed."""
    name = Path(words[0]).name
    try:
        result = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
            timeout=RUN_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{name} has not ended after {RUN_SECONDS} s") from None
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines()
        raise Failed(said[0] if said else f"{name} ended with status {result.returncode}")
    return result.stdout


@contextmanager
def _started(subject: Subject, cpu: int) -> Iterator[tuple[subprocess.Popen, int]]:
    """The process and the port it listens on. It is ended when the block is left.

    Raises Failed, and NotJudged if no port is free."""
    port = free_port()
    process = subprocess.Popen(
        [word.replace("{port}", str(port)) for word in subject.command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    try:
        _wait_until_it_listens(process, port)
        yield process, port
    finally:
        if process.returncode is None:  # so its number is still its own
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_it_listens(process: subprocess.Popen, port: int) -> None:
    """Raises Failed if it does not."""

    def listens() -> bool:
        if process.poll() is not None:
            raise Failed("it ended before it listened")
        try:
            socket.create_connection((LOCALHOST, port), START_SECONDS).close()
        except ConnectionRefusedError:
            return False
        return True

    if not wait_until(listens, START_SECONDS, LOOK_SECONDS):
        raise Failed(f"it does not listen on its port after {START_SECONDS} s")


def _used(pid: int) -> float:
    """CPU seconds of the server, and of the programs that have asked it and ended."""
    times = os.times()
    return procfs.cpu_seconds(pid) + times.children_user + times.children_system


def _busy_seconds(place: Place) -> float:
    """What the processors have worked since they started, for anybody: /proc/stat, in proc(5).

    user, nice, system, irq, softirq and steal, which is a neighbour of the virtual machine.
    """
    names = {f"cpu{place.server}", f"cpu{place.load}"}
    total = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name in names:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
            total += user + nice + system + irq + softirq + steal
    return total / TICK
