"""Grades one submission, from what was handed in to a directory of results.

It needs nothing but its own files, so any program may start it, here or on another machine with the
same files. The result appears in one step. A process that is killed leaves none.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes import records, submissions, unpack
from harness.course.classes.records import FAILED, NOT_JUDGED, OUTPUT, RESULT, Class, Record
from harness.course.classes.submissions import Submission
from harness.course.isolation.isolation import Isolation, Places
from harness.feedback.printable import harmless
from harness.grade import results
from harness.grade.scoring import Grade
from harness.server import scratch
from harness.server.linux import prctl
from harness.server.process_tree import until_gone
from harness.submission import files
from harness.submission.chapters import ROOT
from harness.submission.target import quoted
from harness.waiting import procfs

TRIES = 2  # something that was not judged is tried once more
GRADE_SECONDS = 720  # a grade stops by itself after 600 s of tests and 60 s of compiling
TRACE_SECONDS = 180
LAST_SECONDS = 20  # for a grade that was told to stop
# Others are graded at the same time, one for each processor.
GRADE = (sys.executable, "-m", "harness", "grade", "--jobs", "2")
TRACE = (sys.executable, "-m", "harness", "trace")
LOG = "result.log"  # beside result.json: the log of pytest
# Of make's variables; the others are not for a grade.
KEPT = ("LAB_CONFINE", "LAB_PATIENCE", "LAB_PYTHON")


@dataclass(frozen=True)
class Grader:
    """How the submissions of a class are graded. `seconds`: the time limit of one grade. `traced`:
    whether a timeline of the first failure is left. `grade`, `trace`: begin their commands."""

    of: Class
    isolation: Isolation
    seconds: int = GRADE_SECONDS
    traced: bool = True
    grade: tuple[str, ...] = GRADE
    trace: tuple[str, ...] = TRACE

    def run(self, submission: Submission) -> Record:
        """Grades it, and leaves the result in its place, unless a valid one is there. Raises
        OSError, KeyboardInterrupt."""
        work, place = self.of.work(submission.name), self.of.place(submission.name)
        with files.alone(work.with_suffix(".lock")):
            chosen = submissions.latest(submission.places, self.of.chapter.slug)
            key = records.key(submissions.digest(chosen), self.of.chapter)
            known = records.load(place)
            if records.valid(known, key):
                return known
            scratch.remove(work)
            (work / "result").mkdir(parents=True)
            try:
                record = self._grade(submission, chosen, key, work)
                records.save(record, work / "result")
                if place.exists():
                    place.rename(work / "old")
                (work / "result").rename(place)  # it is never there in part
            finally:
                scratch.remove(work)
        return record

    def _grade(
        self, submission: Submission, chosen: Path | None, key: str, work: Path
    ) -> Record:
        record = Record(
            key=key,
            verdict=NOT_JUDGED,
            handed_in=submissions.handed_in(chosen) if chosen else 0.0,
            chosen=_chosen(submission, chosen),
            isolation=self.isolation.name,
        )
        sources = work / "result" / records.SOURCES
        begin = time.monotonic()
        try:
            left_out = unpack.sources(chosen, sources, work / "unpacked", self.of.chapter.slug)
        except unpack.Unusable as error:
            self._unusable(record, str(error), work / "result")
            return record
        except OSError as error:
            record.problem = _unreadable(error, chosen)
            return record
        for record.tries in range(1, TRIES + 1):
            self._try(record, sources, work)
            if record.verdict != NOT_JUDGED:
                break
        record.seconds = round(time.monotonic() - begin, 1)
        if left_out:
            _tell(left_out, record, work / "result" / OUTPUT)
        if record.verdict == FAILED and self.traced:
            self._trace(sources, work)
        return record

    def _unusable(self, record: Record, problem: str, result: Path) -> None:
        """Gives no points, since there is nothing that could be compiled."""
        grade = Grade(self.of.chapter, "the submission", built=False, problem=problem)
        results.write(grade, result / RESULT)
        (result / OUTPUT).write_text(f"{self.of.chapter.slug}: 0 of 100 points\n\n{problem}\n")
        record.verdict, record.score, record.problem = FAILED, 0.0, problem

    def _try(self, record: Record, sources: Path, work: Path) -> None:
        """Grades once: notes the verdict, and leaves the files of the grade in work/result."""
        output, printed, result = work / "output", work / "printed", work / "result"
        scratch.remove(output)
        output.mkdir()
        words = ["--chapter", self.of.chapter.number, "--dir", str(sources), "--verbose"]
        words += ["--results", str(output / RESULT)]
        status = self._isolated([*self.grade, *words], sources, output, printed, self.seconds)
        text = _without_place(harmless(_text(printed)), sources)
        (result / OUTPUT).write_text(text, errors="replace")
        found = records.read_result(output / RESULT)
        log = records.read_file(output / LOG)
        if found is None:
            record.problem = _last_line(text) or f"the grade ended with status {status}"
            if status is None:
                record.problem = f"the grade was stopped after {self.seconds} s"
            return
        cleaned = _without_place(json.dumps(found, indent=2, ensure_ascii=False), sources)
        (result / RESULT).write_text(f"{cleaned}\n", errors="replace")
        _note(record, found)
        (result / records.LOG).unlink(missing_ok=True)
        if record.verdict == NOT_JUDGED and log:
            (result / records.LOG).write_bytes(log)

    def _trace(self, sources: Path, work: Path) -> None:
        """Leaves the timeline of the first failure, as a page or as text."""
        test = first_failure(records.read_result(work / "result" / RESULT) or {})
        if test is None:
            return
        output, printed = work / "output", work / "traced"
        scratch.remove(output)
        output.mkdir()
        words = ["--chapter", self.of.chapter.number, "--dir", str(sources), "--only", test]
        words += ["--results", str(output / "trace.json")]
        self._isolated([*self.trace, *words], sources, output, printed, TRACE_SECONDS)
        pages = [records.read_file(output / name) for name in records.TRACES]
        pages[1] = pages[1] or harmless(_text(printed)).encode("utf-8", "replace")
        for name, page in zip(records.TRACES, pages):
            if page:
                text = _without_place(page.decode("utf-8", "replace"), sources)
                (work / "result" / name).write_text(text, errors="replace")
                return

    def _isolated(
        self, argv: list[str], sources: Path, output: Path, printed: Path, seconds: int
    ) -> int | None:
        """Runs the command in isolation. Returns its status, None if it took too long. No process
        of it is left."""
        prctl.adopt_orphans()
        places = Places(ROOT, self.of.chapter, sources, output, self.of.libraries)
        with printed.open("wb") as file:
            process = subprocess.Popen(
                self.isolation.command(argv, places),
                cwd=ROOT,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                preexec_fn=lambda: prctl.die_with_parent(signal.SIGTERM),
            )
            with _ended(process):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(seconds)
        return None


@contextlib.contextmanager
def _ended(process: subprocess.Popen) -> Iterator[None]:
    """Ends the process and everything below us when the block ends: first politely, since a grade
    then ends its servers by itself."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LAST_SECONDS)
        until_gone(procfs.below, LAST_SECONDS)
        process.poll()


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LAB_") or name in KEPT
    }


