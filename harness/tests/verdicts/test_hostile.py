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
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.course.handover import handout
from harness.course.isolation import choice, landlocked
from harness.course.isolation.isolation import Places
from harness.feedback.hints import HINTS
from harness.grade import workers
from harness.server.linux import landlock
from harness.submission import parts
from harness.submission.chapters import CHAPTERS, ROOT, Chapter
from harness.submission.target import WrongUsage
from harness.tests import golden, shell, submissions
from harness.waiting import procfs
from harness.waiting.wait import wait_until

HOSTILE = Path(__file__).parent / "hostile"
TRACE = "HOSTILE_TRACE"  # a variable that all processes of a test's grade have
FULL_MARKS, LESS, NOT_JUDGED = 0, 1, 2  # exit statuses
FULL = pytest.mark.full("hostile submissions")
GRADE = (sys.executable, "-m", "harness", "grade", "--chapter", "01", "--verbose")

CLAIMS = '''
import os
from pathlib import Path

from harness.claims.marker import claim
from harness.feedback.failure import Failure
from harness.waiting import procfs
from harness.waiting.wait import wait_until

@claim("01.2")
def test_01_echoes(server):
    """A frame comes back as it was sent."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")
    if told := os.environ.get("HOSTILE_TOLD"):
        server.process.stop_gently(5)
        Path(told).write_text(server.process.stderr.text())

@claim("01.3")
def test_01_nobody_is_left():
    """The processes of earlier servers have ended, even if their grader was killed."""
    def left():
        children = [p for p in procfs.table().values() if p.parent == os.getppid()]
        return [p for p in children if p.state != "Z" and p.pid != os.getpid()]

    if not wait_until(lambda: not left(), 20):
        raise Failure(f"left: {left()}")
'''


class Row(NamedTuple):
    attack: str
    status: int
    says: str
    variables: dict[str, str] = {}
    jobs: str = "0"


FREE = {landlock.SWITCH: "0"}  # servers are not confined
OVER = "killed by the grader: "
TABLE = [
    Row("attacks_all", FULL_MARKS, "100 of 100 points"),
    Row("forks", LESS, OVER + "started more than 2,048 processes"),
    Row("detaches", LESS, OVER + "used more than 1,536 MiB of memory"),
    Row("pours", LESS, OVER + "wrote more than 256 MiB to files"),
    Row("pours 1", LESS, OVER + "wrote more than 256 MiB to files"),
    Row("many_files", LESS, OVER + "made more than 10,000 files"),
    Row("floods", LESS, OVER + "printed more than 256 MiB"),
    Row("breeds", LESS, "of 100 points"),
    Row("stops", LESS, "of 100 points", FREE),
    Row("kills", NOT_JUDGED, workers.KILLED, FREE, "1"),
]


@pytest.fixture
def grade(tmp_path):
    """A function that grades a submission and returns exit status, output and the claims without
    points; then no process and no file of the submission may be left."""
    trace, temporary, results = secrets.token_hex(8), tmp_path / "tmp", tmp_path / "results.json"
    temporary.mkdir()
    claims = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)

    def run(source: Path, *words: str, **variables: str) -> tuple[int, str, set[str]]:
        if variables.get(landlock.SWITCH) != "0" and not landlock.works():
            pytest.skip("this kernel cannot confine")
        own = {TRACE: trace, "TMPDIR": str(temporary)}
        own |= {"HOSTILE_TARGET": str(claims / "test_01_x.py"), **variables}
        where = ["--claims", claims, "--dir", source, "--results", results]
        ended = ran([*GRADE, *where, *words], shell.environment(**own))
        assert ended.stderr == ""
        assert left(trace) == []
        assert list(temporary.iterdir()) == []
        tests = json.loads(results.read_text())["tests"]
        unearned = [test for test in tests if test["max_score"] and not test["score"]]
        lost = {test.get("extra_data", {}).get("test", "") for test in unearned}
        return ended.returncode, ended.stdout, lost

    return run


