"""The grader's programs that call a module: what they find, whatever the module does to them.

programs/sample.c has a check for every way to end, programs/module.c does what it is told.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from harness.claims.context.stage import Run, Stage
from harness.feedback.failure import Failure, NotJudged
from harness.grade.diagnosis import diagnose
from harness.modules import linking
from harness.modules.linking import PROGRAMS
from harness.modules.program import Programs
from harness.server.linux import landlock
from harness.server.preload import shim_library
from harness.submission import chapters
from harness.tests import golden, shell
from harness.waiting import procfs
from harness.waiting.wait import Patience

SAMPLE = Path(__file__).parent / "programs"


@pytest.fixture
def check(tmp_path, monkeypatch):
    """check(name, ...) -> values, of a check of the sample; check.stage is where it has run"""
    for path in (PROGRAMS / "check.c", PROGRAMS / "check.h", *SAMPLE.iterdir()):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(linking, "PROGRAMS", tmp_path)
    given = {"sources": ["module.c"], "directory": str(tmp_path), "preload": str(shim_library())}

    def run(name, **options):
        run.stage = Stage(Run([], **given))
        run.stage.patience = Patience(0.5)
        try:
            return Programs(run.stage, 1).run("sample", name, **options)
        finally:
            run.stage.clear()

    return run


FAILING = [
    *(("told", {"what": what}) for what in "null recurse loop wait exit late".split()),
    *(("fails", {}), ("prefix", {})),
]


def test_how_a_check_fails(check):
    """A crash is told with its line, a hang with what the module does, and the last step marked."""
    said = []
    for name, options in FAILING:
        with pytest.raises(Failure) as caught:
            check(name, **options)
        found = diagnose(caught.value, check.stage)
        crashed = re.sub(r"module\.c:\d+, recurse\(\)[^;]*", "recurse()", found.crashed or "")
        said += [f"## {name} {options}", f"{found.message} [{caught.value.hint}]", found.steps]
        said += [found.compare or "", f"{found.server}; {crashed}".rstrip("; ")]
    golden.check("modules", "\n".join(filter(None, said)))


def test_what_a_module_cannot_spoil(check):
    """What looks like a report is none; a report gets through, and a child is ended."""
    with pytest.raises(NotJudged, match="no memory for 7 bytes"):
        check("blames")
    for what in ("print", "close"):
        assert check("told", what=what) == {"child": 0}
    child = int(check("told", what="child")["child"])
    assert child > 0 and procfs.read_process(child) is None
    if landlock.works():
        assert check("told", what="write") == {"child": 0}
        assert not os.path.exists("/dev/shm/event-loop-lab-test")


@pytest.mark.full("grades of a wrong module")
def test_a_wrong_module_in_a_grade(tmp_path):
    """Its claim fails, and replay tells the same."""
    shutil.copytree(chapters.find("05").solution_dir, tmp_path / "wrong")
    reader = tmp_path / "wrong" / "reader.c"
    reader.write_text(reader.read_text().replace("i < size; i++", "i + 1 < size; i++"))
    given = ["--dir", tmp_path / "wrong", "--results", tmp_path / "results.json"]
    name = "05_integers_of_all_widths"
    said = []
    graded = ["grade", "--chapter", "05", "--only", name, "--seed", "7"]
    for words in (graded, ["replay", "--id", f"05-{name}-7"]):
        printed = shell.lab(*words, *given)
        assert (printed.returncode, printed.stderr) == (1, "")
        said.append(printed.stdout.partition("  what happened\n")[2].split("\n\n")[0])
    golden.check("module_in_a_grade", said[0], tmp_path)
    assert golden.plain(said[0]) == golden.plain(said[1])
