"""Whose fault it is that something does not compile: of the submission, the lab, or the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.tests.shell import script
from harness.tests.submissions import BROKEN, right, submission
from harness.claims.stage import linking
from harness.client.redis import here
from harness.failures.failure import Failure, LabFault
from harness.grading import grade
from harness.lab import chapters
from harness.lab.chapters import Chapter
from harness.server import build

CHAPTER = chapters.find("05")
PROGRAM = "05_reader"
# What gcc 14 does, and gcc 12 can be told.
STRICTER = "gcc -Werror=implicit-function-declaration"
UNDECLARED = "\nint undeclared(void)\n{\n    return accept5(0);\n}\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "CACHE", tmp_path / "bin")
    monkeypatch.delenv("CC", raising=False)
    linking.built.cache_clear()
    yield
    linking.built.cache_clear()


@pytest.fixture
def handed_in(tmp_path):
    return Path(shutil.copytree(CHAPTER.chapter_dir, tmp_path / "handed-in"))


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A copy of the grader's programs."""
    copy = Path(shutil.copytree(linking.PROGRAMS, tmp_path / "programs"))
    monkeypatch.setattr(linking, "PROGRAMS", copy)
    return copy


def add(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def built(source: Path) -> Path | None:
    untouched = tuple(map(str, chapters.untouched(CHAPTER, source)))
    return linking.built(source, PROGRAM, "", untouched)


# Programs of the grader


@pytest.mark.parametrize("file", [f"{PROGRAM}.c", "check.c", "check.h"])
def test_a_program_that_a_newer_compiler_refuses_is_the_labs_fault(
    file, programs, handed_in, monkeypatch
):
    monkeypatch.setenv("CC", STRICTER)
    add(programs / file, UNDECLARED)
    with pytest.raises(LabFault, match=rf"{PROGRAM}.c .*fault of the lab.*report.*{file}.*accept5"):
        built(handed_in)


def test_it_is_also_when_the_submission_is_broken(programs, handed_in):
    add(programs / f"{PROGRAM}.c", "wrong\n")
    add(handed_in / "reader.c", "wrong\n")
    with pytest.raises(LabFault):
        built(handed_in)


def test_an_option_that_the_compiler_lacks_is_the_labs_fault(handed_in, monkeypatch):
    monkeypatch.setattr(build, "OTHERS", (*build.OTHERS, "-fno-such-option"))
    with pytest.raises(LabFault, match="no-such-option"):
        built(handed_in)


@pytest.mark.parametrize("file", ["reader.h", "reader.c"])
def test_a_file_of_the_submission_is_its_own_fault(file, handed_in):
    path = handed_in / file
    path.write_text(path.read_text().replace("reader_", "read_"))
    with pytest.raises(Failure, match="with a program of the grader") as caught:
        built(handed_in)
    assert caught.value.hint == "module-not-built"
    assert linking.NO_REFERENCE not in str(caught.value)


def test_where_only_the_graded_files_are_nobody_can_tell(programs, handed_in):
    add(programs / f"{PROGRAM}.c", "wrong\n")
    with pytest.raises(Failure, match=linking.NO_REFERENCE):
        linking.built(handed_in, PROGRAM, "")


def test_a_client_of_others_that_does_not_compile(monkeypatch, tmp_path):
    (tmp_path / here.HIREDIS).write_text("wrong\n")
    monkeypatch.setattr(here, "HERE", tmp_path)
    assert "fault of the lab" in here.OTHERS["hiredis"].problem()


# Servers


def test_a_chapter_that_a_newer_compiler_refuses_is_the_labs_fault(tmp_path, monkeypatch):
    """A file that students do not write is broken in what they hand in, and in the chapter."""
    monkeypatch.setenv("CC", STRICTER)
    source = submission(tmp_path / "s", BROKEN)
    untouched = submission(tmp_path / "chapter", right() + UNDECLARED)
    monkeypatch.setattr(chapters, "untouched", lambda chapter, source: [untouched])
    with pytest.raises(LabFault, match="chapter 05-framing .*accept5"):
        build.server_of(CHAPTER, source)
    (untouched / "main.c").write_text(right())
    with pytest.raises(build.BuildFailed, match="undeclared_thing"):
        build.server_of(CHAPTER, source)


@pytest.mark.parametrize(
    "compiler, says",
    {
        "false": "false builds no program, not even one of four lines: it ended with status 1",
        "true": "true builds no program",
        "gcc -fno-such-option": "gcc -fno-such-option builds no program.*no-such-option.*CC names",
        "gcc -nostdinc": "builds no program.*stdio.h",
        "gcc 'unfinished": "cc=gcc 'unfinished: no closing quotation",
        "no-such-compiler": "'no-such-compiler', which is not a command",
    }.items(),
)
def test_a_compiler_that_builds_nothing_is_no_fault_of_a_submission(
    compiler, says, tmp_path, monkeypatch
):
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(build.NoCompiler, match=says):
        build.server_of(CHAPTER, submission(tmp_path / "s", right()))


def test_a_grade_is_then_not_judged(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CC", "gcc -nostdinc")
    source = submission(tmp_path / "s", right())
    words = ["--chapter", "01", "--dir", str(source), "--results", str(tmp_path / "r.json")]
    assert grade.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("grade: gcc -nostdinc builds no program") and said.count("\n") == 1
    assert not (tmp_path / "r.json").exists()


def test_a_full_disk_is_no_fault_of_a_submission(tmp_path, monkeypatch):
    """A file that is as large as a limit is no full disk."""
    says = "echo 'as: cannot close x.o: No space left on device' >&2\nexit 1"
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", says)))
    with pytest.raises(build.NoCompiler, match="cannot write its files in .*: No space left"):
        build.cached_server(submission(tmp_path / "s", right()))


# What it is compared with


def copied(tmp_path: Path, monkeypatch, *slugs: str) -> None:
    """A lab that has only these directories."""
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    for slug in slugs:
        (tmp_path / slug).mkdir(parents=True)


def names(chapter: Chapter, source: Path | None) -> list[str]:
    found = chapters.untouched(chapter, source)
    return [str(path.relative_to(chapters.ROOT)) for path in found]


def test_the_untouched_files_are_not_the_graded_ones(tmp_path, monkeypatch):
    here = ("chapters/04-pipelining", "chapters/05-framing", "solutions/05-framing")
    copied(tmp_path, monkeypatch, *here)
    own = ["chapters/05-framing", "solutions/05-framing"]
    assert names(CHAPTER, tmp_path / "elsewhere") == names(CHAPTER, None) == own
    assert names(CHAPTER, CHAPTER.chapter_dir) == ["solutions/05-framing"]
    (tmp_path / "link").symlink_to(CHAPTER.solution_dir)
    assert names(CHAPTER, tmp_path / "link") == ["chapters/05-framing"]


def test_in_a_handout_they_are_those_of_another_chapter(tmp_path, monkeypatch):
    copied(tmp_path, monkeypatch, "chapters/04-pipelining", "chapters/05-framing")
    assert names(CHAPTER, CHAPTER.chapter_dir) == ["chapters/04-pipelining"]
    (tmp_path / "chapters/04-pipelining").rmdir()
    assert names(CHAPTER, CHAPTER.chapter_dir) == []
