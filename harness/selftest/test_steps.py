"""Whoever solves the TODOs of a chapter in their order is paid at each step, and nothing crashes.

Every chapter is graded with its first 0, 1, ... all TODOs solved: in full at the beginning, then by
the tests that the TODOs name. With all of them solved it is the solution, which is graded in full
elsewhere (test_verdicts.py). FULL=1: in full every time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import skeleton
from harness.lab import chapters
from harness.lab.chapters import CHAPTERS, ROOT
from harness.lab.target import setting
from harness.server import build

PATIENCE = "1"  # seconds; most steps hang in most claims
JOBS = "4"  # waiting costs no processor
GRADE_SECONDS = 300


def grade(chapter: chapters.Chapter, solved: int, directory: Path, only: str | None = None) -> dict:
    """The results of a chapter with its first `solved` TODOs solved, as grade.py saves them."""
    source, results = directory / f"{chapter.number}-{solved}", directory / "results.json"
    skeleton.write(chapter, source, solved)
    words = ["--chapter", chapter.number, "--dir", str(source), "--results", str(results)]
    words += ["--only", only] if only else []
    printed = subprocess.run(
        [sys.executable, "-m", "harness.grade", *words, "--jobs", JOBS],
        cwd=ROOT,
        env={**os.environ, **build.compiler_cache(), "LAB_PATIENCE": PATIENCE},
        capture_output=True,
        text=True,
        timeout=GRADE_SECONDS,
    )
    assert printed.stderr == ""
    found = json.loads(results.read_text())
    return {**found, "status": printed.returncode}


def failed(results: dict) -> set[str]:
    """The names of the tests that failed. None was left unjudged."""
    for test in results["tests"]:
        assert test.get("status") in ("passed", "failed"), test
    return {test["extra_data"]["test"] for test in results["tests"] if test["status"] == "failed"}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)
def test_every_step_is_paid(chapter, tmp_path):
    """Each TODO fails the test it names until it is solved, and the score goes up when it is."""
    todos = skeleton.todos(chapter)
    full = setting("FULL")
    only = None if full else ",".join(todo.test for todo in todos)
    untouched = grade(chapter, 0, tmp_path)
    assert untouched["status"] == 1
    for test in untouched["tests"]:
        assert "killed by SIG" not in test["output"], "the untouched skeleton crashes"
    before, paid = untouched, set()
    for todo in todos:
        named = todo.test
        assert named in failed(before), f"TODO {todo.number} is not solved, and {named} passes"
        after = grade(chapter, todo.number, tmp_path, only)
        paid.add(named)
        assert not paid & failed(after), f"TODO {todo.number} is solved, and these fail"
        assert not full or after["score"] > before["score"], f"TODO {todo.number} is not paid"
        before = after
    solved = skeleton.sources(tmp_path / f"{chapter.number}-{len(todos)}")
    solution = skeleton.solution_without_marks(chapter)
    assert {path.name: path.read_text() for path in solved} == solution
