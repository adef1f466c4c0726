"""A whole class: the submissions that have to be graded, and the files about all of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.classroom import labels, page, pool, records, scores, submissions
from harness.classroom.labels import Class, shown
from harness.classroom.progress import Progress, wrapped
from harness.classroom.records import NOT_JUDGED, Graded, Record
from harness.classroom.submissions import Submission
from harness.handover import late
from harness.lab.target import as_typed

CHANGED = "the submission or the lab has changed since it was graded"
SPARE_SECONDS = 300  # of a unit, for a trace and to end everything


@dataclass
class Whole:
    """`command`: what runs the unit of that name. `seconds`: the limit of one unit. `failures`: of
    units that left no result."""

    of: Class
    found: list[Submission]
    command: Callable[[str], list[str]]
    at_once: int
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
        of, before = self.of, {name: self._stamp(name) for name in names}
        shown = Progress(len(self.keys), len(self.keys) - len(names), self.at_once)
        jobs = [
            pool.Job(name, self.command(name), of.work(name).with_suffix(".log")) for name in names
        ]

        def has_result(name: str) -> bool:
            return self._stamp(name) not in (None, before[name])

        def tick(running: list[pool.Job]) -> None:
            now = time.monotonic()
            shown.running([(of.label(job.name), now - job.began) for job in running])

        for job in pool.run(jobs, self.at_once, self.seconds, has_result, tick):
            record = records.load(of.place(job.name)) if has_result(job.name) else None
            if record is None:
                record = self.failures[job.name] = self._fault(job)
            shown.graded(of.label(job.name), record, time.monotonic() - job.began)

    def _stamp(self, name: str) -> tuple[int, int] | None:
        """Changes with each result. None if there is none."""
        try:
            found = (self.of.place(name) / records.UNIT).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _fault(self, job: pool.Job) -> Record:
        """The record of a unit that left no result."""
        status = job.process.returncode
        why = f"its process left no result (status {status}); see {as_typed(job.log)}"
        return Record(self.keys[job.name], NOT_JUDGED, problem=why)

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
        scores.write(top / "scores.csv", scores.as_csv(results))
        scores.write(top / "class.html", page.render(self.of.chapter, results))
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
            scores.write(top / "scores.csv", scores.as_csv(results, counting))


def _key(one: Submission, of: Class) -> str:
    chosen = submissions.latest(one.places, of.chapter.slug)
    return records.key(submissions.digest(chosen), of.chapter)


def greeting(whole: Whole, isolation: str, reachable: tuple[str, ...], others: list[str]) -> str:
    """What will be done, and in which isolation; `reachable` has a sentence for each thing that a
    submission can reach. `others`: files that are no submission."""
    total, known = len(whole.keys), len(whole.keys) - len(whole.missing())
    before = f", {known} of them graded before" if known else ""
    lines = [f"{whole.of.chapter.slug}: {total} submissions{before}; {whole.at_once} at a time"]
    lines += [f"isolation: {isolation}{'. These things are open:' if reachable else ''}"]
    lines += [wrapped(sentence, 2) for sentence in reachable]
    if others and whole.of.key is None:
        lines += [
            f"left out: {labels.shown(name)} is neither a directory nor an archive"
            for name in others
        ]
    return "\n".join([*lines, ""])
