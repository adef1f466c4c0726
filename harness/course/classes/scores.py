"""scores.csv: a row for each submission. The score of one that was not judged is blank, never 0."""

from __future__ import annotations

import time
from pathlib import Path

from harness.course.classes.labels import shown
from harness.course.classes.records import Graded
from harness.lab import files, sheets

HEAD = ("name", "score", "verdict", "not judged", "seconds", "handed in", "hand-in", "problem")
COUNTS = "counts"  # the points that count, see handover/late.py


def as_csv(all_graded: list[Graded], counting: dict[str, float | None] | None = None) -> str:
    """`handed in`: when the newest file of the hand-in that counts was changed, in local time.

    `counting`: the points that count, by label, for one more column; None is blank.
    """
    rows = [(*HEAD, *([] if counting is None else [COUNTS]))]
    for one in all_graded:
        record = one.record
        when = time.localtime(record.handed_in)
        handed_in = time.strftime("%Y-%m-%d %H:%M", when) if record.handed_in else ""
        rows.append(
            (
                *(shown(one.label), _points(record.score), record.verdict, record.not_judged or ""),
                *(record.seconds, handed_in, record.chosen, " ".join(record.problem.split())),
                *([] if counting is None else [_points(counting[one.label])]),
            )
        )
    return sheets.write(rows)


def _points(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def write(path: Path, text: str) -> None:
    """Writes the file in one step."""
    files.write(path, text.encode("utf-8", "replace"))
