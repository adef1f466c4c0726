"""Cost against a number that grows: what the growth claims of the grader are about, as curves."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.lab.units import KIB, MIB
from harness.student.bench.measure import Bench, Failed, Figures, Timing
from harness.student.bench.rounds import Progress, quiet_run
from harness.student.bench.rows import Load
from harness.student.bench.subjects import Subject

TIMING = Timing(warm=100, measured=300)  # half that of the table: there are many points


@dataclass(frozen=True)
class Curve:
    """A figure that is drawn over the numbers of a sweep.

    `twice`: what there is more of when the number doubles, so that the work for 2n can be held
    against that for n; None where it makes no work.
    """

    key: str
    figure: str  # its name and unit
    value: Callable[[Figures, Load], float]
    twice: str | None = None


@dataclass(frozen=True)
class Sweep:
    """A load for each of `numbers`, and the curves that come from it."""

    title: str
    unit: str  # of the numbers
    numbers: Sequence[int]
    load: Callable[[int], Load]
    curves: Sequence[Curve]


@dataclass(frozen=True)
class Line:
    """One server in one curve: the points that it could do."""

    name: str
    points: list[tuple[int, float]]

    def growth(self) -> list[tuple[int, float]]:
        """For each n whose double is there too, the work for 2n over that for n. Linear is 2."""
        known = dict(self.points)
        return [(n, 2 * known[2 * n] / cost) for n, cost in self.points if known.get(2 * n)]


def _cpu(figures: Figures, _load: Load) -> float:
    return figures.cpu_us


def _cpu_of_a_mebibyte(figures: Figures, load: Load) -> float:
    return figures.cpu_us * MIB / load.size


def _megabytes(figures: Figures, _load: Load) -> float:
    return figures.found["mb_per_s"]


def _requests(figures: Figures, _load: Load) -> float:
    return figures.requests


SWEEPS = (
    Sweep(
        "50 busy connections beside idle ones",
        "idle connections",
        (0, 250, 500, 1000, 2000, 4000, 8000),
        lambda n: Load(50, 1, 64, idle=n),
        (
            Curve("idle-requests", "requests a second", _requests),
            Curve("idle-cpu", "µs of server CPU for a request", _cpu),
        ),
    ),
    Sweep(
        "1 connection, 1 frame in flight",
        "bytes in a frame",
        tuple(64 << power for power in range(20)),
        lambda n: Load(1, 1, n),
        (
            Curve("size", "MB a second", _megabytes),
            Curve("bytes", "µs of server CPU for a MiB", _cpu_of_a_mebibyte, twice="bytes"),
        ),
    ),
    Sweep(
        "1 connection, frames of 16 bytes",
        "frames in flight",
        tuple(1 << power for power in range(18)),
        lambda n: Load(1, n, 16),
        (Curve("frames", "µs of server CPU for a frame", _cpu, twice="frames"),),
    ),
    Sweep(
        "1 frame of 64 bytes in flight on each connection",
        "connections",
        tuple(1 << power for power in range(14)),
        lambda n: Load(n, 1, 64),
        (Curve("connections", "µs of server CPU for a request", _cpu, twice="connections"),),
    ),
)

Found = dict[tuple[str, int], list[Figures]]  # by the name of the server and the number


def measure(
    bench: Bench, sweep: Sweep, subjects: Sequence[Subject], count: int, told: Progress
) -> Found:
    """Asks for each number `count` times, the servers in turn. One that does not answer is not
    asked for more than that."""
    found: Found = {}
    given_up: dict[str, int] = {}
    for number in range(1, count + 1):
        for n in sweep.numbers:
            load = sweep.load(n)
            for subject in subjects:
                told(f"round {number} of {count}, {n} {sweep.unit}, {subject.name}")
                if subject.one_client and not load.one_client:
                    continue
                if n >= given_up.get(subject.name, n + 1):
                    continue
                try:
                    figures, _ = quiet_run(bench, subject, load)
                except Failed:
                    given_up[subject.name] = n
                else:
                    found.setdefault((subject.name, n), []).append(figures)
    return found


def lines(sweep: Sweep, curve: Curve, subjects: Sequence[Subject], found: Found) -> list[Line]:
    """A line for each server; the median of what was found stands."""
    return [
        Line(
            subject.name,
            [
                (n, statistics.median(curve.value(one, sweep.load(n)) for one in figures))
                for n in sweep.numbers
                if (figures := found.get((subject.name, n)))
            ],
        )
        for subject in subjects
    ]


# The polite client

POLITE_KEY = "polite"
POLITE = Load(1, 1, 64)
GREEDY = Load(4, 64, 64 * KIB)


def polite(bench: Bench, subjects: Sequence[Subject], count: int, told: Progress) -> list[Line]:
    """The latencies of a polite client beside greedy ones, and alone: (part of its requests, µs).

    The medians of `count` rounds.
    """
    beside = dataclasses.replace(bench, greedy=GREEDY)
    found: dict[str, list[list[tuple[float, float]]]] = {}
    for number in range(1, count + 1):
        for subject in subjects:
            if subject.one_client:
                continue
            for name, how in ((f"{subject.name} alone", bench), (subject.name, beside)):
                told(f"round {number} of {count}, a polite client, {name}")
                try:
                    figures, _ = quiet_run(how, subject, POLITE)
                except Failed:
                    continue
                found.setdefault(name, []).append(figures.found["quantiles"])
    return [Line(name, _medians(runs)) for name, runs in found.items()]


def _medians(runs: list[list[tuple[float, float]]]) -> list[tuple[float, float]]:
    """The median of several distributions that name the same parts, part by part."""
    return [(same[0][0], statistics.median(us for _, us in same)) for same in zip(*runs)]
