"""Measures the submissions with full marks beside the solution, for make class BENCH=rows.

Each server is built and measured in the isolation of its grade, with the load generator beside it,
so a figure is no more trustworthy than the submission: it is for a scoreboard, and no points come
from it. All servers are measured in turn, in rounds, as in make bench.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.course.classes import records
from harness.course.classes.ranking import SOLUTION_NAME, Board
from harness.course.classes.records import Graded
from harness.course.classes.unit import Unit
from harness.lab import parts, target
from harness.lab.chapters import ROOT, Chapter
from harness.lab.target import WrongUsage
from harness.server import scratch
from harness.student.bench import alone, measure as measuring, redis_benchmark, subjects
from harness.student.bench.measure import Bench, Cell, Failed, Figures, Place
from harness.student.bench.subjects import SOLUTION, YOURS, Load, Row, Subject

FULL = 100
BUILD_SECONDS = 180
RUN_SECONDS = 300  # for one run, on any machine
PYTHON = (sys.executable, "-m", alone.MODULE)


def chosen_rows(chapter: Chapter, text: str) -> list[Row]:
    """The rows that BENCH= names. Raises WrongUsage, also if nothing can be measured here."""
    target.resolve(chapter, "solutions")
    known = {row.key: row for row in alone.contest(chapter).rows}
    words = text.lower().replace(",", " ").split()
    single = all(len(key) == 1 for key in known)
    wanted = list("".join(words)) if single else words
    for key in wanted:
        if key not in known:
            names = ("" if single else ", ").join(known)
            raise WrongUsage(f"BENCH={text}: there is no row {key!r}; they are {names}")
    if chapter.name == redis_benchmark.CHAPTER:
        redis_benchmark.find()
    return [row for key, row in known.items() if key in wanted]


def full_marks(results: list[Graded]) -> list[Graded]:
    return [one for one in results if one.record.score == FULL]


def measure(
    units: Unit,
    results: list[Graded],
    rows: list[Row],
    count: int,
    place: Place,
    told: Callable[[str], None],
) -> Board:
    """Measures them `count` times. Raises OSError, KeyboardInterrupt, WrongUsage, NotJudged."""
    work = units.of.top / ".work" / "bench"
    scratch.remove(work)
    work.mkdir(parents=True)
    try:
        return _Measurement(units, work, place).board(full_marks(results), rows, count, told)
    finally:
        scratch.remove(work)


@dataclass
class _Measurement:
    """`sources`: the directory of each server, by the name of its subject."""

    units: Unit
    work: Path
    place: Place
    sources: dict[str, Path] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def board(
        self, full: list[Graded], rows: list[Row], count: int, told: Callable[[str], None]
    ) -> Board:
        self.rows = rows
        chapter = self.units.of.chapter
        entrants = {one.label: str(number) for number, one in enumerate(full, 1)}
        own = self.work / "sources"  # from 06 on there is a directory `server` in it
        shutil.copytree(chapter.solution_dir, own)
        self.sources = {SOLUTION_NAME: own}
        self.sources |= {entrants[one.label]: one.place / records.SOURCES for one in full}
        bench = Bench(self._generator(), self.place, elsewhere=self._run)
        faults = {name: self._build(name) for name in self.sources}
        here = [_subject(name, chapter) for name, fault in faults.items() if not fault]
        cells = measuring.rounds(bench, here, rows, count, told)
        for name, fault in faults.items():
            if fault:
                cells |= {(name, row.key): Cell(why=fault) for row in rows}
        return Board(chapter, rows, count, entrants, cells)

    def _generator(self) -> Path:
        """What asks the servers, in a place that they can read."""
        if self.units.of.chapter.name == redis_benchmark.CHAPTER:
            return redis_benchmark.find()
        return Path(shutil.copy2(subjects.load_generator(), self.work / "load"))

    def _build(self, name: str) -> str:
        """Builds the server. Returns why it cannot be built, else ""."""
        (self.work / name).mkdir(exist_ok=True)
        words = ["build", str(self.sources[name]), str(self.work / name / "server")]
        status, text = self._isolated(name, words, BUILD_SECONDS, ())
        if status == 0:
            return ""
        said = (text.strip().splitlines() or ["it cannot be built for the measurement"])[-1]
        return f"building it took longer than {BUILD_SECONDS} s" if status is None else said

    def _run(self, bench: Bench, subject: Subject, load: Load) -> Figures:
        """measure.run() of this subject, in isolation. Raises Failed."""
        key = next(row.key for row in self.rows if row.load is load)
        words = ["run", self.units.of.chapter.number, key]
        words += [str(self.work / subject.name / "server"), str(bench.generator)]
        words += [str(bench.place.server), str(bench.place.load)]
        status, text = self._isolated(subject.name, words, RUN_SECONDS, (bench.generator,))
        if status is None:
            raise Failed(f"the measurement took longer than {RUN_SECONDS} s")
        return alone.printed(text)

    def _isolated(
        self, name: str, words: list[str], seconds: int, more: tuple[Path, ...]
    ) -> tuple[int | None, str]:
        printed = self.work / f"{name}.printed"
        more += tuple(parts.of_a_measurement(ROOT))
        status = self.units.isolated(
            [*PYTHON, *words], self.sources[name], self.work / name, printed, seconds, more
        )
        return status, (records.read_file(printed) or b"").decode("utf-8", "replace")


def _subject(name: str, chapter: Chapter) -> Subject:
    """The server for the rounds, which run it elsewhere."""
    kind = SOLUTION if name == SOLUTION_NAME else YOURS
    return Subject(name, kind, (), one_client=subjects.serves_one(chapter))
