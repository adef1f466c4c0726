"""The grader's programs that call a module: what they find, whatever the module does to them.

programs/sample.c has a check for every way to end, programs/module.c does what it is told.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from harness.claims.stage import linking
from harness.claims.stage.linking import PROGRAMS
from harness.claims.stage.program import Programs
from harness.claims.stage.stage import Run, Stage
from harness.failures.failure import Failure, NotJudged
from harness.grading.diagnosis import diagnose
from harness.lab import chapters
from harness.server.linux import landlock, procfs
from harness.server.shim import shim_library
from harness.server.waiting.wait import Patience
from harness.student import needed
from harness.tests import golden, shell, submissions

SAMPLE = Path(__file__).parent / "programs"
MODULE, HEADER = ((SAMPLE / name).read_text() for name in ("module.c", "module.h"))


@pytest.fixture
def check(tmp_path, monkeypatch):
    """check(name, ...) -> values: runs a check of the sample with the module, or another text."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for path in (PROGRAMS / "check.c", PROGRAMS / "check.h", SAMPLE / "sample.c"):
        shutil.copy(path, programs)
    monkeypatch.setattr(linking, "PROGRAMS", programs)
    stages = []

    def run(name, text=MODULE, header=HEADER, seconds=0.5, others=(), **options):
        where = tmp_path / f"module-{len(stages) if text != MODULE else 0}"
        where.mkdir(exist_ok=True)
        for file, content in (("module.c", text), ("module.h", header), *others):
            (where / file).write_text(content)
        run = Run([], sources=["module.c"], directory=str(where), preload=str(shim_library()))
        stages.append(Stage(run))
        stages[-1].patience = Patience(seconds)
        return Programs(stages[-1], 1).run("sample", name, **options)

    run.stages = stages
    yield run
    for stage in stages:
        stage.clear()


FAILING = [
    *(("told", {"what": what}) for what in "null free loop wait exit".split()),
    ("told", {"what": "late crash"}),
    ("fails", {}),
    ("differs", {}),
    ("touches", {"at": 3}),  # a byte behind the end
]


def test_how_a_check_fails(check):
    """A crash is told with its line, a hang with what the module does, and the last step marked."""
    said = []
    for name, options in FAILING:
        with pytest.raises(Failure) as caught:
            check(name, **options)
        found = diagnose(caught.value, check.stages[-1])
        said += [f"## {name} {options}", f"{found.message} [{caught.value.hint}]", found.steps]
        said += [found.compare or "", f"{found.server}; {found.crashed}".rstrip("; ")]
    golden.check("modules", "\n".join(filter(None, said)))
    with pytest.raises(Failure) as caught:  # the line is that of any call in it
        check("told", what="overflow")
    assert diagnose(caught.value, check.stages[-1]).crashed.endswith("; its stack is used up")


def test_what_a_module_cannot_spoil(check):
    """What looks like a report is none; a report gets through, and a child is ended."""
    values = check("passes", option=-5)
    assert (values["a third"], values["option"]) == (1 / 3, -5)
    assert check("passes")["chance"] == values["chance"]
    with pytest.raises(NotJudged, match="no memory for 7 bytes"):
        check("blames")
    assert check("touches", at=0) == check("touches", at=2) == {}
    for what in ("print", "close"):
        assert check("told", what=what) == {"child": 0}
        assert check.stages[-1].ending()[0] == "exited with status 0"
    child = int(check("told", what="child")["child"])
    assert child > 0 and procfs.read_process(child) is None
    if landlock.works():
        assert check("told", what="write") == {"child": 0}
        assert not os.path.exists("/dev/shm/event-loop-lab-test")


def test_the_last_of_many_steps(check):
    """Of each thread, the last steps are kept in their order."""
    with pytest.raises(Failure):
        check("threads")
    steps = [step.text for step in check.stages[-1].conversation.steps]
    assert re.fullmatch(r"has made \d+ steps", steps[0]) and steps[-1] == "has told all"
    for who in ("main", "other"):
        numbers = [int(step.split()[1]) for step in steps[1:-1] if step.startswith(who)]
        assert numbers == list(range(20_000 - len(numbers), 20_000))


def test_a_mutex_that_is_held(check):
    if needed.debugger():
        pytest.skip(needed.debugger())
    line = 1 + [text.endswith("/* stuck */") for text in MODULE.splitlines()].index(True)
    with pytest.raises(Failure, match=rf"mutex at module.c:{line} \(locked by itself\)") as caught:
        check("told", what="lock")
    assert caught.value.hint == "lock-held"


TOUCH = "int touch(const unsigned char *b) { return *b; }\n"
UNUSED = "void missing(void);\nvoid unused(void) { missing(); }\n"


def test_how_a_module_is_built(check):
    """Functions that the files named by the program lack are found in the other files."""
    for text, says in (
        (MODULE.replace("module_touch", "other"), "module_touch() is not defined"),
        (MODULE.replace("return *byte;", "return *byte"), "error: expected ';'"),
        ("int main(void) { return 0; }\n" + MODULE, "multiple definition of `main'"),
    ):
        with pytest.raises(Failure) as caught:
            check("passes", text=text)
        assert caught.value.hint == "module-not-built"
        assert says in caught.value.message and str(PROGRAMS) not in caught.value.message
    others = [("other.c", TOUCH + UNUSED), ("main.c", "int main(void) { return 1; }\n")]
    text = MODULE.replace("return *byte;", "return touch(byte);")
    header = HEADER + "int touch(const unsigned char *byte);\n"
    assert check("touches", text=text, header=header, others=others, at=0) == {}


CLAIMS = '''
from harness.claims.marker import claim

@claim("01.1", points=60)
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2", points=40, module=True)
def test_01_reads(program):
    """Integers are read."""
    program("05_reader", "integers")
'''


def test_a_wrong_module_in_a_grade(tmp_path):
    """Its claim fails and no other; replay tells the same."""
    claims = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)
    wrong = tmp_path / "wrong"
    shutil.copytree(chapters.find("05").solution_dir, wrong)
    reader = (wrong / "reader.c").read_text()
    (wrong / "reader.c").write_text(reader.replace("i < size; i++", "i + 1 < size; i++"))
    given = ["--dir", wrong, "--claims", claims, "--results", tmp_path / "results.json"]
    said = []
    for words in (["grade", "--chapter", "01"], ["replay", "--id", "01-01_reads-7"]):
        printed = shell.lab(*words, *given)
        assert (printed.returncode, printed.stderr) == (1, "")
        said.append(printed.stdout)
    golden.check("module_in_a_grade", "\n".join(said), tmp_path)
