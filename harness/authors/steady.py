"""Grades a right server again and again, with every core kept busy, and reports every lost point.

A point that a right server loses is the grader's fault. Exit status: 0 no point was lost and every
test was judged, 1 points were lost, 2 a test was not judged, it was stopped, or wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.course.export import what_happened
from harness.lab import command_line
from harness.lab.chapters import CHAPTERS, ROOT, find
from harness.lab.numbers import is_whole
from harness.lab.target import WrongUsage, add_options, setting

KEPT = ROOT / "build" / "steady"
TIMES = 10  # unless a number is given
MOST = 1000
GRADE_SECONDS = 1800  # far more than grade.py allows itself
LAST_SECONDS = 30  # for a grade that was told to stop
VARIABLES = [f"LAB_{name}" for name in "CH FROM DIR SERVER PORT T V SEED N".split()]

# Its argument is the process ID of its parent. It ends when the parent has ended.
BUSY = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""


@dataclass
class Report:
    """The result of one grade. `lost`: a line for each test that did not pass."""

    chapter: str
    number: int
    seconds: float
    points: float = 0.0
    out_of: float = 0.0
    failed: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.lost


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="steady", description=__doc__.splitlines()[0])
    add_options(parser, chapter="default: all of them in turn", tree="or chapters")
    add = parser.add_argument
    add("--times", metavar="N", default=setting("N") or str(TIMES), help=f"1 to {MOST}")
    add("--only", metavar="T", default=setting("T"), help="a TODO (03.2) or a part of test names")
    add("--seed", metavar="N", default=setting("SEED"), help="of everything random")
    add("--kept", metavar="DIR", type=Path, default=KEPT, help="for grades that lost something")
    add("--claims", type=Path, help=argparse.SUPPRESS)
    cores = len(os.sched_getaffinity(0))
    add("--busy", type=int, default=cores, help="busy processes; default: one for each core")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse(arguments)
    return command_line.run("steady", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Grades, and reports the results, also when it is stopped. Returns the exit status."""
    reports: list[Report] = []
    stopped = False
    try:
        with busy_cores(options.busy):
            for report in grades(options):
                reports.append(report)
                print("\n".join(_told(report, options)), flush=True)
    except KeyboardInterrupt:
        stopped = True
    print("\n".join(summary(reports, stopped)), flush=True)
    if any(report.failed for report in reports):
        return 1
    return 2 if stopped or not all(report.clean for report in reports) else 0


@contextmanager
def busy_cores(count: int) -> Iterator[None]:
    """Keeps `count` processes busy while the block runs."""
    command = [sys.executable, "-c", BUSY, str(os.getpid())]
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def grades(options: argparse.Namespace) -> Iterator[Report]:
    """Grades what the options name, as often as they say. Raises WrongUsage, UnknownChapter."""
    if not is_whole(options.times) or not 1 <= int(options.times) <= MOST:
        raise WrongUsage(f"N={options.times}: a number from 1 to {MOST}")
    graded = [find(options.chapter)] if options.chapter else CHAPTERS
    options.kept.mkdir(parents=True, exist_ok=True)
    for old in options.kept.glob("[0-9][0-9]-[0-9]*.txt"):
        old.unlink()
    for number in range(1, int(options.times) + 1):
        for chapter in graded:
            yield _grade(chapter.number, number, options)


def _grade(chapter: str, number: int, options: argparse.Namespace) -> Report:
    """Grades once, in a process of its own. Keeps the text of a grade that is not clean."""
    results = options.kept / f"{chapter}.json"
    results.unlink(missing_ok=True)
    start = time.monotonic()
    printed = _run(_command(chapter, results, options))
    report = Report(chapter, number, time.monotonic() - start)
    if results.exists():
        _read(report, json.loads(results.read_text()))
    else:
        reason = (printed.strip().splitlines() or ["it did not end"])[-1]
        if number == 1 and not reason.startswith("grade: not judged"):
            raise WrongUsage(reason.replace("grade: ", "", 1))
        report.unjudged.append("all")
        report.lost.append(reason)
    if not report.clean:
        _kept_text(report, options).write_text(printed)
    return report


def _command(chapter: str, results: Path, options: argparse.Namespace) -> list[str]:
    given = {name: getattr(options, name) for name in ("dir", "server", "port", "only", "seed")}
    given["from"] = options.origin or (None if options.dir or options.server else "solutions")
    given["claims"] = options.claims
    command = [sys.executable, "-m", "harness", "grade", "--verbose"]
    command += ["--chapter", chapter, "--results", str(results)]
    for name, value in given.items():
        command += [f"--{name}", str(value)] if value else []
    return command


def _run(command: list[str]) -> str:
    """Runs the command in a session of its own, so that only we pass Ctrl-C on. Returns what it
    printed, on both outputs."""
    theirs = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=GRADE_SECONDS)[0]
    except subprocess.TimeoutExpired:
        return ""
    finally:
        if process.poll() is None:
            _stop(process)


def _stop(process: subprocess.Popen) -> None:
    """Sends SIGTERM, so that the grade ends everything it has started; SIGKILL would not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=LAST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _read(report: Report, results: dict) -> None:
    """Takes the tests that did not pass out of the results of a grade."""
    for test in results["tests"]:
        report.out_of += test["max_score"]
        report.points += test["score"]
        verdict = test.get("status", "not judged")
        if verdict == "passed":
            continue
        name = test.get("extra_data", {}).get("test", test["name"])
        (report.failed if verdict == "failed" else report.unjudged).append(name)
        report.lost.append(f"{verdict}  {name}: {what_happened(test['output'])}")


# What is printed


def _told(report: Report, options: argparse.Namespace) -> list[str]:
    """A line for the grade, and one for each test that did not pass."""
    score = f"{report.points:g} of {report.out_of:g}"
    head = f"{report.number:>4} of {options.times}   {report.chapter}   {report.seconds:5.1f} s"
    lines = [f"{head}   {score}", *(f"        {line}" for line in report.lost)]
    return lines if report.clean else [*lines, f"        in full: {_kept_text(report, options)}"]


def _kept_text(report: Report, options: argparse.Namespace) -> Path:
    return options.kept / f"{report.chapter}-{report.number:03}.txt"


def summary(reports: list[Report], stopped: bool) -> list[str]:
    """How many grades there were, what was lost in them, and how long they took."""
    lines = ["", "stopped" if stopped else "done"]
    failed = Counter(name for report in reports for name in report.failed)
    unjudged = Counter(name for report in reports for name in report.unjudged)
    lost = sum(report.out_of - report.points for report in reports if report.failed)
    lines.append(f"  grades       {len(reports)}")
    lines.append(f"  points lost  {lost:g}, in {sum(bool(r.failed) for r in reports)} grades")
    lines += [f"    {count} times  {name}" for name, count in failed.most_common()]
    lines.append(f"  not judged   {sum(unjudged.values())} tests")
    lines += [f"    {count} times  {name}" for name, count in unjudged.most_common()]
    for chapter in sorted({report.chapter for report in reports}):
        times = [report.seconds for report in reports if report.chapter == chapter]
        middle = statistics.median(times)
        span = f"{min(times):.1f} to {max(times):.1f}, median {middle:.1f}"
        lines.append(f"  seconds, {chapter}  {span}")
    return lines
