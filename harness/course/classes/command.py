"""make class: grades every submission in a directory, and makes one page about all of them.

A second run grades only what is missing or has changed. LIST=1 prints the commands of these grades
instead, for any program that distributes work; the next run makes the page of what they have left.
Exit status: 0 everything was judged, 2 something was not, it was stopped, or wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import sys
from pathlib import Path

from harness.course.classes import labels, records, submissions
from harness.course.classes.grade_one import GRADE_SECONDS, KEPT, TRIES, Grader
from harness.course.classes.records import NOT_JUDGED
from harness.course.classes.submissions import Submission
from harness.course.classes.whole import Whole, greeting
from harness.course.handover import handout
from harness.course.isolation.choice import AUTO, KINDS, choose
from harness.failures.failure import NotJudged
from harness.lab import chapters, command_line, files
from harness.lab.chapters import ROOT
from harness.lab.numbers import is_whole
from harness.lab.target import WrongUsage, setting
from harness.server import shim

MOST_JOBS = 256
SPARE_SECONDS = 300  # of a grade, for a trace and to end everything
ELSEWHERE = "LIST=1 prints the commands, for GNU parallel or Slurm: docs/instructors.md has both"
GONE = {
    "ENGINE": ELSEWHERE,
    "SSHLOGIN": ELSEWHERE,
    "BENCH": "there is no scoreboard; `make bench CH=... DIR=...` measures a server",
}
CARRIED = (*KEPT, "CC", "LANG", "LC_ALL")  # variables that another machine needs, too


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="class", description=__doc__.splitlines()[0])
    add = parser.add_argument
    anonymous, listed = (setting(name) not in (None, "0") for name in ("ANON", "LIST"))
    how = ", ".join([AUTO, *KINDS])
    add("--chapter", metavar="NN", default=setting("CH"))
    add("--submissions", metavar="DIR", default=setting("SUB"), help="the directory of all of them")
    add("--jobs", metavar="N", default=setting("JOBS"), help="grades at a time")
    add("--list", action="store_true", default=listed, help="print commands, and grade nothing")
    add("--anonymous", action="store_true", default=anonymous, help="numbers for names")
    add("--isolate", metavar="HOW", default=setting("ISOLATE") or AUTO, help=how)
    add("--late", metavar="PROGRAM", default=setting("LATE"), help="points for late hand-ins")
    add("--one", metavar="NAME", help="grade only this submission, and make no page")
    add("--limit", metavar="S", default=str(GRADE_SECONDS), help="seconds for one grade")
    add("--results", metavar="DIR", type=Path, default=labels.RESULTS, help="default: build/class")
    add("--grader", help=argparse.SUPPRESS)  # a Python file instead of the grade, for tests
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    options = parse(arguments)
    return command_line.run("class", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Grades what the options name. Raises WrongUsage, UnknownChapter. Returns the exit status."""
    check(options)
    options.results = options.results.resolve()
    options.submissions = Path(options.submissions).expanduser().resolve()
    chapter = chapters.find(options.chapter)
    found, others = submissions.find(options.submissions)
    names = [one.name for one in found]
    of = labels.of(chapter, options.results, names, options.anonymous)
    isolation = choose(options.isolate, ROOT, options.submissions, options.results)
    commands = [(sys.executable, options.grader)] * 2 if options.grader else []
    grader = Grader(of, isolation, int(options.limit), *commands)
    if options.one is not None:
        return grade_one(options, grader, found)
    try:
        with files.alone(of.top / ".work" / "lock", wait=False):
            return grade_all(options, grader, Whole(of, found), others)
    except BlockingIOError:
        raise WrongUsage("another run grades this class already; wait for it, or stop it") from None


def check(options: argparse.Namespace) -> None:
    """Raises WrongUsage."""
    for name, instead in GONE.items():
        if setting(name):
            raise WrongUsage(f"{name}= is gone: {instead}")
    if not options.chapter or not options.submissions:
        raise WrongUsage("which chapter, and where are the submissions? make class CH=04 SUB=dir")
    jobs = options.jobs
    if jobs is not None and not (is_whole(jobs) and 1 <= int(jobs) <= MOST_JOBS):
        raise WrongUsage(f"JOBS={jobs}: a number from 1 to {MOST_JOBS}")
    if not is_whole(options.limit) or not int(options.limit):
        raise WrongUsage(f"--limit {options.limit}: a number of seconds")
    if options.late:
        records.late_words(options.late)


def grade_one(options: argparse.Namespace, grader: Grader, found: list[Submission]) -> int:
    """Grades one submission, unless its result is valid. Prints nothing but faults."""
    named = [one for one in found if one.name == options.one]
    if not named:
        raise WrongUsage(f"there is no submission {options.one!r} in {options.submissions}")
    share_libraries(grader, again=False)
    return 2 if grader.run(named[0]).verdict == NOT_JUDGED else 0


def grade_all(
    options: argparse.Namespace, grader: Grader, whole: Whole, others: list[str]
) -> int:
    """Grades what has no valid result, and writes scores.csv and the page, also when stopped; or
    lists the commands. `others`: files beside a hand-in of the same name. Raises WrongUsage."""
    handout.check_skeletons((grader.of.chapter,))  # a submission can read them
    commands = {name: command_of(options, grader, name) for name in whole.missing()}
    at_once = int(options.jobs) if options.jobs else len(os.sched_getaffinity(0))
    speed = f"{len(commands)} commands" if options.list else f"{at_once} at a time"
    where = sys.stderr if options.list else sys.stdout
    print(greeting(whole, speed, grader.isolation.name, grader.isolation.open), file=where)
    for name in others if whole.of.key is None else []:
        why = "since there is a hand-in of this name"
        print(f"does not count: {labels.shown(name)}, {why}", file=where)
    print(file=where, flush=True)
    if commands:
        share_libraries(grader, again=True)
    if options.list:
        return list_commands(commands)
    stopped = whole.grade(commands, at_once, TRIES * int(options.limit) + SPARE_SECONDS)
    results = whole.results()
    whole.publish(results, options.late)
    if stopped:
        print("class: stopped, nothing is left running; the same command goes on from here")
    return 2 if stopped or any(one.record.verdict == NOT_JUDGED for one in results) else 0


def list_commands(commands: dict[str, list[str]]) -> int:
    """Prints each as a line for a shell in any directory, also on another machine with the same
    files. A name with a line break has none: the next run of make class grades it here."""
    variables = [f"{name}={os.environ[name]}" for name in CARRIED if os.environ.get(name)]
    for command in commands.values():
        line = shlex.join(["env", "-C", str(ROOT), *variables, *command])
        if "\n" not in line:
            sys.stdout.buffer.write(os.fsencode(f"{line}\n"))
    return 0


def share_libraries(grader: Grader, again: bool) -> None:
    """Builds the grader's own libraries once, if each grade would build them. No submission can
    write there. Without a compiler each grade says what is missing."""
    if grader.isolation.has_own_build:
        with contextlib.suppress(NotJudged):
            shim.build_into(grader.of.libraries, again)


def command_of(options: argparse.Namespace, grader: Grader, name: str) -> list[str]:
    """The command that grades one submission, in the directory of the lab."""
    command = [sys.executable, "-m", "harness", "class", f"--one={name}"]
    command += ["--chapter", options.chapter, "--submissions", str(options.submissions)]
    command += ["--results", str(options.results), "--limit", options.limit]
    command += ["--isolate", grader.isolation.name] + ["--anonymous"] * options.anonymous
    return command + (["--grader", options.grader] if options.grader else [])
