"""Points, and the file that machines read."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from harness.tests import submissions
from harness.grading import report, results, scoring
from harness.grading.diagnosis import Diagnosis
from harness.grading.scoring import FAILED, NOT_JUDGED, PASSED, Claim, Grade, Outcome
from harness.lab.chapters import CHAPTERS, find

# https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
TOP = {"score", "output", "execution_time", "visibility", "stdout_visibility"}
TOP |= {"extra_data", "tests", "output_format", "test_output_format", "test_name_format"}
TEST = {"score", "max_score", "status", "name", "number", "output", "visibility", "extra_data"}


def claim(number: str, points: int, name: str = "", last: str = "") -> Claim:
    chapter = find(number[:2])
    last = find(last) if last else CHAPTERS[-1]
    name = name or f"test_{number.replace('.', '_')}_{points}"
    return Claim(chapter, number, name, "Text.", Fraction(points), Path(), chapter, last)


def grade(*verdicts: str, **more) -> Grade:
    worth = Fraction(100, len(verdicts) or 1)
    found = {FAILED: Diagnosis(True, "no")}
    outcomes = [
        Outcome(claim("01.1", 1, f"t{i}"), worth, v, found.get(v)) for i, v in enumerate(verdicts)
    ]
    return Grade(find("01"), "chapters/01-blocking", outcomes=outcomes, **more)


# Points


def test_own_claims_alone():
    worth = scoring.worths([claim("01.1", 30), claim("01.2", 70)], find("01"))
    assert list(worth.values()) == [30, 70]


def test_earlier_chapters_share_what_is_inherited(monkeypatch):
    monkeypatch.setitem(vars(find("03")), "inherited", 25)
    claims = [claim("01.1", 10), claim("01.2", 90), claim("02.1", 100), claim("03.1", 100)]
    assert list(scoring.worths(claims, find("03")).values()) == [1.25, 11.25, 12.5, 75]


def test_what_is_left_out_leaves_its_points_to_the_others(monkeypatch):
    monkeypatch.setitem(vars(find("03")), "inherited", 25)
    without_two = [claim("01.1", 10), claim("03.1", 60), claim("03.2", 20)]
    worth = scoring.worths(without_two, find("03"))
    assert list(worth.values()) == [25, Fraction(225, 4), Fraction(75, 4)]
    without_earlier = scoring.worths([claim("03.1", 10), claim("03.2", 30)], find("03"))
    assert list(without_earlier.values()) == [25, 75]


def test_claims_hold_for_their_chapters():
    claims = [claim("01.1", 1), claim("02.1", 2, last="02"), claim("02.2", 3, last="03")]
    held = {
        n: [c.points for c in scoring.holding(claims, find(n))] for n in ("01", "02", "03", "04")
    }
    assert held == {"01": [1], "02": [1, 2, 3], "03": [1, 3], "04": [1]}


@pytest.mark.parametrize(
    "wanted, found",
    [
        ("1.2", ["cut_more"]),
        ("test_01_cut", ["cut"]),
        ("CUT", ["cut", "cut_more"]),
        ("01.4", []),
        ("test_01_end, 1.1", ["cut", "end"]),
        ("test_01_cut,01.9", []),
    ],
)
def test_selection(wanted, found):
    names = ("cut", "cut_more", "end")
    claims = [claim(f"01.{at}", 1, f"test_01_{name}") for at, name in enumerate(names, 1)]
    assert [one.name for one in scoring.select(claims, wanted)] == [f"test_01_{n}" for n in found]


def test_points_are_rounded_down():
    texts = [scoring.number_text(Fraction(*f)) for f in ((100, 1), (9999, 100), (1, 3), (25, 2))]
    assert texts == ["100", "99.9", "0.3", "12.5"]


def test_loading_keeps_the_order(tmp_path):
    directory = submissions.claims(
        tmp_path, test_02_x=submissions.CLAIMS_02, test_01_x=submissions.CLAIMS_01
    )
    names = [claim.name for claim in scoring.load(directory)]
    assert names[:3] == ["test_01_connects", "test_01_echoes", "test_01_ends"]
    assert names[3:] == ["test_02_random_bytes", "test_02_only_here"]


def test_claims_of_two_files_come_in_the_order_of_their_todos(tmp_path):
    text = """
