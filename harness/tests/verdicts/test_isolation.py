"""The grade of a class is isolated: what a submission reaches of the machine, and what it leaves.

Each test tries both isolations, and skips one that does not work here.
"""

from __future__ import annotations

import itertools
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
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.claims.stage import linking
from harness.course.handover import handout
from harness.course.isolation import __main__ as inside
from harness.course.isolation import bubblewrap, choice, landlocked
from harness.course.isolation.choice import choose
from harness.course.isolation.isolation import Places
from harness.lab import parts
from harness.lab.chapters import CHAPTERS, ROOT, Chapter
from harness.lab.target import WrongUsage
from harness.server.linux import cgroup, procfs
from harness.server.waiting.wait import wait_until
from harness.tests import submissions
from harness.tests.shell import SECONDS, lab, script

HOSTILE = Path(__file__).parent / "hostile"
TRACE = "HOSTILE_ISOLATION_TEST"  # a variable that all processes of a test's grade have
FULL = pytest.mark.full("hostile submissions")
# What reaches.c may reach. The memory within bubblewrap ends with the grade. Whether there is a
# route to another machine depends on this machine.
REACHED = {"bubblewrap": {"memory"}, "landlock": {"listener", "network", "socket"}}
CLAIMS = '''
import os
from pathlib import Path

from harness.claims.marker import claim

@claim("01.1", points=100)
def test_01_echoes(server):
    """A frame comes back as it was sent. What the server says on stderr is kept."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")
    server.process.stop_gently(5)
    Path(os.environ["HOSTILE_TOLD"]).write_text(server.process.stderr.text())
'''


class Outside:
    """A submission, and what lies next to it on the machine of an instructor."""

    def __init__(self, top: Path, name: str) -> None:
        found = choice.KINDS[name]()
        if isinstance(found, str):
            pytest.skip(found)
        self.isolation = found
        self.trace = secrets.token_hex(8)
        self.submission, self.output = top / "sub" / "ada", top / "out" / "ada"
        self.libraries, self.neighbour = top / "out" / "libraries", top / "sub" / "ben" / "main.c"
        for directory in (self.submission, self.output, self.libraries, self.neighbour.parent):
            directory.mkdir(parents=True)
        self.neighbour.write_text("int main(void) { return 0; }\n")

    def command(self, *argv: object, **variables: object) -> list[str]:
        """The command that runs `argv` in isolation, where these variables replace all others."""
        variables[TRACE] = self.trace
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *argv]
        places = Places(ROOT, CHAPTERS[0], self.submission, self.output, self.libraries)
        return self.isolation.command([str(word) for word in words], places)

    def run(self, *argv: object, **variables: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*argv, **variables),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            start_new_session=True,
        )

    def left(self) -> list[int]:
        """Processes of isolated commands that are still running."""
        table = procfs.table()
        return [pid for pid in table if procfs.environment(pid, TRACE) == self.trace]


@pytest.fixture(params=REACHED)
def outside(tmp_path, request):
    """An Outside, of which nothing may be left at the end."""
    found = Outside(tmp_path, request.param)
    yield found
    assert found.left() == []
    assert not list(found.output.glob(".*"))


# What a submission reaches


def seen(chapter: Chapter) -> set[Path]:
    """The files of the lab that a grade of this chapter can read; lab/parts.py has the reasons."""
    tops = parts.of_a_timeline(ROOT, chapter)
    return {path for top in tops for path in (top, *top.rglob("*")) if path.is_file()}


def test_a_grade_sees_nothing_that_is_not_handed_out():
    """test_handover.py shows that a handout has no solution. All programs of the claims are
    there."""
    for chapter in CHAPTERS:
        files = {path for path in seen(chapter) if "__pycache__" not in path.parts}
        public = {one.name for one in handout.members(chapter)}
        assert {f"lab/{path.relative_to(ROOT)}" for path in files} <= public
        numbers = re.findall(r"^(?:test_)?(\d\d)_", "\n".join(p.name for p in files), re.M)
        assert max(numbers) <= chapter.number
        claims = "".join(path.read_text() for path in files if path.parent.name == "claims")
        for name in set(re.findall(r'\bprogram\(\s*"(\w+)"', claims)):
            assert {linking.PROGRAMS / file for file in linking.own_files(name)} <= files


