"""Grades wrong servers: does the test that is meant for one fail, with the hint that is meant?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.grading.scoring import FAILED, PASSED
from harness.lab.chapters import ROOT
from harness.mutants.mutant import Mutant
from harness.server.build import compiler_cache

PATIENCE = "1.5"  # seconds: many mutants hang
GRADE_SECONDS = 600
PROPERTY = "wrong server"  # of a test report, which is how a judgement leaves a worker process
KILLED, OTHER_HINT, SURVIVED, BROKEN = "killed", "other hint", "SURVIVED", "BROKEN"


@dataclass(frozen=True)
class Judgement:
    """What became of one mutant.

    `verdict`: KILLED; OTHER_HINT, the test failed with `hint` instead of the one meant; SURVIVED;
    BROKEN, it was not judged or does not compile, and `hint` says why. `killers` are all tests that
    failed: one at most, unless every test of the chapter was asked.
    """

    mutant: Mutant
    verdict: str
    hint: str = ""
    killers: tuple[str, ...] = ()
    text: str = ""  # what a student is told of the failure


def judge(mutant: Mutant, directory: Path, *, full: bool = False, jobs: int = 1) -> Judgement:
    """Builds and grades it; its sources and results go into `directory`. Raises as write() does.

    `full`: with all tests of its chapter, `jobs` at a time, and not only the one meant for it.
    """
    source = directory / mutant.id
    mutant.write(source)
    results = _grade(mutant, source, directory / f"{mutant.id}.json", full, jobs)
    tests = {test.get("extra_data", {}).get("test", ""): test for test in results["tests"]}
    meant = tests.get(mutant.test)
    if meant is None:
        return Judgement(mutant, BROKEN, results["output"])
    failed = tuple(name for name, test in tests.items() if test.get("status") == FAILED)
    if meant.get("status") == PASSED:
        return Judgement(mutant, SURVIVED, killers=failed)
    if meant.get("status") != FAILED:
        return Judgement(mutant, BROKEN, meant["output"], failed)
    hint = meant["extra_data"]["hint"]
    verdict = KILLED if hint == mutant.hint else OTHER_HINT
    return Judgement(mutant, verdict, hint, failed, meant["output"])


def _grade(mutant: Mutant, source: Path, file: Path, full: bool, jobs: int) -> dict:
    """The results of a grade, as grade.py saves them."""
    words = ["--chapter", mutant.chapter, "--dir", str(source), "--results", str(file)]
    words += ["--jobs", str(jobs)] if full else ["--only", mutant.test]
    printed = subprocess.run(
        [sys.executable, "-m", "harness.grade", *words],
        cwd=ROOT,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=GRADE_SECONDS,
    )
    if printed.stderr or not file.exists():
        return {"tests": [], "output": printed.stderr}
    return json.loads(file.read_text())


def _environment() -> dict[str, str]:
    """Without the variables of a make around this, which would choose what is graded."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAB_")}
    return {**kept, **compiler_cache(), "LAB_PATIENCE": PATIENCE}
