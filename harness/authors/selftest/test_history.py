"""What a failure says of the grade before: that the test has passed, and what has changed since."""

from fractions import Fraction
from pathlib import Path

import pytest

from harness.grading import history
from harness.grading.scoring import FAILED, PASSED, Claim, Grade, Outcome
from harness.lab import chapters

BLOCKING = chapters.find("01")
CLAIM = Claim(BLOCKING, "01.1", "test_a", "A.", Fraction(5), Path("t.py"), BLOCKING)


@pytest.fixture
def grade(tmp_path):
    """grade(verdict, **files) -> what is said of the only test, with these files."""
    source = tmp_path / "mine"
    source.mkdir()

    def run(verdict: str, directory=source, **files: str) -> str:
        for name, text in files.items():
            (directory / f"{name}.c").write_text(text)
        outcome = Outcome(CLAIM, Fraction(5), verdict)
        if verdict == FAILED:
            outcome.fail("no")
        graded = Grade(BLOCKING, "DIR", source=directory, outcomes=[outcome])
        history.compare(graded, tmp_path / "build" / "01-passed.json")
        return outcome.diagnosis.before if outcome.diagnosis else ""

    return run


def test_nothing_is_said_of_what_never_passed(grade):
    assert grade(FAILED, conn="1") == ""
    assert grade(FAILED, conn="2") == ""


def test_what_has_changed_since_it_passed(grade):
    assert grade(PASSED, conn="1", io="1") == ""
    assert grade(FAILED, conn="2") == "passed; changed since: conn.c"
    assert grade(FAILED, io="2") == "passed; changed since: conn.c, io.c"
    assert grade(PASSED) == ""
    assert grade(FAILED) == "passed; no file has changed since"


def test_new_files_and_many(grade):
    grade(PASSED, conn="1")
    said = grade(FAILED, a="1", b="1", c="1", d="1", e="1")
    assert said == "passed; changed since: a.c, b.c, c.c, d.c and 1 more"


def test_another_directory_has_its_own_history(grade, tmp_path):
    grade(PASSED, conn="1")
    (tmp_path / "other").mkdir()
    assert grade(FAILED, tmp_path / "other", conn="2") == ""


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"source": 1}', '{"source": "X", "passed": 3}'])
def test_a_spoilt_file_is_no_history(grade, tmp_path, text):
    grade(PASSED, conn="1")
    file = tmp_path / "build" / "01-passed.json"
    file.write_text(text.replace("X", str(tmp_path / "mine")))
    assert grade(FAILED, conn="2") == ""
