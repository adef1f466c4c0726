"""Isolated grades: what a hostile submission reaches, what it leaves, and what a right one gets.

The programs of hostile/ try it, and most of them run without a whole grade around them.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.tests import submissions
from harness.tests.verdicts.outside import (  # noqa: F401: fixtures
    HOSTILE,
    Outside,
    isolation,
    outside,
)
from harness.tests.shell import script
from harness.course.isolation import __main__ as inside, bubblewrap, choice, landlocked
from harness.course.isolation.choice import choose
from harness.course.isolation.isolation import Places, of_python
from harness.lab.chapters import CHAPTERS, ROOT
from harness.lab.target import WrongUsage
from harness.server.linux import cgroup, landlock, procfs, seccomp
from harness.server.waiting.wait import wait_until

# What escapes.c gets. Within bubblewrap, System V memory ends with the grade. Whether there is a
# route to another machine depends on this one.
REACHED = {"bubblewrap": {"memory"}, "landlock": {"listener", "network", "socket"}}
SHARED_MEMORY = Path("/proc/sysvipc/shm")


@pytest.fixture
def victim():
    """A process of this user that has nothing to do with a grade."""
    with subprocess.Popen(["sleep", "600"]) as found:
        yield found
        found.kill()


# Which one


def test_a_wish_that_does_not_exist():
    with pytest.raises(WrongUsage, match="ISOLATE=jail: it can be one of auto, bubblewrap"):
        choose("jail")


def test_the_best_one_that_works(monkeypatch):
    monkeypatch.setitem(choice.KINDS, "bubblewrap", lambda: "refused")
    monkeypatch.setitem(choice.KINDS, "landlock", landlocked.Landlocked)
    assert choose("auto").name == "landlock"
    monkeypatch.setitem(choice.KINDS, "landlock", lambda: "too old")
    assert choose("auto").name == "none" and choose("auto").open
    with pytest.raises(WrongUsage, match="ISOLATE=bubblewrap does not work here: refused; try"):
        choose("bubblewrap")


def test_nothing_changes_nothing(tmp_path):
    assert choose("none").command(["true"], Places(ROOT, CHAPTERS[0], tmp_path, tmp_path)) == [
        "true"
    ]


def test_bubblewrap_is_missing(monkeypatch):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    assert "the package bubblewrap" in bubblewrap.find()


def test_bubblewrap_is_refused(monkeypatch, tmp_path):
    """The program is there and fails, as AppArmor and containers make it."""
    script(tmp_path / "bwrap", "echo 'bwrap: loopback: Failed RTM_NEWADDR' >&2\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert bubblewrap.find() == "bwrap: loopback: Failed RTM_NEWADDR"


def test_it_says_what_is_open(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 5)
    monkeypatch.setattr(seccomp, "known", lambda: False)
    found = landlocked.Landlocked().open
    assert landlocked.NETWORK in found and landlocked.MEMORY in found
    assert landlocked.SIGNALS in found
    assert bubblewrap.Bubblewrap("bwrap", frozenset()).open == ()
    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert bubblewrap.Bubblewrap("bwrap", frozenset()).open == (bubblewrap.RESULTS,)


def test_an_older_bubblewrap_gets_no_option_that_it_lacks(tmp_path):
    old = bubblewrap.Bubblewrap("bwrap", frozenset())
    words = old.command(["true"], Places(ROOT, CHAPTERS[0], tmp_path, tmp_path))
    assert "--disable-userns" not in words and "--size" not in words


def test_a_python_elsewhere_shows_neither_the_lab_nor_a_submission(monkeypatch, tmp_path):
    packages, submission = tmp_path / "packages", tmp_path / "home" / "sub"
    own = tmp_path / "own"
    for directory in (packages, submission, own):
        directory.mkdir(parents=True)
    shown = [str(ROOT), str(packages), str(own), str(tmp_path / "home"), ""]
    monkeypatch.setattr(sys, "path", shown)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}/x:{own}")
    found = of_python(ROOT, submission)
    assert packages in found and own not in found
    assert not [one for one in found if ROOT.is_relative_to(one) or one == tmp_path / "home"]


def test_a_directory_of_the_system_hides_nothing(monkeypatch, tmp_path):
    """Every grade reads these directories: so neither the lab nor a submission may be there."""
    monkeypatch.setattr(choice, "SYSTEM", (tmp_path,))
    monkeypatch.setitem(choice.KINDS, "landlock", landlocked.Landlocked)
    with pytest.raises(WrongUsage, match=f"{tmp_path}/sub: each submission can read what is in"):
        choose("landlock", ROOT, tmp_path / "sub")
    assert choose("landlock", ROOT).name == "landlock"
    assert choose("none", tmp_path / "sub").name == "none"


# What a submission reaches


def test_what_it_reaches(outside, victim):
    """Nothing outside, or `open` names it; and it is judged by what it serves."""
    named = landlocked.NETWORK in outside.isolation.open
    assert named == ("network" in REACHED[outside.isolation.name])
    shutil.copy(HOSTILE / "escapes.c", outside.submission)
    shutil.copy(HOSTILE / "hostile.h", outside.submission)
    secret = outside.neighbour.parent.parent / "secret"
    secret.write_text("x")
    key = secrets.randbelow(1 << 30) + 1
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as local,
        tempfile.TemporaryDirectory() as directory,  # a short name: 108 bytes are the most
    ):
        local.bind(f"{directory}/socket")
        local.listen()
        found = outside.grade(
            HOSTILE_PORT=listener.getsockname()[1],
            HOSTILE_SOCKET=f"{directory}/socket",
            HOSTILE_SOLUTION=ROOT / "solutions" / "01-blocking" / "main.c",
            HOSTILE_NEIGHBOUR=outside.neighbour,
            HOSTILE_SECRET=secret,
            HOSTILE_RESULT=outside.output / "result.json",
            HOSTILE_SOURCE=outside.submission / "escapes.c",
            HOSTILE_VICTIM=victim.pid,
            HOSTILE_KEY=key,
        )
    told = found["tests"][1]["output"]
    tried = set(re.findall(r"(reached|refused) (\w+)", told))
    reached = {name for how, name in tried if how == "reached"}
    assert len(tried) == 11, told
    assert reached - {"network"} == REACHED[outside.isolation.name] - {"network"}, told
    assert reached <= REACHED[outside.isolation.name], told
    assert [test["score"] for test in found["tests"]] == [60, 0]
    assert victim.poll() is None
    assert f" {key} " not in SHARED_MEMORY.read_text()


def test_a_right_server_gets_its_points(outside):
    (outside.submission / "main.c").write_text(submissions.right())
    assert outside.grade()["score"] == 100
    assert sorted(path.name for path in outside.output.iterdir()) == ["result.json", "result.log"]


PROBE = """
import os, pathlib, sys
found = {}
for word in sys.argv[1:]:
    how, path = word.split(":", 1)
    try:
        if how == "read":
            found[word] = len(open(path, "rb").read(1))
        else:
            open(path, "ab").close()
            found[word] = True
    except OSError:
        found[word] = None
