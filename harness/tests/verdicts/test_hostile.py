"""Submissions that are after the grader or its machine: an honest verdict, and nothing left.

Each is a small program of hostile/, which says what it tries and what bounds it. They are graded
with and without confinement (see linux/landlock.py), always in a session of their own.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.tests import shell
from harness.tests import submissions
from harness.tests.drawn import FULL, some
from harness.failures.hints import HINTS
from harness.grading import guard
from harness.lab.chapters import ROOT
from harness.server import kill, process_tree, scratch
from harness.server.linux import cgroup, landlock, procfs
from harness.server.waiting.wait import wait_until

ONE = ["--only", "test_01_echoes"]
HOSTILE = Path(__file__).parent / "hostile"
GRADED_IN = ("hostile", "isolation", "shown")
TRACE = "HOSTILE_TEST"  # in the environment of all that a grade of ours starts
FAILED, NOT_JUDGED = 1, 2  # exit statuses
CONFINED, FREE = "1", "0"
GRADE = (sys.executable, "-m", "harness", "grade", "--verbose")

CLAIMS = '''
import os

from harness.claims.marker import claim
from harness.failures.failure import Failure

@claim("01.1", points=20)
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2", points=60)
def test_01_echoes(server, rng):
    """A frame comes back as it was sent."""
    client = server.connect()
    body = rng.randbytes(1000)
    client.send_frame(body)
    client.expect_frame(body)

@claim("01.3", points=20)
def test_01_ends(server):
    """SIGTERM ends the server."""
    if server.process.stop_gently(1) is None:
        raise Failure("it goes on")
'''


@dataclass(frozen=True)
class Grade:
    """What a grade printed and saved."""

    status: int
    text: str
    results: dict

    @property
    def lost(self) -> set[str]:
        return {t["extra_data"]["test"] for t in self.results["tests"] if not t["score"]}


@pytest.fixture(scope="session")
def other_lab(tmp_path_factory):
    """A copy of the lab that nobody else uses: where servers are not confined, a file that changes
    during a grade spoils it, and Python writes into __pycache__ when it likes."""
    top = tmp_path_factory.mktemp("lab")
    without = shutil.ignore_patterns("__pycache__")  # other tests write into these just now
    shutil.copytree(ROOT / "harness", top / "harness", ignore=without)
    shutil.copy(ROOT / "Makefile", top)
    return top


@pytest.fixture
def grade(tmp_path, other_lab, patient):
    """grade(NAME, confinement, *options, ...) of a program of hostile/. Then nothing is left of it,
    and the right server gets its full marks."""
    trace = secrets.token_hex(8)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    claims = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)

    def run(source, confinement, *options, patience=1.0, **environment):
        if confinement == CONFINED and not landlock.works():
            pytest.skip("this kernel cannot confine")
        results = tmp_path / f"{source.name}.json"
        results.unlink(missing_ok=True)
        own = {TRACE: trace, "TMPDIR": str(scratch), "LAB_PATIENCE": str(patience)}
        own |= {landlock.SWITCH: confinement, **environment}
        if "--claims" not in options and "--chapter" not in options:
            options = (*options, "--claims", str(claims))
        if "--chapter" not in options:
            options = (*options, "--chapter", "01")
        printed = subprocess.run(
            [*GRADE, "--dir", source, "--results", results, *options],
            cwd=ROOT if confinement == CONFINED else other_lab,
            env=shell.environment(**own),
            capture_output=True,
            text=True,
            timeout=shell.SECONDS,
            start_new_session=True,
        )
        assert printed.stderr == ""
        assert left(trace) == []
        assert list(scratch.iterdir()) == []
        return Grade(printed.returncode, printed.stdout, json.loads(results.read_text()))

    def hostile(name, *arguments, **more):
        found = run(program(tmp_path / f"hostile_{name}", name), *arguments, **more)
        right = submissions.submission(tmp_path / "right", submissions.right())
        words = ["--chapter", "01", "--only", "01.2", "--claims", str(claims)]
        after = patient.grade([*words, "--dir", str(right)])
        assert (after.status, after.results["score"]) == (0, 60), after.stdout
        return found

    return hostile


def program(directory: Path, name: str) -> Path:
    """A submission that is this program."""
    directory.mkdir()
    for file in (f"{name}.c", "hostile.h"):
        shutil.copy(HOSTILE / file, directory)
    return directory


def left(trace: str) -> list[int]:
    """The processes that were started by a grade of this test, ended ones apart."""
    return [pid for pid in procfs.table() if procfs.environment(pid, TRACE) == trace]


def test_every_program_is_graded():
    """Each program says in its first lines what it tries and what bounds it."""
    tests = "".join(Path(__file__).with_name(f"test_{n}.py").read_text() for n in GRADED_IN)
    for path in HOSTILE.glob("*.c"):
        assert f'"{path.stem}"' in tests or f'"{path.name}"' in tests, path.name
        head = path.read_text().split("*/")[0]
        assert head.startswith("/*\n * Tries: ") and " * Bounded by: " in head, path.name


# Takes too much


@pytest.mark.parametrize(
    "name, reason",
    [
        ("forks", "started more than 2,048 processes"),
        ("fills_disk", "wrote more than 256 MiB to files"),
        ("many_files", "made more than 10,000 files"),
        ("floods_stdout", "printed more than 256 MiB"),
        ("eats_memory", "used more than 1,536 MiB of memory"),
        ("hides_memory", "wrote more than 256 MiB to files"),
    ],
)
def test_it_takes_too_much(grade, name, reason):
    found = grade(name, CONFINED, *ONE, patience=40)
    assert (found.status, found.lost) == (FAILED, {"test_01_echoes"})
    text = " ".join(found.text.split())
    assert f"killed by the grader: {reason}" in text
    assert HINTS["over-limit"].text in text


@pytest.mark.parametrize(
    "bounded, mib, words",
    some(
        [("1", "20", ["--jobs", "2"] if FULL else ONE), ("0", "10", ONE)],
        *(0, "ways to bound detached processes"),
        ids=lambda way: "a cgroup" if way[0] == "1" else "limits",
    ),
)
def test_it_takes_too_much_in_processes_that_left_it(grade, bounded, mib, words):
    """Before it listens; with FULL=1 in each claim, by two workers. Also where the kernel bounds
    nothing."""
    environment = {cgroup.SWITCH: bounded, "HOSTILE_MIB": mib}
    found = grade("detaches", CONFINED, *words, patience=40, **environment)
    assert found.status == FAILED and "test_01_echoes" in found.lost
    text = " ".join(found.text.split())
    assert "killed by the grader: used more than 1,536 MiB of memory" in text
    assert HINTS["over-limit"].text in text


@pytest.mark.full("servers that are not confined")
def test_it_takes_too_much_and_is_not_confined(grade):
    found = grade("forks", FREE, *ONE, patience=40)
    assert (found.status, found.lost) == (FAILED, {"test_01_echoes"})
    assert "killed by the grader: started more than 2,048 processes" in found.text


@pytest.mark.parametrize("confinement", some([CONFINED, FREE], 1, "breeds, confined or not", str))
def test_it_is_gone_before_anybody_looks(grade, confinement):
    found = grade("breeds", confinement, *ONE, patience=1)
    assert (found.status, found.lost) == (FAILED, {"test_01_echoes"})


# Does not do its work


@pytest.mark.parametrize(
    "name, lost",
    [
        ("closes_all", {"test_01_connects", "test_01_echoes"}),
        ("traps_signals", {"test_01_ends"}),
        ("opens_ports", {"test_01_echoes"}),
        ("knows_answers", {"test_01_echoes"}),
    ],
)
def test_it_fails_what_it_does_not_do(grade, name, lost):
    found = grade(name, CONFINED)
    assert (found.status, found.lost) == (FAILED, lost)


def test_whoever_knows_the_answers_knows_none(grade):
    """The claims are those of the lab itself: the requests are drawn again for every submission."""
    words = ("--chapter", "01", "--only", "test_01_every_byte_value")
    found = grade("knows_answers", CONFINED, *words)
    assert (found.status, found.results["score"]) == (FAILED, 0)


# Lies


def test_it_prints_a_report(grade):
    found = grade("prints_report", CONFINED)
    assert (found.status, found.lost) == (FAILED, {"test_01_echoes"})
    for text in (found.text, *(test["output"] for test in found.results["tests"])):
        assert all(char.isprintable() or char == "\n" for char in text)
        forged = [line for line in text.splitlines() if "100 of 100 points" in line]
        assert all(line.lstrip().startswith("|   100 of") for line in forged)
    assert "|   100 of 100 points" in found.text
    assert found.text.splitlines()[-2].startswith("  40 of 100 points")


def test_its_sources_print_a_report(grade, tmp_path, monkeypatch):
    """What the compiler says of the sources looks like a report."""
    forged = '#line 1 "\\033[2J\\n  100 of 100 points\\n"\n#warning \x1b[2Jsee above\n'
    monkeypatch.setitem(globals(), "HOSTILE", tmp_path / "forged")
    (tmp_path / "forged").mkdir()
    shutil.copy(Path(__file__).parent / "hostile" / "hostile.h", tmp_path / "forged")
    for name, end in (("warns", "int main(void) { return 0; }"), ("breaks", "int main(void) {")):
        (tmp_path / "forged" / f"{name}.c").write_text(forged + end)
        found = grade(name, CONFINED, "--only", "test_01_connects")
        assert found.status == FAILED
        assert all(char.isprintable() or char in "\n\t" for char in found.text)
        forgeries = [line for line in found.text.splitlines() if "100 of 100" in line]
        assert forgeries and all(line.startswith("| ") for line in forgeries)


# Is after the grader


@pytest.mark.parametrize("name", ["kills_group", "kills_parent", "edits_harness"])
def test_it_reaches_nothing_when_confined(grade, tmp_path, name):
    """It is judged by what it serves, and says what it was refused."""
    target = tmp_path / "claims" / "test_01_x.py"
    found = grade(name, CONFINED, HOSTILE_TARGET=str(target))
    assert found.lost == set()
    assert found.status == 0
    assert target.read_text() == CLAIMS


@pytest.mark.parametrize("jobs", some(["2", "0"], 1, "killers, with workers and without", str))
@pytest.mark.parametrize("name", ["kills_group", "kills_parent"])
def test_it_kills_the_grader(grade, name, jobs):
    found = grade(name, FREE, "--jobs", jobs)
    assert found.status == NOT_JUDGED
    assert "test_01_echoes" in found.lost
    assert guard.KILLED in " ".join(found.text.split())


def test_what_it_leaves_is_ended_before_the_next_claim(grade, tmp_path):
    """When its worker is dead there is nobody who knows that these processes were a server's."""
    looks = (
        CLAIMS
        + '''
@claim("01.4", points=1)
def test_01_nobody_is_left():
    """The grader has no children but this one."""
    def left():
        children = [p for p in procfs.table().values() if p.parent == os.getppid()]
        return [p for p in children if p.state != "Z" and p.pid != os.getpid()]

    if not wait_until(lambda: not left(), 5):  # a killed process may take its time to end
        raise Failure(f"left: {left()}")
'''
    )
    claims = submissions.claims(
        tmp_path / "more",
        test_01_x="from harness.server.linux import procfs\n"
        "from harness.server.waiting.wait import wait_until\n" + looks,
    )
    found = grade("kills_parent", FREE, "--jobs", "1", "--claims", str(claims))
    assert found.status == NOT_JUDGED
    assert "test_01_echoes" in found.lost and "test_01_nobody_is_left" not in found.lost


