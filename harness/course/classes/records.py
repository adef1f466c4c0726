"""The result of one submission: a directory that appears whole, or not at all.

    unit.json        what this module reads: the key, the verdict, the points
    result.json      the grade as `python3 -m harness grade --results` writes it
    output.txt       what the student should see
    trace.html       the first failure, call by call; trace.txt if there is no page of it
    grade.log        the log of the grade, if something was not judged
    submission/      the files that were graded
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.course.classes.labels import shown
from harness.lab import parts, sheets
from harness.lab.chapters import ROOT, Chapter

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
UNIT, RESULT, OUTPUT, LOG, SOURCES = (
    *("unit.json", "result.json", "output.txt", "grade.log"),
    "submission",
)
TRACES = ("trace.html", "trace.txt")
MOST_BYTES = 64 << 20  # of a file of a result that is read


@dataclass
class Record:
    """The result of one submission. `score` is None if it was not judged. `problem`: one line that
    says why there is no grade as usual. `handed_in`: when its newest file was changed, in seconds
    since 1970; `chosen`: which hand-in counted."""

    key: str
    verdict: str
    score: float | None = None
    problem: str = ""
    seconds: float = 0.0
    tries: int = 1
    handed_in: float = 0.0
    chosen: str = ""
    isolation: str = ""
    not_judged: int = 0


@dataclass
class Graded:
    """A record, where it is, and the object of result.json; None if there is none."""

    label: str
    place: Path
    record: Record
    result: dict | None = field(default=None, repr=False)

    @property
    def tests(self) -> list[dict]:
        """The claims; [] if nothing could be run."""
        tests = (self.result or {}).get("tests", [])
        return [test for test in tests if "extra_data" in test]


@functools.cache
def lab_digest() -> str:
    """A hash of the files whose code runs in a grade: a change of one of them makes every result
    old."""
    made = hashlib.sha256()
    for path in sorted(parts.deciding()):
        if path.suffix in (".py", ".c", ".h"):
            data = path.read_bytes()
            made.update(f"{path.relative_to(ROOT)}\0{len(data)}\0".encode())
            made.update(data)
    return made.hexdigest()


def key(submission: str, chapter: Chapter) -> str:
    """A hash of everything that a result depends on. `submission`: the digest of the submission."""
    parts = "\0".join((submission, lab_digest(), chapter.slug))
    return hashlib.sha256(parts.encode()).hexdigest()


def load(place: Path) -> Record | None:
    """The record in that directory. None if there is none, or it is not ours."""
    try:
        return Record(**json.loads((place / UNIT).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def save(record: Record, directory: Path) -> None:
    """Writes the record into a directory that is not a result yet."""
    (directory / UNIT).write_text(json.dumps(asdict(record), indent=2) + "\n")


def valid(record: Record | None, wanted: str) -> bool:
    """Whether the record is of this key, and everything was judged."""
    return record is not None and record.key == wanted and record.verdict != NOT_JUDGED


def graded(label: str, place: Path, record: Record | None) -> Graded:
    """A submission with its grade, if there is one."""
    found = record or Record("", NOT_JUDGED, problem="it was not graded yet")
    return Graded(label, place, found, read_result(place / RESULT) if record else None)


def read_result(path: Path) -> dict | None:
    """The object of a result.json. None if it is not a regular file with one."""
    data = read_file(path)
    try:
        found = json.loads(data) if data else None
    except ValueError:
        return None
    return found if isinstance(found, dict) and "score" in found else None


def read_file(path: Path) -> bytes | None:
    """A regular file that a grade has left. None if it is something else, or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else None


# scores.csv: a row for each submission. The score of one that was not judged is blank, never 0

HEAD = ("name", "score", "verdict", "not judged", "seconds", "handed in", "hand-in", "problem")
COUNTS = "counts"  # the points that count, see handover/late.py


def as_csv(all_graded: list[Graded], counting: dict[str, float | None] | None = None) -> str:
    """The text of scores.csv. `handed in`: when the newest file of the hand-in that counts was
    changed, in local time.

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
