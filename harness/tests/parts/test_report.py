"""What a grade looks like: failures, the page of a chapter, the board, the files for programs; made
from results that no server has given, and compared with texts that were found good by reading."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from harness.claims.context import sanitizers
from harness.feedback.compare import compare
from harness.feedback.conversation import Conversation
from harness.feedback.failure import Failure
from harness.grade import board, judge, report, results, scoring, terminal
from harness.grade.diagnosis import Diagnosis
from harness.grade.report import Look
from harness.grade.request import Request, one_test, parse
from harness.grade.scoring import FAILED, NOT_JUDGED, PASSED, Claim, Grade, Outcome
from harness.student.watch import stamp
from harness.submission import chapters, command_line, seed, todos
from harness.submission.chapters import ROOT
from harness.tests import golden


def claim(number: str, name: str, text: str, **more) -> Claim:
    chapter = chapters.find(number[:2])
    told = {"chapter": chapter, "name": name, "text": text, "file": Path("t.py")}
    return Claim(number, **told, **more)


CUT = claim("01.3", "test_01_header_cut", "A header cut at every byte is put together again.")
LONG = claim("02.2", "test_02_long", f"A claim with {'many ' * 15}words, more than fit in a line.")
SIDE = claim("02.1", "test_02_side", "Clients are served side by side.")
FIRST = claim("01.1", "test_01_first_frames", "Two frames come back.", explains=True)
FOUND = Diagnosis(
    failed=True,
    message="byte 4 of the body of the reply is 61 instead of 6f",
    hint="wrong-body",
    steps="   1  A connects\n   2  A sends 2 bytes: 05 00\n-> 3  A waits for a frame of 5 bytes",
    compare=compare(b"\5\0\0\0hello", b"\5\0\0\0hella", 78),
    server="killed by SIGPIPE",
    stderr="fd 4: opened\nfd 4: \x1b[31mclosed",
    crashed="in flush(), conn.c:30",
).printable()


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


INHERITED = outcome(claim("01.2", "test_01_a", "A first."), 0, PASSED)
ARRIVES = claim("01.7", "test_01_late", "Every reply arrives.", fatal="bytes")
CHAPTER_TWO = a_grade(
    *("02", INHERITED, outcome(CUT, 0, FAILED), outcome(SIDE, 45, FAILED, FOUND)),
    *(outcome(replace(SIDE, name="test_02_b"), 5, NOT_JUDGED), outcome(LONG, 50, PASSED)),
    warnings="conn.c:30:5: warning: unused variable 'x' [-Wunused-variable]\n",
)
FULL = a_grade("01", outcome(CUT, 100, PASSED))
NOT_BUILT = a_grade("02", built=False, problem="main.c:1: error: no\n", source=None)
MINE = {"subject": "DIR=mine", "memcheck": True, "selected": "01.3", "elsewhere": " DIR=mine"}
EXPLAINED = a_grade("02", outcome(FIRST, 0, FAILED), outcome(SIDE, 50, FAILED), INHERITED)
RACE = Diagnosis(True, "the thread sanitizer found a data race", "data-race", fatal="memory")
CRASH = replace(FOUND, fatal="crash")
CLAIMS = {claim.name: claim for claim in scoring.load()}
THIRD = [outcome(one, 20, PASSED) for one in scoring.select([*CLAIMS.values()], "06.3")]
GRADES = {
    "a TODO that passes": a_grade("06", *THIRD, selected="06.3"),
    "each verdict": CHAPTER_TWO,
    "full marks": FULL,
    "full marks of the last chapter": a_grade("12", outcome(CUT, 100, PASSED)),
    "one failure explains the others": EXPLAINED,
    "it does not compile": NOT_BUILT,
    "only guards failed": a_grade("02", outcome(LONG, 100, PASSED), outcome(CUT, 0, FAILED)),
    "a fatal fault": a_grade("02", outcome(LONG, 100, PASSED), outcome(ARRIVES, 0, FAILED)),
    "a crash": a_grade("02", outcome(SIDE, 60, PASSED), outcome(LONG, 40, FAILED, CRASH)),
    "guards alone": a_grade("02", INHERITED, outcome(CUT, 0, FAILED), selected="1", changed="+3"),
    "a race comes first": a_grade("02", outcome(SIDE, 50, FAILED), outcome(LONG, 50, FAILED, RACE)),
    "a TODO of another directory, under valgrind": a_grade("01", outcome(CUT, 50, FAILED), **MINE),
    "nothing was judged": a_grade("01", outcome(CUT, 100, NOT_JUDGED)),
}


def test_the_page_of_a_chapter(tmp_path, monkeypatch):
    parts = [f"## {name}, status {g.status}\n{report.chapter(g)}" for name, g in GRADES.items()]
    parts.append(f"## V=1\n{report.chapter(CHAPTER_TWO, Look(verbose=True))}")
    parts.append(f"## the board\n{the_board(tmp_path, monkeypatch)}")
    golden.check("report", "\n\n".join(parts))


def the_board(tmp_path, monkeypatch):
    """What `make grade` prints: nothing is graded that has not changed."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(board, "RESULTS", tmp_path)
    monkeypatch.setattr(board.todos, "is_untouched", lambda chapter, _: chapter.number > "04")
    monkeypatch.setattr(board, "grade_target", lambda target, _: write(target.chapter.number))
    texts = {"01": FULL, "02": GRADES["a fatal fault"], "03": CHAPTER_TWO}

    def write(number, old=False):
        chapter = chapters.find(number)
        same = {"chapter": chapter, "subject": f"chapters/{chapter.slug}"}
        graded = replace(texts.get(number, FULL), **same)
        graded.seed = old or seed.of_files(chapter.chapter_dir)
        results.write(graded, tmp_path / f"{number}.json")
        os.utime(tmp_path / f"{number}.json", (0, 0))

    for number in texts:
        write(number, old=number == "03")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = board.show(parse([]), Request())
    return f"{printed.getvalue()}status {status}"


