"""Grades a class of wrong and right servers while every processor is kept busy, and counts blanks.

    python3 -m harness.authors.busy_class [--chapter 04] [--students 60]

Every third student hands in the solution, the last of ten what students begin with, and the others
a wrong server of the chapter, in turn. A score that is blank, or a solution without full marks, is
a fault of the grader. Exit status: 0 neither was found, 1 one was, 2 wrong usage or stopped.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from harness.authors.mutants import catalogue
from harness.authors.mutants.mutant import Mutant, solution
from harness.authors.steady import busy_cores
from harness.lab import chapters, command_line, sheets, sources
from harness.lab.chapters import ROOT, Chapter
from harness.lab.target import as_typed

TOP = command_line.BUILD / "busy-class"
TITLES = ("name", "score", "problem")
RIGHT, SKELETON, WRONG = "right", "begin", "wrong"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="busy_class", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", type=chapters.find, default="04")
    add("--students", metavar="N", type=int, default=60)
    cores = len(os.sched_getaffinity(0))
    add("--busy", metavar="N", type=int, default=cores, help="busy processes; default: all cores")
    add("--top", metavar="DIR", type=Path, default=TOP, help="default: build/busy-class")
    add("--grader", metavar="FILE", help=argparse.SUPPRESS)  # see make class
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    options = parse(arguments)
    return command_line.run("busy_class", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Raises WrongUsage, NoSolutions."""
    sub, results = options.top / "sub", options.top / "class"
    for old in (sub, results):  # a blank would be graded again
        shutil.rmtree(old, ignore_errors=True)
    hand_in(options.chapter, options.students, sub)
    command = [sys.executable, "-m", "harness", "class", "--chapter", options.chapter.number]
    command += ["--submissions", str(sub), "--results", str(results)]
    command += ["--grader", options.grader, "--isolate", "none"] if options.grader else []
    with busy_cores(options.busy):
        subprocess.run(command, cwd=ROOT)
    scores = results / options.chapter.number / "scores.csv"
    if not scores.exists():
        return 2
    rows = sheets.records(scores.read_text(), TITLES)
    lines = faults(rows)
    print("\n".join(["", *lines, summary(rows), f"scores: {as_typed(scores)}"]))
    return 1 if lines else 0


def hand_in(chapter: Chapter, students: int, sub: Path) -> None:
    """Writes a directory for each student. No two have the same seed."""
    wrong = catalogue.select(chapter)
    for number in range(students):
        name, files = _student(chapter, number, wrong)
        files = {**files, "main.c": f"{files['main.c']}\n/* student {number} */\n"}
        sources.write(sub / f"{number:03}-{name}", files)


def _student(chapter: Chapter, number: int, wrong: list[Mutant]) -> tuple[str, dict[str, str]]:
    """The name, which says what is handed in, and the files."""
    if number % 10 == 9:
        return SKELETON, sources.texts(chapter.chapter_dir)
    if number % 3 == 0 or not wrong:
        return RIGHT, solution(chapter)
    chosen = wrong[number % len(wrong)]
    return f"{WRONG}-{chosen.name}", chosen.sources()


def faults(rows: list[dict[str, str]]) -> list[str]:
    """A line for each blank, and for each solution that lost points."""
    return [
        f"{row['name']}: {row['score'] or 'blank'}  {row['problem']}".rstrip()
        for row in rows
        if not row["score"] or row["name"].endswith(f"-{RIGHT}") and row["score"] != "100"
    ]


def summary(rows: list[dict[str, str]]) -> str:
    blank = sum(not row["score"] for row in rows)
    right = [row["score"] for row in rows if row["name"].endswith(f"-{RIGHT}")]
    lost = sum(score not in ("", "100") for score in right)
    return f"{len(rows)} graded: {blank} blank, {lost} of {len(right)} solutions lost points"


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(sys.argv[1:])))
