"""What surrounds a grade decides nothing: the path of the lab, its checkout, the variables, signals
and limits of the caller, the output, and the port that a server has."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.authors.mutants.catalogue import select
from harness.failures.failure import NotJudged
from harness.lab.chapters import ROOT, find
from harness.server import spawn
from harness.server.process import ServerProcess
from harness.server.shim import Shim, layout, shim_library
from harness.server.waiting.wait import wait_until
from harness.tests import submissions
from harness.tests.shell import environment, run

ODD = Path(__file__).with_name("servers") / "odd.py"
SERVER = [sys.executable, "-S", "-E", str(ODD), "is_right"]
# Characters that ld.so, sh, make, pytest or a format take for something else.
PATHS = ("my lab", "week:1", "$LIB", "%p,;#", "it's", "new\nline", "[1]::", os.fsdecode(b"\xff"))

# The path


def test_the_library_is_loaded_from_any_path(tmp_path, monkeypatch):
    for name in PATHS:
        place = tmp_path / name
        place.mkdir()
        library = Path(shutil.copy(shim_library(), place))
        monkeypatch.setattr("tempfile.tempdir", str(place))
        with ServerProcess().start(SERVER, preload=[library], linked_here=True) as server:
            assert server.calls() is not None, name
    library.write_text("no library\n" * 100)
    with pytest.raises(NotJudged, match=r"do not load the lab's own library: .*invalid ELF"):
        ServerProcess().start(SERVER, preload=[library], linked_here=True)


@pytest.mark.full("grades in an odd place")
def test_a_wrong_and_a_right_server_in_an_odd_place(tmp_path):
    """Its failure can be replayed and traced there."""
    copy = tmp_path / "my lab:1 [$LIB]::"
    left_out = shutil.ignore_patterns("build", ".git", "__pycache__", "node_modules")
    shutil.copytree(ROOT, copy, ignore=left_out)

    def make(*words):
        return run("make", "-C", str(copy), *words, PYTHONDONTWRITEBYTECODE="").stdout

    (wrong,) = select(find("01"), "empty-frame-no-reply")
    wrong.write(copy / "wrong one")
    given = ["CH=01", "T=01_empty_frames"]
    assert "3 of 3 points" in make("grade", *given, "FROM=solutions")
    told = make("grade", *given, "DIR=wrong one")
    assert "0 of 3 points" in told
    found = re.search(r"make replay ID=(\S+)", told)
    assert "0 of 3 points" in make("replay", f"ID={found[1]}", "DIR=wrong one")
    assert "read" in make("trace", *given, "DIR=wrong one")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the lab has no history")
@pytest.mark.full("a clone of the lab")
def test_a_clone_of_git_for_windows_has_the_same_bytes(tmp_path):
    clone = ["git", "-c", "core.autocrlf=true", "clone", "--quiet", "--depth=1", f"file://{ROOT}"]
    subprocess.run([*clone, tmp_path / "lab"], check=True)
    shutil.rmtree(tmp_path / "lab" / ".git")
    files = [path for path in (tmp_path / "lab").rglob("*") if path.is_file()]
    assert [path for path in files if b"\r\n" in path.read_bytes()] == []


# The caller

COMMAND = ("sh", "harness/find-python.sh", "-m", "harness.tests.verdicts.surrounded")
PERSONALITY = 0x0060000  # UNAME26 and ADDR_NO_RANDOMIZE
SET_TIMERSLACK = 29  # linux/prctl.h
SOFT = {"AS": 2 << 30, "STACK": 512 << 10, "CPU": 60, "FSIZE": 1 << 20, "NOFILE": 64, "MEMLOCK": 0}
VARIABLES = {
    **{"PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1", "PYTHONWARNINGS": "error"},
    **{"ASAN_OPTIONS": "exitcode=0", "MALLOC_PERTURB_": "7", "LD_PRELOAD": "/no/lib.so"},
    **{"GLIBC_TUNABLES": "glibc.malloc.check=3", "GIT_DIR": "/no", "MAKEFLAGS": "n", "CPATH": ":"},
}


def odd_caller():
    """Changes what a child inherits, before it becomes a command."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.umask(0o777)
    for name, soft in SOFT.items():
        which = getattr(resource, f"RLIMIT_{name}")
        resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))
    libc = ctypes.CDLL(None)
    libc.personality(PERSONALITY)
    libc.prctl(SET_TIMERSLACK, 500_000_000, 0, 0, 0)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def surrounded(command=COMMAND, caller=None, **variables):
    """What surrounds a command of the lab and its server, but for what is new each time."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        preexec_fn=caller,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    own, servers = map(json.loads, done.stdout.splitlines())
    for name in ("TMPDIR", "EVENT_LOOP_LAB_CHILD"):
        servers["variables"].pop(name)
    return own, servers


def test_an_odd_caller_changes_nothing(tmp_path):
    """But for what it does on purpose: nohup ignores SIGHUP, a umask closes files to others."""
    own, servers = surrounded()
    odd_own, odd_servers = surrounded(caller=odd_caller, **VARIABLES)
    assert servers == odd_servers
    assert servers["signals"][0].strip("0") == ""
    assert servers["descriptors"] == [0, 1, 2]
    assert odd_own["umask"] == 0o077
    for name in ("slack", "policy", "descriptors", "optimize"):
        assert own[name] == odd_own[name]
    assert {*odd_own["variables"]} - {*own["variables"]} <= {"PYTHONUTF8"}
    assert odd_own["signals"][0].strip("0") == ""
    # A file of ours does not take the place of the output.
    assert surrounded(("sh", "-c", 'exec "$@" <&- 2>&-', "sh", *COMMAND)) == (own, servers)
    (tmp_path / "pytest.py").write_text("raise SystemExit('this is no pytest')\n")
    mislead = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": "/no/where", "PYTHONSAFEPATH": "1"}
    assert surrounded(**mislead) == (own, servers)


# The output

PRINTS = """
from harness.lab import command_line
raise SystemExit(command_line.program(lambda: print("x" * 300_000)))
"""


def test_where_the_output_of_a_command_goes():
    """A pipe that does not block, as node and ssh leave one to their children, gets everything; a
    reader that has ended is no traceback; and a full disk is told."""

    def printing(stdout):
        words = [sys.executable, "-c", PRINTS]
        return subprocess.Popen(words, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True)

    source, pipe = os.pipe()
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(pipe, False)
    with printing(pipe) as process, open(source, "rb") as end:
        os.close(pipe)
        assert len(end.read()) == 300_001
    assert process.returncode == 0
    source, pipe = os.pipe()
    os.close(source)
    with printing(pipe) as process:
        os.close(pipe)
        assert process.communicate()[1] == "" and process.returncode == 2
    with open("/dev/full", "w") as full, printing(full) as process:
        says = "the output, or a file .* No space left on device; .*\n"
        assert re.fullmatch(says, process.communicate()[1]) and process.returncode == 2


def test_a_full_disk_is_not_the_servers_fault(tmp_path, monkeypatch):
    """The file that the server shares with the grader has all its space, or is not used."""
    assert Shim(tmp_path / "shim").path.stat().st_blocks * 512 >= layout.SIZE

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NotJudged, match=r"KiB for the counters .* \(TMPDIR\): No space left"):
        ServerProcess().start(SERVER, preload=[shim_library()])


# The port

CLAIMS = """
from harness.claims.marker import claim