def test_the_file_for_programs(tmp_path):
    """https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format; the worths are
    rounded to hundredths whose sum is 100."""
    thirds = [Outcome(SIDE, Fraction(100, 3), PASSED) for _ in range(3)]
    worths = [test["max_score"] for test in results.as_json(a_grade("02", *thirds))["tests"]]
    assert worths == [33.33, 33.33, 33.34]
    read = [results.as_json(grade) for grade in (CHAPTER_TWO, NOT_BUILT)]
    golden.check("results-json", json.dumps(read, indent=1))
    many = a_grade("02", *[outcome(SIDE, 10, FAILED, FOUND)] * 9)
    results.write_in_full(many, tmp_path / "02.txt")
    assert (tmp_path / "02.txt").read_text().count("what happened") == 9
    assert f"more failed; all in full: {tmp_path}/02.txt" in report.chapter(many)


def test_progress_names_the_test_that_has_run_for_the_longest(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "knows_escapes", lambda _: True)
    progress = terminal.Progress(3)
    for one in (CUT, SIDE, LONG):
        progress.begun(one.name)
    progress.found(outcome(CUT, 5, FAILED))
    last = capsys.readouterr().out.split("\r\033[K")[-1]
    assert last == "  1 of 3 tests, 1 failed; 0 s in test_02_side"


def test_a_report_of_a_sanitizer_is_cut_to_lines_of_the_student():
    frames = [("memcpy", "interceptors.inc:115"), *[("f", "/usr/include/a.h:7")] * 4]
    frames += [("reader_take", "/x/reader.c:30"), *[("again", "conn.c:9")] * 4]
    stack = "".join(f"    #{at} 0x7f in {f} {where}\n" for at, (f, where) in enumerate(frames))
    title = "ERROR: AddressSanitizer: heap-use-after-free on address 0x6\nREAD of size 4 at 0x6"
    found = sanitizers.fault(f"==1=={title}\n{stack}\n", {"reader.c", "conn.c"})
    shown = ["  in reader_take (reader.c:30)", *["  in again (conn.c:9)"] * 3]
    assert found.message.splitlines()[1:] == shown
    assert found.message.startswith("AddressSanitizer: heap-use-after-free, READ of size 4\n")


def test_each_line_fits_the_terminal_and_colours_change_no_text():
    wide = replace(FOUND, stderr="x" * 500, steps="-> 1  " + "y" * 500)
    text = report.chapter(a_grade("02", outcome(SIDE, 100, FAILED, wide)))
    assert max(map(len, text.splitlines())) <= report.WIDEST
    coloured = report.chapter(CHAPTER_TWO, Look(colour=True))
    assert "\033[31m" in coloured
    assert re.sub(r"\033\[\d+m", "", coloured) == report.chapter(CHAPTER_TWO)


# Points


