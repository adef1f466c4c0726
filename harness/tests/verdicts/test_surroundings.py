"""What surrounds a grade decides nothing: the path of the lab, its checkout, the variables, signals
and limits of the caller, and the output."""

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
import venv
from pathlib import Path

import pytest

from harness.authors.mutants.catalogue import select
from harness.tests.shell import run
from harness.course.isolation.choice import KINDS
from harness.course.isolation.isolation import Isolation
from harness.failures.failure import NotJudged
from harness.lab.chapters import ROOT, find
from harness.server.process import ServerProcess
from harness.server.shim import Shim, layout, shim_library

SERVERS = Path(__file__).with_name("servers")
# Characters that ld.so, sh, make, pytest or a format take for something else.
ODD = ("my lab", "week:1", "$LIB", "%p,;#", "it's", "new\nline", "[1]::", os.fsdecode(b"\xff"))
FAULTS = ["T=single_faults", "CH=01"]


@pytest.fixture(scope="module")
def announcing(tmp_path_factory):
    """announcing(*flags) -> a program that announces itself as a server does"""
    directory = tmp_path_factory.mktemp("announcing")

    def build(*flags):
        program = directory / f"server{''.join(flags)}"
        subprocess.run(["cc", *flags, "-o", program, SERVERS / "announce.c"], check=True)
        return [str(program)]

    return build


# The path


@pytest.mark.parametrize("name", ODD)
def test_the_library_is_loaded_from_any_path(tmp_path, monkeypatch, announcing, name):
    place = tmp_path / name
    place.mkdir()
    library = Path(shutil.copy(shim_library(), place))
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with ServerProcess().start(announcing(), preload=[library], linked_here=True) as server:
        assert server.calls() is not None


@pytest.mark.parametrize("linked_here", [True, False])
def test_a_library_that_is_not_loaded_is_not_judged(tmp_path, announcing, linked_here):
    """Only a program that the lab has not linked may do without."""
    library = tmp_path / "shim.so"
    library.write_text("no library\n" * 100)
    starting = ServerProcess()
    if linked_here:
        with pytest.raises(NotJudged, match=r"do not load the lab's own library: .*invalid ELF"):
            starting.start(announcing(), preload=[library], linked_here=True)
        return
    with starting.start(announcing(), preload=[library]) as server:
        assert server.calls() is None


def test_one_that_ends_at_once_has_loaded_it():
    """A process that ends shows no libraries any more, and its end is what a claim fails for."""
    command = ["sh", "-c", "echo listening on 127.0.0.1:1; exit 3"]
    for _ in range(20):
        with ServerProcess().start(command, preload=[shim_library()], linked_here=True) as server:
            assert server.calls() is not None