@claim("01.1", points=1)
def test_01_a_the_server_closes_first(server):
    '''So its end of the connection is in TIME_WAIT.'''
    client = server.connect()
    client.send(b"q")
    client.expect_eof()
    client.close()

@claim("01.1", points=1)
def test_01_b_the_next_claim(server):
    '''It is not disturbed by that.'''
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")
"""


def test_a_fixed_port_costs_only_the_claim_about_it(patient, tmp_path):
    """Of a server that does not set SO_REUSEADDR."""
    claims = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)
    port = spawn.free_port()
    command = shlex.join([sys.executable, "-S", str(ODD), "sets_no_option", str(port)])
    words = ["--chapter", "01", "--server", command, "--port", str(port)]
    graded = patient.grade([*words, "--claims", str(claims)])
    assert graded.status == 0, graded.stdout


@pytest.mark.full("a server that is run")
def test_make_run(tmp_path):
    """The port and the pid are there for clients; a server that cannot listen leaves them."""

    def running(*words):
        given = {"LAB_BUILD": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        words = ["make", "run", "CH=01", "FROM=solutions", *words]
        return subprocess.Popen(
            words, cwd=ROOT, env=environment(**given), stdout=subprocess.PIPE, text=True
        )

    with running("ARGS=-p0") as first:
        port = int(first.stdout.readline().rsplit(":", 1)[1])
        assert wait_until((tmp_path / "pid").exists, 60)
        with running(f"PORT={port}") as second:
            assert second.stdout.read() == ""
        assert second.returncode != 0
        assert (tmp_path / "port").read_text() == f"{port}\n"
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
