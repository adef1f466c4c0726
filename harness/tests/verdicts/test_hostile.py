"""Submissions that attack the grader or its machine get an honest verdict, and leave nothing.

hostile/attacks.c has the attacks. A server is confined where the kernel can do so, see
linux/landlock.py; elsewhere the grader at least notices what the server does to it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
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
FREE = {landlock.SWITCH: "0"}
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

@claim("01.2", points=60)
def test_01_echoes(server):
    """A frame comes back as it was sent."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")

@claim("01.3", points=20)
def test_01_ends(server):
    """SIGTERM ends the server."""
    if server.process.stop_gently(1) is None:
        raise Failure("it goes on")

@claim("01.4", points=0)
def test_01_nobody_is_left():
    """The processes of earlier servers have ended, even if their grader was killed."""
    def left():
        children = [p for p in procfs.table().values() if p.parent == os.getppid()]
        return [p for p in children if p.state != "Z" and p.pid != os.getpid()]

    if not wait_until(lambda: not left(), 20):
        raise Failure(f"left: {left()}")
'''


class Row(NamedTuple):
    """An attack, and what its grade has to say. `lost`: the claims that earn no points."""

    attack: str
    says: str = ""
    lost: set[str] = {"test_01_echoes"}
    status: int = LESS
    words: tuple[str, ...] = ("--jobs", "0")
    variables: dict[str, str] = {}


KILLED = "killed by the grader: "
TOO_MUCH = {
    "forks": "started more than 2,048 processes",
    "detaches": "used more than 1,536 MiB of memory",
    "fills_disk": "wrote more than 256 MiB to files",
    "hides_memory": "wrote more than 256 MiB to files",
    "many_files": "made more than 10,000 files",
    "goes_deep": "made more than 10,000 files",
    "floods": "printed more than 256 MiB",
}
ONLY = ("--only", "test_01_echoes", "--jobs", "0")
TABLE = [
    Row("attacks_all", lost=set(), status=FULL_MARKS),
    *(Row(attack, KILLED + reason, words=ONLY) for attack, reason in TOO_MUCH.items()),
    Row("detaches", KILLED + TOO_MUCH["detaches"], words=ONLY, variables={cgroup.SWITCH: "0"}),
    Row("forks", KILLED + TOO_MUCH["forks"], words=ONLY, variables=FREE),
    Row("breeds"),
    Row("breeds", variables=FREE),
    Row("stays", "it goes on", {"test_01_ends"}),
    Row("stops"),
    Row("stops", variables=FREE),
    Row("kills", guard.KILLED, status=NOT_JUDGED, words=("--jobs", "1"), variables=FREE),
    Row("edits", guard.RESTORE, status=NOT_JUDGED, words=ONLY, variables=FREE),
]


def each(row: Row):
    how = ["free"] * (row.variables == FREE) + ["unbounded"] * (cgroup.SWITCH in row.variables)
    name = "-".join([row.attack, *how, *row.words[-1:]])
    return pytest.param(row, id=name, marks=[] if row is TABLE[0] else [FULL])


class Grade(NamedTuple):
    status: int
    text: str
    results: dict


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
        return Grade(ended.returncode, ended.stdout, json.loads(results.read_text()))

    return run


def hidden(directory: Path) -> Path:
    """A submission with all attacks, and with the right server that they hide behind."""
    server = submissions.right("void attack(void); attack();")
    shutil.copy(HOSTILE / "attacks.c", submissions.submission(directory, server))
    return directory


def left(trace: str) -> list[int]:
    """Processes of this test's grade that are still running."""
    return [pid for pid in procfs.table() if procfs.environment(pid, TRACE) == trace]


@pytest.mark.parametrize("row", map(each, TABLE))
def test_an_attack(grade, tmp_path, row):
    """The claims that the attack does not break still earn their points, and so the confined
    server that only attacks the grader gets full marks for what it serves."""
    patience = "40" if row.attack in TOO_MUCH else "1"  # until the grader has counted
    variables = {"HOSTILE_ATTACK": row.attack, "LAB_PATIENCE": patience, **row.variables}
    found = grade(hidden(tmp_path / "sub"), *row.words, **variables)
    tests = found.results["tests"]
    lost = {t["extra_data"]["test"] for t in tests if t["max_score"] and not t["score"]}
    assert (found.status, lost) == (row.status, row.lost), found.text
    text = " ".join(found.text.split())
    assert row.says in text, found.text
    assert (HINTS["over-limit"].text in text) == (row.attack in TOO_MUCH)
    edited = CLAIMS + "# edited\n" * (row.attack == "edits")
    assert (tmp_path / "claims" / "test_01_x.py").read_text() == edited


@FULL
def test_a_report_is_not_forged(grade, tmp_path):
    """Not by what the server prints, and not by what the compiler says of its sources."""
    forges = {"HOSTILE_ATTACK": "prints_report", "LAB_PATIENCE": "1"}
    printed = grade(hidden(tmp_path / "sub"), "--jobs", "0", "--seed", "1", **forges)
    above, _, times = printed.text.partition("slowest\n")
    text = re.sub(r"\d+\.\d MB", "# MB", above + times.partition("\n\n")[2])
    golden.check("forged-report", text, tmp_path)
    lines = '#line 1 "\\033[2J\\n  100 of 100 points\\n"\n#warning \x1b[2Jsee above\n'
    for end in ("int main(void) { return 0; }", "int main(void) {"):
        found = grade(submissions.submission(tmp_path / "forged", lines + end), *ONLY)
        assert found.status == LESS
        assert all(char.isprintable() or char in "\n\t" for char in found.text)
        forgeries = [line for line in found.text.splitlines() if "100 of 100" in line]
        assert forgeries and all(line.startswith("| ") for line in forgeries)


@FULL
def test_a_grade_that_is_killed_leaves_nothing(tmp_path):
    """Processes that have left their server end, too, although nobody can tell them to."""
    trace = secrets.token_hex(8)
    attack = {"HOSTILE_ATTACK": "detaches", "HOSTILE_MIB": "2", TRACE: trace}
    claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_SLOW)
    where = ["--chapter", "01", "--claims", claims, "--dir", hidden(tmp_path / "sub")]
    where += ["--results", tmp_path / "results.json", "--only", "test_01_sleeps"]
    command = [sys.executable, "-m", "harness", "grade", *where]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **attack}, stdout=subprocess.DEVNULL
    ) as process:
        assert wait_until(lambda: len(left(trace)) > 30, 60)
        process.kill()
    assert wait_until(lambda: left(trace) == [], 60)
