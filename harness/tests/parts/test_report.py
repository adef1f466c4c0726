"""What a grade looks like: failures, the page of a chapter, the board, the files for programs; made
from results that no server has given, and compared with texts that were found good by reading."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from harness.tests import golden
from harness.failures import failure
from harness.failures.compare import compare
from harness.failures.conversation import Conversation
from harness.failures.failure import Failure
from harness.failures.hints import HINTS
from harness.grading import history, report, results, scoring
from harness.grading.diagnosis import Diagnosis
from harness.grading.report import Look
from harness.grading.scoring import FAILED, NOT_JUDGED, PASSED, Claim, Grade, Outcome
from harness.lab import chapters

HARNESS = chapters.ROOT / "harness"


def claim(number: str, name: str, text: str, points: int = 6, last: str = "12") -> Claim:
    chapter = chapters.find(number[:2])
    fraction, until = Fraction(points), chapters.find(last)
    return Claim(chapter, number, name, text, fraction, Path("t.py"), chapter, until)


CUT = claim("01.3", "test_01_header_cut", "A header cut at every byte is put together again.")
LONG = claim("02.2", "test_02_long", f"A claim with {'many ' * 15}words, more than fit in a line.")
SIDE = claim("02.1", "test_02_side", "Clients are served side by side.")
FIRST = claim("01.1", "test_01_first_frames", "Two frames come back.", points=0)
FOUND = Diagnosis(
    failed=True,
    message="byte 4 of the body of the reply is 61 instead of 6f",
    hint="wrong-body",
    steps="   1  A connects\n   2  A sends 2 bytes: 05 00\n-> 3  A waits for a frame of 5 bytes",
    compare=compare(b"\5\0\0\0hello", b"\5\0\0\0hella", 78),
    server="killed by SIGPIPE",
    stderr="fd 4: opened\nfd 4: \x1b[31mclosed",
    crashed="in flush(), conn.c:30",
    before="passed; changed since: conn.c",
).printable()
RACE = Diagnosis(True, "the thread sanitizer found a data race", "data-race")
WARNED = "conn.c:30:5: warning: unused variable 'x' [-Wunused-variable]\n"


def a_grade(number: str, *outcomes: Outcome, **more) -> Grade:
    chapter = chapters.find(number)
    return Grade(
        chapter=chapter,
        outcomes=list(outcomes),
        **{
            "subject": f"chapters/{chapter.slug}",
            "source": chapter.chapter_dir,
            "seconds": 3.21,
            "seed": 7,
            "again": f"make grade CH={number}",
            "in_full": f"build/results/{number}.txt",
            **more,
        },
    )


def outcome(claim: Claim, worth: int, verdict: str, found: Diagnosis | None = None) -> Outcome:
    found = found or {FAILED: Diagnosis(True, "nothing came back for 8 s")}.get(verdict)
    found = found or {NOT_JUDGED: Diagnosis(False, "no instrument here")}.get(verdict)
    return Outcome(claim, Fraction(worth), verdict, found, 0.5)


INHERITED = outcome(claim("01.2", "test_01_a", "A first."), 5, PASSED)
CHAPTER_TWO = a_grade(
    *("02", INHERITED, outcome(CUT, 5, FAILED), outcome(SIDE, 40, FAILED, FOUND)),
    *(outcome(replace(SIDE, name="test_02_b"), 5, NOT_JUDGED), outcome(LONG, 45, PASSED)),
    warnings=WARNED,
)
FULL = a_grade("01", outcome(CUT, 100, PASSED))
EXPLAINED = a_grade("02", outcome(FIRST, 0, FAILED), outcome(SIDE, 50, FAILED), INHERITED)
NOT_BUILT = a_grade("02", built=False, problem="main.c:1: error: no\n", source=None)
ELSEWHERE = a_grade(
    *("01", outcome(CUT, 100, FAILED)),
    **{"subject": "DIR=mine", "memcheck": True, "selected": "01.3", "elsewhere": " DIR=mine"},
)
ONLY_OLD = a_grade("02", outcome(CUT, 50, FAILED), outcome(SIDE, 50, PASSED))
GRADES = {
    "each verdict": CHAPTER_TWO,
    "full marks": FULL,
    "full marks of the last chapter": a_grade("12", outcome(CUT, 100, PASSED)),
    "one failure explains the others": EXPLAINED,
    "it does not compile": NOT_BUILT,
    "only what is inherited failed": ONLY_OLD,
    "memory faults come first": a_grade(
        "01", outcome(CUT, 50, FAILED), outcome(SIDE, 50, FAILED, RACE)
    ),
    "one TODO of another directory, under valgrind": ELSEWHERE,
    "nothing was judged": a_grade("01", outcome(CUT, 100, NOT_JUDGED)),
}


def test_the_page_of_a_chapter():
    parts = [f"## {name}, status {g.status}\n{report.chapter(g)}" for name, g in GRADES.items()]
    parts.append(f"## V=1\n{report.chapter(CHAPTER_TWO, Look(verbose=True))}")
    lines = map(report.board_line, GRADES.values())
    end = report.board_end([FULL, CHAPTER_TWO])
    parts.append("\n".join(["## the board", report.board_head(), *lines, *end]))
    parts.append("\n".join(["## its end with full marks", *report.board_end([FULL])]))
    golden.check("report", "\n\n".join(parts))


def test_the_file_for_programs(tmp_path):
    """https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format; the worths are
    rounded to hundredths whose sum is 100."""
    third = [outcome(SIDE, 1, PASSED) for _ in range(3)]
    for one in third:
        one.worth = Fraction(100, 3)
    assert [test["max_score"] for test in results.as_json(a_grade("02", *third))["tests"]] == [
        *(33.33, 33.33, 33.34)
    ]
    found = []
    for grade in (CHAPTER_TWO, NOT_BUILT):
        results.write(grade, tmp_path / "01.json")
        found.append((tmp_path / "01.json").read_text())
    assert list(tmp_path.iterdir()) == [tmp_path / "01.json"]
    golden.check("results-json", "\n".join(found))
    many = a_grade("02", *[outcome(SIDE, 10, FAILED, FOUND)] * 9, in_full="")
    results.write_in_full(many, tmp_path / "01.txt")
    assert (tmp_path / "01.txt").read_text().count("what happened") == 9
    assert f"more failed; all in full: {tmp_path}/01.txt" in report.chapter(many)


def test_each_line_fits_the_terminal_and_colours_change_no_text():
    wide = replace(FOUND, stderr="x" * 500, steps="-> 1  " + "y" * 500)
    grade = a_grade("02", outcome(SIDE, 100, FAILED, wide))
    assert max(map(len, report.chapter(grade).splitlines())) <= report.WIDEST
    for width in (60, 80, 100):
        one = a_grade("02", outcome(SIDE, 55, FAILED), INHERITED, outcome(LONG, 45, PASSED))
        lines = report.chapter(one, Look(width, verbose=True)).splitlines()
        assert max(map(len, lines)) <= width
    coloured = report.chapter(CHAPTER_TWO, Look(colour=True))
    assert "\033[31m" in coloured
    assert re.sub(r"\033\[\d+m", "", coloured) == report.chapter(CHAPTER_TWO)


# Points


def test_the_next_todo():
    """The first one that has failed, or the one after those that were selected."""
    for number, failed, step in (
        ("01.2", [], "TODO 3 (io.c): make grade CH=01 T=01.3"),
        ("06.1", [], "TODO 2 (server/conn.c): make grade CH=06 T=06.2"),
        ("06.3", ["test_06_watches"], "TODO 1 (events/events.c): make grade CH=06 T=06.1"),
    ):
        claims = scoring.select(scoring.load(), number)
        outcomes = [outcome(one, 1, PASSED) for one in claims]
        grade = a_grade(number[:2], *outcomes, selected=number, last_failed=frozenset(failed))
        assert report.next_step(grade) == [f"next: {step}"]
        some = replace(grade, outcomes=outcomes[1:], last_failed=frozenset())
        assert len(claims) == 1 or report.next_step(some) == [f"next: {grade.again}"]


def test_earlier_chapters_share_what_is_inherited(monkeypatch):
    monkeypatch.setitem(vars(chapters.find("03")), "inherited", 25)
    numbers = (("01.1", 10), ("01.2", 90), ("02.1", 100), ("03.1", 100))
    claims = [claim(number, f"t{number}", "", points) for number, points in numbers]
    three = chapters.find("03")
    assert list(scoring.worths(claims, three).values()) == [1.25, 11.25, 12.5, 75]
    assert list(scoring.worths([claims[0], claims[3]], three).values()) == [25, 75]
    assert list(scoring.worths(claims[3:], three).values()) == [100]
    texts = [scoring.number_text(Fraction(*f)) for f in ((100, 1), (9999, 100), (1, 3), (25, 2))]
    assert texts == ["100", "99.9", "0.3", "12.5"]
    held = scoring.holding([claim("01.1", "x", "", last="02"), claims[2]], three)
    assert held == [claims[2]]
    claims = [claim(f"01.{at}", f"test_01_{one}", "") for at, one in enumerate(("cut", "cut_2"))]
    for wanted, count in {"1.1": 1, "test_01_cut": 1, "CUT": 2, "01.4": 0, "01.0,01.9": 0}.items():
        assert len(scoring.select(claims, wanted)) == count


# Steps and bytes


def test_the_caret_is_under_the_difference_wherever_it_is():
    for size in (1, 2, 15, 16, 17, 33, 200):
        expected = bytes(size)
        for at in range(size):
            wrong = expected[:at] + b"\xee" + expected[at + 1 :]
            for received, row, shown in ((wrong, 1, "ee"), (expected[:at], 0, "00")):
                for width in (40, 74, 80):
                    lines = compare(expected, received, width).splitlines()
                    column = lines[2].index("^^")
                    assert lines[row][column : column + 2] == shown
                    assert max(map(len, lines[:2])) <= width
    big = b"a" * 32_000_000
    assert "first difference at byte 31,999,997" in compare(big, big[:-3] + b"b")


def conversation(*steps, failed=None):
    talk = Conversation()
    for who, text in steps:
        talk.note(who, text)
    if failed is not None:
        talk.steps[failed].failed = True
    return talk


def test_conversations():
    late = Failure("nothing came to B")
    late.__context__ = last = Failure("nothing")
    expected = conversation(("A", "reads"), ("A", "closes"), ("B", "waits"))
    for step, error in ((expected.steps[0], Failure("closed")), (expected.steps[2], last)):
        with pytest.raises(Failure), step:
            raise error
    expected.blame(late)
    outside = conversation(("A", "reads"), ("A", "closes"), failed=0)
    outside.blame(Failure("the log is too long"))
    talks = [
        conversation(("A", "connects"), ("B", "waits"), ("A", "closes"), failed=1),
        conversation(*[("A", "sends 1 byte")] * 1000, ("A", "waits")),
        conversation(*((name, "sends 1 byte") for name in "EFGCABH")),
        conversation(*((name, "leaves") for name in ("Z", "AA", "D", "AC", "AE", "AG", "AI"))),
        conversation(*((name, "connects") for name in ("stays", "B", "other", "A"))),
        *(expected, outside),
    ]
    long = [(f"A{number}", f"does {number}") for number in range(100)]
    for failed in (0, 1, 50, 98, 99):
        for limit in (4, 5, 16):
            text = conversation(*long, failed=failed).render(limit)
            assert len(text.splitlines()) <= limit and f"-> {failed + 1:>3}  A{failed}" in text
    talks.append(conversation(*long, failed=50))
    golden.check("conversations", "\n\n".join(talk.render(8) for talk in talks))


# Hints, and what is said of the grade before


def test_every_key_has_a_hint():
    texts = [path.read_text() for path in HARNESS.rglob("*.py") if "tests" not in path.parts]
    named = re.findall(r'\bhint="([a-z-]+)"', "".join(texts))
    assert not {*failure.HINT_KEYS, *named} - set(HINTS)


def test_what_has_changed_since_it_passed(tmp_path):
    file, mine, other = tmp_path / "01-passed.json", tmp_path / "mine", tmp_path / "other"

    def grade(verdict: str, text: str = "", directory: Path = mine) -> tuple[str, set[str]]:
        directory.mkdir(exist_ok=True)
        for name in text.split():
            (directory / f"{name[0]}.c").write_text(name)
        found = outcome(CUT, 5, verdict)
        graded = a_grade("01", found, source=directory)
        history.compare(graded, file)
        return (found.diagnosis.before if found.diagnosis else ""), set(graded.last_failed)

    failing = {CUT.name}
    assert grade(FAILED, "a1 b1") == ("", failing)
    assert grade(FAILED, "a2") == ("", failing)
    assert grade(PASSED) == ("", set())
    assert grade(FAILED) == ("passed; no file has changed since", failing)
    assert grade(FAILED, "a3") == ("passed; changed since: a.c", failing)
    many = "passed; changed since: a.c, b.c, c.c, d.c and 1 more"
    assert grade(FAILED, "b2 c1 d1 e1") == (many, failing)
    assert grade(FAILED, "a1", other) == ("", failing)
    grade(PASSED)
    kept = json.loads(file.read_text())
    for spoilt in ("", "{}", "[]", json.dumps({**kept, "passed": 3, "failed": []})):
        file.write_text(spoilt)
        assert grade(FAILED) == ("", failing)