from harness.claims.marker import claim

@claim("01.{}", points=1)
def test_01_{}(server):
    "Text."
"""
    third, first = text.format(3, "third"), text.format(1, "first")
    directory = submissions.claims(tmp_path, test_01_a=third, test_01_b=first)
    names = [claim.name for claim in scoring.load(directory)]
    assert names == ["test_01_first", "test_01_third"]


ABOVE = "@claim('{}', points=1)\n"
BODY = "def test_01_x(server):\n    {}\n"


@pytest.mark.parametrize(
    "text, says",
    [
        (BODY.format("'Text.'"), r'put @claim\("01.1", points=...\) above it'),
        (ABOVE.format("01.1") + BODY.format("pass"), "give it a docstring"),
        (
            ABOVE.format("02.1") + BODY.format("'Text.'"),
            "names TODO '02.1'; in a file of chapter 01",
        ),
    ],
)
def test_claims_have_all_they_need(tmp_path, text, says):
    imports = "from harness.claims.marker import claim\n"
    with pytest.raises(scoring.ClaimsBroken, match=f"test_01_x.py: test_01_x: .*{says}"):
        scoring.load(submissions.claims(tmp_path, test_01_x=imports + text))


def test_two_claims_of_one_name_are_told_with_their_files(tmp_path):
    text = "from harness.claims.marker import claim\n"
    text += ABOVE.format("01.1") + BODY.format("'Text.'")
    directory = submissions.claims(tmp_path, test_01_a=text, test_01_b=text)
    with pytest.raises(scoring.ClaimsBroken, match="test_01_x: .* in test_01_a.py or test_01_b.py"):
        scoring.load(directory)


# Verdicts


@pytest.mark.parametrize(
    "verdicts, status",
    [
        ([PASSED, PASSED], 0),
        ([PASSED, FAILED], 1),
        ([PASSED, NOT_JUDGED], 2),
        ([FAILED, NOT_JUDGED], 2),
        ([], 2),
    ],
)
def test_exit_status(verdicts, status):
    assert grade(*verdicts).status == status


# The file


def test_only_keys_of_the_format(tmp_path):
    results.write(grade(PASSED, FAILED, NOT_JUDGED), tmp_path / "01.json")
    read = json.loads((tmp_path / "01.json").read_text())
    assert set(read) == TOP
    assert all(set(test) <= TEST for test in read["tests"])
    assert [test.get("status") for test in read["tests"]] == ["passed", "failed", None]
    assert [test["score"] for test in read["tests"]] == [33.33, 0, 0]
    assert read["score"] == 33.33
    assert read["extra_data"]["verdict"] == "not judged"
    assert read["extra_data"]["not_judged"] == 1
    verdicts = [test["extra_data"]["verdict"] for test in read["tests"]]
    assert verdicts == ["passed", "failed", "not judged"]
    assert list(tmp_path.iterdir()) == [tmp_path / "01.json"]
    assert results.as_json(grade(PASSED, FAILED))["extra_data"]["verdict"] == "failed"


def test_texts_are_not_html():
    read = results.as_json(grade(PASSED))
    formats = {name: value for name, value in read.items() if name.endswith("_format")}
    assert set(formats) == {"output_format", "test_output_format", "test_name_format"}
    assert set(formats.values()) == {"text"}


def test_the_worths_add_up_to_all_points():
    read = results.as_json(grade(PASSED, PASSED, PASSED))
    assert [test["max_score"] for test in read["tests"]] == [33.33, 33.33, 33.34]
    assert read["score"] == 100


def test_the_text_has_every_failure_in_full(tmp_path):
    one = grade(*[FAILED] * 9)
    path = tmp_path / "01.txt"
    results.write_in_full(one, path)
    assert path.read_text().count("what happened") == 9
    assert report.chapter(one).count("what happened") < 9
    assert f"more failed; all in full: {path}\n" in report.chapter(one)


def test_what_does_not_compile_has_a_test_that_says_so():
    read = results.as_json(grade(built=False, problem="main.c:1: error: no"))
    assert read["score"] == 0
    told = [(test["status"], test["output"]) for test in read["tests"]]
    assert told == [("failed", "main.c:1: error: no")]