def test_the_points_of_a_todo_are_shared(monkeypatch):
    """Its basic claim has half, and guards have none."""
    worth = {1: todos.Worth("t1", 60), 2: todos.Worth("t2", 40)}
    monkeypatch.setattr(scoring, "worths_of_todos", lambda _: worth)
    found = [claim("01.1", "t0", ""), claim("03.1", "t1", ""), claim("03.2", "t2", "")]
    found += [claim("03.1", name, "") for name in "ab"] + [claim("03.2", "c", "", guard=True)]
    of = functools.partial(scoring.worths, chapter=chapters.find("03"))
    assert list(of(found).values()) == [0, 30, 40, 15, 15, 0]
    assert list(of(found[3:5]).values()) == [50, 50], "of a TODO without its basic claim"
    assert list(of([found[0], found[5]]).values()) == [50, 50], "if nothing else is run"


@pytest.mark.parametrize(
    "earned, guards, fatal, score",
    [
        *((100, 0, False, 100), (100, 2, False, 94), (100, 40, False, 70), (20, 10, False, 0)),
        *((90, 0, True, 60), (90, 1, True, 60), (62, 1, True, 59), (30, 0, True, 30)),
    ],
)
def test_guards_cost_and_a_fatal_fault_limits(earned, guards, fatal, score):
    found = [outcome(SIDE, earned, PASSED), *[outcome(CUT, 0, FAILED)] * guards, INHERITED]
    if earned < 100:
        found.append(outcome(LONG, 100 - earned, FAILED, CRASH if fatal else None))
    assert a_grade("02", *found).score == score


def test_a_todo_that_is_to_be_done_limits_nothing(monkeypatch):
    """Its basic claim fails, and so do those of all later ones."""
    worth = {number: todos.Worth(f"t{number}", 30) for number in (1, 2, 3)}
    monkeypatch.setattr(scoring, "worths_of_todos", lambda _: worth)

    def limited(*verdicts):
        found = [claim(f"02.{n}", f"t{n}", "", fatal="bytes") for n in (1, 2, 3)]
        return a_grade("02", *[outcome(*pair) for pair in zip(found, [40] * 3, verdicts)]).capped

    assert limited(PASSED, PASSED, FAILED) is None
    assert limited(PASSED, FAILED, PASSED) and limited(FAILED, PASSED, PASSED)


def test_what_has_changed_since_the_last_grade(tmp_path):
    worse = a_grade("02", outcome(SIDE, 40, FAILED), outcome(LONG, 60, PASSED))
    better = a_grade("02", outcome(SIDE, 40, PASSED), outcome(LONG, 60, PASSED))
    file = tmp_path / "02.json"
    results.write(worse, file)
    assert results.since(file, better) == "+40, 02.1 passes now"
    assert results.since(file, worse) == results.since(file, replace(better, subject="mine")) == ""
    results.write(better, file)
    assert results.since(file, worse) == "-40, 02.1 no longer passes"


# When the first frames fail


@pytest.mark.parametrize("hint, verdict", [(scoring.BYTES, FAILED), ("silence", PASSED)])
def test_what_speaks_of_frames_is_lost_for_an_echo_of_bytes(hint, verdict):
    frames = outcome(replace(SIDE, text="A frame comes back."), 5, PASSED)
    clients = outcome(replace(SIDE, text="200 clients are served."), 5, PASSED)
    first = outcome(FIRST, 0, FAILED, Diagnosis(True, "no", hint))
    scoring.believe([first, frames, clients])
    assert (frames.verdict, clients.verdict) == (verdict, PASSED)


@pytest.mark.parametrize(
    "verdict, seconds, memcheck, broken",
    [(FAILED, 61, 0, True), (FAILED, 0, 0, False), (FAILED, 61, 1, False), (PASSED, 61, 0, False)],
)
def test_a_grade_goes_on_for_a_minute(verdict, seconds, memcheck, broken):
    later = Outcome(SIDE, Fraction(5), NOT_JUDGED)
    following = judge.Following(
        a_grade("04", outcome(FIRST, 0, verdict), later, memcheck=memcheck), Request()
    )
    following._began -= seconds
    if not broken:
        following.tick()
        return
    with pytest.raises(judge.Broken):
        following.tick()
    judge._give_up(a_grade("04", later))
    assert later.verdict == FAILED and later.message.startswith("not run: ")


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


def conversation(names, *texts, failed=-1):
    talk = Conversation()
    for who, text in zip(names, texts * len(names)):
        talk.note(who, text)
    talk.steps[failed].failed = True
    return talk


