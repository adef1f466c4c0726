"""Grades a chapter, or all: builds the server, runs the claims, prints and saves the result.

Exit status: 0 full marks, 1 less, 2 not judged (or wrong usage). `make grade` turns every status
but 0 into 2; call `python3 -m harness grade --chapter 03` where the difference matters.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from fractions import Fraction

from harness.feedback.failure import NotJudged
from harness.grade import report, results, scoring, terminal
from harness.grade.judge import grade_target
from harness.grade.request import RESULTS, Request, asked, parse
from harness.grade.scoring import Grade, number_text
from harness.server.linux import prctl
from harness.submission import chapters, command_line
from harness.submission.target import WrongUsage, as_typed, named, resolve


def main(arguments: list[str]) -> int:
    prctl.close_memory()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # which is nohup
            signal.signal(number, signal.default_int_handler)
    options = parse(arguments, __doc__.splitlines()[0])
    try:
        return command_line.run("grade", lambda: run(options), NotJudged)
    except Exception:  # never the student's fault: no traceback is shown
        log = RESULTS / "harness-fault.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(traceback.format_exc())
        print(
            f"grade: not judged, the lab itself failed; details: {as_typed(log)}", file=sys.stderr
        )
    return 2


def run(options: argparse.Namespace) -> int:
    """Grades what the options name and prints it. Returns the exit status."""
    request = asked(options)
    if options.chapter is None:
        return board(options, request)
    target = named(options)
    if options.errors and target.source is None:
        raise WrongUsage("ERRORS=1 names lines of C files, and SERVER= has none here; give DIR=")
    grade = grade_target(target, request)
    print(report.chapter(grade, terminal.look(options.verbose)))
    if options.errors:
        print("", *results.messages(grade), sep="\n")
    return grade.status


def board(options: argparse.Namespace, request: Request) -> int:
    """A line a chapter, as each is graded. Returns the exit status for all of them."""
    names = ("dir", "server", "port", "only", "results", "errors")
    given = [name for name in names if getattr(options, name)]
    if given or options.memcheck:
        what = "memcheck" if options.memcheck else {"only": "T"}.get(given[0], given[0].upper())
        raise WrongUsage(f"{what} needs a chapter as well, for instance CH=01")
    chosen = _to_be_graded(options.origin)
    print("Event Loop Lab\n")
    if len(chosen) > 1:
        print(f"{len(chosen)} chapters, one after the other: this takes some minutes.\n")
    print(HEAD, flush=True)
    grades, verdicts = [], set()
    for chapter in chosen:
        try:
            grade = grade_target(resolve(chapter, options.origin), request)
        except WrongUsage as error:
            verdicts.add(scoring.NOT_JUDGED)
            print(f"  {error}", flush=True)
        else:
            grades.append(grade)
            verdicts.add(grade.verdict)
            print(board_line(grade), flush=True)
    print("", *board_end(grades), sep="\n")
    if scoring.NOT_JUDGED in verdicts:
        return 2
    return 1 if scoring.FAILED in verdicts else 0


HEAD = f"  {'chapter':<15} {'points':>6} {'tests':>7} {'time':>6}"


def board_line(grade: Grade) -> str:
    """One chapter of the board: its name, points, tests that passed, time, the next step."""
    passed = sum(outcome.verdict == scoring.PASSED for outcome in grade.outcomes)
    tests = f"{passed}/{len(grade.outcomes)}" if grade.built else ""
    points = number_text(grade.score)
    line = f"  {grade.chapter.slug:<15} {points:>6} {tests:>7} {grade.seconds:>4.0f} s"
    if not grade.built:
        return f"{line}  does not compile"
    failed = report.own_first(grade, scoring.FAILED)
    if failed:
        return f"{line}  next: {report.task(grade, failed[0]).split(': ')[0]}"
    judged = grade.verdict == scoring.PASSED
    return line if judged else f"{line}  not judged: {report.log(grade)}"


def board_end(grades: list[Grade]) -> list[str]:
    """All points, and the next command: that of the first chapter without full points."""
    score = sum((grade.score for grade in grades), Fraction(0))
    total = f"  {number_text(score)} of {100 * len(grades)} points"
    unfinished = [grade for grade in grades if grade.verdict != scoring.PASSED]
    if unfinished:
        return [total, f"  next: {unfinished[0].again}"]
    return [total, "  make grade CH=NN shows one of them in full"]


def _to_be_graded(origin: str | None) -> list[chapters.Chapter]:
    """All chapters, or those up to the last one that is here: a handout can end there."""
    here = [chapter.chapter_dir.exists() for chapter in chapters.CHAPTERS]
    if origin not in (None, "chapters") or not any(here):
        return list(chapters.CHAPTERS)
    return list(chapters.CHAPTERS[: len(here) - here[::-1].index(True)])
