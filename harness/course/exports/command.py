"""Writes the last grade of a chapter in the format of another program.

Exit status: 0 written, 2 not (wrong usage, or a claim was not judged and the format has no word for
that).
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from harness.course.classes.labels import shown
from harness.course.classes.records import COUNTS
from harness.course.exports import formats, platforms, result, tables
from harness.course.exports.formats import NAMES, Context
from harness.lab import chapters, command_line, files, numbers, sheets, surroundings
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage, as_typed, setting

BUILD = ROOT / "build"
POINTS = 100  # of a grade
FAULTS = (result.NoScore, platforms.BadName, platforms.NoIdentity)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="export", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    add("--format", metavar="NAME", default=setting("FORMAT"), help=", ".join(NAMES))
    add("--out", metavar="FILE", default=setting("OUT"), help="default: the terminal")
    add("--column", default=setting("COLUMN"), help="of canvas, or the problem of autolab")
    add("--gradebook", metavar="FILE", default=setting("GRADEBOOK"), help="exported from Canvas")
    add("--results", metavar="FILE", type=Path, help="default: build/results/NN.json")
    add("--grades", metavar="DIR", type=Path, help="of canvas; default: build/class/NN")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("export", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Writes what the options name. Raises WrongUsage, UnknownChapter."""
    if not options.chapter:
        raise WrongUsage("which chapter? For instance: make export CH=03 FORMAT=junit")
    chapter = chapters.find(options.chapter)
    if options.format not in NAMES:
        given = f"FORMAT={options.format}: there is no such format" if options.format else ""
        raise WrongUsage(f"{given or 'which FORMAT='}; the formats are {', '.join(NAMES)}")
    if options.format == "canvas":
        return _canvas(chapter, options)
    file = options.results or BUILD / "results" / f"{chapter.number}.json"
    try:
        text = formats.export(_load(file, chapter), options.format, _context(options))
    except FAULTS as error:
        raise WrongUsage(str(error)) from None
    _write(text.encode(), options.out)
    return 0


def _context(options: argparse.Namespace) -> Context:
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Context(options.column, surroundings.caller, now)


def _load(file: Path, chapter: chapters.Chapter) -> object:
    """The object in the file. Raises WrongUsage unless it is a grade of this chapter."""
    try:
        found = json.loads(file.read_text())
        graded = result.read(found).chapter
    except FileNotFoundError:
        wrong = f"{as_typed(file)} is not there: `make grade CH={chapter.number}` writes it"
        raise WrongUsage(wrong) from None
    except (OSError, ValueError, result.NoResult) as error:
        raise WrongUsage(f"{as_typed(file)} cannot be read: {error}") from None
    if graded != chapter.slug:
        raise WrongUsage(f"{as_typed(file)} is a grade of {graded}, and not of {chapter.slug}")
    return found


def _canvas(chapter: chapters.Chapter, options: argparse.Namespace) -> int:
    """Fills in a gradebook with the grades of a class, and says on stderr which."""
    if not options.gradebook or not options.column:
        example = "GRADEBOOK=grades.csv COLUMN='Lab 4' OUT=filled.csv"
        raise WrongUsage(f"canvas needs the exported gradebook and a column: {example}")
    directory = options.grades or BUILD / "class" / chapter.number
    shares = _shares(directory, chapter)
    try:
        data = Path(options.gradebook).expanduser().read_bytes()
        gradebook, encoding = sheets.decoded(data)
        filled = tables.canvas(gradebook, options.column, shares)
    except OSError as error:
        raise WrongUsage(f"GRADEBOOK={options.gradebook}: {error.strerror}") from None
    except (sheets.Unreadable, tables.BadGradebook) as error:
        raise WrongUsage(f"GRADEBOOK={options.gradebook}: {error}") from None
    _write(filled.text.encode(encoding), options.out)
    for line in _told(filled):
        print(line, file=sys.stderr)
    return 0


def _shares(directory: Path, chapter: chapters.Chapter) -> dict[str, float | None]:
    """For each submission the part of the points that it got, None if it was not judged.

    A submission is a directory with a result.json. A directory without one has no score. The
    points that count, in scores.csv, replace those of the grade. Raises WrongUsage if there is no
    grade at all.
    """
    shares: dict[str, float | None] = {}
    for place in sorted(path for path in directory.glob("[!.]*") if path.is_dir()):
        shares[place.name] = _share(place, chapter)
    counting = _counting(directory / "scores.csv")
    for name, share in shares.items():
        if share is not None:
            shares[name] = counting.get(shown(name), share)
    if all(share is None for share in shares.values()):
        where = f"{as_typed(directory)}: there are no grades in it"
        raise WrongUsage(f"{where}; `make class CH={chapter.number} SUB=...` writes them")
    return shares


def _share(place: Path, chapter: chapters.Chapter) -> float | None:
    """The share of the points in the result.json of a submission. None if it is of another chapter
    or was not judged."""
    try:
        found = result.read(json.loads((place / "result.json").read_text()))
    except (OSError, ValueError, result.NoResult):
        return None
    judged = found.chapter == chapter.slug and found.verdict != result.NOT_JUDGED
    return found.share if judged else None


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
        raise WrongUsage(
            f"{as_typed(file)} cannot be read: {error}; run make class again"
        ) from None


def _told(filled: tables.Filled) -> list[str]:
    unsaid = "" if filled.said else "; the gradebook does not say the points possible"
    count = len(filled.entered)
    lines = [f"export: scores entered: {count}, each out of {filled.out_of:g}{unsaid}"]
    what = {
        "not judged, so the cell stays as it was": filled.blank,
        "names no student of the gradebook": filled.unknown,
        "names several students, or the student of another one": filled.unclear,
    }
    return lines + [f"  {name}: {reason}" for reason, names in what.items() for name in names]


def _write(data: bytes, out: str | None) -> None:
    """To the file, in one step; to the terminal if there is none."""
    if not out:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    files.write_out(Path(out).expanduser(), data)
