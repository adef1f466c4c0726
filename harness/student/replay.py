"""make replay: one test again, with the same seed, on the server as it is now; GDB=1: in gdb.

A failure prints its ID, which holds everything needed: chapter, test and seed. Nothing is stored.
Exit status: that of a grade.
"""

from __future__ import annotations

import argparse
import re

from harness.claims.instruments import gdb
from harness.failures.failure import NotJudged
from harness.grading import grade, report
from harness.lab import command_line
from harness.lab.target import WrongUsage, named, setting

ID = re.compile(r"(?P<chapter>\d\d)-(?P<test>\w+)-(?P<seed>\d+)")
EXAMPLE = "ID=02-02_short_write_is_resumed-693144"


def take_id(options: argparse.Namespace) -> None:
    """Chapter, test and seed as the option ID says. Raises WrongUsage."""
    found = ID.fullmatch(options.id)
    if not found:
        raise WrongUsage(f"ID={options.id}: a failure prints one, for instance {EXAMPLE}")
    others = {"CH": options.chapter, "T": options.only, "SEED": options.seed}
    given = [name for name, value in others.items() if value]
    if given:
        raise WrongUsage(f"the ID already holds {' and '.join(given)}: leave {given[0]} out")
    options.chapter, options.seed = found["chapter"], found["seed"]
    options.only = f"test_{found['test']}"


def main(arguments: list[str]) -> int:
    options = grade.parse(arguments)
    return command_line.run("replay", lambda: run(options), NotJudged)


def run(options: argparse.Namespace) -> int:
    """Runs the test again and prints the result."""
    if not options.id:
        raise WrongUsage(f"which failure? Each prints its own, for instance {EXAMPLE}")
    take_id(options)
    options.verbose = True
    target = named(options)
    claim = grade.one_test(options, target.chapter.number)
    options.only = claim.name
    greeting = gdb.OF_A_PROGRAM if claim.module else gdb.OF_A_SERVER
    with gdb.session(setting("GDB"), greeting) as options.debugger:
        found = grade.grade_target(target, options)
    print(report.chapter(found, grade.terminal_look(options)))
    return found.status