def files_below(top: Path) -> Iterator[Path]:
    for directory, below, names in os.walk(top):
        below[:] = sorted(name for name in below if name not in ("__pycache__", "npm"))
        yield from (Path(directory, name) for name in sorted(names))


def paths_to_read(outside: Outside) -> list[Path]:
    """Each file of the lab, some of what git and builds have made, and others outside of it."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for top in sorted(path for path in ROOT.iterdir() if path.is_dir()):
        most = 100 if top.name in ("build", ".git") else None
        found += itertools.islice(files_below(top), most)
    result = outside.output.parent / "ben" / "result.json"
    result.parent.mkdir()
    result.write_text("{}")
    link = outside.submission / "link.h"
    link.symlink_to(ROOT / "solutions" / "01-blocking" / "main.c")
    return [*found, outside.neighbour, result, link, Path("/etc/shadow")]


def test_what_a_server_reaches(outside):
    """A server reaches nothing outside, or `open` names it, and is graded by what it serves. Its
    compiler can read no more: the assembler tries all files, where the compiler would stop at the
    first one that is missing."""
    paths, key = paths_to_read(outside), secrets.randbelow(1 << 30) + 1
    assert len(paths) > 1000
    claims = submissions.claims(outside.submission / "claims", test_01_x=CLAIMS)
    source = submissions.submission(outside.submission, submissions.right()) / "main.c"
    for name in ("attacks.c", "attacks.py"):
        shutil.copy(HOSTILE / name, outside.submission)
    result, told = outside.output / "result.json", outside.output / "told"
    where = ["--claims", claims, "--dir", outside.submission, "--results", result]
    early = [sys.executable, str(outside.submission / "attacks.py"), "reaches"]
    with (
        subprocess.Popen(["sleep", "600"]) as victim,
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as local,
        tempfile.TemporaryDirectory() as directory,  # a short name: 108 bytes are the most
    ):
        local.bind(f"{directory}/socket")
        local.listen()
        given = {
            "port": listener.getsockname()[1],
            "socket": f"{directory}/socket",
            "result": str(result),
            "victim": victim.pid,
            "key": key,
            "paths": [str(path) for path in paths],
        }
        (outside.submission / "given.json").write_text(json.dumps(given))
        graded = outside.run(
            *(sys.executable, "-m", "harness", "grade", "--chapter", "01", *where),
            HOSTILE_TOLD=told,
            HOSTILE_EARLY=shlex.join(early),
        )
        assert victim.poll() is None
        victim.kill()
    assert (graded.returncode, graded.stderr) == (0, ""), graded.stdout
    assert f" {key} " not in Path("/proc/sysvipc/shm").read_text()
    names = ["result.json", "result.log", "told"]
    assert sorted(path.name for path in outside.output.iterdir()) == names

    reached, *read = json.loads(told.read_text())
    kind, network = outside.isolation, {"network"}  # a machine may have no route to another one
    assert set(reached) | network == REACHED[kind.name] | network
    assert network <= REACHED[kind.name] or "network" not in reached
    assert (landlocked.NETWORK in kind.open) == (network <= REACHED[kind.name])
    shown = seen(CHAPTERS[0]) & set(paths)
    assert [{paths[number] for number in numbers} for numbers in read] == [shown, shown]

    lines = (json.dumps(f'    .incbin "{path}"') for path in paths)
    source.write_text("".join(f"__asm__({line});\n" for line in lines))
    said = outside.run("cc", "-c", source, "-o", "/dev/null").stderr
    refused = set(re.findall(r"Error: file not found: (.*)$", said, re.M))
    assert {path for path in paths if str(path) not in refused} == shown


PROBE = """
import json, os, sys
found = {}
for word in sys.argv[1:]:
    how, path = word.split(":", 1)
    try:
        found[word] = len(open(path, "rb").read(1)) if how == "read" else open(path, "ab").close()
    except OSError:
        found[word] = "refused"
