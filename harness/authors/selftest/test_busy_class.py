"""The class that is graded on busy processors: what is handed in, and what counts as a fault."""

from __future__ import annotations

import sys

import pytest

from harness.authors import busy_class
from harness.lab import seed, sources
from harness.lab.chapters import find
from harness.lab.programs import answer

# In place of a grade: the solution has full marks but for one student, who is not judged.
GRADER = """
import json, sys
from pathlib import Path
word = lambda name: sys.argv[sys.argv.index(name) + 1]
text = Path(word("--dir"), "main.c").read_text()
blank = "/* student {blank} */" in text
verdict = "not judged" if blank else "passed"
result = {{"score": 100, "tests": [], "extra_data": {{"verdict": verdict, "not_judged": 1}}}}
Path(word("--results")).write_text(json.dumps(result))
"""


def test_a_class_has_every_kind(tmp_path):
    chapter = find("04")
    busy_class.hand_in(chapter, 60, tmp_path)
    found = sorted(tmp_path.iterdir())
    kinds = [path.name.split("-")[1] for path in found]
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    assert counts == {"right": 18, "begin": 6, "wrong": 36}
    assert len({seed.of_files(path) for path in found}) == 60
    begin = next(path for path in found if path.name.endswith("-begin"))
    assert sources.texts(begin)["conn.c"] == (chapter.chapter_dir / "conn.c").read_text()


def test_faults_are_blanks_and_solutions_without_full_marks():
    rows = [
        {"name": "000-right", "score": "100", "problem": ""},
        {"name": "001-wrong-x", "score": "60", "problem": ""},
        {"name": "002-wrong-y", "score": "", "problem": "1 claims were not judged"},
        {"name": "003-right", "score": "98.5", "problem": ""},
    ]
    assert busy_class.faults(rows) == [
        "002-wrong-y: blank  1 claims were not judged",
        "003-right: 98.5",
    ]
    assert busy_class.summary(rows) == "4 graded: 1 blank, 1 of 2 solutions lost points"


@pytest.mark.parametrize("blank, status", [(0, 1), (99, 0)])
def test_the_class_is_graded(tmp_path, blank, status):
    fake = tmp_path / "grader.py"
    fake.write_text(GRADER.format(blank=blank))
    words = ["--chapter", "01", "--students", "2", "--busy", "1", "--top", str(tmp_path)]
    module = [sys.executable, "-m", "harness.authors.busy_class", "--grader", str(fake)]
    ended = answer([*module, *words], 120)
    assert ended.returncode == status, ended.stderr
    assert f"2 graded: {status} blank, 0 of 1 solutions lost points" in ended.stdout
    assert ("000-right: blank" in ended.stdout) == (status == 1)
