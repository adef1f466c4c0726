"""What becomes of C sources of all kinds; and whose fault it is that something does not compile: of
the submission, the lab, or the machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.feedback.failure import Failure, LabFault
from harness.grade import grade
from harness.modules import linking
from harness.server import build, objects
from harness.submission import chapters
from harness.tests.shell import script
from harness.tests.submissions import BROKEN, WARNING, right, submission

CHAPTER = chapters.find("05")
PROGRAM = "05_fields"
STRICTER = "gcc -Werror=implicit-function-declaration"  # what gcc 14 does, and gcc 12 can be told
UNDECLARED = "\nint undeclared(void)\n{\n    return accept5(0);\n}\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "CACHE", tmp_path / "bin")
    monkeypatch.delenv("CC", raising=False)


def status(source: Path) -> int:
    return subprocess.run([build.cached_server(source).binary]).returncode


def test_what_the_compiler_says_is_told(tmp_path):
    for _ in range(2):  # from the cache, too
        compiled = build.cached_server(submission(tmp_path / "s", right(WARNING)))
        assert "nobody uses this" in compiled.warnings
    quoted = 'int main(void) { undeclared_thing("No space left on device"); }\n'  # no full disk
    with pytest.raises(build.BuildFailed, match="main.c:1:.*undeclared_thing") as caught:
        build.cached_server(submission(tmp_path / "s", quoted), extra_flags=("-Werror",))
    assert str(tmp_path) not in str(caught.value)


def test_a_change_in_any_file_is_noticed(tmp_path, monkeypatch):
    """Also during a build, and a header that comes in front of another. The objects of another
    directory will do if it has the same headers."""
    monkeypatch.setenv(objects.SHARED, "1")
    text = '#include "../a $n.h"\n#include "errno.h"\nint main(void) { return N + ERRNO; }\n'
    source = submission(tmp_path / "a b's $x", f"#define ERRNO 2\n{text}")
    header = tmp_path / "a $n.h"
    header.write_text("#define N 10\n")
    compiler = build._run_compiler

    def slowly(*words):
        done = compiler(*words)
        header.write_text("#define N 20\n")
        return done

    monkeypatch.setattr(build, "_run_compiler", slowly)
    assert status(source) == 12
    monkeypatch.setattr(build, "_run_compiler", compiler)
    assert status(source) == 22
    (source / "errno.h").write_text("#undef ERRNO\n#define ERRNO 3\n")
    assert status(source) == status(Path(shutil.copytree(source, tmp_path / "t"))) == 23
    (tmp_path / "t" / "errno.h").write_text("#undef ERRNO\n#define ERRNO 4\n")
    assert (status(source), status(tmp_path / "t")) == (23, 24)


def test_a_compilation_that_waits_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "BUILD_SECONDS", 1)
    os.mkfifo(tmp_path / "never")
    with pytest.raises(build.BuildFailed, match="took longer than 1 s"):
        build.cached_server(submission(tmp_path, '#include "never"\n'))


# Whose fault it is


@pytest.mark.parametrize(
    "broken, raised, says",
    [
        (["programs/check.h", "s/reader.c"], LabFault, f"{PROGRAM}.c .*fault of the lab.*accept5"),
        (["s/reader.c"], Failure, "with a program of the grader.*accept5"),
    ],
)
def test_whose_fault_a_program_of_the_grader_is(tmp_path, monkeypatch, broken, raised, says):
    source = Path(shutil.copytree(CHAPTER.chapter_dir, tmp_path / "s"))
    programs = Path(shutil.copytree(linking.PROGRAMS, tmp_path / "programs"))
    monkeypatch.setattr(linking, "PROGRAMS", programs)
    monkeypatch.setenv("CC", STRICTER)
    for file in broken:
        (tmp_path / file).write_text((tmp_path / file).read_text() + UNDECLARED)
    with pytest.raises(raised, match=f"(?s){says}"):
        linking.built(source, PROGRAM, "", tuple(map(str, chapters.untouched(CHAPTER, source))))


def test_a_chapter_that_does_not_compile_is_the_labs_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", STRICTER)
    source, lab = submission(tmp_path / "s", BROKEN), tmp_path / "lab"
    monkeypatch.setattr(chapters, "untouched", lambda chapter, source: [lab])
    for text, raised in ((right() + UNDECLARED, LabFault), (right(), build.BuildFailed)):
        submission(lab, text)
        with pytest.raises(raised, match="accept5|not finished"):
            build.server_of(CHAPTER, source)


@pytest.mark.parametrize(
    "compiler, says",
    {
        "false": "false builds no program, not even one of four lines: it ended with status 1",
        "gcc -nostdinc": "grade: gcc -nostdinc builds no program",
        "gcc 'unfinished": "cc=gcc 'unfinished: no closing quotation",
        "no-such-compiler": "'no-such-compiler', which is not a command",
        "full": "cannot write its files in .*: No space left",
    }.items(),
)
def test_a_compiler_that_builds_nothing_is_no_fault_of_a_submission(
    compiler, says, tmp_path, monkeypatch, capsys
):
    full = "echo 'as: cannot close x.o: No space left on device' >&2\nexit 1"
    cc = str(script(tmp_path / "cc", full)) if compiler == "full" else compiler
    monkeypatch.setenv("CC", cc)
    source = submission(tmp_path / "s", right())
    words = ["--chapter", "01", "--dir", str(source), "--results", str(tmp_path / "r.json")]
    assert grade.main(words) == 2 and not (tmp_path / "r.json").exists()
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and re.search(says, said)
