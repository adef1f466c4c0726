"""A process that grades one submission after the other: each as if it were the only one."""

from __future__ import annotations

import subprocess

import pytest

from harness.authors.mutants.grader import Grader
from harness.tests import submissions
from harness.server.linux import procfs

WORDS = ("--chapter", "01", "--dir")


@pytest.fixture
def grader():
    with Grader() as found:
        yield found


@pytest.fixture
def submitted(tmp_path):
    """submitted(name, source) -> the words that grade it, by the small claims"""
    claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_01)

    def words(name, source):
        directory = submissions.submission(tmp_path / name, source)
        return [*WORDS, str(directory), "--claims", str(claims)]

    return words


def test_one_grade_after_the_other(grader, submitted):
    """Nothing of one is left in the next."""
    right = submitted("right", submissions.right())
    wrong = submitted("wrong", submissions.right(submissions.WRONG_BYTE))
    found = [grader.grade(words) for words in (right, wrong, right)]
    assert [one.status for one in found] == [0, 1, 0]
    assert [one.results["score"] for one in found] == [100, 60, 100]
    assert ["FAILED" in one.stdout for one in found] == [False, True, False]
    assert [one.stderr for one in found] == ["", "", ""]


def test_wrong_usage_saves_nothing(grader):
    found = grader.grade([*WORDS, "/no/where"])
    assert (found.status, found.results) == (2, None)
    assert "this directory does not exist" in found.stderr


def test_one_that_was_killed_is_replaced(grader):
    grader._process.kill()
    grader._process.wait()
    assert grader.grade(["--chapter", "99"]).status == 2


def test_a_grade_that_takes_too_long_is_stopped(grader, submitted, tmp_path):
    slow = submissions.claims(tmp_path / "slow", test_01_x=submissions.CLAIMS_SLOW)
    words = submitted("right", submissions.right())
    with pytest.raises(subprocess.TimeoutExpired):
        grader.grade([*words[:-1], str(slow)], seconds=2)
    left = procfs.tree([grader._process.pid], procfs.table())[1:]
    assert left == []
    assert grader.grade(words).status == 0
