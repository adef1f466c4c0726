"""Late days: what the program of an instructor is told, and what may go wrong with it."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import pytest

from harness.authors.selftest.shell import script
from harness.course.handover import late
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage

EXAMPLE = f"{sys.executable} {ROOT}/docs/recipes/late-days.py"
DEADLINE = datetime.fromisoformat("2030-03-22T23:59+01:00").timestamp()  # of 04, there
DAY = 24 * 60 * 60


@pytest.mark.parametrize(
    "days, left",
    [(-5, 80), (0, 80), (0.1, 80), (3, 80), (3.01, 72), (4, 72), (5, 64), (12.5, 0), (40, 0)],
)
def test_the_example_has_three_free_days(days, left):
    """After three free days each day that has begun costs a tenth."""
    assert late.points(EXAMPLE, "ada", "04", 80, DEADLINE + days * DAY) == left


def test_the_example_knows_its_chapters():
    with pytest.raises(WrongUsage, match="fails for ada: there is no deadline for chapter 99"):
        late.points(EXAMPLE, "ada", "99", 80, DEADLINE)


def program(tmp_path: Path, text: str) -> str:
    return f"'{script(tmp_path / 'late days', text)}'"


def test_the_program_is_told_who_what_and_when(tmp_path):
    told = program(tmp_path, f"cat > '{tmp_path}/told'\necho 5")
    assert late.points(told, "名前 x", "02", 87.5, 1770000000) == 5
    text = (tmp_path / "told").read_text()
    assert text == (
        '{"name": "\\u540d\\u524d x", "chapter": "02", "points": 87.5, "time": 1770000000}'
    )


def test_a_grade_that_was_not_judged_stays_open(tmp_path):
    """It is not turned into a zero."""
    assert late.points(program(tmp_path, "echo 0"), "ada", "01", None, 0) is None


@pytest.mark.parametrize(
    "text, message",
    [
        ("echo no >&2; exit 3", "fails for ada: no"),
        ("exit 3", "fails for ada: status 3"),
        ("true", "it printed: nothing"),
        ("echo full marks", "it printed: full marks"),
        ("echo -5", "it printed: -5"),
        ("echo nan", "it printed: nan"),
        ("echo 87,5", "such as 87.5; it printed: 87,5"),
        ("echo 1_0", "it printed: 1_0"),
        ("echo ٢٠", "it printed: ٢٠"),
    ],
)
def test_a_program_that_prints_no_points(tmp_path, text, message):
    with pytest.raises(WrongUsage, match=message):
        late.points(program(tmp_path, text), "ada", "01", 5, 0)


@pytest.mark.parametrize("words", ["/no/such/program", "''", "'open"])
def test_a_program_that_there_is_not(words):
    with pytest.raises(WrongUsage, match="LATE="):
        late.points(words, "ada", "01", 5, 0)


def test_a_program_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(late, "SECONDS", 0.2)
    with pytest.raises(WrongUsage, match="did not end within 0.2 s for ada"):
        late.points(program(tmp_path, "exec sleep 60"), "ada", "01", 5, 0)
