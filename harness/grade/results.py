"""A grade in a form for programs: the results format of Gradescope, without anything it forbids."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path

from harness.grade import report
from harness.grade.scoring import FAILED, NOT_JUDGED, PASSED, Grade, Outcome
from harness.submission import files
from harness.submission.target import as_typed

# Texts are shown as they are. By default Gradescope takes `output` for HTML, in which
# "#include <x.h>" loses its end: "Output string formatting" in
# https://gradescope-autograders.readthedocs.io/en/latest/specs/
FORMATS = {"output_format": "text", "test_output_format": "text", "test_name_format": "text"}


def as_json(grade: Grade) -> dict:
    """The object of build/results/NN.json.

    The score of a grade that was restricted to some tests (T=) is out of less than 100. A test
    that was not judged has no status, since the format knows only "passed" and "failed".
    """
    worths = _hundredths([outcome.worth for outcome in grade.outcomes])
    tests = [_test(grade, *pair) for pair in zip(grade.outcomes, worths)]
    return {
        "score": _number(sum(w for o, w in zip(grade.outcomes, worths) if o.verdict == PASSED)),
        "output": _output(grade),
        **FORMATS,
        "execution_time": round(grade.seconds, 1),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "verdict": grade.verdict,
            "not_judged": len(grade.unjudged),
            "chapter": grade.chapter.slug,
            "seed": grade.seed,
        },
        "tests": tests or _no_tests(grade),
    }


def write(grade: Grade, path: Path) -> None:
    """Writes it to `path` in one step: a reader never sees half of it."""
    files.write(path, f"{json.dumps(as_json(grade), indent=2)}\n".encode())


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
        },
    }
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
    if grade.warnings:
        parts.append(f"The compiler warns:\n{grade.warnings.rstrip()}")
    if grade.problem:
        parts.append(grade.problem)
    return "\n\n".join(parts)


def _number(hundredths: int) -> float | int:
    """Points, without decimals where there are none."""
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100
