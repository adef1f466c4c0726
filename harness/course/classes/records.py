"""Where the results of a class are. That of a submission is a directory, which appears whole, or
not at all:

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
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.course.classes.submissions import shown
from harness.submission import command_line, files, parts, sheets
from harness.submission.chapters import ROOT, Chapter
from harness.submission.target import WrongUsage, as_typed

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
RECORD, RESULT, OUTPUT, LOG = "record.json", "result.json", "output.txt", "grade.log"
SOURCES = "submission"
TRACES = ("trace.html", "trace.txt")
MOST_BYTES = 64 << 20  # of a file of a result that is read
RESULTS = command_line.BUILD / "class"


@dataclass(frozen=True)
class Class:
    """One class and chapter. `top`: the directory of its results."""

    chapter: Chapter
    top: Path

    def place(self, name: str) -> Path:
        """The directory of the result."""
        return self.top / name

    @property
    def libraries(self) -> Path:
        """A directory for the libraries that the grades on this machine share. On another machine
        they could not be loaded."""
        return self.top / ".work" / f"libraries-{platform.node()}"

    def belongs_to(self, submissions: Path) -> None:
        """Notes that these are the results of this directory. Raises WrongUsage if they are those
        of another one with the same name."""
        note, own = self.top / ".work" / "submissions", os.fsencode(as_typed(submissions))
        said = note.read_bytes() if note.is_file() else own
        if said != own and os.path.isdir(said):  # else it was moved
            raise WrongUsage(
                f"{as_typed(self.top)} has the results of {shown(os.fsdecode(said))}: give one of "
                "the two directories another name"
            )
        files.write(note, own)

    def work(self, name: str) -> Path:
        """A directory for files that are needed only during the grade."""
        return self.top / ".work" / hashlib.sha256(os.fsencode(name)).hexdigest()[:12]


@dataclass
class Record:
    """The result of one submission. `score` is None if it was not judged. `cap`: the fatal fault
    that limits it. `problem`: one line that says why there is no grade as usual. `handed_in`: when
    its newest file was changed, in seconds since 1970; `chosen`: which hand-in counted."""

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
    cap: str = ""


@dataclass
class Graded:
    """The submission of that name. `place`: its result. `result`: the object of result.json, None
    if there is none."""

    name: str
    place: Path
    record: Record
    result: dict | None = None

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
        if path.suffix in (".py", ".c", ".h", ".json"):
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

HEAD = ("name", "score", "cap", "verdict", "not judged")
HEAD += ("seconds", "handed in", "hand-in", "problem")


def as_csv(all_graded: list[Graded]) -> str:
    """The text of scores.csv. `handed in`: when the newest file of the hand-in that counts was
    changed, in local time."""
    rows: list[tuple[object, ...]] = [HEAD]
    for one in all_graded:
        record = one.record
        points = "" if record.score is None else f"{record.score:g}"
        when = time.localtime(record.handed_in)
        handed_in = time.strftime("%Y-%m-%d %H:%M", when) if record.handed_in else ""
        begin = (shown(one.name), points, record.cap, record.verdict, record.not_judged or "")
        end = (record.seconds, handed_in, record.chosen, " ".join(record.problem.split()))
        rows.append((*begin, *end))
    return sheets.write(rows)