print(json.dumps(found), flush=True)
os.system("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\\\0' '\\\\n'")
sys.exit(3)
"""


def test_what_the_grade_itself_reaches(outside, monkeypatch):
    """A grade changes nothing but its results, not even the libraries that all grades share. It
    cannot see the environment of the instructor."""
    monkeypatch.setenv("LAB_SECRET", "of the instructor")
    library, kept = outside.libraries / "shim.so", outside.output / "kept"
    library.write_text("not a library")
    private = "/proc/1/environ" if outside.isolation.name == "landlock" else "/root/.profile"
    locked = ["chapters/x", "Makefile", "/usr/x", "/etc/x", "/var/tmp/x", outside.submission / "x"]
    locked = [f"write:{path}" for path in (*locked, library, library.parent / "other.so")]
    words = [f"read:{private}", *locked, f"read:{library}", f"write:{kept}"]
    ended = outside.run(sys.executable, "-c", PROBE, *words)
    first, environment = ended.stdout.split("\n", 1)
    refused = dict.fromkeys(words[:-2], "refused")
    assert json.loads(first) == refused | {words[-2]: 1, words[-1]: None}
    assert outside.trace in environment and "LAB_SECRET" not in environment
    assert ended.returncode == 3


@FULL
def test_a_class_is_isolated(outside, tmp_path):
    """Each submission includes a file that it must not read, and so none of them compiles."""
    hidden = {"a": ROOT / "solutions/01-blocking/main.c", "b": outside.neighbour}
    for name, path in hidden.items():
        submissions.submission(tmp_path / "class" / name, f'#include "{path}"\n')
    where = ["--submissions", tmp_path / "class", "--results", tmp_path / "results"]
    graded = lab("class", "--chapter", "01", *where, "--isolate", outside.isolation.name)
    assert graded.returncode == 0, graded.stderr
    for name, path in hidden.items():
        text = (tmp_path / "results" / "01" / name / "output.txt").read_text()
        assert re.search(rf"error: {path}: (No such file|Permission denied)", text), text


# What a submission leaves


@FULL
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_grade_is_stopped(outside, number):
    """Detached processes end with their grade. Meanwhile a control group bounds all of them, where
    one can be made. Landlock hides no processes, so there the grade has to end them itself."""
    if number == signal.SIGKILL and outside.isolation.name == "landlock":
        pytest.skip("nothing can end these processes")
    old = outside.output / f"{inside.PRIVATE}old"  # of a grade that was killed
    old.mkdir()
    group = cgroup.enter_new(1 << 30, 1000)
    if group is not None:
        group.leave()
    code = "import attacks; attacks.detaches_little(); print('ready', flush=True); attacks.sleeps()"
    shutil.copy(HOSTILE / "attacks.py", outside.submission)
    command = outside.command(sys.executable, "-c", code, PYTHONPATH=outside.submission)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        members = [procfs.read(f"/proc/{pid}/cgroup").decode() for pid in outside.left()]
        assert len(members) > 30
        if group is not None:
            assert all(cgroup.NAME.format(pid=process.pid) in member for member in members)
        process.send_signal(number)
    assert wait_until(lambda: outside.left() == [], 60)
    if outside.isolation.name == "bubblewrap":  # its temporary files are in memory
        old.rmdir()


# Which isolation


def test_the_best_isolation_that_works(monkeypatch, tmp_path):
    """A bubblewrap that is there and fails, as AppArmor and containers make it, is not chosen. Nor
    is a directory of the system, which every grade can read."""
    script(tmp_path / "bwrap", "echo 'bwrap: loopback: Failed RTM_NEWADDR' >&2\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setitem(choice.KINDS, "landlock", landlocked.Landlocked)
    assert choose("auto").name == "landlock"
    with pytest.raises(WrongUsage, match="bubblewrap does not work here: bwrap: loopback: Failed"):
        choose("bubblewrap")
    monkeypatch.setattr(choice, "SYSTEM", (tmp_path,))
    with pytest.raises(WrongUsage, match=f"{tmp_path}/sub: each submission can read what is in"):
        choose("landlock", ROOT, tmp_path / "sub")
    assert choose("none", tmp_path / "sub").name == "none"
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert bubblewrap.find() == bubblewrap.MISSING
