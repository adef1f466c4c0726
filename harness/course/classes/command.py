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
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.course.classes import page, pool, records, submissions
from harness.course.classes.grade_one import GRADE_SECONDS, KEPT, TRIES, Grader
from harness.course.classes.records import NOT_JUDGED, Class, Graded, Record
from harness.course.classes.submissions import Submission, fitted, shown
from harness.course.handover import handout
from harness.course.isolation.choice import AUTO, KINDS, choose
from harness.feedback.failure import NotJudged
from harness.server import preload
from harness.submission import chapters, command_line, files
from harness.submission.chapters import ROOT
from harness.submission.target import WrongUsage, as_typed, is_whole, setting

MOST_JOBS = 256
SPARE_SECONDS = 300  # of a grade, for a trace and to end everything
ELSEWHERE = "LIST=1 prints the commands, for GNU parallel or Slurm: docs/instructors.md has both"
RECIPES = {
    "ANON": "docs/recipes/anonymous.py makes a directory with numbers for names",
    "LATE": "docs/recipes/late-days.py adds the points that count to scores.csv",
}
GONE = {
    **RECIPES,
    "ENGINE": ELSEWHERE,
    "SSHLOGIN": ELSEWHERE,
    "BENCH": "there is no scoreboard; `make bench CH=... DIR=...` measures a server",
}
CARRIED = (*KEPT, "CC", "LANG", "LC_ALL")  # variables that another machine needs, too


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="class", description=__doc__.splitlines()[0])
    add = parser.add_argument
    listed = setting("LIST") not in (None, "0")
    how = ", ".join([AUTO, *KINDS])
    add("--chapter", metavar="NN", default=setting("CH"))
    add("--submissions", metavar="DIR", default=setting("SUB"), help="the directory of all of them")
    add("--jobs", metavar="N", default=setting("JOBS"), help="grades at a time")
    add("--list", action="store_true", default=listed, help="print commands, and grade nothing")
    add("--isolate", metavar="HOW", default=setting("ISOLATE") or AUTO, help=how)
    add("--roster", metavar="FILE", type=Path, default=setting("ROSTER"), help="other names")
    add("--one", metavar="NAME", help="grade only this submission, and make no page")
    add("--no-trace", action="store_true", help="leave no timeline of the first failure")
    add("--limit", metavar="S", default=str(GRADE_SECONDS), help="seconds for one grade")
    add("--results", metavar="DIR", type=Path, default=records.RESULTS, help="default: build/class")
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
    roster = submissions.read_roster(options.roster.expanduser()) if options.roster else {}
    found, others = submissions.find(options.submissions, roster)
    of = Class(chapter, options.results / chapter.number / options.submissions.name)
    isolation = choose(options.isolate, ROOT, options.submissions, options.results)
    of.belongs_to(options.submissions)
    commands = [(sys.executable, options.grader)] * 2 if options.grader else []
    traced = not options.no_trace
    grader = Grader(of, isolation, int(options.limit), traced, *commands)
    if options.one is not None:
        return grade_one(options, grader, found)
    try:
        with files.alone(of.top / ".work" / "lock", wait=False):
            return grade_all(options, grader, found, others)
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


def grade_one(options: argparse.Namespace, grader: Grader, found: list[Submission]) -> int:
    """Grades one submission, unless its result is valid. Prints nothing but faults."""
    named = [one for one in found if one.name == options.one]
    if not named:
        raise WrongUsage(f"there is no submission {options.one!r} in {options.submissions}")
    share_libraries(grader, again=False)
    return 2 if grader.run(named[0]).verdict == NOT_JUDGED else 0


def grade_all(
    options: argparse.Namespace, grader: Grader, found: list[Submission], others: list[str]
) -> int:
    """Grades what has no valid result, and writes scores.csv and the page, also when stopped; or
    lists the commands. `others`: files beside a hand-in of the same name. Raises WrongUsage."""
    handout.check_skeletons((grader.of.chapter,))  # a submission can read them
    whole = Whole(grader.of, found)
    missing = whole.missing()
    commands = {name: command_of(options, grader, name) for name in missing}
    whole.at_once = int(options.jobs) if options.jobs else len(os.sched_getaffinity(0))
    where = sys.stderr if options.list else sys.stdout
    speed = f"{len(commands)} commands" if options.list else f"{whole.at_once} at a time"
    before = len(found) - len(commands)
    known = f", {before} of them graded before" if before else ""
    print(f"{grader.of.chapter.slug}: {len(found)} submissions{known}; {speed}", file=where)
    reachable = grader.isolation.open
    open_to = ". These things are open:" if reachable else ""
    print(f"isolation: {grader.isolation.name}{open_to}", file=where)
    for sentence in reachable:
        print(wrapped(sentence, 2), file=where)
    for name in others:
        why = "since there is a hand-in of this name"
        print(f"does not count: {shown(name)}, {why}", file=where)
    print(file=where, flush=True)
    if commands:
        share_libraries(grader, again=True)
    if options.list:
        return list_commands(commands)
    stopped = whole.grade(commands, TRIES * int(options.limit) + SPARE_SECONDS)
    results = whole.results()
    whole.publish(results)
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
            preload.build_into(grader.of.libraries, again)


