"""A gradebook that was exported from Canvas, filled in with the points of a class.

https://teaching.resources.osu.edu/toolsets/carmencanvas, "Import a CSV File to Carmen Grades"
"""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from harness.course.classes.records import RESULTS
from harness.submission import sheets
from harness.submission.chapters import Chapter
from harness.submission.target import WrongUsage, as_typed, setting

POINTS = 100  # of a grade
COUNTS = "counts"  # the column of scores.csv that docs/recipes/late-days.py adds
KEYS = ("SIS Login ID", "SIS User ID", "ID", "Student")  # what names a student in Canvas
POSSIBLE = "Points Possible"  # the first cell of the row that has them
NUMBERED = re.compile(r" \(\d+\)$")  # the end of the title of an assignment


class Filled(NamedTuple):
    """The gradebook with points in it, and the lines that say which submissions were entered, and
    which were not."""

    data: bytes
    told: list[str]


def of_class(
    chapter: Chapter, gradebook: str | None, column: str | None, scores: Path | None
) -> Filled:
    """Fills in a gradebook with the scores of a class. Raises WrongUsage."""
    if not gradebook or not column:
        example = "GRADEBOOK=grades.csv COLUMN='Lab 4' OUT=filled.csv"
        raise WrongUsage(f"canvas needs the exported gradebook and a column: {example}")
    shares = _shares(scores or _scores_of(chapter), chapter)
    try:
        return fill(Path(gradebook).expanduser().read_bytes(), column, shares)
    except OSError as error:
        raise WrongUsage(f"GRADEBOOK={gradebook}: {error.strerror}") from None
    except ValueError as error:
        raise WrongUsage(f"GRADEBOOK={gradebook}: {error}") from None


def _scores_of(chapter: Chapter) -> Path:
    """The scores of the class in SUB=, or of the only one. Raises WrongUsage."""
    top = RESULTS / chapter.number
    if setting("SUB"):
        return top / Path(setting("SUB")).expanduser().resolve().name / "scores.csv"
    found = sorted(top.glob("*/scores.csv"))
    if len(found) > 1:
        names = ", ".join(f"SUB={path.parent.name}" for path in found)
        raise WrongUsage(f"chapter {chapter.number} has the scores of several classes: {names}")
    return found[0] if found else top / "SUB" / "scores.csv"


def _shares(file: Path, chapter: Chapter) -> dict[str, float | None]:
    """For each submission the part of the points that count, None if it was not judged. A
    spreadsheet may have saved the file. Raises WrongUsage."""
    try:
        (head, *rows), separator = sheets.read(file.read_bytes())
        name, points = head.index("name"), head.index(COUNTS if COUNTS in head else "score")
        found = {sheets.plain(row[name]): row[points] for row in rows if row}
        shares = {one: sheets.number(text or "nan", separator) for one, text in found.items()}
        return {one: None if math.isnan(part) else part / POINTS for one, part in shares.items()}
    except FileNotFoundError:
        wrong = f"is not there; `make class CH={chapter.number} SUB=...` writes it"
    except (OSError, ValueError, IndexError) as error:
        wrong = f"cannot be read: {error}; run make class again"
    raise WrongUsage(f"{as_typed(file)} {wrong}")


def fill(data: bytes, column: str, shares: Mapping[str, float | None]) -> Filled:
    """Fills in the column of a gradebook; no other cell changes. Raises ValueError, whose message
    says what to do.

    `shares`: for each submission the part of the points that it has got, None if it has no score:
    then the cell stays as it is. A submission names a student by one of KEYS. `column` is the title
    of an assignment, with or without Canvas' number behind it.
    """
    rows, separator = sheets.read(data)
    head = [cell.strip() for cell in rows[0]] if rows else []
    if not {*KEYS} & {*head}:
        raise ValueError(f"it is no gradebook: its first line has none of {', '.join(KEYS)}")
    place = _column(head, column)
    out_of = _possible(rows, place, separator)
    found = _students(rows, head, shares)
    told = []
    for name, lines in found.items():
        named = [other for other in found if found[other] == lines]
        if len(lines) != 1 or len(named) > 1:
            several = "names several students, or the student of another one"
            told.append(f"  {name}: {several if lines else 'names no student of the gradebook'}")
        elif shares[name] is None:
            told.append(f"  {name}: not judged, so the cell stays as it was")
        else:
            points = f"{shares[name] * out_of:.2f}".rstrip("0").rstrip(".")  # as Canvas shows them
            rows[lines[0]][place] = points.replace(".", "," if separator == ";" else ".")
    entered = len(found) - len(told)
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=sheets.RFC_4180).writerows(rows)
    told.insert(0, f"export: scores entered: {entered}, each out of {out_of:g}")
    return Filled(out.getvalue().encode("utf-8-sig"), told)


def _column(head: list[str], column: str) -> int:
    wanted = re.compile(rf"{re.escape(column.strip())}(?: \(\d+\))?")
    places = [place for place, title in enumerate(head) if wanted.fullmatch(title)]
    if len(places) == 1:
        return places[0]
    if places:
        raise ValueError(f"{len(places)} columns have the title {column!r}: add the number to it")
    titles = [title for title in head if NUMBERED.search(title)]
    raise ValueError(f"it has no column {column!r}; it has {', '.join(titles) or 'none'}")


def _possible(rows: list[list[str]], place: int, separator: str) -> float:
    """The points possible in the column. Raises ValueError."""
    cells = [row[place] for row in rows[1:] if row and row[0].strip() == POSSIBLE]
    try:
        points = sheets.number(cells[0], separator)
    except (ValueError, IndexError):
        points = 0
    if points <= 0:
        raise ValueError(f"{rows[0][place]} has no {POSSIBLE}: set them in Canvas, export it again")
    return points


def _students(
    rows: list[list[str]], head: list[str], submissions: Collection[str]
) -> dict[str, list[int]]:
    """For each submission the rows of the students that it names: those of the first key that
    finds any."""
    known: dict[str, dict[str, list[int]]] = {key: defaultdict(list) for key in KEYS}
    for line, row in enumerate(rows):
        if line and len(row) == len(head) and row[0].strip() not in ("", POSSIBLE):
            for key in {*KEYS} & {*head}:
                for name in _names(row[head.index(key)], key):
                    known[key][name].append(line)
    by_id = known["ID"]
    found = {}
    for name in submissions:
        folded = _folded(name)
        number = folded.rpartition("_")[2]  # of Canvas' own downloads: lovelaceada_101
        lines = next((known[key][folded] for key in KEYS if folded in known[key]), [])
        found[name] = lines or (by_id[number] if "_" in name and number in by_id else [])
    return found


def _names(cell: str, key: str) -> set[str]:
    """The ways to write it: a student is "Lovelace, Ada" in Canvas, and may be "Ada Lovelace"."""
    family, comma, given = cell.partition(",")
    names = {_folded(cell)}
    if key == "Student" and comma:
        names.add(_folded(f"{given.strip()} {family.strip()}"))
    return names - {""}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()
