"""Failures as file:line:, as editors and GitHub Actions read them; and what clangd shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from harness.tests.drawn import each_chapter, some
from harness.tests.shell import run
from harness.grading import errors
from harness.grading import grade as command
from harness.grading import report, scoring
from harness.grading.diagnosis import Diagnosis
from harness.grading.errors import Message
from harness.grading.scoring import FAILED, NOT_JUDGED, PASSED, Grade, Outcome
from harness.lab import chapters, sources
from harness.lab.chapters import CHAPTERS, ROOT
from harness.student import watch

BLOCKING, POLL, THREADS = chapters.find("01"), chapters.find("03"), chapters.find("09")
CLAIMS = {claim.name: claim for claim in scoring.load()}
CUT = CLAIMS["test_01_frame_cut_at_every_byte"]
PROBLEM = "the reply is wrong:\n  byte 4"


@pytest.fixture(autouse=True)
def not_on_github(monkeypatch):
    monkeypatch.delenv(errors.ON_GITHUB, raising=False)


def graded(source: Path, *claims, chapter=BLOCKING, verdict=FAILED, **others) -> Grade:
    why = Diagnosis(verdict == FAILED, PROBLEM)
    found = [Outcome(claim, Fraction(3), verdict, why) for claim in claims]
    return Grade(chapter, str(source), source=source, outcomes=found, **others)


def line_of(path: Path, text: str) -> int:
    return path.read_text().split(text)[0].count("\n") + 1


@pytest.fixture
def student(tmp_path) -> Path:
    """A copy of the skeleton of 01."""
    copy = tmp_path / "it's mine"
    shutil.copytree(BLOCKING.chapter_dir, copy)
    return copy


# The place


def test_a_failure_is_shown_at_its_todo():
    line = line_of(BLOCKING.chapter_dir / "io.c", "TODO 3:")
    assert line > 1
    assert errors.lines(graded(BLOCKING.chapter_dir, CUT)) == [
        f"chapters/01-blocking/io.c:{line}: error: 01.3 A frame that arrives in two pieces, cut"
        " anywhere, comes back whole: the reply is wrong: byte 4"
    ]


def test_without_the_comment_it_is_shown_at_the_function(student):
    text = (student / "io.c").read_text()
    (student / "io.c").write_text(re.sub(r" */\* TODO 3:.*?\*/\n", "", text, flags=re.S))
    (found,) = errors.messages(graded(student, CUT))
    assert found.file == str(student / "io.c")
    assert "io_read_full(" in (student / "io.c").read_text().splitlines()[found.line - 1]
    (student / "a.c").write_text("static int io_read_full(void)\n{\n    return 0;\n}\n")
    assert errors.messages(graded(student, CUT)) == [found]


def test_without_the_function_it_is_shown_at_the_file(student):
    (student / "io.c").write_text("\n\nint other;\n")
    (found,) = errors.messages(graded(student, CUT))
    assert (found.file, found.line) == (str(student / "io.c"), 1)


def test_without_the_file_it_is_shown_at_the_first(student):
    (student / "io.c").unlink()
    (found,) = errors.messages(graded(student, CUT))
    assert (found.file, found.line) == (str(student / "main.c"), 1)


def test_a_todo_that_was_moved_to_another_file_is_found(student):
    (student / "io.c").rename(student / "my_io.c")
    (found,) = errors.messages(graded(student, CUT))
    assert found.file == str(student / "my_io.c")
    assert found.line == line_of(BLOCKING.chapter_dir / "io.c", "TODO 3:")


def test_an_inherited_claim_is_shown_at_its_function():
    """TODO 1 of chapter 01 is not TODO 1 of chapter 03."""
    first = next(
        claim for claim in CLAIMS.values() if claim.chapter == BLOCKING and claim.todo == 1
    )
    (found,) = errors.messages(graded(POLL.chapter_dir, first, chapter=POLL))
    assert found.file == "chapters/03-poll-loop/net.c"
    assert "net_listen(" in (ROOT / found.file).read_text().splitlines()[found.line - 1]


@each_chapter
def test_every_claim_has_a_place_in_the_skeleton(chapter):
    """The chapter's own claims lead to a comment with the number of their TODO."""
    own = [claim for claim in CLAIMS.values() if claim.chapter == chapter]
    for claim in own:
        (found,) = errors.messages(graded(chapter.chapter_dir, claim, chapter=chapter))
        line = (ROOT / found.file).read_text().splitlines()[found.line - 1]
        assert f"TODO {claim.todo}:" in line, claim.name
        named = report.todos(chapter)[claim.todo][0]
        assert found.file == f"chapters/{chapter.slug}/{named}"


