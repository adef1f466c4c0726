"""What a grade looks like, against texts that were found good by looking at them; and what a
failure says of the grade before."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from harness.failures import failure
from harness.failures.compare import compare
from harness.failures.hints import HINTS, PAGE
from harness.grading import history, judge, report, scoring, terminal
from harness.grading.diagnosis import Diagnosis
from harness.grading.report import Look
from harness.grading.request import Request
from harness.grading.scoring import FAILED, NOT_JUDGED, PASSED, Claim, Grade, Outcome
from harness.lab import chapters, command_line

HARNESS = chapters.ROOT / "harness"


def claim(number: str, name: str, text: str, points: int = 6) -> Claim:
    chapter = chapters.find(number.split(".")[0])
    return Claim(chapter, number, name, text, Fraction(points), Path("t.py"), chapter)


CUT = claim("01.3", "test_01_header_cut", "A header cut at every byte is put together again.")
FOUND = Diagnosis(
    failed=True,
    message="byte 4 of the body of the reply is 61 instead of 6f",
    hint="wrong-body",
    steps="   1  A connects\n   2  A sends 2 bytes: 05 00\n-> 3  A waits for a frame of 5 bytes",
    compare=compare(b"\5\0\0\0hello", b"\5\0\0\0hella", 78),
    server="killed by SIGPIPE",
    stderr="fd 4: opened\nfd 4: \x1b[31mclosed",
)

FAILURE = """\
FAILED  01.3  A header cut at every byte is put together again.
               6 points   (TODO 3, io.c)

  what happened
     byte 4 of the body of the reply is 61 instead of 6f
  conversation
     1  A connects
     2  A sends 2 bytes: 05 00
  -> 3  A waits for a frame of 5 bytes
  expected   05 00 00 00 68 65 6c 6c 6f   |....hello|
  received   05 00 00 00 68 65 6c 6c 61   |....hella|
                                     ^^ first difference at byte 8, counting from 0
             expected 9 bytes, received 9 bytes
  server     killed by SIGPIPE
             | fd 4: opened
             | fd 4: .[31mclosed
  hint       The length is right and the body is not. Look at the offset of the
             first difference. At 0 the body was taken from the wrong place;
             later, it is where one read() or write() ended and the next began.
             docs/reading-failures.md#wrong-bytes
  again      make replay ID=01-01_header_cut-7
  see        make trace ID=01-01_header_cut-7"""

CHAPTER = """\
02-nonblocking   one slow client must not stop everyone

  FAILED      6.6/20  inherited from 01: 1 of 3 claims passed
  FAILED       0/6.6  01.3  A header cut at every byte is put together again.
  not judged   0/6.6  01.4  A third.
  FAILED        0/40  02.1  Clients are served side by side.
  passed       40/40  02.2  A claim whose text is so long that it does not ...

FAILED  02.1  Clients are served side by side.   40 points   (TODO 1, buffer.c)

  what happened
     nothing came back for 8 s
  again      make replay ID=02-02_side-7
  see        make trace ID=02-02_side-7

1 more failed; all in full: build/results/02.txt

  not judged (1): no instrument

  46.6 of 100 points, 6.6 of them inherited   (3.2 s)
  next: TODO 1 (buffer.c): make grade CH=02 T=02.1
  some claims were not judged: no points, and no failure
  details: see the log"""


@pytest.fixture
def source(tmp_path):
    (tmp_path / "io.c").write_text("int main(void);\n")
    return tmp_path


def a_grade(source, number: str, outcomes) -> Grade:
    chapter = chapters.find(number)
    return Grade(
        chapter=chapter,
        subject=f"chapters/{chapter.slug}",
        source=source,
        outcomes=outcomes,
        seconds=3.21,
        seed=7,
        again=f"make grade CH={number}",
        in_full=f"build/results/{number}.txt",
    )


def chapter_two(source) -> Grade:
    third = Fraction(20, 3)
    long = "A claim whose text is so long that it does not fit into one line of a terminal of "
    return a_grade(
        source,
        "02",
        [
            Outcome(claim("01.1", "test_01_first", "A first."), third, PASSED),
            Outcome(CUT, third, FAILED, Diagnosis(True, "no")),
            Outcome(
                claim("01.4", "test_01_c", "A third."),
                third,
                NOT_JUDGED,
                Diagnosis(False, "no instrument"),
            ),
            Outcome(
                claim("02.1", "test_02_side", "Clients are served side by side."),
                Fraction(40),
                FAILED,
                Diagnosis(True, "nothing came back for 8 s"),
            ),
            Outcome(claim("02.2", "test_02_long", f"{long}eighty columns."), Fraction(40), PASSED),
        ],
    )


def test_a_failure(source):
    outcome = Outcome(CUT, Fraction(6), FAILED, FOUND)
    assert "\n".join(report.failure(a_grade(source, "01", [outcome]), outcome)) == FAILURE


def test_a_chapter(source, monkeypatch):
    monkeypatch.setattr(report, "SHOWN_IN_FULL", 1)
    assert report.chapter(chapter_two(source)) == CHAPTER


def test_verbose_shows_every_failure(source, monkeypatch):
    monkeypatch.setattr(report, "SHOWN_IN_FULL", 1)
    text = report.chapter(chapter_two(source), Look(verbose=True))
    assert text.count("what happened") == 2
    assert "more failed" not in text


def test_a_board_line(source):
    line = report.board_line(chapter_two(source))
    assert line == "  02-nonblocking  [####+.......]   40+6     2/5    3 s  next: TODO 1 (buffer.c)"
    assert len(report.board_head()) == len(line.split("  next")[0])
    assert len(line.replace("buffer.c", "options.c")) <= 80


def test_the_end_of_the_board(source):
    full = a_grade(source, "01", [Outcome(CUT, Fraction(100), PASSED)])
    legend = "  points: for the chapter itself (#), and for what it inherits (+)"
    assert report.board_end([full]) == [
        "  100 of 100 points",
        legend,
        "  make grade CH=NN shows one of them in full",
    ]
    assert report.board_end([full, chapter_two(source)]) == [
        "  146.6 of 200 points",
        legend,
        "  next: make grade CH=02",
    ]


def test_only_inherited_claims_failed(source):
    grade = chapter_two(source)
    grade.outcomes[3].verdict = PASSED
    assert report.next_step(grade) == [
        "next: what the server of chapter 01 could do: "
        "make grade CH=02 T=test_01_header_cut SEED=7",
        "some claims were not judged: no points, and no failure",
        "details: see the log",
    ]


def test_a_todo_that_is_done_names_the_next_one(source):
    for number, step in (
        ("01.2", "TODO 3 (io.c): make grade CH=01 T=01.3"),  # first_frames is of no TODO
        ("06.1", "TODO 2 (server/conn.c): make grade CH=06 T=06.2"),
    ):
        claims = scoring.select(scoring.load(), number)
        outcomes = [Outcome(one, Fraction(1), PASSED) for one in claims]
        grade = replace(a_grade(source, number[:2], outcomes), selected=number)
        assert report.next_step(grade) == [f"next: {step}"]
    for other in (
        replace(grade, outcomes=outcomes[1:]),  # only some of its claims
        replace(grade, source=grade.chapter.solution_dir),
    ):
        assert report.next_step(other) == ["next: make grade CH=06"]


def test_a_todo_that_has_failed_comes_before_the_next_one(source):
    """When nothing is left of the chapter, all of it is graded."""
    claims = scoring.select(scoring.load(), "06.3")
    outcomes = [Outcome(one, Fraction(1), PASSED) for one in claims]
    grade = replace(a_grade(source, "06", outcomes), selected="06.3")
    failed = replace(grade, last_failed=frozenset(["test_06_watches", "test_06_wake_before"]))
    assert report.next_step(failed) == [
        "next: TODO 1 (events/events.c): make grade CH=06 T=06.1"
    ]
    own = frozenset(claim.name for claim in scoring.load() if claim.chapter.number == "06")
    done = replace(grade, once_passed=own, last_failed=frozenset(["test_03_signals"]))
    assert report.next_step(done) == ["next: make grade CH=06"]


def test_what_has_failed_is_kept_until_it_passes(source, tmp_path):
    file = tmp_path / "01-passed.json"
    for verdict, failed in ((FAILED, {CUT.name}), (PASSED, set())):
        grade = a_grade(source, "01", [Outcome(CUT, Fraction(1), verdict, Diagnosis(True, "x"))])
        history.compare(grade, file)
        later = a_grade(source, "01", [])
        history.compare(later, file)
        assert later.last_failed == failed


def test_full_marks_name_the_next_chapter(source):
    grade = a_grade(source, "01", [Outcome(CUT, Fraction(100), PASSED)])
    step = "next: chapter 02, chapters/02-nonblocking/README.md"
    assert report.next_step(grade) == [step]
    assert report.next_step(a_grade(source, chapters.CHAPTERS[-1].number, grade.outcomes)) == []


def test_full_marks_name_no_chapter_that_was_not_handed_out(source, monkeypatch, tmp_path):
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    grade = a_grade(source, "01", [Outcome(CUT, Fraction(100), PASSED)])
    assert report.next_step(grade) == ["chapter 02 is not in this copy of the lab"]


def test_where_no_line_can_be_written_again_each_test_gets_one(capsys):
    progress = terminal.Progress(3, told=True)
    progress.begun(CUT.name)
    long = replace(CUT, text="A text that is too long for one line of a terminal, by some words.")
    free = replace(CUT, points=Fraction(0))
    for verdict, one in ((PASSED, CUT), (FAILED, long), (NOT_JUDGED, free)):
        progress.found(Outcome(one, Fraction(6), verdict))
    progress.clear()
    assert capsys.readouterr().out.splitlines() == [
        "  passed      01.3  A header cut at every byte is put together again.",
        "  FAILED      01.3  A text that is too long for one line of a terminal, by ...",
        "  not judged        A header cut at every byte is put together again.",
        "",
    ]


@pytest.mark.parametrize("told, quiet", [(False, False), (True, True)])
def test_tests_are_not_told_unless_that_is_wanted(told, quiet, capsys):
    progress = terminal.Progress(1, told, quiet=quiet)
    progress.found(Outcome(CUT, Fraction(6), PASSED))
    progress.clear()
    assert capsys.readouterr().out == ""


def test_beside_gdb_no_line_is_written_again(monkeypatch, capsys):
    """It would be written over gdb's prompt."""
    monkeypatch.setattr(command_line, "knows_escapes", lambda stream: True)
    terminal.Progress(1)
    assert "0 of 1 tests" in capsys.readouterr().out
    request = Request(debugger=Path("pid"))
    judge.Following(Grade(chapters.find("01"), "DIR"), request).tick()
    assert capsys.readouterr().out == ""


def test_colours_do_not_change_the_text(source):
    grade = chapter_two(source)
    coloured = report.chapter(grade, Look(colour=True))
    assert "\033[31m" in coloured
    assert re.sub(r"\033\[\d+m", "", coloured) == report.chapter(grade)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_are_as_wide_as_the_terminal(source, width):
    lines = report.chapter(chapter_two(source), Look(width, verbose=True)).splitlines()
    assert max(map(len, lines)) <= width


def test_the_server_cannot_write_beyond_the_widest_line(source):
    found = replace(FOUND, stderr="x" * 500, steps="-> 1  " + "y" * 500)
    outcome = Outcome(CUT, Fraction(6), FAILED, found)
    lines = report.failure(a_grade(source, "01", [outcome]), outcome)
    assert max(map(len, lines)) <= report.WIDEST


@pytest.mark.parametrize("chapter", chapters.CHAPTERS, ids=lambda chapter: chapter.slug)
def test_the_file_of_a_todo(chapter):
    """Is told by the heading of each in the handout, and has its comment."""
    files = {number: file for number, (file, _) in report.todos(chapter).items()}
    claims = [claim for claim in scoring.load() if claim.chapter == chapter]
    assert {claim.todo for claim in claims} <= files.keys()
    for number, file in files.items():
        assert f"TODO {number}:" in (chapter.chapter_dir / file).read_text()


def test_every_key_has_a_hint():
    places = dict.fromkeys(failure.HINT_KEYS, "HINT_KEYS in harness/failures/failure.py")
    for path in HARNESS.rglob("*.py"):
        if "tests" not in path.parts:
            found = re.findall(r'\bhint="([a-z-]+)"', path.read_text())
            places.update(dict.fromkeys(found, str(path.relative_to(HARNESS.parent))))
    for key in places.keys() - set(HINTS):
        pytest.fail(
            f"{places[key]}: there is no hint {key!r}: take a key of harness/failures/hints, or "
            "add it to the file of its heading there"
        )


def test_hints_are_short_and_have_a_place():
    for hint in HINTS.values():
        assert 1 <= len(re.findall(r"[.?!](?= |$)", hint.text)) <= 3, hint.text
        assert re.fullmatch(PAGE + r"#[a-z-]+", hint.place)


# What is said of the grade before


@pytest.fixture
def grade(tmp_path):
    """grade(verdict, **files) -> what is said of the only test, with these files."""
    source = tmp_path / "mine"
    source.mkdir()

    def run(verdict: str, directory=source, **files: str) -> str:
        for name, text in files.items():
            (directory / f"{name}.c").write_text(text)
        outcome = Outcome(CUT, Fraction(5), verdict)
        if verdict == FAILED:
            outcome.fail("no")
        graded = a_grade(directory, "01", [outcome])
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
