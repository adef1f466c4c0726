"""One server, one load, once: started, asked, ended, and was anybody else on its processors?"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.server.linux import procfs
from harness.server.spawn import LOCALHOST, free_port
from harness.server.waiting.wait import wait_until
from harness.student.bench.rows import Load
from harness.student.bench.subjects import SPIN, Subject

START_SECONDS = 10  # until it listens
LOOK_SECONDS = 0.01  # between two attempts to connect
EXTRA_SECONDS = 60  # of the load generator, beside what it is to measure: it connects and warms up
TICK = os.sysconf("SC_CLK_TCK")


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
class Timing:
    """Milliseconds of a run: those before anything is counted, and those of the counted part."""

    warm: int = 150
    measured: int = 600


@dataclass(frozen=True)
class Figures:
    """What one run gave. `found`: the JSON of the load generator. `foreign`: the part of the time
    that the processors worked for others."""

    found: dict
    foreign: float

    @property
    def requests(self) -> float:
        """A second."""
        return self.found["requests_per_s"]

    @property
    def cpu_us(self) -> float:
        """CPU of the server for a request, in microseconds."""
        return self.found["server_us_per_request"]

    def bytes_each(self, idle: int) -> float:
        """Resident bytes for each of the idle connections."""
        return (self.found["resident_after"] - self.found["resident_before"]) / idle


@dataclass(frozen=True)
class Bench:
    """How all is measured. `generator`: the program that asks. `greedy`: asked at the same time, by
    a process of its own that is not measured. `ask`: runs the program, see ask(), whose arguments
    it has. `elsewhere`: does all that run() does, for servers that must not run here."""

    generator: Path
    place: Place
    timing: Timing = Timing()
    greedy: Load | None = None
    ask: Callable[[Bench, Subject, int, int, Load], dict] | None = None
    elsewhere: Callable[[Bench, Subject, Load], Figures] | None = None


def run(bench: Bench, subject: Subject, load: Load) -> Figures:
    """Measures once. Raises Failed."""
    if bench.elsewhere:
        return bench.elsewhere(bench, subject, load)
    with started(subject, bench.place.server) as (process, port):
        with _greedy(bench, port) as greedy:
            ours = [process.pid, *greedy]
            before, used = busy_seconds(bench.place), _used(ours)
            start = time.monotonic()
            found = (bench.ask or ask)(bench, subject, process.pid, port, load)
            elapsed = time.monotonic() - start
            used = _used(ours) - used
            foreign = busy_seconds(bench.place) - before - used
    return Figures(found, max(0.0, foreign / elapsed))


def _used(running: Sequence[int]) -> float:
    """CPU seconds of these processes, and of the load generators that have ended."""
    times = os.times()
    return sum(map(procfs.cpu_seconds, running)) + times.children_user + times.children_system


@contextmanager
def _greedy(bench: Bench, port: int) -> Iterator[list[int]]:
    """Keeps the greedy clients busy while the block runs: the processes they are in."""
    if bench.greedy is None:
        yield []
        return
    words = [bench.generator, "-p", port, "-w", 0, "-t", 1000 * EXTRA_SECONDS]
    process = subprocess.Popen(
        [*map(str, words), *bench.greedy.options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {bench.place.load}),
    )
    try:
        yield [process.pid]
    finally:
        process.kill()
        process.wait()


@contextmanager
def started(subject: Subject, cpu: int) -> Iterator[tuple[subprocess.Popen, int]]:
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


def ask(bench: Bench, subject: Subject, pid: int, port: int, load: Load) -> dict:
    """What the load generator found: its JSON. Raises Failed."""
    timing = bench.timing
    words = [bench.generator, "-p", port, "-P", pid, "-w", timing.warm, "-t", timing.measured]
    seconds = (2 * timing.warm + timing.measured) / 1000 + EXTRA_SECONDS
    try:
        result = subprocess.run(
            [*map(str, words), *load.options, *(["-b"] if subject.kind == SPIN else [])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {bench.place.load}),
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"the load generator has not ended after {seconds:.0f} s") from None
    if result.returncode not in (0, 1) or not result.stdout:
        raise Failed(result.stderr.strip() or f"the load generator ended with {result.returncode}")
    found = json.loads(result.stdout)
    if found["errors"]:
        raise Failed(found["error"])
    return found


def busy_seconds(place: Place) -> float:
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
