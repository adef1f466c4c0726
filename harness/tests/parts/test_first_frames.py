"""What follows when a server does not get through what one tries first: said once, and in time."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from harness.grading import judge, report, scoring
from harness.grading.diagnosis import Diagnosis
from harness.grading.request import Request
from harness.grading.scoring import FAILED, NOT_JUDGED, PASSED, Claim, Grade, Outcome
from harness.lab import chapters


def outcome(name: str, text: str, verdict: str, points: int = 5, **detail: str) -> Outcome:
    chapter = chapters.find("04")
    claim = Claim(chapter, "04.1", name, text, Fraction(points), Path("t.py"), chapter)
    found = Diagnosis(True, "no", **detail) if verdict == FAILED else None
    return Outcome(claim, Fraction(points), verdict, found)


def a_grade(*outcomes: Outcome) -> Grade:
    return Grade(chapters.find("04"), "DIR", outcomes=list(outcomes))


def first(verdict: str, **detail: str) -> Outcome:
    return outcome("test_first", "Frames come back.", verdict, 0, **detail)


@pytest.mark.parametrize("others", [FAILED, PASSED])
def test_where_most_have_failed_it_is_told_with_one_of_the_next_todo(others):
    broken = outcome("test_b", "Other frames come back.", FAILED, steps="B")
    more = [outcome(f"test_{i}", "A client.", others, steps=str(i)) for i in range(3)]
    text = report.chapter(a_grade(broken, *more, first(FAILED, steps="A")))
    assert text.count("what happened") == 2
    assert text.index("FAILED  first of all") < text.index("what happened")
    assert ("perhaps most of them for the first reason" in text) == (others == FAILED)


def test_it_is_not_the_next_todo():
    """It fails until several TODOs are done, and says 04.1: that TODO may be done long ago."""
    later = replace(outcome("test_b", "A client.", FAILED).claim, number="04.3")
    grade = a_grade(first(FAILED), Outcome(later, Fraction(5), FAILED, Diagnosis(True, "no")))
    assert report.next_step(grade)[0].startswith("next: TODO 3")
    alone = a_grade(first(FAILED), outcome("test_a", "A client.", PASSED))
    assert report.next_step(alone)[0].endswith(" T=test_first")


def test_it_is_not_first_of_all_where_tests_were_selected():
    alone = replace(a_grade(first(FAILED)), selected="first")
    assert "FAILED  Frames come back.   (worth no points)" in report.chapter(alone)
    assert "first of all" not in report.chapter(alone)


def test_it_is_no_row_of_the_table():
    rows = report.table(a_grade(first(PASSED), outcome("test_a", "A client.", PASSED)))
    assert len(rows) == 1 and "A client." in rows[0]
    assert "Frames come back." in report.table(a_grade(first(PASSED)))[0]


def test_it_is_no_test_of_a_todo():
    claims = [first(PASSED).claim, outcome("test_a", "A client.", PASSED).claim]
    assert [claim.name for claim in scoring.select(claims, "04.1")] == ["test_a"]
    assert [claim.name for claim in scoring.select(claims, "first")] == ["test_first"]


@pytest.mark.parametrize("hint, verdict", [(scoring.BYTES, FAILED), ("silence", PASSED)])
def test_what_speaks_of_frames_is_lost_for_an_echo_of_bytes(hint, verdict):
    frames = outcome("test_a", "A frame comes back.", PASSED)
    clients = outcome("test_b", "200 clients are served.", PASSED)
    scoring.believe([first(FAILED, hint=hint), frames, clients])
    assert (frames.verdict, clients.verdict) == (verdict, PASSED)


@pytest.mark.parametrize(
    "verdict, seconds, memcheck, broken",
    [
        (FAILED, 61, False, True),
        (FAILED, 0, False, False),
        (FAILED, 61, True, False),
        (PASSED, 61, False, False),
    ],
)
def test_a_grade_goes_on_for_a_minute(monkeypatch, verdict, seconds, memcheck, broken):
    graded = a_grade(first(verdict, steps=""), outcome("test_a", "A client.", NOT_JUDGED))
    graded.memcheck = memcheck
    following = judge.Following(graded, Request())
    following._began -= seconds
    if not broken:
        following.tick()
        return
    with pytest.raises(judge.Broken):
        following.tick()
    judge._give_up(graded)
    assert [o.verdict for o in graded.outcomes] == [FAILED, FAILED]
    assert graded.outcomes[1].message.startswith("not run: ")
