"""Submissions that attack the grader or its machine get an honest verdict, and leave nothing.

hostile/attacks.py has the attacks. A server is confined where the kernel can do so, see
linux/landlock.py; elsewhere the grader at least notices what the server does to it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.failures.hints import HINTS
from harness.grading import guard
from harness.lab.chapters import ROOT
from harness.server.linux import cgroup, landlock, procfs
from harness.server.waiting.wait import wait_until
from harness.tests import golden, shell, submissions

HOSTILE = Path(__file__).parent / "hostile"
TRACE = "HOSTILE_TRACE"  # a variable that all processes of a test's grade have
FULL_MARKS, LESS, NOT_JUDGED = 0, 1, 2  # exit statuses
FULL = pytest.mark.full("hostile submissions")

CLAIMS = '''
import os

from harness.claims.marker import claim
from harness.failures.failure import Failure
from harness.server.linux import procfs
from harness.server.waiting.wait import wait_until

@claim("01.1", points=20)
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2", points=70)
def test_01_echoes(server):
    """A frame comes back as it was sent."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")

@claim("01.3", points=10)
def test_01_nobody_is_left():
    """The processes of earlier servers have ended, even if their grader was killed."""
    def left():
        children = [p for p in procfs.table().values() if p.parent == os.getppid()]
        return [p for p in children if p.state != "Z" and p.pid != os.getpid()]

    if not wait_until(lambda: not left(), 20):
        raise Failure(f"left: {left()}")