# The text


def test_what_was_not_judged_is_a_warning_and_what_passed_is_silent():
    directory = BLOCKING.chapter_dir
    (found,) = errors.messages(graded(directory, CUT, verdict=NOT_JUDGED))
    assert found.kind == "warning"
    assert found.text.startswith("not judged: A frame")
    assert errors.lines(graded(directory, CUT, verdict=PASSED)) == []


def test_what_the_compiler_says_gets_the_name_of_the_file_from_here():
    printed = """\
conn.c: In function 'serve':
conn.c:30:5: warning: unused variable 'x' [-Wunused-variable]
   30 |     int x;
io.h:7:1: fatal error: nowhere.h: No such file or directory
"""
    found = errors.lines(graded(BLOCKING.chapter_dir, built=False, problem=printed))
    assert found == [
        "chapters/01-blocking/conn.c:30:5: warning: unused variable 'x' [-Wunused-variable]",
        "chapters/01-blocking/io.h:7:1: error: nowhere.h: No such file or directory",
    ]
    warned = graded(BLOCKING.chapter_dir, CUT, warnings=printed.splitlines()[1])
    assert errors.lines(warned)[0] == found[0]
    assert len(errors.lines(warned)) == 2


def test_what_the_linker_says_has_a_place_too():
    printed = "/usr/bin/ld: /x/io.o: in function `f':\nio.c:12: undefined reference to `g'\n"
    (found,) = errors.lines(graded(BLOCKING.chapter_dir, built=False, problem=printed))
    assert found == "chapters/01-blocking/io.c:12: error: undefined reference to `g'"


def test_a_build_that_fails_with_other_words_is_one_error():
    (found,) = errors.lines(graded(BLOCKING.chapter_dir, built=False, problem="\nkilled\nmore"))
    assert found == "chapters/01-blocking/main.c:1: error: it does not compile: killed"


def test_github_gets_an_annotation(monkeypatch):
    monkeypatch.setenv(errors.ON_GITHUB, "true")
    line = line_of(BLOCKING.chapter_dir / "io.c", "TODO 3:")
    (found,) = errors.lines(graded(BLOCKING.chapter_dir, CUT))
    assert found.startswith(f"::error file=chapters/01-blocking/io.c,line={line},title=01.3::A fr")


def test_an_annotation_stays_one_command():
    odd = Message("a,b:c.c", 3, "error", "100%\n::stop::", "", 7)
    assert errors.annotation(odd) == "::error file=a%2Cb%3Ac.c,line=3,col=7::100%25%0A::stop::"


# Commands


def fake_grade(monkeypatch, found: Grade) -> None:
    for module in (command, watch.judge):
        monkeypatch.setattr(module, "grade_target", lambda target, request: found)


def test_the_lines_come_after_the_report_when_they_are_wanted(monkeypatch, capsys):
    found = graded(BLOCKING.chapter_dir, CUT)
    fake_grade(monkeypatch, found)
    assert command.main(["--chapter", "01"]) == 1
    report_alone = capsys.readouterr().out
    assert "error:" not in report_alone
    assert command.main(["--chapter", "01", "--errors"]) == 1
    assert capsys.readouterr().out == report_alone + "\n" + errors.lines(found)[0] + "\n"


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["--errors"], "ERRORS needs a chapter as well"),
        (["--errors", "--chapter", "01", "--server", "cat {port}"], "give DIR="),
    ],
)
def test_without_a_file_to_show_nothing_is_graded(monkeypatch, capsys, words, complaint):
    monkeypatch.setattr(command, "grade_target", None)
    assert command.main(words) == 2
    assert complaint in capsys.readouterr().err


def test_watch_shows_them_too_when_they_are_wanted(monkeypatch, capsys):
    found = graded(BLOCKING.chapter_dir, CUT)
    fake_grade(monkeypatch, found)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "wait_for_a_save", interrupt)
    for words, times in ([], 0), (["--errors"], 1):
        assert watch.main(["--chapter", "01", *words]) == 0
        assert capsys.readouterr().out.count(errors.lines(found)[0]) == times


# Editors

