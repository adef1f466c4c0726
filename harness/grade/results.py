"""A grade in two forms for programs: the results format of Gradescope, without anything it forbids;
and as a compiler would print it, a line for each failure, with the place in the source that it is
about. Editors know "io.c:42: error: text"."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path, PurePath
from typing import NamedTuple

from harness.grade import report
from harness.grade.request import RESULTS
from harness.grade.scoring import FAILED, NOT_JUDGED, PASSED, Claim, Grade, Outcome
from harness.submission import files, seed, sources
from harness.submission.chapters import Chapter
from harness.submission.target import as_typed

# Texts are shown as they are. By default Gradescope takes `output` for HTML, in which
# "#include <x.h>" loses its end: "Output string formatting" in
# https://gradescope-autograders.readthedocs.io/en/latest/specs/
FORMATS = {"output_format": "text", "test_output_format": "text", "test_name_format": "text"}


def as_json(grade: Grade) -> dict:
    """The object of build/results/NN.json.

    The score is less than the sum of the tests if guards are broken, or with a fatal fault. That
    of a grade that was restricted to some tests (T=) is out of less than 100. A test
    that was not judged has no status, since the format knows only "passed" and "failed".
    """
    worths = _hundredths([outcome.worth for outcome in grade.outcomes])
    tests = [_test(grade, *pair) for pair in zip(grade.outcomes, worths)]
    return {
        "score": _number(int(100 * grade.score)),
        "output": _output(grade),
        **FORMATS,
        "execution_time": round(grade.seconds, 1),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "verdict": grade.verdict,
            "not_judged": len(grade.unjudged),
            "chapter": grade.chapter.slug,
            "subject": grade.subject,
            "seed": grade.seed,
            "cap": report.at_most(grade),
            "next": report.next_word(grade),
        },
        "tests": tests or _no_tests(grade),
    }


def write(grade: Grade, path: Path) -> None:
    """Writes it to `path` in one step: a reader never sees half of it."""
    files.write(path, f"{json.dumps(as_json(grade), indent=2)}\n".encode())


def last_score(chapter: Chapter, source: Path) -> float | None:
    """The points of the last grade of a chapter, if it was one of these files as they are now."""
    try:
        found = json.loads((RESULTS / f"{chapter.number}.json").read_text())
        return found["score"] if found["extra_data"]["seed"] == seed.of_files(source) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def since(path: Path, grade: Grade) -> str:
    """What has changed since the grade in the file: "+12.5, 03.2 passes now". "" if nothing has, or
    that was a grade of something else."""
    try:
        old = json.loads(path.read_text())
        points = grade.score - Fraction(old["score"]).limit_denominator(100)
        if old["extra_data"]["subject"] != grade.subject or not grade.outcomes:
            return ""
        tests = [(test["number"], test["extra_data"]["verdict"]) for test in old["tests"]]
        before = _todos_passed(tests)
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    now = _todos_passed((o.claim.number, o.verdict) for o in grade.outcomes)
    said = [f"{number} passes now" for number in sorted(now - before)]
    said += [f"{number} no longer passes" for number in sorted(before - now)]
    tenths = round(10 * points)
    return ", ".join([f"{tenths / 10:+g}", *said]) if tenths or said else ""


def _todos_passed(verdicts: Iterable[tuple[str, str]]) -> set[str]:
    """The TODOs of which every claim has passed."""
    found: dict[str, set[str]] = {}
    for number, verdict in verdicts:
        found.setdefault(number, set()).add(verdict)
    return {number for number, said in found.items() if said == {PASSED}}


def write_in_full(grade: Grade, path: Path) -> None:
    """Writes what V=1 would print to `path`, and says in the grade where that is."""
    text = report.chapter(grade, report.Look(verbose=True))
    files.write(path, f"{text}\n".encode())
    grade.in_full = as_typed(path)


def _hundredths(worths: list[Fraction]) -> list[int]:
    """The worths in hundredths of a point, rounded so that their sum is still 100 points."""
    sums = [int(total * 100) for total in accumulate(worths, initial=Fraction(0))]
    return [after - before for before, after in pairwise(sums)]


def _test(grade: Grade, outcome: Outcome, worth: int) -> dict:
    test = {
        "name": outcome.claim.text,
        "number": outcome.claim.number,
        "score": _number(worth if outcome.verdict == PASSED else 0),
        "max_score": _number(worth),
        "status": outcome.verdict,
        "output": _test_output(grade, outcome),
        "visibility": "visible",
        "extra_data": {
            "test": outcome.claim.name,
            "hint": outcome.diagnosis.hint if outcome.diagnosis else "",
            "crashed": outcome.diagnosis.crashed if outcome.diagnosis else "",
            "seconds": outcome.seconds,
            "verdict": outcome.verdict,
            "fatal": outcome.fatal,
        },
    }
    if outcome.is_guard:
        broken = outcome.verdict == FAILED and not grade.waits_for(outcome)
        test["extra_data"]["costs"] = _number(int(100 * grade.cost_of_a_guard)) if broken else 0
    if outcome.verdict == NOT_JUDGED:
        del test["status"]
    return test


def _test_output(grade: Grade, outcome: Outcome) -> str:
    if outcome.verdict == FAILED:
        return "\n".join(report.failure(grade, outcome))
    if outcome.verdict == PASSED:
        return ""
    return f"not judged: {outcome.message or 'it did not finish'}"


def _no_tests(grade: Grade) -> list[dict]:
    """The one test of a grade that could run no test: it says why, so that the score has a
    place."""
    if grade.built:
        return []
    return [
        {
            "name": "The server compiles.",
            "score": 0,
            "max_score": 100,
            "status": FAILED,
            "output": grade.problem,
            "visibility": "visible",
        }
    ]


def _output(grade: Grade) -> str:
    parts = [
        f"{grade.chapter.slug}: {report.number_text(grade.score)} of "
        f"{report.number_text(grade.out_of)} points"
    ]
    if report.at_most(grade):
        parts.append(report.at_most(grade))
    if grade.warnings:
        parts.append(f"The compiler warns:\n{grade.warnings.rstrip()}")
    if grade.problem:
        parts.append(grade.problem)
    return "\n\n".join(parts)


def _number(hundredths: int) -> float | int:
    """Points, without decimals where there are none."""
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100


# As a compiler would print it

FIRST_FILE = "main.c"  # where a failure is shown whose place is not known
OF_THE_BUILD = re.compile(  # the linker says undefined or multiple, without a kind
    r"([^\s:]+\.[ch]):(\d+):(?:(\d+):)? (?:(?:fatal )?(error|warning): |(?=undefined|multiple))(.*)"
)


class Message(NamedTuple):
    """One failure. `column` counts from 1, "" where it is not known."""

    file: str
    line: int
    text: str
    kind: str = "error"
    column: str = ""

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}: {self.kind}: {self.text}"


def messages(grade: Grade) -> list[Message]:
    """First the compiler's, then one for each claim that did not pass, the chapter's own first."""
    assert grade.source
    if not grade.built:
        said = [line.strip() for line in grade.problem.splitlines() if line.strip()]
        text = f"it does not compile: {said[0]}" if said else "it does not compile"
        other = Message(_first_file(grade), 1, text)
        return list(_from_the_build(grade.source, grade.problem)) or [other]
    found = list(_from_the_build(grade.source, grade.warnings))
    for verdict in (FAILED, NOT_JUDGED):
        found += [_of_a_claim(grade, outcome) for outcome in report.own_first(grade, verdict)]
    return found


def _from_the_build(source: Path, printed: str) -> Iterator[Message]:
    """What the compiler and the linker said, with the files' names as they are seen from here."""
    for file, line, column, kind, text in OF_THE_BUILD.findall(printed):
        yield Message(as_typed(source / file), int(line), text, kind or "error", column)


