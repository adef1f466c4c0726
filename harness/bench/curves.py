"""Cost against a number that grows: what the growth claims of the grader are about, as curves."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.bench.measure import Bench, Failed, Figures
from harness.bench.rounds import Progress, quiet_run
from harness.bench.rows import KIB, MIB, Load
from harness.bench.subjects import Subject

MOST_BYTES = 32 * MIB  # in flight on one connection


@dataclass(frozen=True)
class Curve:
    """A load for each of `numbers`, and the figure that is drawn over them.

    `twice`: what there is more of when the number doubles, so that the work for 2n can be held
    against that for n; None where it makes no work.
    """

    key: str
    title: str
    unit: str  # of the numbers
    figure: str  # its name and unit
    numbers: Sequence[int]
    load: Callable[[int], Load]
    value: Callable[[Figures, Load], float]
    twice: str | None = None


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


IDLE = (0, 250, 500, 1000, 2000, 4000, 8000)
SIZES = tuple(64 * 4**power for power in range(10)) + (MOST_BYTES,)

CURVES = (
    Curve(
        "idle-requests",
        "50 busy connections beside idle ones",
        "idle connections",
        "requests a second",
        IDLE,
        lambda n: Load(50, 1, 64, idle=n),
        _requests,
    ),
    Curve(
        "idle-cpu",
        "50 busy connections beside idle ones",
        "idle connections",
        "µs of server CPU for a request",
        IDLE,
        lambda n: Load(50, 1, 64, idle=n),
        _cpu,
    ),
    Curve(
        "size",
        "1 connection, 1 frame in flight",
        "bytes in a frame",
        "MB a second",
        SIZES,
        lambda n: Load(1, 1, n),
        _megabytes,
    ),
    Curve(
        "frames",
        "1 connection, frames of 16 bytes",
        "frames in flight",
        "µs of server CPU for a frame",
        tuple(2**power for power in range(0, 18)),
        lambda n: Load(1, n, 16),
        _cpu,
        twice="frames",
    ),
    Curve(
        "connections",
        "1 frame of 64 bytes in flight on each connection",
        "connections",
        "µs of server CPU for a request",
        tuple(2**power for power in range(0, 14)),
        lambda n: Load(n, 1, 64),
        _cpu,
        twice="connections",
    ),
    Curve(
        "bytes",
        "1 connection, 1 frame in flight",
        "bytes in a frame",
        "µs of server CPU for a MiB",
        tuple(KIB << power for power in range(0, 16)),
        lambda n: Load(1, 1, n),
        _cpu_of_a_mebibyte,
        twice="bytes",
    ),
)


def draw(
    bench: Bench, curve: Curve, subjects: Sequence[Subject], count: int, told: Progress
) -> list[Line]:
    """Measures each point `count` times, in turn; the median stands. A server that does not answer
    ends its line there."""
    found: dict[tuple[str, int], list[float]] = {}
    given_up: dict[str, int] = {}
    for number in range(1, count + 1):
        for n in curve.numbers:
            load = curve.load(n)
            for subject in subjects:
                told(f"{curve.key}: round {number} of {count}, {n} {curve.unit}, {subject.name}")
                if subject.one_client and not load.one_client:
                    continue
                if n >= given_up.get(subject.name, n + 1):
                    continue
                try:
                    figures, _ = quiet_run(bench, subject, load)
                except Failed:
                    given_up[subject.name] = n
                else:
                    value = curve.value(figures, load)
                    found.setdefault((subject.name, n), []).append(value)
    return [_line(subject.name, curve, found) for subject in subjects]


def _line(name: str, curve: Curve, found: dict[tuple[str, int], list[float]]) -> Line:
    points = [(n, found[name, n]) for n in curve.numbers if (name, n) in found]
    return Line(name, [(n, statistics.median(values)) for n, values in points])


# The polite client

POLITE = Load(1, 1, 64)
GREEDY = Load(4, 64, 64 * KIB)


def polite(bench: Bench, subjects: Sequence[Subject], told: Progress) -> list[Line]:
    """The latencies of a polite client beside a greedy one: (part of its requests, µs)."""
    beside = dataclasses.replace(bench, greedy=GREEDY)
    lines = []
    for subject in subjects:
        if subject.one_client:
            continue
        for name, how in ((f"{subject.name} alone", bench), (subject.name, beside)):
            told(f"polite: {name}")
            try:
                figures, _ = quiet_run(how, subject, POLITE)
            except Failed:
                continue
            lines.append(Line(name, [tuple(pair) for pair in figures.found["quantiles"]]))
    return lines