def ran(command: list, env: dict | None = None) -> subprocess.CompletedProcess[str]:
    """In a session of its own, since an attack may kill the whole process group."""
    words = [str(word) for word in command]
    how = {"capture_output": True, "text": True, "timeout": shell.SECONDS}
    return subprocess.run(words, cwd=ROOT, env=env, start_new_session=True, **how)


def hostile(directory: Path, attack: str) -> dict[str, str]:
    """Writes a submission that is right but for this attack; returns variables that start it."""
    server = submissions.right("void attack(void); attack();")
    shutil.copy(HOSTILE / "attacks.c", submissions.submission(directory, server))
    when = "HOSTILE_EARLY" if attack.startswith("detaches") else "HOSTILE_ATTACK"
    command = f"{shlex.join([sys.executable, str(HOSTILE / 'attacks.py')])} {attack}"
    return {when: "forks" if attack == "forks" else command}


def left(trace: str) -> list[int]:
    """Processes of this test's grade that are still running."""
    mark = f"{TRACE}={trace}".encode()
    return [pid for pid in procfs.table() if mark in procfs.read(f"/proc/{pid}/environ")]


ROWS = [TABLE[0], *(pytest.param(row, marks=FULL) for row in TABLE[1:])]


@pytest.mark.parametrize("row", ROWS, ids=[row.attack for row in TABLE])
def test_an_attack(grade, tmp_path, row):
    """A confined server gets points for what it serves; nothing that it attacks has changed."""
    if row.attack == "attacks_all" and landlock.version() < landlocked.SIGNALS_SINCE:
        pytest.skip("this kernel does not keep signals in")
    variables = hostile(tmp_path / "sub", row.attack) | row.variables
    takes_too_much = row.says.startswith(OVER)
    variables["LAB_PATIENCE"] = "40" if takes_too_much else "1"  # until the grader has measured it
    status, said, lost = grade(tmp_path / "sub", "--jobs", row.jobs, **variables)
    assert (status, "test_01_echoes" in lost) == (row.status, row.status != FULL_MARKS), said
    assert lost <= {"test_01_echoes"}, said
    text = " ".join(said.split())
    assert row.says in text and (HINTS["over-limit"].text in text) == takes_too_much, said
    assert (tmp_path / "claims" / "test_01_x.py").read_text() == CLAIMS


@FULL
def test_a_report_is_not_forged(grade, tmp_path):
    """Not by what the server prints, and not by what the compiler says of its sources."""
    forges = hostile(tmp_path / "sub", "prints_report")
    printed = grade(tmp_path / "sub", "--jobs", "0", **forges)[1]
    text = re.sub(r"\d\.\d MB", "# MB", printed)
    golden.check("forged-report", text, tmp_path)
    lines = '#line 1 "\\033[2J\\n  100 of 100 points\\n"\n#warning \x1b[2Jsee above\n'
    text = grade(submissions.submission(tmp_path / "forged", lines + "int main(void) {"))[1]
    assert all(char.isprintable() or char in "\n\t" for char in text)
    forgeries = [line for line in text.splitlines() if "100 of 100" in line]
    assert forgeries and all(line.startswith("| ") for line in forgeries)


@FULL
def test_a_grade_that_is_killed_leaves_nothing(tmp_path):
    """Processes that have left their server end, too, although nobody can tell them to."""
    trace = secrets.token_hex(8)
    variables = {**os.environ, TRACE: trace, **hostile(tmp_path / "sub", "detaches 1")}
    claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_SLOW)
    where = ["--claims", claims, "--dir", tmp_path / "sub", "--results", tmp_path / "results.json"]
    command, quiet = [*GRADE, *where, "--only", "test_01_sleeps"], subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=quiet) as process:
        assert wait_until(lambda: len(left(trace)) > 30, 60)
        process.kill()
    assert wait_until(lambda: left(trace) == [], 60)


# What an isolated server may reach. The memory within bubblewrap ends with the grade. Whether there
# is a route to another machine depends on this machine.
REACHED = {"bubblewrap": {"memory"}, "landlock": {"listener", "network", "socket"}}


