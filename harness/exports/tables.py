"""Tables: the claims of a grade as CSV, and a gradebook of Canvas with the points of a class."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from harness.exports.result import NOT_JUDGED, Result, number

HEAD = ("chapter", "todo", "test", "claim", "verdict", "points", "of", "seconds", "hint", "message")
KEYS = ("SIS Login ID", "SIS User ID", "ID", "Student")  # what names a student in Canvas


class BadGradebook(Exception):
    """The file is not a gradebook, or has no such column. The message says what to do."""


def table(result: Result) -> str:
    """A row for each claim, as RFC 4180 describes CSV. A claim that was not judged has no points.

    A text that a spreadsheet would take for a formula has an apostrophe in front:
    https://owasp.org/www-community/attacks/CSV_Injection
    """
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(HEAD)
    for claim in result.claims:
        points = "" if claim.verdict == NOT_JUDGED else number(claim.points)
        texts = (result.chapter, claim.number, claim.name, claim.text, claim.verdict)
        end = (claim.seconds, _no_formula(claim.hint), _no_formula(claim.message))
        rows.writerow([*map(_no_formula, texts), points, number(claim.worth), *end])
    return out.getvalue()


def _no_formula(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


@dataclass(frozen=True)
class Filled:
    """The gradebook with points in it. `out_of` is the number of points of the column, 100 if the
    gradebook does not say it.

    The other fields are names of submissions: `entered`; `blank`, which have no score; `unknown`,
    which name no student; and `unclear`, which name several students, or one that others name.
    """

    text: str
    out_of: float
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
    mark = "\ufeff" if gradebook.startswith("\ufeff") else ""
    rows, dialect = _rows(gradebook.removeprefix(mark))
    head = [cell.strip() for cell in rows[0]]
    place = _column(head, column)
    out_of = _out_of(rows, place)
    students = [row for row in rows[1:] if len(row) > place and _is_student(row)]
    found = {name: _named(name, head, students) for name in shares}
    times = Counter(id(several[0]) for several in found.values() if len(several) == 1)
    filled: dict[str, list[str]] = {"entered": [], "blank": [], "unknown": [], "unclear": []}
    for name, several in found.items():
        share = shares[name]
        if not several:
            filled["unknown"].append(name)
        elif len(several) > 1 or times[id(several[0])] > 1:
            filled["unclear"].append(name)
        elif share is None:
            filled["blank"].append(name)
        else:
            several[0][place] = f"{round(share * out_of, 2):g}"
            filled["entered"].append(name)
    out = io.StringIO()
    csv.writer(out, **dialect).writerows(rows)
    return Filled(mark + out.getvalue(), out_of, *map(tuple, filled.values()))


def _rows(gradebook: str) -> tuple[list[list[str]], dict[str, str]]:
    """Its rows, and how it separates columns and lines. Canvas can write semicolons."""
    first = gradebook.split("\n", 1)[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    end = "\r\n" if first.endswith("\r") else "\n"
    rows = list(csv.reader(io.StringIO(gradebook, newline=""), delimiter=separator))
    if not rows or not set(KEYS) & {cell.strip() for cell in rows[0]}:
        names = ", ".join(KEYS)
        raise BadGradebook(f"it is no gradebook of Canvas: its first line has none of {names}")
    return rows, {"delimiter": separator, "lineterminator": end}


def _column(head: list[str], column: str) -> int:
    wanted = re.compile(rf"{re.escape(column.strip())}(?: \(\d+\))?")
    places = [place for place, title in enumerate(head) if wanted.fullmatch(title)]
    if len(places) == 1:
        return places[0]
    if places:
        raise BadGradebook(f"{len(places)} columns have the title {column!r}: add the number to it")
    titles = [title for title in head if re.search(r" \(\d+\)$", title)]
    raise BadGradebook(f"it has no column {column!r}; it has {', '.join(titles) or 'none'}")


def _out_of(rows: list[list[str]], place: int) -> float:
    for row in rows[1:]:
        if row and row[0].strip() == "Points Possible" and len(row) > place:
            try:
                return float(row[place])
            except ValueError:
                break
    return 100.0


def _is_student(row: list[str]) -> bool:
    return row[0].strip() not in ("", "Points Possible")


def _named(name: str, head: list[str], students: list[list[str]]) -> list[list[str]]:
    """The students that a submission names: those of the first key that finds any."""
    wanted = _folded(name)
    for key in KEYS:
        if key in head:
            place = head.index(key)
            several = [row for row in students if wanted in _names(row[place], key)]
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
