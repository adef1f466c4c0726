"""What follows when a server does not get through what one tries first: said once, and in time."""

from fractions import Fraction
from pathlib import Path

import pytest

from harness.grading import judge, scoring
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
