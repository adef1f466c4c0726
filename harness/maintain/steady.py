"""Grades a right server again and again, with every core kept busy, and reports every lost point.

A point that a right server loses is the grader's fault. Options are those of `grade`. Exit status:
0 no point was lost and every test was judged, 1 points were lost, 2 a test was not judged, it was
stopped, or wrong usage.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.course.export import what_happened
from harness.submission import command_line
from harness.submission.chapters import CHAPTERS, ROOT, Chapter, find
from harness.submission.target import WrongUsage, is_whole, setting

KEPT = ROOT / "build" / "steady"
TIMES, MOST = 10, 1000
FAULT = 2  # status of a grade that was not judged, or not begun

# Its argument is the process ID of its parent. It ends when the parent has ended.
BUSY = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return command_line.run("steady", lambda: run(arguments))


def run(arguments: list[str]) -> int:
    """Grades; the Makefile's variables say what and how often. Returns the exit status. Raises
    WrongUsage, UnknownChapter."""
    times = setting("N") or str(TIMES)
    if not is_whole(times) or not 1 <= int(times) <= MOST:
        raise WrongUsage(f"N={times}: a number from 1 to {MOST}")
    chosen = setting("CH")
    graded = [find(chosen)] if chosen else CHAPTERS
    if not chosen and not (ROOT / "solutions").is_dir():
        raise WrongUsage("which chapter? For instance: make steady CH=03 DIR=chapters/03-poll-loop")
    if not any(map(setting, ("FROM", "DIR", "SERVER"))):
        arguments = ["--from", "solutions", *arguments]
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in KEPT.glob("[0-9][0-9]-[0-9]*.txt"):
        old.unlink()
    lost: Counter[str] = Counter()
    worst, number = 0, 0
    try:
        with busy_cores(len(os.sched_getaffinity(0))):
            for number in range(1, int(times) + 1):
                for chapter in graded:
                    start = time.monotonic()
                    status, names = grade(chapter, number, arguments)
                    took = time.monotonic() - start
                    lines = [f"{number:>4} of {times}   {chapter.number}   {took:5.1f} s", *names]
                    print("\n        ".join(lines), flush=True)
                    lost.update(name.partition(":")[0] for name in names)
                    worst = 1 if 1 in (worst, status) else max(worst, status)
    except KeyboardInterrupt:
        worst = worst or FAULT
        print("\nstopped")
    print(f"\n{number} times: {sum(lost.values())} tests were lost, or not judged")
    print("\n".join(f"{count:>4} times  {line}" for line, count in lost.most_common()))
    return worst


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


def grade(chapter: Chapter, number: int, arguments: list[str]) -> tuple[int, list[str]]:
    """Grades a chapter once, and keeps the output if a test did not pass. Returns the exit status,
    and a line for each such test."""
    results, text = KEPT / f"{chapter.number}.json", KEPT / f"{chapter.number}-{number:03}.txt"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "harness", "grade", "--verbose"]
    command += ["--chapter", chapter.number, "--results", str(results), *arguments]
    with text.open("w") as file:
        output = {"stdout": file, "stderr": subprocess.STDOUT}
        # In a session of its own, so that Ctrl-C is passed on once. It ends what it has started.
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **output)
        try:
            process.wait()
        finally:
            process.terminate()
            process.wait()
    lost = _lost(results, text)
    if not lost:
        text.unlink()
    return (process.returncode if lost else 0), lost


def _lost(results: Path, text: Path) -> list[str]:
    if not results.exists():
        reason = (text.read_text(errors="replace").strip().splitlines() or ["it did not end"])[-1]
        return [f"not judged: {reason}"]
    lines = []
    for test in json.loads(results.read_text())["tests"]:
        verdict = test.get("status", "not judged")
        if verdict != "passed":
            name = test.get("extra_data", {}).get("test", test["name"])
            lines.append(f"{verdict}  {name}: {what_happened(test['output'])}")
    return lines
