"""make run: which port it takes, and what it leaves behind for clients and debuggers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage
from harness.server.build import Compiled
from harness.server.waiting.wait import wait_until
from harness.student import run

SECONDS = 60

# A server that listens on its port, says so, and ends when its input does.
SERVER = """#!{python}
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
print("listens", flush=True)
sys.stdin.read()
"""
RUN = """
from pathlib import Path
from harness.server.build import Compiled
from harness.student import run
run.BUILD = Path({directory!r})
run.cached_server = lambda source: Compiled(run.BUILD / "server", "")
run.run()
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """runs(CH="01", ...) -> the options of the server"""
    told = []
    monkeypatch.setattr(run, "cached_server", lambda source: Compiled(Path("server"), ""))
    monkeypatch.setattr(run, "tell_once_it_listens", lambda: None)
    monkeypatch.setattr(os, "execv", lambda binary, words: told.append(words[1:]))

    def ask(**variables: str):
        for name in ("CH", "FROM", "DIR", "ARGS", "PORT"):
            monkeypatch.delenv(f"LAB_{name}", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(f"LAB_{name}", value)
        run.run()
        return told[-1]

    return ask


def test_the_port_is_the_one_that_was_asked_for(runs):
    assert runs(CH="01", PORT="4321") == ["-p", "4321"]
    assert runs(CH="01", PORT="4321", ARGS="-v") == ["-p", "4321", "-v"]


@pytest.mark.parametrize("options", ["-p 4321", "-p4321", "-v -p 4321", "-vp4321", "-vp 4321 -v"])
def test_a_port_among_the_options_counts(runs, options):
    assert runs(CH="01", PORT="5", ARGS=options) == options.split()


def test_a_port_that_is_taken_is_left_alone(runs, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        taken = somebody.getsockname()[1]
        monkeypatch.setattr(run, "USUAL_PORT", taken)
        _, port = runs(CH="01")
        assert int(port) != taken
    assert runs(CH="01") == ["-p", str(taken)]


@pytest.fixture
def started(tmp_path):
    """started(port) -> make run, as a process that becomes SERVER; its files are in tmp_path."""
    processes = []
    (tmp_path / "server").write_text(SERVER.format(python=sys.executable))
    (tmp_path / "server").chmod(0o755)

    def start(port: int) -> subprocess.Popen:
        environment = {"PATH": os.environ["PATH"], "LAB_CH": "01", "LAB_PORT": str(port)}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        words = [sys.executable, "-c", RUN.format(directory=str(tmp_path))]
        process = subprocess.Popen(words, cwd=ROOT, env=environment, text=True, **pipes)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=SECONDS)


def test_the_files_say_where_the_server_is(started, tmp_path):
    """Nothing is left of make run when it ends: the last one that holds its output has ended."""
    port = run.free_port()
    process = started(port)
    assert process.stdout.readline() == "listens\n"
    assert wait_until((tmp_path / "pid").exists, SECONDS)
    process.communicate("", timeout=SECONDS)
    assert (tmp_path / "port").read_text() == f"{port}\n"
    assert (tmp_path / "pid").read_text() == f"{process.pid}\n"


def test_a_server_that_cannot_listen_leaves_the_files_of_the_other_one(started, tmp_path):
    for name in ("port", "pid"):
        (tmp_path / name).write_text("of the other one\n")
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        process = started(somebody.getsockname()[1])
        _, said = process.communicate(timeout=SECONDS)  # until none of its processes is left
    assert (process.returncode, "Address already in use" in said) == (1, True)
    for name in ("port", "pid"):
        assert (tmp_path / name).read_text() == "of the other one\n"


def test_a_port_that_is_none(runs):
    with pytest.raises(WrongUsage, match="PORT=70000: a port is a number from 1 to 65535"):
        runs(CH="01", PORT="70000")
