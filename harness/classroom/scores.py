"""scores.csv: a row for each submission. The score of one that was not judged is blank, never 0."""

from __future__ import annotations

import csv
import io
import os
import time
from pathlib import Path

from harness.classroom.labels import shown
from harness.classroom.records import Graded

HEAD = ("name", "score", "verdict", "not judged", "seconds", "handed in", "hand-in", "problem")


def as_csv(all_graded: list[Graded]) -> str:
    """`handed in`: when the newest file of the hand-in that counts was changed, in local time."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(HEAD)
    for one in all_graded:
        record = one.record
        score = "" if record.score is None else f"{record.score:g}"
        when = time.localtime(record.handed_in)
        rows.writerow(
            [
                *(shown(one.label), score, record.verdict, record.not_judged or ""),
                *(
                    record.seconds,
                    time.strftime("%Y-%m-%d %H:%M", when) if record.handed_in else "",
                ),
                *(record.chosen, " ".join(record.problem.split())),
            ]
        )
    return text.getvalue()


def write(path: Path, text: str) -> None:
    """Writes the file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8", errors="replace")
    os.replace(scratch, path)
