"""The figures as text: a line for each server, a column for each row; and the ratios."""

from __future__ import annotations

from collections.abc import Sequence

from harness.student.bench.measure import Cell, Cells
from harness.student.bench.subjects import BYTES, LIMIT, PEER, SOLUTION, YOURS, Row, Subject

NAME, CELL = 9, 9  # columns
RIVALS = (("beside the best library", PEER), ("beside the limit", LIMIT))
Rivals = Sequence[tuple[str, str]]  # a title, and the kind of the subjects


def number(value: float) -> str:
    """Three digits that count, and a unit: 4.36M, 277k, 1.02k, 20.5"""
    for size, unit in ((1e6, "M"), (1e3, "k"), (1, "")):
        if value >= size:
            scaled = value / size
            return f"{scaled:.0f}{unit}" if scaled >= 99.95 else f"{scaled:.3g}{unit}"
    return f"{value:.2g}"


def table(title: str, subjects: Sequence[Subject], rows: Sequence[Row], cells: Cells) -> str:
    """Medians, and below each the minimum and the maximum, in per cent from it."""
    lines = [title, "", columns("", [row.key for row in rows])]
    for subject in subjects:
        own = [cells[subject.name, row.key] for row in rows]
        lines.append(columns(subject.name, [_median(cell) for cell in own]))
        spans = columns("", [_span(cell) for cell in own])
        lines += [spans] if spans else []
    return "\n".join(lines)


def ratios(
    subjects: Sequence[Subject], rows: Sequence[Row], cells: Cells, rivals: Rivals = RIVALS
) -> str:
    """Solutions, and your server, beside the best of each kind of `rivals`; "" without any."""
    lines: list[str] = []
    for title, kind in rivals:
        names = [s.name for s in subjects if s.kind == kind]
        speed = [row for row in rows if row.figure != BYTES]
        if not names or not speed:
            continue
        lines += ["", title, "", columns("", [row.key for row in speed])]
        for subject in subjects:
            if subject.kind in (SOLUTION, YOURS):
                found = [_ratio(cells, subject.name, names, row.key) for row in speed]
                lines.append(columns(subject.name, found))
    return "\n".join(lines[1:])


def notes(subjects: Sequence[Subject], rows: Sequence[Row], cells: Cells) -> str:
    """What the rows are, why a figure is missing, and which were disturbed."""
    lines = [f"  {row.key}  {row.text}" for row in rows]
    for subject in subjects:
        own = {row.key: cells[subject.name, row.key] for row in rows}
        lines += [f"  {subject.name}, {key}: {cell.why}" for key, cell in own.items() if cell.why]
        counts = [f"{key} {cell.disturbed}" for key, cell in own.items() if cell.disturbed]
        if counts:
            lines.append(
                f"  rounds of {subject.name} that other load disturbed: {', '.join(counts)}"
            )
    return "\n".join(lines)


def columns(name: str, found: Sequence[str], wide: int = CELL) -> str:
    """A line of a table: each column `wide`."""
    return f"{name:{NAME}}{''.join(f'{text:>{wide}}' for text in found)}".rstrip()


def _median(cell: Cell) -> str:
    return "-" if cell.median is None else number(cell.median)


def _span(cell: Cell) -> str:
    """How far the minimum and the maximum lie from the median, in per cent of it."""
    if not cell.median or len(cell.values) < 2:
        return ""
    down, up = (100 * (end / cell.median - 1) for end in (min(cell.values), max(cell.values)))
    return f"{down:.0f} +{up:.0f}%"


def _ratio(cells: Cells, name: str, rivals: Sequence[str], key: str) -> str:
    mine = cells[name, key].median
    theirs = [cells[rival, key].median for rival in rivals]
    best = max((value for value in theirs if value), default=None)
    return "-" if mine is None or best is None else f"{mine / best:.2f}"
