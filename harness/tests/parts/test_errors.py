"""Failures as file:line:, as editors and GitHub Actions read them; and how a command ends that
cannot write."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest

from harness.tests import golden
from harness.tests.shell import run
from harness.grading import errors, report, scoring
from harness.grading.diagnosis import Diagnosis
from harness.grading.errors import Message
from harness.grading.scoring import FAILED, NOT_JUDGED, Grade, Outcome
from harness.lab import chapters, command_line, files
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage

BLOCKING, POLL = chapters.find("01"), chapters.find("03")
CLAIMS = {claim.name: claim for claim in scoring.load()}
CUT = CLAIMS["test_01_frame_cut_at_every_byte"]
PRINTED = """\
conn.c: In function 'serve':
conn.c:30:5: warning: unused variable 'x' [-Wunused-variable]
   30 |     int x;
io.h:7:1: fatal error: nowhere.h: No such file or directory
"""
LINKER = "/usr/bin/ld: /x/io.o: in function `f':\nio.c:12: undefined reference to `g'\n"


def graded(source: Path, *claims, chapter=BLOCKING, verdict=FAILED, **others) -> Grade:
    why = Diagnosis(verdict == FAILED, "the reply is wrong:\n  byte 4")
    found = [Outcome(claim, Fraction(3), verdict, why) for claim in claims]
    return Grade(chapter, str(source), source=source, outcomes=found, **others)


def test_the_lines_of_a_grade(tmp_path, monkeypatch):
    """The place is the TODO, else its function, else its file, else the first file."""
    monkeypatch.delenv(errors.ON_GITHUB, raising=False)
    lab, mine = BLOCKING.chapter_dir, tmp_path / "it's mine"
    shutil.copytree(lab, mine)
    first = next(one for one in CLAIMS.values() if one.chapter == BLOCKING and one.todo == 1)
    found = {
        "the lab's own": graded(lab, CUT),
        "inherited": graded(POLL.chapter_dir, first, chapter=POLL),
        "not judged": graded(lab, CUT, verdict=NOT_JUDGED),
        "with a warning": graded(lab, CUT, warnings=PRINTED.splitlines()[1]),
        "compiler": graded(lab, built=False, problem=PRINTED),
        "linker": graded(lab, built=False, problem=LINKER),
        "other words": graded(lab, built=False, problem="\nkilled\nmore"),
        "a copy": graded(mine, CUT),
    }
    lines = [f"{name}\n   " + "\n   ".join(errors.lines(one)) for name, one in found.items()]
    text = re.sub(r" */\* TODO 3:.*?\*/\n", "", (mine / "io.c").read_text(), flags=re.S)
    for name, spoil in {
        "moved": lambda: (mine / "io.c").rename(mine / "my_io.c"),
        "without the comment": lambda: (mine / "my_io.c").write_text(text),
        "without the function": lambda: (mine / "my_io.c").write_text("int other;\n"),
        "without the file": lambda: (mine / "my_io.c").unlink(),
    }.items():
        spoil()
        lines.append(f"{name}\n   {errors.lines(found['a copy'])[0]}")
    monkeypatch.setenv(errors.ON_GITHUB, "true")
    lines.append("GitHub\n   " + errors.lines(found["the lab's own"])[0])
    odd = Message("a,b:c.c", 3, "error", "100%\n::stop::", "", 7)
    golden.check("errors", "\n".join([*lines, errors.annotation(odd)]), tmp_path)


def test_every_claim_has_a_place_in_the_skeleton():
    """The chapter's own claims lead to a comment with the number of their TODO, in the file that
    the handout names."""
    for claim in CLAIMS.values():
        directory = claim.chapter.chapter_dir
        (found,) = errors.messages(graded(directory, claim, chapter=claim.chapter))
        line = (ROOT / found.file).read_text().splitlines()[found.line - 1]
        assert f"TODO {claim.todo}:" in line, claim.name
        named = report.todos(claim.chapter)[claim.todo][0]
        assert found.file == f"chapters/{claim.chapter.slug}/{named}", claim.name


def test_the_tasks_of_the_editor_find_the_failures():
    """They are targets of the Makefile, and take no line of a report for one of these."""
    tasks = json.loads((ROOT / ".vscode/tasks.json").read_text())["tasks"]
    grade = graded(BLOCKING.chapter_dir, CUT, warnings="io.c:3:4: warning: x\n")
    lines = report.chapter(grade).splitlines()
    for task in tasks:
        place = ("${relativeFileDirname}", "chapters/01-blocking")
        words = [word.replace(*place) for word in task["args"]]
        assert task["command"] == "make" and "-m harness " in run("make", "-n", *words).stdout
        if "chapter" in task["label"]:
            pattern = task["problemMatcher"]["pattern"]
            for column in (4, None):
                message = Message("io.c", 12, "warning", "text: more", "01.3", column)
                found = re.fullmatch(pattern["regexp"], errors.as_compiler(message))
                parts = ("file", "line", "column", "severity", "message")
                wanted = ("io.c", "12", column and "4", "warning", "01.3 text: more")
                assert tuple(found[pattern[part]] for part in parts) == wanted
            assert not [line for line in lines if re.match(pattern["regexp"], line)]


# How a command ends that cannot do its work


def test_what_cannot_be_written_is_one_line(capsys, monkeypatch):
    """A disk that fills up during a write: the error of write(2) has no name."""
    monkeypatch.setattr(command_line, "BUILD", ROOT / "build")
    own = [str(ROOT / "build" / "x")]
    said = []

    def body():
        raise error

    for number, path in (
        *((errno.EACCES, own), (errno.EROFS, own), (errno.ENOSPC, own)),
        *((errno.ENOSPC, []), (errno.EDQUOT, [])),
    ):
        error = OSError(number, os.strerror(number), *path)
        assert command_line.run("grade", body) == 2
        said.append(capsys.readouterr().err)
        assert said[-1].count("\n") == 1
    golden.check("cannot-write", "".join(said), command_line.BUILD, Path(tempfile.gettempdir()))
    error = PermissionError(errno.EACCES, "a fault of ours", "/etc/passwd")
    with pytest.raises(PermissionError):
        command_line.run("grade", body)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "new" / "a"
    files.write(place, b"old", 0o600)
    assert place.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(os, "replace", lambda *_: open("/no/space/left"))
    for write, error in ((files.write, OSError), (files.write_out, WrongUsage)):
        with pytest.raises(error, match="No such file"):
            write(place, b"new")
        assert place.read_bytes() == b"old" and os.listdir(place.parent) == ["a"]