def _of_a_claim(grade: Grade, outcome: Outcome) -> Message:
    claim = outcome.claim
    said = " ".join((outcome.message or grade.problem).split())
    text = f"{claim.text.rstrip('.')}: {said}" if said else claim.text
    if outcome.verdict == NOT_JUDGED:
        text = f"not judged: {text}"
    kind = "warning" if outcome.verdict == NOT_JUDGED else "error"
    return Message(*_place(grade, claim), f"{claim.number} {text}", kind)


def _place(grade: Grade, claim: Claim) -> tuple[str, int]:
    """The comment of the TODO; if it is gone, or of an earlier chapter, the beginning of its file,
    or of the first file."""
    named = report.todos(claim.chapter).get(claim.todo, "")
    files = _files(grade, named)
    for path in files if claim.chapter == grade.chapter else ():
        text = path.read_text(errors="replace")
        found = re.search(rf"\bTODO {claim.todo}:", text)
        if found:
            return as_typed(path), text.count("\n", 0, found.start()) + 1
    there = [path for path in files if path.name == PurePath(named).name]
    return (as_typed(there[0]) if there else _first_file(grade)), 1


def _files(grade: Grade, first: str) -> list[Path]:
    """The C files that can be read, `first` before the others: wherever the student has it."""
    assert grade.source
    readable = [path for path in sources.files(grade.source) if os.access(path, os.R_OK)]
    wanted = PurePath(first).name
    return sorted(readable, key=lambda path: (path.name != wanted, path.suffix, path))


def _first_file(grade: Grade) -> str:
    files = _files(grade, FIRST_FILE)
    return as_typed(files[0] if files else grade.source / FIRST_FILE)
