"""Grades a chapter, or those that have changed: builds, runs the claims, prints and saves.

Exit status: 0 full marks, 1 less, 2 not judged (or wrong usage). `make grade` turns every status
but 0 into 2; call `python3 -m harness grade --chapter 03` where the difference matters.
"""

from __future__ import annotations

import argparse
import signal
import sys
import traceback

from harness.feedback.failure import NotJudged
from harness.grade import board, report, results, terminal
from harness.grade.judge import grade_target
from harness.grade.request import RESULTS, asked, parse
from harness.server.linux import prctl
from harness.submission import command_line
from harness.submission.target import WrongUsage, as_typed, named


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
        return board.show(options, request)
    target = named(options)
    if options.errors and target.source is None:
        raise WrongUsage("ERRORS=1 names lines of C files, and SERVER= has none here; give DIR=")
    grade = grade_target(target, request)
    print(report.chapter(grade, terminal.look(options.verbose)))
    if options.errors:
        print("", *results.messages(grade), sep="\n")
    return grade.status
