"""Servers that come up in a strange way, or do not: each gets a clear verdict."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.tests.verdicts.odd_servers import (  # noqa: F401: fixtures
    ODD,
    PYTHON,
    echoes,
    fails_to_start,
    nothing_is_left,
    start,
)
from harness.failures.failure import NotJudged
from harness.lab.chapters import ROOT
from harness.lab.units import MIB
from harness.server import readiness, spawn
from harness.server.linux import procfs
from harness.server.process import ServerProcess
from harness.server.waiting.wait import Patience, wait_until

# Beginning


def test_a_right_server(start):
    server = start("is_right")
    assert server.address[0] == "127.0.0.1"
    assert echoes(server)
    assert server.alive()
    assert server.wait(0) is None
    assert server.describe().startswith("still running, ")
    server.destroy()
    server.destroy()
    assert not server.alive()
    assert server.describe().startswith("still running, ")
    assert str(server.status) == "killed by SIGKILL"


def test_nothing_was_started():
    server = ServerProcess()
    assert not server.alive()
    assert server.describe() == "not started"
    server.destroy()


def test_other_lines_may_come_before(start):
    assert echoes(start("prints_other_lines_first"))


def test_every_address_means_this_machine(start):
    server = start("listens_everywhere")
    assert server.address[0] == "127.0.0.1"
    assert echoes(server)


def test_a_megabyte_may_come_before(fails_to_start):
    """Unless the line is not among what is kept."""
    server = fails_to_start("wrong-first-line", "printed 'xxx", "prints_much")
    assert server.stdout.total >= 65536


ANOTHER_LINE = "printed 'Server is ready on port [0-9]+' instead of 'listening on ADDR:PORT'"
NOTHING = "neither listened nor printed anything"


@pytest.mark.parametrize(
    "name, hint, pattern, seconds",
    [
        ("prints_for_ever", "wrong-first-line", "printed 'xxxxx", 8),
        ("prints_another_line", "wrong-first-line", ANOTHER_LINE, 0.5),
        ("prints_garbage", "wrong-first-line", "printed '\ufffd+ no newline' instead", 3),
        ("forgets_the_newline", "not-announced", "[0-9]' and no newline after it within 3 s", 3),
        ("prints_a_bad_port", "wrong-first-line", "99999", 0.5),
        ("closes_stdout_first", "not-listening", f"{NOTHING}$", 8),
        ("says_nothing", "not-listening", f"{NOTHING} within 0.5 s", 0.5),
        ("forgets_to_say", "not-announced", "listens on port [0-9]+, but did not print", 0.5),
        ("dies_and_leaves_a_child", "died-at-start", "exited with status 4", 8),
    ],
)
def test_it_does_not_start(fails_to_start, name, hint, pattern, seconds):
    fails_to_start(hint, pattern, name, seconds)


def test_closed_stdout_after_the_line(start):
    server = start("closes_stdout")
    assert wait_until(lambda: server.stdout.closed, 10)
    assert echoes(server)


def test_dies_at_once(fails_to_start):
    pattern = "the server exited with status 3 before it listened"
    server = fails_to_start("died-at-start", pattern, "dies_at_once")
    assert server.describe() == "exited with status 3"
    assert server.stderr.end() == "bind: Address already in use"


@pytest.mark.parametrize("argv", [["/nowhere/server"], "no-such-program -p {port}", ["./no-such"]])
def test_no_such_program(fails_to_start, argv):
    fails_to_start("cannot-start", "cannot start .*: No such file or directory", [argv])


def test_not_executable(fails_to_start):
    fails_to_start("cannot-start", "cannot start .*: Permission denied", [[ODD]])


def test_not_a_program(fails_to_start, tmp_path):
    program = tmp_path / "server"
    program.write_bytes(b"\x7fELF but not really")
    program.chmod(0o755)
    fails_to_start("cannot-start", "Exec format error", [[str(program)]])


def test_more_descriptors_than_there_are():
    with pytest.raises(NotJudged, match="descriptors"):
        ServerProcess().start([sys.executable], nofile=1 << 30)


def test_a_relative_program_is_found(start, tmp_path, monkeypatch):
    (tmp_path / "server").write_text(f"#!{sys.executable} -S\n" + Path(ODD).read_text())
    (tmp_path / "server").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with ServerProcess().start(["./server", "is_right"]) as server:
        assert echoes(server)


# A port of our choice


def test_a_command_line_with_a_port(monkeypatch):
    monkeypatch.chdir(Path(ODD).parent)  # so that odd.py is a relative path
    command = f"'{sys.executable}' -S odd.py forgets_to_say {{port}}"
    with ServerProcess().start(command, mode="port") as server:
        assert server.address[1] in spawn.CHOSEN_PORTS
        assert echoes(server)


def test_a_given_port():
    port = spawn.free_port()
    command = [*PYTHON, ODD, "forgets_to_say", str(port)]
    with ServerProcess().start(command, mode="port", port=port) as server:
        assert server.address == ("127.0.0.1", port)
        assert echoes(server)


def test_a_given_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(NotJudged, match="used by another program"):
            ServerProcess().start([*PYTHON, ODD, "is_right"], mode="port", port=port)


def test_a_chosen_port_that_someone_takes(monkeypatch):
    """It is tried again with another one, though somebody accepts connections on the first."""
    monkeypatch.setattr(readiness, "STOLEN_SECONDS", 10)
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = spawn.free_port()
        ports = iter([other.getsockname()[1], free])
        monkeypatch.setattr(spawn, "free_port", lambda: next(ports))
        command = [*PYTHON, ODD, "forgets_to_say_and_is_slow", "{port}"]
        with ServerProcess().start(command, mode="port") as server:
            assert server.address[1] == free
            assert echoes(server)


def test_it_dies_on_every_port(fails_to_start, monkeypatch):
    tried = []
    choose = spawn.free_port
    monkeypatch.setattr(spawn, "free_port", lambda: tried.append(choose()) or tried[-1])
    command = [*PYTHON, ODD, "dies_at_once", "{port}"]
    server = fails_to_start("died-at-start", "exited with status 3", [command], mode="port")
    assert len(tried) == 3
    assert "Address already in use" in server.stderr.end()


@pytest.mark.parametrize(
    "name, hint, pattern",
    [
        ("is_right", "wrong-address", "listens on port [0-9]+, not on port [0-9]+"),
        ("says_nothing", "not-listening", "does not listen on port [0-9]+ after 0.5 s"),
    ],
)
def test_it_listens_on_another_port_or_none(fails_to_start, name, hint, pattern):
    fails_to_start(hint, pattern, name, 0.5, mode="port")


def test_it_is_not_connected_to():
    """The first client is that of the claim, not one that says nothing and leaves."""
    command = [*PYTHON, ODD, "serves_one_client", "{port}"]
    with ServerProcess().start(command, mode="port") as server:
        assert echoes(server)


def test_a_port_that_is_forwarded(monkeypatch):
    """Nobody here listens on it, as far as can be seen; then a connection tells."""
    monkeypatch.setattr(procfs, "listeners", dict)
    port = spawn.free_port()
    command = [*PYTHON, ODD, "forgets_to_say", str(port)]
    with ServerProcess().start(command, mode="port", port=port) as server:
        assert echoes(server)


# Surroundings


def test_limits_and_surroundings(start):
    server = start("tells_its_limits", nofile=777)
    told = server.stdout.head.decode().splitlines()
    assert "NOFILE 777 777" in told
    assert "CORE 0 0" in told
    assert f"FSIZE {64 * MIB} {64 * MIB}" in told
    assert "CPU 120 125" in told
    assert "session True" in told
    assert "directory []" in told
    assert "stdin b''" in told
    assert "descriptors [0, 1, 2]" in told


def test_sigpipe_is_not_ignored(fails_to_start):
    """Though this process ignores it, as every Python does."""
    fails_to_start("died-at-start", "killed by SIGPIPE", [["sh", "-c", "kill -PIPE $$"]])


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_wrapper_comes_before_the_program(tmp_path):
    source = Path(ODD).with_name("announce.c")
    subprocess.run(["cc", "-o", tmp_path / "server", source], check=True)
    log = tmp_path / "log"
    wrapper = ["valgrind", f"--log-file={log}"]
    command = [str(tmp_path / "server")]
    how = {"wrapper": wrapper, "writable": [tmp_path], "patience": Patience(60.0)}
    with ServerProcess().start(command, **how) as server:
        assert f"=={server.pid}==" in log.read_text()
        assert str(server.stop_gently(10)) == "killed by SIGTERM"


def of_another_grader(lines, name, scratch):
    """What these lines of Python print, which start the server `name` in a process of their own."""
    script = f"import os, sys\nfrom harness.server.process import ServerProcess\n{lines}"
    command = [sys.executable, "-c", script, *PYTHON, ODD, name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    return done.stdout


def test_it_dies_with_the_grader(tmp_path):
    """Even when the grader gets no chance to end it."""
    lines = (
        "server = ServerProcess().start(sys.argv[1:])\n"
        "print(server.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    pid = int(of_another_grader(lines, "ignores_sigterm", tmp_path))
    assert wait_until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, 10)  # an orphan: now ours


def test_few_descriptors_are_enough_for_most(tmp_path):
    """Only a server that needs more than this machine allows cannot be started."""
    lines = (
        "import resource\n"
        "from harness.failures.failure import NotJudged\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
        "with ServerProcess().start(sys.argv[1:]) as server:\n"
        "    print(server.stdout.head.decode().splitlines()[0])\n"
        "try:\n"
        "    ServerProcess().start(sys.argv[1:], nofile=300)\n"
        "except NotJudged as error:\n"
        "    print(error)\n"
    )
    assert of_another_grader(lines, "tells_its_limits", tmp_path).splitlines() == [
        "NOFILE 256 256",
        "a server needs 300 descriptors, this machine allows 256",
    ]
