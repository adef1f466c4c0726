"""A whole class: the submissions that have to be graded, how far it is, and the files about all of
them."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.course.classes import page, pool, records, submissions
from harness.course.classes.labels import Class, fitted
from harness.course.classes.records import NOT_JUDGED, Graded, Record
from harness.course.classes.submissions import Submission
from harness.lab import command_line, files
from harness.lab.target import as_typed

CHANGED = "the submission or the lab has changed since it was graded"
WIDTH = 80
NAME = 32  # columns


@dataclass
class Whole:
    """`keys`: of the result that each submission should have. `failures`: of those whose process
    left no result."""

    of: Class
    found: list[Submission]
    keys: dict[str, str] = field(init=False)
    failures: dict[str, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.keys = {one.name: _key(one, self.of) for one in self.found}

    def missing(self) -> list[str]:
        """The names without a valid result."""
        loaded = {name: records.load(self.of.place(name)) for name in self.keys}
        return [name for name, key in self.keys.items() if not records.valid(loaded[name], key)]

    def grade(self, commands: Mapping[str, list[str]], at_once: int, seconds: float) -> bool:
        """Runs the command of each name, for at most that long. Returns true if it was stopped by
        Ctrl-C."""
        jobs = [
            pool.Job(name, command, self.of.work(name).with_suffix(".log"), self._record(name))
            for name, command in commands.items()
        ]
        progress = _Progress(self.of, len(self.keys), len(self.keys) - len(jobs), at_once)
        try:
            for job in pool.run(jobs, at_once, seconds, progress.running):
                record = records.load(self.of.place(job.name)) if job.has_result() else None
                if record is None:
                    record = Record(self.keys[job.name], NOT_JUDGED, problem=job.fault)
                    self.failures[job.name] = record
                progress.graded(job, record)
        except KeyboardInterrupt:
            progress.clear()
            return True
        return False

    def _record(self, name: str) -> Path:
        return self.of.place(name) / records.RECORD

    def results(self) -> list[Graded]:
        """The result of each submission as it is handed in now, by label."""
        found = []
        for name, key in self.keys.items():
            record = self.failures.get(name) or records.load(self.of.place(name))
            if record is not None and record.key != key:
                record = Record(key, NOT_JUDGED, problem=CHANGED)
            found.append(records.graded(self.of.label(name), self.of.place(name), record))
        return sorted(found, key=lambda one: one.label)

    def publish(self, results: list[Graded], program: str | None = None) -> None:
        """Writes the scores and the page, and says where they are. With the `program` for late days
        the scores have the points that count, too. Raises WrongUsage if it fails: then the other
        columns are written nevertheless."""
        top, number = self.of.top, self.of.chapter.number
        _write(top / "scores.csv", records.as_csv(results))
        _write(top / "class.html", page.render(self.of.chapter, results))
        blank = sum(one.record.score is None for one in results)
        print(f"\n{len(results) - blank} of {len(results)} have a score, {blank} are blank")
        for name, what in (("class.html", "page:"), ("scores.csv", "scores:")):
            print(f"{what:8}{as_typed(top / name)}")
        if self.of.key:
            print(f"{'key:':8}{as_typed(self.of.key)} has the names; do not publish it")
        if program:
            counting = {one.label: records.counting(program, number, one) for one in results}
            _write(top / "scores.csv", records.as_csv(results, counting))


def _write(path: Path, text: str) -> None:
    files.write(path, text.encode("utf-8", "replace"))


def _key(one: Submission, of: Class) -> str:
    chosen = submissions.latest(one.places, of.chapter.slug)
    return records.key(submissions.digest(chosen), of.chapter)


def greeting(whole: Whole, speed: str, isolation: str, reachable: tuple[str, ...]) -> str:
    """What will be done, and in which isolation; `reachable` has a sentence for each thing that a
    submission can reach."""
    total, known = len(whole.keys), len(whole.keys) - len(whole.missing())
    before = f", {known} of them graded before" if known else ""
    lines = [f"{whole.of.chapter.slug}: {total} submissions{before}; {speed}"]
    lines += [f"isolation: {isolation}{'. These things are open:' if reachable else ''}"]
    return "\n".join([*lines, *(_wrapped(sentence, 2) for sentence in reachable)])


def _wrapped(text: str, indent: int) -> str:
    """The text in lines for a terminal; a path stays whole."""
    space = " " * indent
    how = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(text, WIDTH, initial_indent=space, subsequent_indent=space, **how)


@dataclass
class _Progress:
    """Tells of `total` submissions, `done` of which have a result: a line for each that is graded,
    and on a terminal one that changes. `at_once`: how many are graded at a time."""

    of: Class
    total: int
    done: int
    at_once: int
    seconds: list[float] = field(default_factory=list)
    written: float = 0.0

    def graded(self, job: pool.Job, record: Record) -> None:
        """Counts one more graded submission."""
        self.clear()
        took = time.monotonic() - job.began
        self.done += 1
        self.seconds.append(took)
        score = "   blank" if record.score is None else f"{record.score:8g}"
        count = f"{self.done:{len(str(self.total))}} of {self.total}"
        name = fitted(self.of.label(job.name), NAME)
        print(f"{count}  {name} {score}  {took:5.0f} s  {self.left()}".rstrip(), flush=True)
        if record.verdict == NOT_JUDGED:
            print(_wrapped(f"not judged: {record.problem}", 6), flush=True)

    def left(self) -> str:
        """How many are left, and how long they will take if they are like those so far."""
        count = self.total - self.done
        if not count or not self.seconds:
            return f"{count} left" if count else ""
        mean = sum(self.seconds) / len(self.seconds)
        return f"{count} left, {_duration(mean * max(count / self.at_once, 1))}"

    def running(self, jobs: list[pool.Job]) -> None:
        """Shows what runs now, and since when."""
        now = time.monotonic()
        if not command_line.knows_escapes(sys.stdout) or now - self.written < 0.5:
            return
        self.written = now
        line = f"{self.done} of {self.total}, {self.left() or 'none left'}"
        for job in jobs:
            name = fitted(self.of.label(job.name), 16).strip()
            line += f"{'; ' if job is jobs[0] else ', '}{name} {now - job.began:.0f} s"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{fitted(line, width).rstrip()}", end="", flush=True)

    def clear(self) -> None:
        if command_line.knows_escapes(sys.stdout):
            print("\r\033[K", end="")


def _duration(seconds: float) -> str:
    """A time that is only guessed."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"