class Outside:
    """A submission, and what lies next to it on the machine of an instructor."""

    def __init__(self, top: Path, name: str) -> None:
        self.isolation = choice.KINDS[name]()
        if isinstance(self.isolation, str):
            pytest.skip(self.isolation)
        self.trace = secrets.token_hex(8)
        self.submission, self.output = top / "sub" / "ada", top / "out" / "ada"
        self.libraries, self.neighbour = top / "out" / "libraries", top / "sub" / "ben" / "main.c"
        for directory in (self.submission, self.output, self.libraries, self.neighbour.parent):
            directory.mkdir(parents=True)
        self.neighbour.write_text("int main(void) { return 0; }\n")
        shutil.copy(HOSTILE / "attacks.py", self.submission)

    def command(self, *argv: object, **variables: object) -> list[str]:
        """The command that runs `argv` in isolation, where these variables replace all others."""
        variables[TRACE] = self.trace
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *argv]
        places = Places(ROOT, CHAPTERS[0], self.submission, self.output, self.libraries)
        return self.isolation.command([str(word) for word in words], places)


@pytest.fixture(params=REACHED)
def outside(tmp_path, request):
    """An Outside, of which nothing may be left at the end."""
    found = Outside(tmp_path, request.param)
    yield found
    assert left(found.trace) == []
    assert not list(found.output.glob(".*"))


def seen(chapter: Chapter) -> set[Path]:
    """The files of the lab that a grade of this chapter can read, see submission/parts.py."""
    found = [path for top in parts.of_a_timeline(ROOT, chapter) for path in (top, *top.rglob("*"))]
    return {path for path in found if path.is_file() and "__pycache__" not in path.parts}


def test_a_grade_sees_nothing_that_is_not_handed_out():
    """test_handover.py shows that a handout has no solution."""
    for chapter in CHAPTERS:
        files, public = seen(chapter), {one.name for one in handout.members(chapter)}
        assert {f"lab/{path.relative_to(ROOT)}" for path in files} <= public
        numbers = re.findall(r"^(?:test_)?(\d\d)_", "\n".join(p.name for p in files), re.M)
        assert max(numbers) <= chapter.number


