"""One unit of work: the grade of one submission, from what was handed in to a directory of results.

A unit needs nothing but its own files, so any program may run units: the pool here, GNU parallel,
or the job array of a cluster. The result appears in one step. A unit that is killed leaves none.
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

from harness.course.classes import labels, records, submissions, unpack
from harness.course.classes.labels import Class
from harness.course.classes.records import FAILED, NOT_JUDGED, OUTPUT, RESULT, Record
from harness.course.classes.submissions import Submission
from harness.course.isolation.isolation import Isolation, Places
from harness.failures.printable import harmless
from harness.grading import results
from harness.grading.scoring import Grade
from harness.lab.chapters import ROOT
from harness.lab.target import quoted
from harness.server import kill, scratch
from harness.server.linux import prctl, procfs

TRIES = 2  # something that was not judged is tried once more
GRADE_SECONDS = 720  # a grade stops by itself after 600 s of tests and 60 s of compiling
TRACE_SECONDS = 180
LAST_SECONDS = 20  # for a grade that was told to stop
# Others are graded at the same time, one for each processor.
GRADER = (sys.executable, "-m", "harness", "grade", "--jobs", "2")
TRACER = (sys.executable, "-m", "harness", "trace")
LOG = "result.log"  # beside result.json: the log of pytest
KEPT = (
    "LAB_CONFINE",
    "LAB_PATIENCE",
    "LAB_PYTHON",
)  # of make's variables; the others are not for a grade


@dataclass(frozen=True)
class Unit:
    """How the submissions of a class are graded. `seconds` is the time limit of one grade."""

    of: Class
    isolation: Isolation
    seconds: int = GRADE_SECONDS
    grader: tuple[str, ...] = GRADER
    tracer: tuple[str, ...] = TRACER

    def run(self, submission: Submission) -> Record:
        """Grades it, and leaves the result in its place. Raises OSError, KeyboardInterrupt."""
        work = self.of.work(submission.name)
        with labels.locked(work.with_suffix(".lock")):
            scratch.remove(work)
            (work / "result").mkdir(parents=True)
            try:
                record = self._grade(submission, work)
                records.save(record, work / "result")
                self._publish(submission, work)
            finally:
                scratch.remove(work)
        return record

    def _grade(self, submission: Submission, work: Path) -> Record:
        chosen = submissions.latest(submission.places, self.of.chapter.slug)
        record = Record(
            key=records.key(submissions.digest(chosen), self.of.chapter),
            verdict=NOT_JUDGED,
            handed_in=submissions.handed_in(chosen) if chosen else 0.0,
            chosen=_chosen(submission, chosen) if not self.of.key else "",
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
        if record.verdict == FAILED:
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
        status = self.isolated([*self.grader, *words], sources, output, printed, self.seconds)
        text = _without_place(harmless(_text(printed)), sources)
        (result / OUTPUT).write_text(text, errors="replace")
        found = records.read_result(output / RESULT)
        log = records.read_file(output / LOG)
        if found is None:
            record.problem = _last_line(text) or f"the grade ended with status {status}"
            if status is None:
                record.problem = f"the grade was stopped after {self.seconds} s"
            return
        found = _cleaned(found, sources)
        (result / RESULT).write_text(json.dumps(found, indent=2) + "\n")
        _note(record, found)
        if record.verdict == NOT_JUDGED and log:
            (result / records.LOG).write_bytes(log)
        else:
            (result / records.LOG).unlink(missing_ok=True)

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
        self.isolated([*self.tracer, *words], sources, output, printed, TRACE_SECONDS)
        pages = [records.read_file(output / name) for name in records.TRACES]
        pages[1] = pages[1] or harmless(_text(printed)).encode("utf-8", "replace")
        for name, page in zip(records.TRACES, pages):
            if page:
                text = _without_place(page.decode("utf-8", "replace"), sources)
                (work / "result" / name).write_text(text, errors="replace")
                return

    def isolated(
        self,
        argv: list[str],
        sources: Path,
        output: Path,
        printed: Path,
        seconds: int,
        more: tuple[Path, ...] = (),
    ) -> int | None:
        """Runs the command in isolation, where it can read `more` besides what a grade reads. Its
        status, None if it took too long. No process of it is left."""
        prctl.adopt_orphans()
        places = Places(ROOT, self.of.chapter, sources, output, self.of.libraries, more)
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

    def _publish(self, submission: Submission, work: Path) -> None:
        """Puts the result in its place. It is never there in part."""
        place = self.of.place(submission.name)
        if place.exists():
            place.rename(work / "old")
        (work / "result").rename(place)


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
        kill.until_gone(procfs.below, LAST_SECONDS)
        process.poll()


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LAB_") or name in KEPT
    }


def first_failure(result: dict) -> str | None:
    """The name of the first test that failed and has points, the chapter's own first."""
    chapter = str(result.get("extra_data", {}).get("chapter", ""))[:2]
    failed = [t for t in result.get("tests", []) if t.get("status") == FAILED]
    failed = [test for test in failed if test.get("extra_data", {}).get("test")]
    failed.sort(key=lambda test: not test["number"].startswith(f"{chapter}."))
    return failed[0]["extra_data"]["test"] if failed else None


def _note(record: Record, found: dict) -> None:
    """Takes the verdict and the points from a result."""
    data = found.get("extra_data", {})
    record.verdict = data.get("verdict", NOT_JUDGED)
    record.not_judged = data.get("not_judged", 0)
    record.score = None if record.verdict == NOT_JUDGED else found["score"]
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
    return labels.shown(str(chosen.relative_to(submission.places[0].parent)))


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


def _cleaned(found, sources: Path):
    """A result with the same change in all of its texts."""
    if isinstance(found, str):
        return _without_place(found, sources)
    if isinstance(found, list):
        return [_cleaned(one, sources) for one in found]
    if isinstance(found, dict):
        return {name: _cleaned(one, sources) for name, one in found.items()}
    return found