'''


class Row(NamedTuple):
    """An attack, and the exit status and the words of its grade."""

    attack: str
    status: int
    says: str
    variables: dict[str, str] = {}
    words: tuple[str, ...] = ("--jobs", "0")


ONLY = ("--only", "test_01_echoes", "--jobs", "0")
FREE = {landlock.SWITCH: "0"}  # servers are not confined
UNBOUNDED = {cgroup.SWITCH: "0"}
TOO_MUCH = [
    Row("forks", LESS, "started more than 2,048 processes"),
    Row("detaches", LESS, "used more than 1,536 MiB of memory"),
    Row("detaches", LESS, "used more than 1,536 MiB of memory", UNBOUNDED),
    Row("fills_disk", LESS, "wrote more than 256 MiB to files"),
    Row("fills_nameless_files", LESS, "wrote more than 256 MiB to files"),
    Row("hides_memory", LESS, "wrote more than 256 MiB to files"),
    Row("many_files", LESS, "made more than 10,000 files"),
    Row("goes_deep", LESS, "made more than 10,000 files"),
    Row("floods", LESS, "printed more than 256 MiB"),
]
OTHERS = [
    Row("attacks_all", FULL_MARKS, "100 of 100 points"),
    Row("breeds", LESS, "30 of 100 points"),
    Row("breeds", LESS, "30 of 100 points", FREE),
    Row("stops", LESS, "30 of 100 points"),
    Row("stops", LESS, "30 of 100 points", FREE),
    Row("kills", NOT_JUDGED, guard.KILLED, FREE, ("--jobs", "1")),
    Row("edits", NOT_JUDGED, guard.RESTORE, FREE, ONLY),
]


def each(row: Row):
    how = {str(FREE): "-free", str(UNBOUNDED): "-unbounded"}.get(str(row.variables), "")
    return pytest.param(row, id=row.attack + how, marks=[] if row is OTHERS[0] else [FULL])


class Grade(NamedTuple):
    status: int
    text: str
    lost: set[str]  # claims that have points, and earned none


@pytest.fixture
def grade(tmp_path):
    """A function that grades a submission; then no process and no file of it may be left."""
    trace, temporary, results = secrets.token_hex(8), tmp_path / "tmp", tmp_path / "results.json"
    temporary.mkdir()
    claims = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)

    def run(source: Path, *words: str, **variables: str) -> Grade:
        if variables.get(landlock.SWITCH) != "0" and not landlock.works():
            pytest.skip("this kernel cannot confine")
        own = {TRACE: trace, "TMPDIR": str(temporary)}
        own |= {"HOSTILE_TARGET": str(claims / "test_01_x.py"), **variables}
        where = ["--chapter", "01", "--claims", claims, "--dir", source, "--results", results]
        ended = subprocess.run(
            [sys.executable, "-m", "harness", "grade", "--verbose", *where, *words],
            cwd=ROOT,
            env=shell.environment(**own),
            capture_output=True,
            text=True,
            timeout=shell.SECONDS,
            start_new_session=True,
        )
        assert ended.stderr == ""
        assert left(trace) == []
        assert list(temporary.iterdir()) == []
        tests = json.loads(results.read_text())["tests"]
        unearned = [test for test in tests if test["max_score"] and not test["score"]]
        lost = {test.get("extra_data", {}).get("test", "") for test in unearned}
        return Grade(ended.returncode, ended.stdout, lost)

    return run


def hostile(directory: Path, attack: str) -> dict[str, str]:
    """Writes a submission that is right but for this attack; returns variables that start it."""
    server = submissions.right("void attack(void); attack();")
    shutil.copy(HOSTILE / "attacks.c", submissions.submission(directory, server))
    when = "HOSTILE_EARLY" if attack.startswith("detaches") else "HOSTILE_ATTACK"
    command = shlex.join([sys.executable, str(HOSTILE / "attacks.py"), attack])
    return {when: "forks" if attack == "forks" else command}


def left(trace: str) -> list[int]:
    """Processes of this test's grade that are still running."""
    return [pid for pid in procfs.table() if procfs.environment(pid, TRACE) == trace]


@pytest.mark.parametrize("row", map(each, TOO_MUCH))
def test_it_takes_too_much(grade, tmp_path, row):
    variables = hostile(tmp_path / "sub", row.attack) | row.variables
    found = grade(tmp_path / "sub", *ONLY, LAB_PATIENCE="40", **variables)
    assert (found.status, found.lost) == (row.status, {"test_01_echoes"}), found.text
    text = " ".join(found.text.split())
    assert f"killed by the grader: {row.says}" in text, found.text
    assert HINTS["over-limit"].text in text, found.text


@pytest.mark.parametrize("row", map(each, OTHERS))
def test_it_attacks_the_grader(grade, tmp_path, row):
    """A confined server gets points for what it serves; nothing that it attacks has changed."""
    variables = hostile(tmp_path / "sub", row.attack) | row.variables
    found = grade(tmp_path / "sub", *row.words, LAB_PATIENCE="1", **variables)
    lost = {"test_01_echoes"} if row.status != FULL_MARKS else set()
    assert (found.status, found.lost) == (row.status, lost), found.text
    assert row.says in " ".join(found.text.split()), found.text
    edited = CLAIMS + "# edited\n" * (row.attack == "edits")
    assert (tmp_path / "claims" / "test_01_x.py").read_text() == edited


@FULL
def test_a_report_is_not_forged(grade, tmp_path):
    """Not by what the server prints, and not by what the compiler says of its sources."""
    forges = hostile(tmp_path / "sub", "prints_report")
    printed = grade(tmp_path / "sub", "--jobs", "0", **forges).text
    above, _, times = printed.partition("slowest\n")
    text = re.sub(r"\d\.\d MB", "# MB", above + times.partition("\n\n")[2])
    golden.check("forged-report", text, tmp_path)
    lines = '#line 1 "\\033[2J\\n  100 of 100 points\\n"\n#warning \x1b[2Jsee above\n'
    for end in ("int main(void) { return 0; }", "int main(void) {"):
        found = grade(submissions.submission(tmp_path / "forged", lines + end))
        assert found.status == LESS
        assert all(char.isprintable() or char in "\n\t" for char in found.text)
        forgeries = [line for line in found.text.splitlines() if "100 of 100" in line]
        assert forgeries and all(line.startswith("| ") for line in forgeries)


@FULL
def test_a_grade_that_is_killed_leaves_nothing(tmp_path):
    """Processes that have left their server end, too, although nobody can tell them to."""
    trace = secrets.token_hex(8)
    variables = {**os.environ, TRACE: trace, **hostile(tmp_path / "sub", "detaches_little")}
    claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_SLOW)
    where = ["--chapter", "01", "--claims", claims, "--dir", tmp_path / "sub"]
    where += ["--results", tmp_path / "results.json", "--only", "test_01_sleeps"]
    command = [sys.executable, "-m", "harness", "grade", *where]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=quiet) as process:
        assert wait_until(lambda: len(left(trace)) > 30, 60)
        process.kill()
    assert wait_until(lambda: left(trace) == [], 60)
