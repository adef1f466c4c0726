"""A gradebook that was exported from Canvas, filled in with the points of a class.

https://teaching.resources.osu.edu/toolsets/carmencanvas, "Import a CSV File to Carmen Grades"
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes.labels import RESULTS, shown
from harness.course.classes.records import COUNTS
from harness.lab import numbers, sheets
from harness.lab.chapters import Chapter
from harness.lab.target import WrongUsage, as_typed

POINTS = 100  # of a grade
IDS = ("SIS Login ID", "SIS User ID", "ID")
KEYS = (*IDS, "Student")  # what names a student in Canvas
POSSIBLE = "Points Possible"  # the first cell of the row that has them
UNKNOWN = 100.0  # points possible, if the gradebook does not say them
NUMBERED = re.compile(r" \(\d+\)$")  # the end of the title of an assignment


class BadGradebook(ValueError):
    """The file is not a gradebook, or has no such column. The message says what to do."""


@dataclass(frozen=True)
class Filled:
    """The gradebook with points in it, in its own `encoding`. `out_of`: the points of the column;
    `said`: the gradebook says so, otherwise they are 100.

    The other fields are names of submissions: `entered`; `blank`, which have no score; `unknown`,
    which name no student; and `unclear`, which name several students, or one that others name.
    """

    text: str
    encoding: str
    out_of: float
    said: bool
    entered: tuple[str, ...]
    blank: tuple[str, ...]
    unknown: tuple[str, ...]
    unclear: tuple[str, ...]

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)

    def told(self) -> list[str]:
        """The lines that say which points were entered, and which were not."""
        unsaid = "" if self.said else "; the gradebook does not say the points possible"
        count = len(self.entered)
        lines = [f"export: scores entered: {count}, each out of {self.out_of:g}{unsaid}"]
        what = {
            "not judged, so the cell stays as it was": self.blank,
            "names no student of the gradebook": self.unknown,
            "names several students, or the student of another one": self.unclear,
        }
        return lines + [f"  {name}: {reason}" for reason, names in what.items() for name in names]


def of_class(
    chapter: Chapter, gradebook: str | None, column: str | None, grades: Path | None
) -> Filled:
    """Fills in a gradebook with the grades of a class, which are in the directory `grades`. Raises
    WrongUsage."""
    if not gradebook or not column:
        example = "GRADEBOOK=grades.csv COLUMN='Lab 4' OUT=filled.csv"
        raise WrongUsage(f"canvas needs the exported gradebook and a column: {example}")
    shares = _shares(grades or RESULTS / chapter.number, chapter)
    try:
        data = Path(gradebook).expanduser().read_bytes()
        return fill(*sheets.decoded(data), column, shares)
    except OSError as error:
        raise WrongUsage(f"GRADEBOOK={gradebook}: {error.strerror}") from None
    except ValueError as error:
        raise WrongUsage(f"GRADEBOOK={gradebook}: {error}") from None


# The grades of the class


def _shares(directory: Path, chapter: Chapter) -> dict[str, float | None]:
    """For each submission the part of the points that it got, None if it was not judged.

    A submission is a directory; its result.json has the points, and if scores.csv has points that
    count, they replace these. Raises WrongUsage if there is no grade at all.
    """
    places = sorted(path for path in directory.glob("[!.]*") if path.is_dir())
    shares = {place.name: _share(place, chapter) for place in places}
    counting = _counting(directory / "scores.csv")
    for name, share in shares.items():
        if share is not None:
            shares[name] = counting.get(shown(name), share)
    if all(share is None for share in shares.values()):
        where = f"{as_typed(directory)}: there are no grades in it"
        raise WrongUsage(f"{where}; `make class CH={chapter.number} SUB=...` writes them")
    return shares


def _share(place: Path, chapter: Chapter) -> float | None:
    """The share of the points in the result.json of a submission. None if it is of another chapter
    or was not judged."""
    try:
        found = json.loads((place / "result.json").read_text())
        about = found["extra_data"]
        judged = about["chapter"] == chapter.slug and about["verdict"] in ("passed", "failed")
        worth = round(sum(test["max_score"] for test in found["tests"]), 2) or POINTS
        return found["score"] / worth if judged else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _counting(file: Path) -> dict[str, float | None]:
    """The share by name as `make class LATE=` wrote it; empty if it was made without LATE=."""
    try:
        rows = sheets.records(sheets.decoded(file.read_bytes())[0], ("name", "score"))
        counts = {row["name"]: row[COUNTS].strip() for row in rows if COUNTS in row}
        return {
            name: numbers.written(text).value / POINTS if text else None
            for name, text in counts.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        wrong = f"{as_typed(file)} cannot be read: {error}; run make class again"
        raise WrongUsage(wrong) from None


# The gradebook


def fill(text: str, encoding: str, column: str, shares: Mapping[str, float | None]) -> Filled:
    """Fills in the column of a gradebook; all else is kept. Raises BadGradebook.

    `shares`: for each submission the part of the points that it has got, None if it has no score:
    then the cell stays as it is. A submission names a student by the SIS Login ID, the SIS User ID,
    the ID or the name. `column` is the title of an assignment, with or without Canvas' number
    behind it.
    """
    try:
        sheet = sheets.read(text, KEYS)
    except sheets.Unreadable as error:
        raise BadGradebook(f"it is no gradebook of Canvas: {error}") from None
    head = [cell.strip() for cell in sheet.rows[0]]
    place = _column(head, column)
    points = _possible(sheet.rows, head, place)
    out_of, mark = points or UNKNOWN, _decimal_mark(sheet, head, place)
    named = _sorted(sheet.rows, head, place, shares)
    cells = {
        (line, place): _points(shares[name] * out_of).replace(".", mark)
        for name, line in named["entered"].items()
    }
    names = {what: tuple(lines) for what, lines in named.items()}
    return Filled(sheet.changed(cells), encoding, out_of, points is not None, **names)


def _sorted(
    rows: list[list[str]], head: list[str], place: int, shares: Mapping[str, float | None]
) -> dict[str, dict[str, int]]:
    """For each of the last fields of Filled the submissions, and the row of each."""
    students = {
        line: row
        for line, row in enumerate(rows)
        if line and len(row) > place and _is_student(row, head)
    }
    found = {name: _named(name, head, students) for name in shares}
    times = Counter(lines[0] for lines in found.values() if len(lines) == 1)
    named: dict[str, dict[str, int]] = {"entered": {}, "blank": {}, "unknown": {}, "unclear": {}}
    for name, lines in found.items():
        if not lines:
            named["unknown"][name] = 0
        elif len(lines) > 1 or times[lines[0]] > 1:
            named["unclear"][name] = 0
        else:
            named["blank" if shares[name] is None else "entered"][name] = lines[0]
    return named


def _column(head: list[str], column: str) -> int:
    wanted = re.compile(rf"{re.escape(column.strip())}(?: \(\d+\))?")
    places = [place for place, title in enumerate(head) if wanted.fullmatch(title)]
    if len(places) == 1:
        return places[0]
    if places:
        raise BadGradebook(f"{len(places)} columns have the title {column!r}: add the number to it")
    titles = [title for title in head if NUMBERED.search(title)]
    raise BadGradebook(f"it has no column {column!r}; it has {', '.join(titles) or 'none'}")


def _possible(rows: list[list[str]], head: list[str], place: int) -> float | None:
    """The points possible, None if the gradebook does not say them. Raises BadGradebook."""
    for line, row in enumerate(rows[1:], 2):
        name, cell = row[0].strip(), _cell(row, place)
        if name == POSSIBLE and cell:
            return _positive(cell, head[place])
        if name not in ("", POSSIBLE) and cell and not _is_student(row, head):
            raise BadGradebook(
                f"row {line}, {name!r}, has no ID, so it is no student; if it has the points "
                f"possible, its first cell has to be {POSSIBLE!r}"
            )
    return None


def _positive(cell: str, title: str) -> float:
    """Raises BadGradebook."""
    try:
        value = numbers.written(cell).value
    except ValueError as error:
        raise BadGradebook(f"{POSSIBLE} of {title}: {error}") from None
    if not value:
        raise BadGradebook(f"{title} has 0 points possible: set its points in Canvas")
    return value


def _cell(row: list[str], place: int) -> str:
    return row[place].strip() if place < len(row) else ""


def _decimal_mark(sheet: sheets.Sheet, head: list[str], place: int) -> str:
    """The decimal mark of the gradebook's other numbers; those of this column count first. Canvas
    reads both marks."""
    others = [other for other, title in enumerate(head) if NUMBERED.search(title)]
    for other in (place, *others):
        for row in sheet.rows[1:]:
            with suppress(ValueError, IndexError):
                if mark := numbers.written(row[other]).mark:
                    return mark
    return "," if sheet.separator == ";" else "."


def _points(value: float) -> str:
    """The points with two decimals at most, as Canvas shows them."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _is_student(row: list[str], head: list[str]) -> bool:
    """Returns true if it has an ID; if there is no column for any, if it has a name."""
    places = [place for place, title in enumerate(head) if title in IDS]
    if places:
        return any(_cell(row, place) for place in places)
    return row[0].strip() not in ("", POSSIBLE)


def _named(name: str, head: list[str], students: Mapping[int, list[str]]) -> list[int]:
    """The rows of the students that a submission names: those of the first key that finds any."""
    wanted = _folded(name)
    for key in KEYS:
        if key in head:
            place = head.index(key)
            names = {line: _names(_cell(row, place), key) for line, row in students.items()}
            several = [line for line in names if wanted in names[line]]
            if several:
                return several
    return []


def _names(cell: str, key: str) -> set[str]:
    """The ways to write it: a student is "Lovelace, Ada" in Canvas, and may be "Ada Lovelace"."""
    family, comma, given = cell.partition(",")
    names = {_folded(cell)}
    if key == "Student" and comma:
        names.add(_folded(f"{given.strip()} {family.strip()}"))
    return names - {""}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()