def command_of(options: argparse.Namespace, grader: Grader, name: str) -> list[str]:
    """The command that grades one submission, in the directory of the lab."""
    command = [sys.executable, "-m", "harness", "class", f"--one={name}"]
    command += ["--chapter", options.chapter, "--submissions", str(options.submissions)]
    command += ["--results", str(options.results), "--limit", options.limit]
    command += ["--isolate", grader.isolation.name]
    command += ["--roster", str(options.roster.expanduser().resolve())] if options.roster else []
    return command + (["--grader", options.grader] if options.grader else [])


# All submissions together

CHANGED = "the submission or the lab has changed since it was graded"
WIDTH = 80
NAME = 32  # columns


@dataclass
class Whole:
    """`keys`: of the result that each submission should have. `handed_in`: the time of its newest
    file, as it is now. `failures`: of those whose process left no result. `seconds`: how long each
    grade of this run took."""

    of: Class
    found: list[Submission]
    at_once: int = 1
    keys: dict[str, str] = field(init=False)
    handed_in: dict[str, float] = field(default_factory=dict)
    failures: dict[str, Record] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keys = {}
        for one in self.found:
            chosen = submissions.latest(one.places, self.of.chapter.slug)
            self.keys[one.name] = records.key(submissions.digest(chosen), self.of.chapter)
            self.handed_in[one.name] = submissions.handed_in(chosen) if chosen else 0.0

    def missing(self) -> list[str]:
        """The names without a valid result."""
        loaded = {name: records.load(self.of.place(name)) for name in self.keys}
        return [name for name, key in self.keys.items() if not records.valid(loaded[name], key)]

    def grade(self, commands: dict[str, list[str]], seconds: float) -> bool:
        """Runs the command of each name, for at most that long. Returns true if it was stopped by
        Ctrl-C."""
        jobs = [
            pool.Job(name, command, self.of.work(name).with_suffix(".log"))
            for name, command in commands.items()
        ]
        try:
            for job in pool.run(jobs, self.at_once, seconds):
                record, key = records.load(self.of.place(job.name)), self.keys[job.name]
                ended = job.process.returncode in (0, 2)
                if record is None or not (ended or records.valid(record, key)):
                    record = Record(key, NOT_JUDGED, problem=job.fault)
                    self.failures[job.name] = record
                self.seconds.append(time.monotonic() - job.began)
                self._tell(job.name, record, len(jobs) - len(self.seconds))
        except KeyboardInterrupt:
            return True
        return False

    def _tell(self, name: str, record: Record, left: int) -> None:
        """Prints the line of a grade; and how long the rest takes if it is like those so far."""
        total, score = len(self.keys), "   blank"
        if record.score is not None:
            score = f"{record.score:8g}"
        begin = f"{total - left:{len(str(total))}} of {total}  {fitted(name, NAME)} {score}"
        mean = sum(self.seconds) / len(self.seconds)
        minutes = max(round(max(left / self.at_once, 1) * mean / 60), 1)
        rest = f"{left} left, about {minutes} min"
        print(f"{begin}  {self.seconds[-1]:5.0f} s  {rest if left else ''}".rstrip(), flush=True)
        if record.verdict == NOT_JUDGED:
            print(wrapped(f"not judged: {record.problem}", 6), flush=True)

    def results(self) -> list[Graded]:
        """The result of each submission as it is handed in now, by name."""
        found = []
        for name, key in sorted(self.keys.items()):
            place = self.of.place(name)
            record = self.failures.get(name) or records.load(place)
            result = records.read_result(place / records.RESULT) if record else None
            if record is None:
                record = Record(key, NOT_JUDGED, problem="it was not graded yet")
            elif record.key != key:
                record = Record(key, NOT_JUDGED, problem=CHANGED)
            record.handed_in = self.handed_in[name]
            found.append(Graded(name, place, record, result))
        return found

    def publish(self, results: list[Graded]) -> None:
        """Writes the scores and the page, and says where they are."""
        made = {
            "class.html": ("page:", page.render(self.of.chapter, results)),
            "scores.csv": ("scores:", records.as_csv(results)),
        }
        blank = sum(one.record.score is None for one in results)
        print(f"\n{len(results) - blank} of {len(results)} have a score, {blank} are blank")
        for name, (what, text) in made.items():
            files.write(self.of.top / name, text.encode("utf-8", "replace"))
            print(f"{what:8}{as_typed(self.of.top / name)}")


def wrapped(text: str, indent: int) -> str:
    """The text in lines for a terminal; a path stays whole."""
    space = " " * indent
    how = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(text, WIDTH, initial_indent=space, subsequent_indent=space, **how)
