"""Tables: the claims of a grade as CSV, and a gradebook of Canvas with the points of a class."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from harness.course.exports.result import NOT_JUDGED, Result, number
from harness.lab import numbers, sheets

HEAD = ("chapter", "todo", "test", "claim", "verdict", "points", "of", "seconds", "hint", "message")
IDS = ("SIS Login ID", "SIS User ID", "ID")
KEYS = (*IDS, "Student")  # what names a student in Canvas
POSSIBLE = "Points Possible"  # the first cell of the row that has them
UNKNOWN = 100.0  # points possible, if the gradebook does not say them
NUMBERED = re.compile(r" \(\d+\)$")  # the end of the title of an assignment


class BadGradebook(Exception):
    """The file is not a gradebook, or has no such column. The message says what to do."""


def table(result: Result) -> str:
    """A row for each claim, as RFC 4180 describes CSV. One that was not judged has no points."""
    rows: list[tuple[object, ...]] = [HEAD]
    for claim in result.claims:
        points = "" if claim.verdict == NOT_JUDGED else number(claim.points)
        texts = (result.chapter, claim.number, claim.name, claim.text, claim.verdict)
        end = (number(claim.worth), claim.seconds, claim.hint, claim.message)
        rows.append((*texts, points, *end))
    return sheets.write(rows, sheets.RFC_4180)


@dataclass(frozen=True)
class Filled:
    """The gradebook with points in it. `out_of` is the number of points of the column; `said` is
    False if the gradebook does not say it, so that it is 100.

    The other fields are names of submissions: `entered`; `blank`, which have no score; `unknown`,
    which name no student; and `unclear`, which name several students, or one that others name.
    """

    text: str
    out_of: float
    said: bool
    entered: tuple[str, ...]
    blank: tuple[str, ...]
    unknown: tuple[str, ...]
    unclear: tuple[str, ...]


def canvas(gradebook: str, column: str, shares: Mapping[str, float | None]) -> Filled:
    """Fills in the column of a gradebook that was exported from Canvas; all else is kept.

    `shares`: for each submission the part of the points that it has got, None if it has no score:
    then the cell stays as it is. A submission names a student by the SIS Login ID, the SIS User ID,
    the ID or the name. `column` is the title of an assignment, with or without Canvas' number
    behind it. Raises BadGradebook.

    https://teaching.resources.osu.edu/toolsets/carmencanvas, "Import a CSV File to Carmen Grades"
    """
    try:
        sheet = sheets.read(gradebook, KEYS)
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
    return Filled(sheet.changed(cells), out_of, points is not None, **names)


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
    """Whether it has an ID; if there is no column for any, whether it has a name."""
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