def first_failure(result: dict) -> str | None:
    """The name of the first test that failed: one with the fatal fault that limits the score, then
    those that earn points."""
    capped = result.get("extra_data", {}).get("cap")
    failed = [t for t in result.get("tests", []) if t.get("status") == FAILED]
    failed = [test for test in failed if test.get("extra_data", {}).get("test")]
    fatal = [test for test in failed if capped and test["extra_data"].get("fatal")]
    failed.sort(key=lambda test: (test not in fatal[:1], not test.get("max_score", 1)))
    return failed[0]["extra_data"]["test"] if failed else None


def _note(record: Record, found: dict) -> None:
    """Takes the verdict and the points from a result."""
    data = found.get("extra_data", {})
    record.verdict = data.get("verdict", NOT_JUDGED)
    record.not_judged = data.get("not_judged", 0)
    record.score = None if record.verdict == NOT_JUDGED else found["score"]
    record.cap = str(found["extra_data"].get("cap", ""))
    record.problem = ""
    if record.verdict == NOT_JUDGED:
        record.problem = f"{record.not_judged} claims were not judged"
    elif not any("extra_data" in test for test in found["tests"]):
        record.problem = "It does not compile."


def _tell(left_out: str, record: Record, output: Path) -> None:
    """Says what of the hand-in was not graded, in the table and to the student."""
    record.problem = f"{record.problem} {left_out}".strip()
    output.write_text(f"{left_out}\n\n{output.read_text()}", errors="replace")


def _unreadable(error: OSError, chosen: Path | None) -> str:
    """A fault of the machine, or of rights that the instructor can give."""
    name = Path(error.filename).name if error.filename else chosen.name if chosen else ""
    what = f"{harmless(name)}: {error.strerror}"
    advice = "chmod -R u+rwX" if isinstance(error, PermissionError) else "mend this"
    return f"it cannot be read, {what}; {advice}, and call make class again"


def _chosen(submission: Submission, chosen: Path | None) -> str:
    """The hand-in that counts, as a path below the directory of submissions."""
    if chosen is None:
        return ""
    return submissions.shown(str(chosen.relative_to(submission.places[0].parent)))


def _text(file: Path) -> str:
    return (records.read_file(file) or b"").decode("utf-8", "replace")


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _without_place(text: str, sources: Path) -> str:
    """The text without the place of the graded files: for the student they are elsewhere."""
    path = str(sources)
    for word in dict.fromkeys((quoted(path), shlex.quote(path), html.escape(quoted(path)), path)):
        text = text.replace(f" DIR={word}", "").replace(word, "your submission")
    return text
