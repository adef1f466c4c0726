"""make replay: one test again, with the same seed, on the server as it is now; GDB=1: in gdb.

A failure prints its ID, which holds everything needed: chapter, test and seed.
Exit status: that of a grade.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

from harness.claims.context import gdb
from harness.feedback.failure import NotJudged
from harness.grade import report, terminal
from harness.grade.judge import grade_target
from harness.grade.request import asked, one_test, parse
from harness.submission import command_line
from harness.submission.target import WrongUsage, named, setting

ID = re.compile(r"(?P<chapter>\d\d)-(?P<test>\w+)-(?P<seed>\d+)")
EXAMPLE = "ID=02-02_short_write_is_resumed-693144"


def of_id(options: argparse.Namespace) -> argparse.Namespace:
    """The options with chapter, test and seed as ID says. Raises WrongUsage."""
    found = ID.fullmatch(options.id)
    if not found:
        raise WrongUsage(f"ID={options.id}: a failure prints one, for instance {EXAMPLE}")
    others = {"CH": options.chapter, "T": options.only, "SEED": options.seed}
    given = [name for name, value in others.items() if value]
    if given:
        raise WrongUsage(f"the ID already holds {' and '.join(given)}: leave {given[0]} out")
    named_by_it = {"chapter": found["chapter"], "seed": found["seed"]}
    return argparse.Namespace(**{**vars(options), **named_by_it, "only": f"test_{found['test']}"})


def main(arguments: list[str]) -> int:
    options = parse(arguments, __doc__.splitlines()[0])
    return command_line.run("replay", lambda: run(options), NotJudged)


def run(options: argparse.Namespace) -> int:
    """Runs the test again and prints the result."""
    if not options.id:
        raise WrongUsage(f"which failure? Each prints its own, for instance {EXAMPLE}")
    options = of_id(options)
    target, request = named(options), asked(options)
    claim = one_test(request, target.chapter)
    greeting = gdb.OF_A_PROGRAM if claim.module else gdb.OF_A_SERVER
    with gdb.session(setting("GDB"), greeting) as debugger:
        found = grade_target(target, replace(request, only=claim.name, debugger=debugger))
    print(report.chapter(found, terminal.look(verbose=True)))
    return found.status
