"""A whole class: the submissions that have to be graded, and the files about all of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.course.classes import labels, page, pool, ranking, records, submissions
from harness.course.classes.engines import Engine
from harness.course.classes.labels import Class, shown
from harness.course.classes.progress import Progress, wrapped
from harness.course.classes.ranking import Board
from harness.course.classes.records import NOT_JUDGED, Graded, Record
from harness.course.classes.submissions import Submission
from harness.course.handover import late
from harness.lab import files
from harness.lab.target import as_typed

CHANGED = "the submission or the lab has changed since it was graded"
SCOREBOARD = "scoreboard.txt"
SPARE_SECONDS = 300  # of a unit, for a trace and to end everything


@dataclass
class Whole:
    """`command`: what runs the unit of that name. `seconds`: the limit of one unit. `failures`: of
    units that left no result."""

    of: Class
    found: list[Submission]
    command: Callable[[str], list[str]]
    engine: Engine
    seconds: int
    keys: dict[str, str] = field(default_factory=dict)
    failures: dict[str, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.keys = {one.name: _key(one, self.of) for one in self.found}

    def missing(self) -> list[str]:
        """The names without a valid result."""
        loaded = {name: records.load(self.of.place(name)) for name in self.keys}
        return [name for name, key in self.keys.items() if not records.valid(loaded[name], key)]

    def grade(self, names: list[str]) -> bool:
        """Runs the units. Returns whether it was stopped by Ctrl-C."""
        try:
            self._grade(names)
        except KeyboardInterrupt:
            print("\r\033[K" if sys.stdout.isatty() else "", end="")
            return True
        return False

    def _grade(self, names: list[str]) -> None:
        of = self.of
        shown = Progress(len(self.keys), len(self.keys) - len(names), self.engine.at_once)
        jobs = [self._job(name) for name in names]

        def tick(running: list[pool.Job]) -> None:
            now = time.monotonic()
            shown.running([(of.label(job.name), now - job.began) for job in running])

        for job in self.engine.run(jobs, self.seconds, tick):
            record = records.load(of.place(job.name)) if job.has_result() else None
            if record is None:
                record = Record(self.keys[job.name], NOT_JUDGED, problem=job.fault)
                self.failures[job.name] = record
            took = time.monotonic() - job.began if job.began else record.seconds
            shown.graded(of.label(job.name), record, took)

    def _job(self, name: str) -> pool.Job:
        log = self.of.work(name).with_suffix(".log")
        return pool.Job(name, self.command(name), log, self.of.place(name) / records.UNIT)

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
        (handover/late.py) the scores have the points that count, too. Raises WrongUsage if it
        fails: then the other columns are written nevertheless."""
        top = self.of.top
        _write(top / "scores.csv", records.as_csv(results))
        _write(top / "class.html", page.render(self.of.chapter, results))
        (top / SCOREBOARD).unlink(missing_ok=True)
        blank = sum(one.record.score is None for one in results)
        print(f"\n{len(results) - blank} of {len(results)} have a score, {blank} are blank")
        for name, what in (("class.html", "page:"), ("scores.csv", "scores:")):
            print(f"{what:8}{as_typed(top / name)}")
        if self.of.key:
            print(f"{'key:':8}{as_typed(self.of.key)} has the names; do not publish it")
        if program:
            number = self.of.chapter.number
            counting = {
                one.label: late.points(
                    program, shown(one.label), number, one.record.score, one.record.handed_in
                )
                for one in results
            }
            _write(top / "scores.csv", records.as_csv(results, counting))

    def publish_board(self, results: list[Graded], board: Board) -> None:
        """Adds the scoreboard to the page, and writes it as text without names."""
        top = self.of.top
        _write(top / "class.html", page.render(self.of.chapter, results, board))
        _write(top / SCOREBOARD, ranking.as_text(board))
        print(f"{'board:':8}{as_typed(top / SCOREBOARD)} is without names; it changes no points")
        if board.disturbed:
            print(wrapped(board.disturbed, 2))


def _write(path: Path, text: str) -> None:
    files.write(path, text.encode("utf-8", "replace"))


def _key(one: Submission, of: Class) -> str:
    chosen = submissions.latest(one.places, of.chapter.slug)
    return records.key(submissions.digest(chosen), of.chapter)


def greeting(whole: Whole, isolation: str, reachable: tuple[str, ...], others: list[str]) -> str:
    """What will be done, and in which isolation; `reachable` has a sentence for each thing that a
    submission can reach. `others`: files beside a hand-in of the same name."""
    total, known = len(whole.keys), len(whole.keys) - len(whole.missing())
    before = f", {known} of them graded before" if known else ""
    lines = [f"{whole.of.chapter.slug}: {total} submissions{before}; {whole.engine.speed}"]
    lines += [f"isolation: {isolation}{'. These things are open:' if reachable else ''}"]
    lines += [wrapped(sentence, 2) for sentence in reachable]
    if others and whole.of.key is None:
        lines += [
            f"does not count: {labels.shown(name)}, since there is a hand-in of this name"
            for name in others
        ]
    return "\n".join([*lines, ""])