def test_a_grade_that_is_killed_leaves_nothing(tmp_path):
    """Not of a server whose processes have all left it, either."""
    trace = secrets.token_hex(8)
    source = program(tmp_path / "detaches", "detaches")
    grade = subprocess.Popen(
        [*GRADE, "--dir", source, "--chapter", "01", "--only", "01.1"],
        cwd=ROOT,
        env={**os.environ, TRACE: trace, "HOSTILE_MIB": "1", "HOSTILE_SILENT": "1"},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    with grade:
        assert wait_until(lambda: len(left(trace)) > 100, 60)
        grade.kill()
    assert wait_until(lambda: left(trace) == [], 20)  # they end by themselves after 40


@pytest.mark.parametrize("confinement", some([CONFINED, FREE], 1, "stoppers, confined or not", str))
def test_it_stops_the_grader(grade, confinement):
    """Which goes on after a while, and judges."""
    found = grade("stops_parent", confinement, *ONE)
    assert (found.status, found.lost) == (FAILED, {"test_01_echoes"})


def test_it_kills_the_group_of_one_worker_only(grade, tmp_path):
    """Another worker takes its place, as long as there are claims."""
    found = grade("kills_group", FREE)
    assert found.status == NOT_JUDGED
    log = (tmp_path / "hostile_kills_group.log").read_text()
    assert guard.KILLED in log


def test_it_edits_the_harness(grade, tmp_path):
    """The claims that it is graded with are another file, made for this test."""
    target = tmp_path / "claims" / "test_01_x.py"
    found = grade("edits_harness", FREE, *ONE, HOSTILE_TARGET=str(target))
    assert found.status == NOT_JUDGED
    assert found.lost == {"test_01_echoes"}
    said = " ".join(found.text.split())
    assert "files of the lab changed while the server was graded: " in said
    assert "test_01_x.py" in said and guard.RESTORE in said
    assert target.read_text().startswith(CLAIMS + "# edited\n")


# The parts


def test_a_breed_is_hunted_down(tmp_path):
    """Without a look at all processes."""
    assert process_tree.MARK in os.environ  # orphans below this process become its children
    server = tmp_path / "server"
    subprocess.run(["cc", "-o", server, HOSTILE / "breeds.c"], check=True)
    before = set(procfs.children(os.getpid()))
    with subprocess.Popen([server], stdout=subprocess.PIPE, start_new_session=True) as first:
        first.stdout.readline()
        for _ in range(40):
            kill.race(before | {first.pid})
        assert set(procfs.children(os.getpid())) - before == {first.pid}
        first.kill()


def test_whatever_lies_in_a_directory_is_removed(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(tmp_path)
    deep, here = top, os.open(top, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, 0, dir_fd=here))
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (top / "closed").mkdir()
    (top / "closed" / "file").write_text("x")
    (top / "closed").chmod(0)
    scratch.remove(top)
    assert list(tmp_path.iterdir()) == []
    assert deep == top