TASKS = {
    task["label"]: task for task in json.loads((ROOT / ".vscode/tasks.json").read_text())["tasks"]
}


def test_the_tasks_are_targets_of_the_makefile():
    for task in TASKS.values():
        words = [
            word.replace("${relativeFileDirname}", "chapters/01-blocking") for word in task["args"]
        ]
        assert task["command"] == "make"
        assert "-m harness " in run("make", "-n", *words).stdout


@pytest.mark.parametrize("label", ["grade this chapter", "watch this chapter"])
def test_the_tasks_find_the_failures(label):
    pattern = TASKS[label]["problemMatcher"]["pattern"]
    expected = Message("io.c", 12, "warning", "text: more", "01.3", 4)
    for message in (expected, replace(expected, column=None)):
        found = re.fullmatch(pattern["regexp"], errors.as_compiler(message))
        parts = ("file", "line", "column", "severity", "message")
        column = str(message.column) if message.column else None
        wanted = ("io.c", "12", column, "warning", "01.3 text: more")
        assert tuple(found[pattern[part]] for part in parts) == wanted
    printed = report.chapter(graded(BLOCKING.chapter_dir, CUT, warnings="io.c:3:4: warning: x\n"))
    assert not [line for line in printed.splitlines() if re.match(pattern["regexp"], line)]


def test_the_task_that_watches_knows_where_a_grade_begins_and_ends(capsys):
    background = TASKS["watch this chapter"]["problemMatcher"]["background"]
    watch.show(watch.screen(graded(BLOCKING.chapter_dir, CUT), None, report.PLAIN))
    printed = capsys.readouterr().out.rstrip("\n").splitlines()
    for place, line in enumerate(printed):
        assert bool(re.search(background["beginsPattern"], line)) == (place == 0)
        assert bool(re.search(background["endsPattern"], line)) == (place == len(printed) - 1)


def test_vim_jumps_to_the_failure(tmp_path):
    """The quickfix list is filled as :make does it, with the default setting of vim."""
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    lines = errors.lines(graded(BLOCKING.chapter_dir, CUT))
    (tmp_path / "output").write_text("\n".join(lines) + "\n")
    show = "map(filter(getqflist(), 'v:val.valid'), '[bufname(v:val.bufnr), v:val.lnum]')"
    script = (
        f"cgetfile {tmp_path}/output | call writefile([json_encode({show})], '{tmp_path}/list')"
    )
    words = ["vim", "-u", "NONE", "-es", "-c", script, "-c", "qa!"]
    subprocess.run(words, cwd=ROOT, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
    if not (tmp_path / "list").exists():
        pytest.skip("this vim has no quickfix list")
    line = line_of(BLOCKING.chapter_dir / "io.c", "TODO 3:")
    assert json.loads((tmp_path / "list").read_text()) == [["chapters/01-blocking/io.c", line]]


# clangd

READ_BY_CLANGD = [
    one
    for chapter in CHAPTERS
    for one in some(
        sources.files(chapter.chapter_dir),
        2,
        "files that clangd reads",
        ids=lambda path: f"{path.parent.name}/{path.name}",
    )
]


def clangd(path: Path) -> subprocess.CompletedProcess[str]:
    """What an editor with clangd finds in the whole file, with the settings in .clangd; it tries
    its other features on the first line only."""
    if not shutil.which("clangd"):
        pytest.skip("clangd is not installed: sudo apt-get install clangd")
    words = ["clangd", f"--check={path}", "--check-lines=1", "--log=error"]
    return subprocess.run(words, cwd=ROOT, timeout=120, capture_output=True, text=True)


@pytest.mark.parametrize("path", READ_BY_CLANGD)
def test_clangd_finds_no_error_in_a_chapter(path):
    done = clangd(path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name, text", [("a.c", "int main(void) { return gone; }\n"), ("a.h", ";x")]
)
def test_clangd_finds_an_error_below_the_first_line(tmp_path, name, text):
    (tmp_path / name).write_text(f"/* */\n\n{text}")
    assert clangd(tmp_path / name).returncode != 0


def test_clangd_reads_a_header_as_c(tmp_path):
    """Below a directory with the lab's settings."""
    shutil.copy(ROOT / ".clangd", tmp_path)
    (tmp_path / "a.h").write_text("\nstatic inline int *a(void *class) { return class; }\n")
    assert clangd(tmp_path / "a.h").returncode == 0