def test_a_static_program_of_the_lab_is_not_judged(announcing):
    with pytest.raises(NotJudged, match="ld.so does not say why"):
        ServerProcess().start(announcing("-static"), preload=[shim_library()], linked_here=True)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A copy of the lab at an odd path."""
    copy = tmp_path_factory.mktemp("a") / "my lab:1 [$LIB]::"
    left_out = shutil.ignore_patterns("build", ".git", "__pycache__", "node_modules")
    shutil.copytree(ROOT, copy, ignore=left_out)
    return copy


def make(directory, *words):
    """What a make prints there."""
    return run("make", "-C", str(directory), *words, PYTHONDONTWRITEBYTECODE="").stdout


def test_a_wrong_and_a_right_server_in_an_odd_place(elsewhere):
    (wrong,) = select(find("01"), "full-table-is-the-end")
    wrong.write(elsewhere / "wrong one")
    assert "2 of 2 points" in make(elsewhere, "grade", *FAULTS, "FROM=solutions")
    assert "0 of 2 points" in make(elsewhere, "grade", *FAULTS, "DIR=wrong one")


@pytest.mark.full("commands in an odd place")
def test_other_commands_in_an_odd_place(elsewhere):
    """An empty frame is lost. Its failure can be replayed, traced and sent."""
    (wrong,) = select(find("01"), "empty-frame-no-reply")
    wrong.write(elsewhere / "wrong two")
    given = ["CH=01", "T=01_empty_frames", "DIR=wrong two"]
    found = re.search(r"make replay ID=(\S+)", make(elsewhere, "grade", *given))
    assert "0 of 3 points" in make(elsewhere, "replay", f"ID={found[1]}", given[-1])
    assert "read" in make(elsewhere, "trace", *given)
    assert "19 files" in make(elsewhere, "handin", "CH=01", "OUT=hand in.tar.gz")
    assert "3.1 of 3.1" in make(elsewhere, "memcheck", *given[:2], "FROM=solutions")
    shutil.copytree(elsewhere / "solutions" / find("01").slug, elsewhere / "all of us" / "ada b")
    for isolation in (name for name, made in KINDS.items() if isinstance(made(), Isolation)):
        out = make(elsewhere, "class", "CH=01", "SUB=all of us", f"ISOLATE={isolation}")
        assert re.search(r"ada b +100 ", out), out
        shutil.rmtree(elsewhere / "build" / "class")


# The checkout


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the lab has no history")
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


def surrounded(command, variables, caller=None):
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


@pytest.mark.parametrize("python", [("sh", "harness/find-python.sh"), (sys.executable,)])
def test_an_odd_caller_changes_nothing(python):
    """But for what it does on purpose: nohup ignores SIGHUP, a umask closes files to others."""
    command = (*python, *COMMAND[2:])
    own, servers = surrounded(command, {})
    odd_own, odd_servers = surrounded(command, VARIABLES, odd_caller)
    assert servers == odd_servers
    assert servers["signals"][0].strip("0") == ""
    assert odd_own["umask"] == 0o077
    for name in ("slack", "policy", "descriptors", "optimize"):
        assert own[name] == odd_own[name]
    assert {*odd_own["variables"]} - {*own["variables"]} <= {"PYTHONUTF8"}
    assert odd_own["signals"][0].strip("0") == ""


def test_variables_that_mislead_python_do_not_reach_it(tmp_path):
    (tmp_path / "pytest.py").write_text("raise SystemExit('this is no pytest')\n")
    odd = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": "/no/where", "PYTHONSAFEPATH": "1"}
    assert surrounded(COMMAND, {}) == surrounded(COMMAND, odd)


def test_modules_of_a_cluster(tmp_path):
    """Where only PYTHONPATH leads to pytest, it counts."""
    venv.create(tmp_path / "venv", with_pip=False)
    finder = tmp_path / "find-python.sh"
    text = (ROOT / "harness/find-python.sh").read_text()
    finder.write_text(re.sub(r"/usr/(local/)?bin/python3", "/no/python3", text))
    path, given = f"{tmp_path}/venv/bin:/usr/bin:/bin", {}
    assert 'run "make setup"' in run("sh", str(finder), path=path).stderr
    places = {Path(sys.modules[name].__file__).parent for name in ("pytest", "xdist", "execnet")}
    given["PYTHONPATH"] = os.pathsep.join({str(place.parent) for place in places})
    words = "-m harness grade --chapter 01 --from solutions --only empty_frames".split()
    done = run("sh", str(finder), *words, path=path, **given)
    assert "3 of 3 points" in done.stdout, done.stderr


def test_closed_descriptors():
    """A file of ours does not take the place of the output."""
    closed = ("sh", "-c", 'exec "$@" <&- 2>&-', "sh", *COMMAND)
    assert surrounded(closed, {}) == surrounded(COMMAND, {})


def test_every_command_begins_in_the_same_way():
    """Each that make calls, and each package that is a program."""
    places = [*(ROOT / "harness").glob("*.py"), *(ROOT / "harness").glob("*/__main__.py")]
    for path in places:
        text = path.read_text()
        assert '__name__ == "__main__"' not in text or "command_line.program(" in text, path


# The output

PRINTS = """
from harness.lab import command_line
raise SystemExit(command_line.program(lambda: print("x" * 300_000)))
"""


def printing(stdout):
    return subprocess.run(
        [sys.executable, "-c", PRINTS], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True
    )


def test_a_pipe_that_does_not_block_gets_everything():
    """node and ssh leave one to their children."""
    source, pipe = os.pipe()
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(pipe, False)
    command = [sys.executable, "-c", PRINTS]
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe) as process, open(source, "rb") as end:
        os.close(pipe)
        assert len(end.read()) == 300_001
    assert process.returncode == 0


def test_a_reader_that_has_ended_is_no_traceback():
    source, pipe = os.pipe()
    os.close(source)
    done = printing(pipe)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (2, "")


def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        done = printing(full)
    assert done.returncode == 2
    assert re.fullmatch("the output, or a file .* No space left on device; .*\n", done.stderr)


# The machine


def test_a_full_disk_is_not_the_servers_fault(tmp_path, announcing, monkeypatch):
    """The file that the server shares with the grader has all its space, or is not used."""
    shim = Shim(tmp_path / "shim")
    assert shim.path.stat().st_blocks * 512 >= layout.SIZE

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NotJudged, match=r"KiB for the counters .* \(TMPDIR\): No space left"):
        ServerProcess().start(announcing(), preload=[shim_library()])


LOOPBACK = "ip link set lo up; ip address flush dev lo; ip address add 127.0.0.1/32 dev lo"
WAY_OUT = "ip address add 10.9.9.9/24 dev lo; ip route add default dev lo src 10.9.9.9"
ON_127_0_0_1 = shlex.split("-m harness grade --chapter 01 --from solutions --only listens_where")


@pytest.mark.parametrize(
    "more, says", [(WAY_OUT, "3 of 3 points"), ("true", "no address beside 127.0.0.1; this helps")]
)
def test_a_container_with_one_loopback_address(more, says):
    """Another address serves, or the claim is not judged."""
    command = ["unshare", "--net", "sh", "-c", f'{LOOPBACK}; {more} && exec "$@"', "sh"]
    if not shutil.which("ip") or run(*command, "true").returncode:
        pytest.skip("no namespace with such addresses can be made here")
    assert says in " ".join(run(*command, sys.executable, *ON_127_0_0_1).stdout.split())
