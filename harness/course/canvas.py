"""A gradebook that was exported from Canvas, filled in with the points of a class.

https://teaching.resources.osu.edu/toolsets/carmencanvas, "Import a CSV File to Carmen Grades"
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes.records import RESULTS
from harness.submission import numbers, sheets
from harness.submission.chapters import Chapter
from harness.submission.target import WrongUsage, as_typed

POINTS = 100  # of a grade
COUNTS = "counts"  # the column of scores.csv that docs/recipes/late-days.py adds
IDS = ("SIS Login ID", "SIS User ID", "ID")
KEYS = (*IDS, "Student")  # what names a student in Canvas
POSSIBLE = "Points Possible"  # the first cell of the row that has them
UNKNOWN = 100.0  # points possible, if the gradebook does not say them
BLANK = "not judged, so the cell stays as it was"
NOBODY = "names no student of the gradebook"
SEVERAL = "names several students, or the student of another one"
NUMBERED = re.compile(r" \(\d+\)$")  # the end of the title of an assignment


class BadGradebook(ValueError):
    """The file is not a gradebook, or has no such column. The message says what to do."""


@dataclass(frozen=True)
class Filled:
    """The gradebook with points in it, in its own `encoding`. `told`: the lines that say which
    submissions were entered, and which were not."""

    text: str
    encoding: str
    told: list[str]

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)


def of_class(
    chapter: Chapter, gradebook: str | None, column: str | None, scores: Path | None
) -> Filled:
    """Fills in a gradebook with the scores of a class. Raises WrongUsage."""
    if not gradebook or not column:
        example = "GRADEBOOK=grades.csv COLUMN='Lab 4' OUT=filled.csv"
        raise WrongUsage(f"canvas needs the exported gradebook and a column: {example}")
    shares = _shares(scores or RESULTS / chapter.number / "scores.csv", chapter)
    try:
        data = Path(gradebook).expanduser().read_bytes()
        return fill(*sheets.decoded(data), column, shares)
    except OSError as error:
        raise WrongUsage(f"GRADEBOOK={gradebook}: {error.strerror}") from None
    except ValueError as error:
        raise WrongUsage(f"GRADEBOOK={gradebook}: {error}") from None


def _shares(file: Path, chapter: Chapter) -> dict[str, float | None]:
    """For each submission the part of the points that count, None if it was not judged. A
    spreadsheet may have saved the file. Raises WrongUsage."""
    try:
        rows = sheets.records(sheets.decoded(file.read_bytes())[0], ("name", "score"))
        title = COUNTS if any(COUNTS in row for row in rows) else "score"
        points = {row["name"]: row.get(title, "").strip() for row in rows}
        return {
            name: numbers.written(text) / POINTS if text else None
            for name, text in points.items()
        }
    except FileNotFoundError:
        wrong = f"is not there; `make class CH={chapter.number} SUB=...` writes it"
    except (OSError, ValueError) as error:
        wrong = f"cannot be read: {error}; run make class again"
    raise WrongUsage(f"{as_typed(file)} {wrong}")


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
    rows = [dict(zip(head, [cell.strip() for cell in row])) for row in sheet.rows]
    possible = _possible(rows, head[place])
    out_of, mark = possible or UNKNOWN, "," if sheet.separator == ";" else "."
    lines = _lines(rows, shares)
    times = Counter(found[0] for found in lines.values() if len(found) == 1)
    cells, why = {}, {BLANK: [], NOBODY: [], SEVERAL: []}
    for name, found in lines.items():
        if len(found) != 1 or times[found[0]] > 1:
            why[SEVERAL if found else NOBODY].append(name)
        elif shares[name] is None:
            why[BLANK].append(name)
        else:
            points = f"{shares[name] * out_of:.2f}".rstrip("0").rstrip(".")  # as Canvas shows them
            cells[found[0], place] = points.replace(".", mark)
    unsaid = "" if possible else "; the gradebook does not say the points possible"
    told = [f"export: scores entered: {len(cells)}, each out of {out_of:g}{unsaid}"]
    told += [f"  {name}: {reason}" for reason, names in why.items() for name in names]
    return Filled(sheet.changed(cells), encoding, told)


def _column(head: list[str], column: str) -> int:
    wanted = re.compile(rf"{re.escape(column.strip())}(?: \(\d+\))?")
    places = [place for place, title in enumerate(head) if wanted.fullmatch(title)]
    if len(places) == 1:
        return places[0]
    if places:
        raise BadGradebook(f"{len(places)} columns have the title {column!r}: add the number to it")
    titles = [title for title in head if NUMBERED.search(title)]
    raise BadGradebook(f"it has no column {column!r}; it has {', '.join(titles) or 'none'}")


def _possible(rows: list[dict[str, str]], title: str) -> float | None:
    """The points possible, None if the gradebook does not say them. Raises BadGradebook."""
    for line, row in enumerate(rows[1:], 2):
        name, cell = next(iter(row.values())), row.get(title)
        if name == POSSIBLE and cell:
            return _positive(cell, title)
        if name not in ("", POSSIBLE) and cell and not _is_student(row):
            raise BadGradebook(
                f"row {line}, {name!r}, has no ID, so it is no student; if it has the points "
                f"possible, its first cell has to be {POSSIBLE!r}"
            )
    return None


def _positive(cell: str, title: str) -> float:
    """Raises BadGradebook."""
    try:
        value = numbers.written(cell)
    except ValueError as error:
        raise BadGradebook(f"{POSSIBLE} of {title}: {error}") from None
    if not value:
        raise BadGradebook(f"{title} has 0 points possible: set its points in Canvas")
    return value


def _is_student(row: dict[str, str]) -> bool:
    """Returns true if the row has an ID, or a name where the gradebook has no column of IDs."""
    if any(key in row for key in IDS):
        return any(row.get(key) for key in IDS)
    return next(iter(row.values())) not in ("", POSSIBLE)


def _lines(rows: list[dict[str, str]], submissions: Collection[str]) -> dict[str, list[int]]:
    """For each submission the rows of the students that it names: those of the first key that
    finds any."""
    known: dict[str, dict[str, list[int]]] = {key: defaultdict(list) for key in KEYS}
    for line, row in enumerate(rows):
        if line and len(row) == len(rows[0]) and _is_student(row):
            for key in KEYS:
                for name in _names(row.get(key, ""), key):
                    known[key][name].append(line)
    return {
        name: next((known[key][_folded(name)] for key in KEYS if _folded(name) in known[key]), [])
        for name in submissions
    }


def _names(cell: str, key: str) -> set[str]:
    """The ways to write it: a student is "Lovelace, Ada" in Canvas, and may be "Ada Lovelace"."""
    family, comma, given = cell.partition(",")
    names = {_folded(cell)}
    if key == "Student" and comma:
        names.add(_folded(f"{given.strip()} {family.strip()}"))
    return names - {""}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()