def test_conversations():
    """Equal steps are one line. A long one loses its middle, and never the step that failed; a step
    whose failure was expected is not it."""
    expected, last = conversation("AAB", "reads", "closes", "waits"), Failure("nothing")
    for step, error in ((expected.steps[0], Failure("closed")), (expected.steps[2], last)):
        with pytest.raises(Failure), step:
            raise error
    expected.blame(last)
    many = [f"A{number}" for number in range(100)]
    talks = [
        *(expected, conversation("ABA", "connects", "waits", "closes", failed=1)),
        conversation("A" * 1000, "sends 1 byte"),
        *(conversation(names, "leaves") for names in ("EFGCABH", ["Z", "AA", "D", "other", "AC"])),
        *(conversation(many, *map("does {}".format, many), failed=n) for n in (0, 50, 99)),
    ]
    golden.check("conversations", "\n\n".join(talk.render(8) for talk in talks))


# As file:line:, for editors

BLOCKING, POLL = chapters.find("01"), chapters.find("03")
IN_PIECES = CLAIMS["test_01_frame_cut_at_every_byte"]
PRINTED = """\
conn.c: In function 'serve':
conn.c:30:5: warning: unused variable 'x' [-Wunused-variable]
   30 |     int x;
io.h:7:1: fatal error: nowhere.h: No such file or directory
"""
LINKER = "/usr/bin/ld: /x/io.o: in function `f':\nio.c:12: undefined reference to `g'\n"


def graded(source: Path, *claims, verdict=FAILED, chapter=BLOCKING, **more) -> Grade:
    why = Diagnosis(verdict == FAILED, "the reply is wrong:\n  byte 4")
    outcomes = [outcome(one, 3, verdict, why) for one in claims]
    return a_grade(chapter.number, *outcomes, source=source, **more)


def test_the_lines_of_a_grade(tmp_path):
    """The place is the TODO, else its file, else the first file."""
    lab, mine = BLOCKING.chapter_dir, tmp_path / "it's mine"
    shutil.copytree(lab, mine)
    first = next(one for one in CLAIMS.values() if one.chapter == BLOCKING and one.todo == 1)
    found = {
        "the lab's own": graded(lab, IN_PIECES),
        "inherited": graded(POLL.chapter_dir, first, chapter=POLL),
        "not judged": graded(lab, IN_PIECES, verdict=NOT_JUDGED),
        "with a warning": graded(lab, IN_PIECES, warnings=PRINTED.splitlines()[1]),
        "compiler": graded(lab, built=False, problem=PRINTED),
        "linker": graded(lab, built=False, problem=LINKER),
        "other words": graded(lab, built=False, problem="\nkilled\nmore"),
        "a copy": graded(mine, IN_PIECES),
    }
    said = {name: map(str, results.messages(one)) for name, one in found.items()}
    lines = [f"{name}\n   " + "\n   ".join(one) for name, one in said.items()]
    text = re.sub(r" */\* TODO 3:.*?\*/\n", "", (mine / "io.c").read_text(), flags=re.S)
    for name, spoil in {
        "moved": lambda: (mine / "io.c").rename(mine / "my_io.c"),
        "without the comment": lambda: (mine / "my_io.c").write_text(text),
        "without the file": lambda: (mine / "my_io.c").unlink(),
    }.items():
        spoil()
        lines.append(f"{name}\n   {results.messages(found['a copy'])[0]}")
    golden.check("errors", "\n".join(lines), tmp_path)


def test_every_claim_has_a_place_in_the_skeleton():
    """The chapter's own claims lead to a comment with the number of their TODO, in the file that
    the handout names."""
    for claim in CLAIMS.values():
        directory = claim.chapter.chapter_dir
        (found,) = results.messages(graded(directory, claim, chapter=claim.chapter))
        line = (ROOT / found.file).read_text().splitlines()[found.line - 1]
        assert f"TODO {claim.todo}:" in line, claim.name
        named = report.todos(claim.chapter)[claim.todo]
        assert found.file == f"chapters/{claim.chapter.slug}/{named}", claim.name


def test_a_whole_name_is_that_of_one_claim():
    """The name counts with and without test_, even where another name begins with it."""
    for name, claim in CLAIMS.items():
        if sum(other.startswith(name) for other in CLAIMS) > 1:
            for only in (name, name.removeprefix("test_")):
                assert one_test(Request(only=only), claim.chapter) == claim


def test_a_save_of_any_file_is_seen(tmp_path):
    for name in ("main.c", "conn.h", "server/loop.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        before = stamp(tmp_path)
        (tmp_path / name).write_text("/* saved */\n")
        assert stamp(tmp_path) != before, name
