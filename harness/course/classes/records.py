"""The result of one submission: a directory that appears whole, or not at all.

    record.json      what this module reads: the key, the verdict, the points
    result.json      the grade as `python3 -m harness grade --results` writes it
    output.txt       what the student should see
    trace.html       the first failure, call by call; trace.txt if there is no page of it
    grade.log        the log of the grade, if something was not judged
    submission/      the files that were graded

And scores.csv, the table of all of them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.course.classes.labels import shown
from harness.lab import numbers, parts, sheets
from harness.lab.chapters import ROOT, Chapter
from harness.lab.target import WrongUsage

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
RECORD, RESULT, OUTPUT, LOG = "record.json", "result.json", "output.txt", "grade.log"
SOURCES = "submission"
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
        return [test for test in (self.result or {}).get("tests", []) if "extra_data" in test]


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
    return hashlib.sha256("\0".join((submission, lab_digest(), chapter.slug)).encode()).hexdigest()


def load(place: Path) -> Record | None:
    """The record in that directory. None if there is none, or it is not ours."""
    try:
        return Record(**json.loads((place / RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def save(record: Record, directory: Path) -> None:
    """Writes the record into a directory that is not a result yet."""
    (directory / RECORD).write_text(json.dumps(asdict(record), indent=2) + "\n")


def valid(record: Record | None, wanted: str) -> bool:
    """Returns true if the record is of this key, and everything was judged."""
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
COUNTS = "counts"  # the title of the column with the points that count


def as_csv(all_graded: list[Graded], counts: dict[str, float | None] | None = None) -> str:
    """The text of scores.csv. `handed in`: when the newest file of the hand-in that counts was
    changed, in local time. `counts`: the points that count, by label, for one more column.
    """
    rows = [(*HEAD, *([] if counts is None else [COUNTS]))]
    for one in all_graded:
        record = one.record
        when = time.localtime(record.handed_in)
        handed_in = time.strftime("%Y-%m-%d %H:%M", when) if record.handed_in else ""
        begin = (shown(one.label), _points(record.score), record.verdict, record.not_judged or "")
        end = (record.seconds, handed_in, record.chosen, " ".join(record.problem.split()))
        rows.append((*begin, *end, *([] if counts is None else [_points(counts[one.label])])))
    return sheets.write(rows)


def _points(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


# The points that are left when a hand-in is late: a program of the instructor decides

LATE_SECONDS = 30  # far more than it needs


def counting(program: str, chapter: str, one: Graded) -> float | None:
    """The points that count. None for a grade that was not judged: the program is not called.

    It gets {"name": "ada", "chapter": "04", "points": 87.5, "time": 1770000000} as JSON on its
    stdin, with the time of the hand-in in seconds since 1970, and prints a number, with a decimal
    point if it has decimals. Raises WrongUsage if it fails.
    """
    record, name = one.record, shown(one.label)
    if record.score is None:
        return None
    told = {"name": name, "chapter": chapter, "points": record.score, "time": record.handed_in}
    how = {"capture_output": True, "text": True, "errors": "replace", "timeout": LATE_SECONDS}
    try:
        done = subprocess.run(late_words(program), input=json.dumps(told), **how)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WrongUsage(f"LATE={program} fails for {name}: {error}") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise WrongUsage(f"LATE={program} fails for {name}: {said}")
    try:
        return numbers.printed(done.stdout)
    except ValueError:
        said = done.stdout.strip()[:40] or "nothing"
        wanted = f"has to print the points of {name}, such as 87.5; it printed: {said}"
        raise WrongUsage(f"LATE={program} {wanted}") from None


def late_words(program: str) -> list[str]:
    """The words of its command line. Raises WrongUsage if there is no such program."""
    try:
        words = shlex.split(program)
    except ValueError as error:
        raise WrongUsage(f"LATE={program}: {str(error).lower()}") from None
    if not words or not shutil.which(words[0]):
        raise WrongUsage(f"LATE={program}: there is no such program")
    return words