print(__import__("json").dumps(found))
"""


def test_the_files_that_a_grade_cannot_change(outside):
    """The grade itself, not its server. test_shown.py has what it can read of the lab."""
    hidden = "/proc/1/environ" if outside.isolation.name == "landlock" else "/root/.profile"
    locked = ["chapters/x", "Makefile", "/usr/x", "/etc/x", outside.submission / "x", "/var/tmp/x"]
    words = [f"read:{hidden}", *(f"write:{path}" for path in locked)]
    kept = f"write:{outside.output / 'kept'}"
    found = json.loads(outside.run(sys.executable, "-c", PROBE, *words, kept).stdout)
    assert found == {**dict.fromkeys(words), kept: True}


def test_the_libraries_are_shared_and_cannot_be_changed(outside):
    """The libraries are the lab's own, and the next grade uses them, too."""
    library = outside.libraries / "shim.so"
    library.write_text("not a library")
    code = "from harness.server import shim; print(shim.shim_library())"
    assert outside.run(sys.executable, "-c", code).stdout == f"{library}\n"
    words = [f"read:{library}", f"write:{library}", f"write:{library.parent / 'other.so'}"]
    found = json.loads(outside.run(sys.executable, "-c", PROBE, *words).stdout)
    assert [found[word] for word in words] == [1, None, None]
    assert [path.name for path in outside.libraries.iterdir()] == ["shim.so"]


def test_the_environment_is_cleared(outside, monkeypatch):
    """The environment of bwrap is cleared, too, since it can be read inside."""
    monkeypatch.setenv("LAB_SECRET", "of the instructor")
    monkeypatch.setenv("MAKEFLAGS", "-j")
    everything = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"
    found = outside.run("sh", "-c", everything).stdout
    assert outside.trace in found
    assert "LAB_SECRET" not in found and "MAKEFLAGS" not in found


# What a submission leaves


STARTS = """
import subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
print(server.stdout.readline(), flush=True)
"""


def test_detached_processes_end_with_the_grade(outside):
    """Two hundred of them, with memory, in sessions of their own."""
    server = outside.build("detaches")
    ended = outside.run(sys.executable, "-c", STARTS, server, HOSTILE_MIB=1)
    assert ended.stdout.startswith("listening on ")
    assert outside.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_is_stopped_from_outside(tmp_path, number):
    """The grade ends even if nobody can tell it to."""
    isolation = choice.KINDS["bubblewrap"]()
    if isinstance(isolation, str):
        pytest.skip(isolation)
    outside = Outside(tmp_path, isolation)
    command = outside.command(outside.build("detaches"), HOSTILE_MIB=1)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert len(outside.left()) > 100
        process.send_signal(number)
    assert wait_until(lambda: outside.left() == [], 20)


def test_a_grade_is_stopped(tmp_path):
    """Landlock hides no processes: there, the grade ends what it has started."""
    if not landlock.works():
        pytest.skip("this kernel cannot confine")
    outside = Outside(tmp_path, landlocked.Landlocked())
    command = outside.command(outside.build("detaches"), HOSTILE_MIB=1)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.terminate()
    assert outside.left() == []
    assert not list(outside.output.iterdir())


def test_the_private_directory_of_a_killed_grade_is_removed(outside):
    if outside.isolation.name != "landlock":
        pytest.skip("bubblewrap has its /tmp in memory")
    old = outside.output / f"{inside.PRIVATE}old"
    (old / "build").mkdir(parents=True)
    assert outside.run("true").returncode == 0
    assert not old.exists()


def test_memory_and_threads_are_bounded(outside):
    """All of a grade together, where a control group can be made."""
    group = cgroup.enter_new(1 << 30, 1000)
    if group is None:
        pytest.skip("no control group can be made here")
    group.leave()
    command = outside.command("sh", "-c", "echo ready; read line")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        process.stdout.readline()
        groups = [procfs.read(f"/proc/{pid}/cgroup").decode() for pid in outside.left()]
        process.stdin.close()
    assert groups and all(cgroup.NAME.format(pid=process.pid) in group for group in groups)


def test_the_status_of_the_command(outside):
    assert outside.run("sh", "-c", "exit 2").returncode == 2
    assert outside.run("sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL
