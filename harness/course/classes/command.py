"""make class: grades every submission in a directory, and makes one page about all of them.

A second run grades only what is missing or has changed. `--one NAME` grades one submission and
nothing else, so that any program may distribute the work; a run without it makes the page.
Exit status: 0 everything was judged, 2 something was not, it was stopped, or wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

from harness.course.classes import labels, parallel, progress, scoreboard, slurm, submissions
from harness.course.classes.engines import Engine, Local
from harness.course.classes.labels import Class
from harness.course.classes.page import counted
from harness.course.classes.records import NOT_JUDGED, Graded
from harness.course.classes.submissions import Submission
from harness.course.classes.unit import GRADE_SECONDS, TRIES, Unit
from harness.course.classes.whole import SPARE_SECONDS, Whole, greeting
from harness.course.handover import handout, late
from harness.course.isolation.choice import AUTO, KINDS, choose
from harness.failures.failure import NotJudged
from harness.lab import chapters, command_line
from harness.lab.numbers import is_whole
from harness.lab.target import WrongUsage, setting
from harness.server import shim
from harness.student.bench.command import ROUNDS, check_rounds, places_of

MOST_JOBS = 256
LOCAL, PARALLEL = "local", "parallel"
ENGINES = (LOCAL, PARALLEL, "slurm")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="class", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"))
    add("--submissions", metavar="DIR", default=setting("SUB"), help="the directory of all of them")
    add("--jobs", metavar="N", default=setting("JOBS"), help="grades at a time")
    add("--engine", metavar="NAME", default=setting("ENGINE") or LOCAL, help=", ".join(ENGINES))
    add("--sshlogin", metavar="HOSTS", default=setting("SSHLOGIN"), help="as of GNU parallel")
    anonymous = setting("ANON") not in (None, "0")
    add("--anonymous", action="store_true", default=anonymous, help="numbers for names")
    add(
        "--isolate",
        metavar="HOW",
        default=setting("ISOLATE") or AUTO,
        help=", ".join([AUTO, *KINDS]),
    )
    add("--late", metavar="PROGRAM", default=setting("LATE"), help="points for late hand-ins")
    add("--bench", metavar="ROWS", default=setting("BENCH"), help="a scoreboard, see make bench")
    add("--rounds", metavar="N", default=setting("N") or str(ROUNDS), help="of the scoreboard")
    add("--cores", metavar="N", default=setting("CORES"), help="of the scoreboard: 1 or 2")
    add("--one", metavar="NAME", help="grade only this submission, and make no page")
    add("--limit", metavar="S", default=str(GRADE_SECONDS), help="seconds for one grade")
    add("--results", metavar="DIR", type=Path, default=labels.RESULTS, help="default: build/class")
    add(
        "--grader", help=argparse.SUPPRESS
    )  # a Python file instead of harness.grading.grade, for tests
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
    grader = [(sys.executable, options.grader)] * 2 if options.grader else []
    isolation = choose(options.isolate, chapters.ROOT, options.submissions, options.results)
    units = Unit(of, isolation, int(options.limit), *grader)
    if options.one is not None:
        return grade_one(options, units, found)
    try:
        with labels.locked(of.top / ".work" / "lock", wait=False):
            return grade_all(options, units, found, others)
    except BlockingIOError:
        raise WrongUsage("another run grades this class already; wait for it, or stop it") from None


def check(options: argparse.Namespace) -> None:
    """Raises WrongUsage."""
    if not options.chapter or not options.submissions:
        raise WrongUsage("which chapter, and where are the submissions? make class CH=04 SUB=dir")
    jobs = options.jobs
    if jobs is not None and not (is_whole(jobs) and 1 <= int(jobs) <= MOST_JOBS):
        raise WrongUsage(f"JOBS={jobs}: a number from 1 to {MOST_JOBS}")
    if not is_whole(options.limit) or not int(options.limit):
        raise WrongUsage(f"--limit {options.limit}: a number of seconds")
    if options.engine not in ENGINES:
        raise WrongUsage(f"ENGINE={options.engine}: it can be one of {', '.join(ENGINES)}")
    if options.sshlogin and options.engine != PARALLEL:
        raise WrongUsage("SSHLOGIN goes with ENGINE=parallel")
    if options.late:
        late.command(options.late)
    if options.bench:
        check_rounds(options.rounds)
        places_of(options.cores)
        scoreboard.chosen_rows(chapters.find(options.chapter), options.bench)


def grade_one(options: argparse.Namespace, units: Unit, found: list[Submission]) -> int:
    """One unit of work. Prints nothing but faults."""
    named = [one for one in found if one.name == options.one]
    if not named:
        raise WrongUsage(f"there is no submission {options.one!r} in {options.submissions}")
    share_libraries(units, again=False)
    return 2 if units.run(named[0]).verdict == NOT_JUDGED else 0


def grade_all(
    options: argparse.Namespace, units: Unit, found: list[Submission], others: list[str]
) -> int:
    """Grades what has no valid result, and writes scores.csv and the page, also when stopped.
    Raises WrongUsage."""
    handout.check_skeletons((units.of.chapter,))  # a submission can read them
    seconds = TRIES * int(options.limit) + SPARE_SECONDS
    engine = engine_of(options, units.of)
    whole = Whole(units.of, found, lambda name: command_of(options, units, name), engine, seconds)
    isolation = units.isolation
    print(greeting(whole, isolation.name, isolation.open, others), flush=True)
    missing = whole.missing()
    if missing:
        share_libraries(units, again=True)
    stopped = whole.grade(missing)
    results = whole.results()
    whole.publish(results, options.late)
    if stopped:
        print("class: stopped, nothing is left running; the same command goes on from here")
    elif options.bench:
        stopped = not measure(options, units, whole, results)
    return 2 if stopped or any(one.record.verdict == NOT_JUDGED for one in results) else 0


def measure(
    options: argparse.Namespace, units: Unit, whole: Whole, results: list[Graded]
) -> bool:
    """Makes the scoreboard. Returns whether it was not stopped."""
    rows = scoreboard.chosen_rows(units.of.chapter, options.bench)
    count, full = int(options.rounds), len(scoreboard.full_marks(results))
    keys, rounds_of = " ".join(row.key for row in rows), counted(count, "round")
    print(f"\nmeasuring {full} with full marks beside the solution: {keys}; {rounds_of}")
    share_libraries(units, again=False)
    place = places_of(options.cores)[-1]
    try:
        board = scoreboard.measure(units, results, rows, count, place, progress.transient)
    except KeyboardInterrupt:
        print("class: stopped while measuring; the scores stand, and there is no scoreboard")
        return False
    finally:
        progress.transient("")
    whole.publish_board(results, board)
    return True


def engine_of(options: argparse.Namespace, of: Class) -> Engine:
    """What runs the units. Raises WrongUsage if it is not installed."""
    jobs = int(options.jobs) if options.jobs else None
    if options.engine == LOCAL:
        return Local(jobs or len(os.sched_getaffinity(0)))
    if options.engine == PARALLEL:
        return parallel.find(of.top, jobs, options.sshlogin)
    return slurm.find(of, jobs)


def share_libraries(units: Unit, again: bool) -> None:
    """Builds the grader's own libraries once, if each grade would build them. No submission can
    write there. Without a compiler each grade says what is missing."""
    if units.isolation.has_own_build:
        with contextlib.suppress(NotJudged):
            shim.build_into(units.of.libraries, again)


def command_of(options: argparse.Namespace, units: Unit, name: str) -> list[str]:
    """The command that runs one unit, on this machine or on another with the same files."""
    command = [sys.executable, "-m", "harness", "class", f"--one={name}"]
    command += ["--chapter", options.chapter, "--submissions", str(options.submissions)]
    command += ["--results", str(options.results), "--limit", options.limit]
    command += ["--isolate", units.isolation.name] + ["--anonymous"] * options.anonymous
    return command + (["--grader", options.grader] if options.grader else [])
