"""All servers and all rows in turn, again and again: what drifts, drifts for all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.student.bench import measure
from harness.student.bench.measure import Bench, Failed, Figures
from harness.student.bench.rows import BYTES, Load, Row
from harness.student.bench.subjects import Subject

FOREIGN = 0.05  # of the time: with more of it spent on others a run is disturbed
TRIES = 4


@dataclass
class Cell:
    """One server in one row: a value for each round, or why there is none.

    `skipped`: it is not asked, since it serves one client at a time.
    """

    values: list[float] = field(default_factory=list)
    why: str = ""
    skipped: bool = False
    disturbed: int = 0  # rounds whose every try was
    cpu_us: list[float] = field(default_factory=list)  # of the server for a request, each round

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values and not self.why else None


Cells = dict[tuple[str, str], Cell]  # by the names of subject and row
Progress = Callable[[str], None]


def quiet_run(bench: Bench, subject: Subject, load: Load) -> tuple[Figures, bool]:
    """One run that nobody disturbed, or the least disturbed of TRIES; and whether it was.

    Raises Failed.
    """
    best = None
    for _ in range(TRIES):
        figures = measure.run(bench, subject, load)
        if best is None or figures.foreign < best.foreign:
            best = figures
        if best.foreign <= FOREIGN:
            return best, False
    return best, True


def rounds(
    bench: Bench, subjects: Sequence[Subject], rows: Sequence[Row], count: int, told: Progress
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
    try:
        figures, disturbed = quiet_run(bench, subject, row.load)
    except Failed as error:
        cell.why = str(error)
        return
    cell.disturbed += disturbed
    value = figures.bytes_each(row.load.idle) if row.figure == BYTES else figures.requests
    cell.values.append(value)
    if row.figure != BYTES:
        cell.cpu_us.append(figures.cpu_us)