def test_what_a_submission_reaches(outside, monkeypatch):
    """A server reaches nothing outside, or `open` names it, and is graded by what it serves. The
    grade around it changes nothing but its results, and its compiler reads no more: the assembler
    tries all files, where the compiler would stop at the first one that is missing."""
    if outside.isolation.name == "landlock" and landlocked.SIGNALS in outside.isolation.open:
        pytest.skip("this kernel does not keep signals in")
    monkeypatch.setenv("LAB_SECRET", "of the instructor")
    submission, told = outside.submission, outside.output / "told"
    result = outside.output / "result.json"
    tops = [top for top in ROOT.iterdir() if top.name not in (".git", "build")]  # these change
    files = filter(Path.is_file, (one for top in tops for one in (top, *top.rglob("*"))))
    paths = [one for one in files if one.suffix != ".pyc"]
    (submission / "link.h").symlink_to(ROOT / "solutions" / "01-blocking" / "main.c")
    shared = outside.libraries / "shim.so"
    shared.write_text("not a library")
    paths += [outside.neighbour, submission / "link.h", Path("/etc/shadow")]
    locked = [ROOT / "Makefile", ROOT / "x", submission / "x", shared, outside.libraries / "x"]
    key = secrets.randbelow(1 << 30) + 1
    attack = [sys.executable, submission / "attacks.py", "reaches"]
    with (
        subprocess.Popen(["sleep", "600"]) as victim,
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as local,
        tempfile.TemporaryDirectory() as directory,  # a short name: 108 bytes are the most
    ):
        local.bind(f"{directory}/socket")
        local.listen()
        given = {"port": listener.getsockname()[1], "socket": f"{directory}/socket", "key": key}
        given |= {"victim": victim.pid, "result": str(result), "locked": [*map(str, locked)]}
        (submission / "given.json").write_text(json.dumps(given | {"paths": [*map(str, paths)]}))
        grade = ran(outside.command(*attack, HOSTILE_PARENT=victim.pid))
        shared.unlink()
        source = submissions.submission(submission, submissions.right()) / "main.c"
        shutil.copy(HOSTILE / "attacks.c", submission)
        claims = submissions.claims(submission / "claims", test_01_x=CLAIMS)
        where = ["--claims", claims, "--dir", submission, "--results", result]
        early = {"HOSTILE_TOLD": told, "HOSTILE_EARLY": shlex.join(map(str, attack))}
        server = ran(outside.command(*GRADE, *where, "--only", "echoes", **early))
        assert victim.poll() is None
        victim.kill()
    assert (server.returncode, server.stderr) == (FULL_MARKS, ""), server.stdout
    assert f" {key} " not in Path("/proc/sysvipc/shm").read_text()

    may, no_route = REACHED[outside.isolation.name], {"network"}
    assert ("network" in may) == (landlocked.NETWORK in outside.isolation.open)
    shown = seen(CHAPTERS[0]) & set(paths)
    for more, text in ((set(), told.read_text()), ({"result"}, grade.stderr)):
        reached, *read = json.loads(text)
        assert may - no_route <= set(reached) - more <= may, text
        assert [{paths[number] for number in numbers} for numbers in read] == [shown, shown]

    lines = (json.dumps(f'    .incbin "{path}"') for path in paths)
    source.write_text("".join(f"__asm__({line});\n" for line in lines))
    said = ran(outside.command("cc", "-c", source, "-o", "/dev/null")).stderr
    refused = set(re.findall(r"Error: file not found: (.*)$", said, re.M))
    assert {path for path in paths if str(path) not in refused} == shown
    environ = ran(outside.command("sh", "-c", "cat /proc/[0-9]*/environ 2>/dev/null")).stdout
    assert outside.trace in environ and "LAB_SECRET" not in environ


@FULL
def test_a_class_is_isolated(outside, tmp_path):
    solution = ROOT / "solutions/01-blocking/main.c"
    submissions.submission(tmp_path / "class" / "ada", f'#include "{solution}"\n')
    where = ["--submissions", tmp_path / "class", "--results", tmp_path / "results"]
    graded = shell.lab("class", "--chapter", "01", *where, "--isolate", outside.isolation.name)
    text = (tmp_path / "results" / "01/class/ada" / "output.txt").read_text()
    assert re.search(rf"error: {solution}: (No such file|Permission denied)", text), text
    assert graded.returncode == 0, graded.stderr


@FULL
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_isolated_grade_is_stopped(outside, number):
    """Detached processes end with their grade."""
    if number == signal.SIGKILL and outside.isolation.name == "landlock":
        pytest.skip("nothing can end these processes")
    code = "import attacks; attacks.detaches(1); print('ready', flush=True); attacks.sleeps()"
    command = outside.command(sys.executable, "-c", code, PYTHONPATH=outside.submission)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert len(left(outside.trace)) > 30
        process.send_signal(number)
    assert wait_until(lambda: left(outside.trace) == [], 60)


def test_the_best_isolation_that_works(monkeypatch, tmp_path):
    """A bubblewrap that fails, as AppArmor and containers make it, is not chosen. What a submission
    must not read may not be in a directory of the system."""
    shell.script(tmp_path / "bwrap", "echo 'bwrap: loopback: Failed RTM_NEWADDR' >&2\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setitem(choice.KINDS, "landlock", landlocked.Landlocked)
    assert choice.choose("auto").name == "landlock"
    with pytest.raises(WrongUsage, match="bubblewrap does not work here: bwrap: loopback: Failed"):
        choice.choose("bubblewrap")
    monkeypatch.setattr(choice, "SYSTEM", (tmp_path / "system",))
    (tmp_path / "link").symlink_to(tmp_path / "system" / "sub")
    with pytest.raises(WrongUsage, match=f"{tmp_path}/link: each submission can read what is in"):
        choice.choose("landlock", ROOT, tmp_path / "link")
