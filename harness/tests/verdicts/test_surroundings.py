"""What surrounds a grade decides nothing: the path of the lab, and the variables, signals, limits
and output of the caller."""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.feedback.failure import NotJudged
from harness.maintain.wrong_servers.catalogue import select
from harness.server.preload import shim_library
from harness.server.process import ServerProcess
from harness.submission.chapters import ROOT, find
from harness.tests.shell import environment, run

ODD = Path(__file__).with_name("servers") / "odd.py"
# Characters that ld.so, sh, make, pytest or a format take for something else.
PATHS = ("my lab", "week:1", "$LIB", "%p,;#", "it's", "new\nline", "[1]::", os.fsdecode(b"\xff"))


def test_the_library_is_loaded_from_any_path(tmp_path, monkeypatch):
    command = [sys.executable, "-S", str(ODD), "is_right"]
    for name in PATHS:
        place = tmp_path / name
        place.mkdir()
        library = Path(shutil.copy(shim_library(), place))
        monkeypatch.setattr("tempfile.tempdir", str(place))
        with ServerProcess().start(command, preload=[library], linked_here=True) as server:
            assert server.calls() is not None, name
    library.write_text("no library\n" * 100)
    with pytest.raises(NotJudged, match=r"do not load the lab's own library: .*invalid ELF"):
        ServerProcess().start(command, preload=[library], linked_here=True)


@pytest.mark.full("commands in an odd place")
def test_a_lab_in_an_odd_place(tmp_path):
    """A right and a wrong server are graded there, and one is run."""
    copy = tmp_path / "my lab:1 [$LIB]::"
    left_out = shutil.ignore_patterns("build", ".git", "__pycache__", "node_modules")
    shutil.copytree(ROOT, copy, ignore=left_out)
    make = ["make", "-C", str(copy), "CH=01"]
    (wrong,) = select(find("01"), "empty-frame-no-reply")
    wrong.write(copy / "wrong one")
    for source, points in (("FROM=solutions", "1.8"), ("DIR=wrong one", "0")):
        graded = run(*make, "grade", "T=01_empty_frames", source).stdout
        assert f"{points} of 1.8 points" in graded
    said = (copy / "docs" / "debugging.md").read_text()
    port = copy / re.search(r"127\.0\.0\.1 \$\(cat (\S+)\)", said)[1]
    words = [*make, "run", "FROM=solutions"]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) as server:
        said = next(line for line in server.stdout if line.startswith("listening"))
        assert said == f"listening on 127.0.0.1:{port.read_text()}"
        os.kill(int((copy / "build" / "pid").read_text()), signal.SIGTERM)


COMMAND = ("sh", "harness/find-python.sh", "-m", "harness.tests.verdicts.surrounded")
SET_TIMERSLACK = 29  # linux/prctl.h
SOFT = {"AS": 2 << 30, "STACK": 512 << 10, "CPU": 60, "FSIZE": 1 << 20, "NOFILE": 64, "MEMLOCK": 0}
VARIABLES = {
    **{"PYTHONOPTIMIZE": "2", "PYTHONINSPECT": "1", "PYTHONWARNINGS": "error"},
    **{"PYTHONPATH": "/no", "PYTHONHOME": "/no/where", "PYTHONSAFEPATH": "1"},
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
    libc.personality(0x0060000)  # UNAME26 and ADDR_NO_RANDOMIZE
    libc.prctl(SET_TIMERSLACK, 500_000_000, 0, 0, 0)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def surrounded(command=COMMAND, caller=None, **variables):
    """What surrounds a command of the lab and its server, but for what is new each time."""
    how = {"cwd": ROOT, "env": {**os.environ, **variables}, "preexec_fn": caller, "timeout": 60}
    done = subprocess.run(command, capture_output=True, text=True, **how)
    assert done.returncode == 0, done.stderr
    own, servers = map(json.loads, done.stdout.splitlines())
    servers["variables"].pop("TMPDIR")
    return own, servers


def test_an_odd_caller_changes_nothing():
    """But for what it does on purpose: nohup ignores SIGHUP, a umask closes files to others."""
    own, servers = surrounded()
    odd_own, odd_servers = surrounded(caller=odd_caller, **VARIABLES)
    assert servers == odd_servers
    assert servers["signals"][0].strip("0") == odd_own["signals"][0].strip("0") == ""
    assert int(odd_own["signals"][1], 16) & 1 << signal.SIGHUP - 1
    assert servers["descriptors"] == [0, 1, 2]
    assert odd_own["umask"] == 0o077
    for name in ("slack", "policy", "descriptors", "optimize"):
        assert own[name] == odd_own[name]
    assert {*odd_own["variables"]} - {*own["variables"]} <= {"PYTHONUTF8"}
    # A file of ours does not take the place of a closed output.
    assert surrounded(("sh", "-c", 'exec "$@" <&- 2>&-', "sh", *COMMAND)) == (own, servers)
