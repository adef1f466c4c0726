"""Servers that come up in a strange way or not at all, end badly, hide, flood or hang: each gets a
clear verdict, and is gone without a trace."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.client.client import Client, Conversation
from harness.feedback.failure import Failure
from harness.server.preload import shim_library
from harness.server.process import ServerProcess
from harness.submission.chapters import ROOT
from harness.submission.sizes import MIB
from harness.tests import golden
from harness.waiting import procfs
from harness.waiting.wait import Patience, wait_until

ODD = Path(__file__).with_name("servers") / "odd.py"
PYTHON = [sys.executable, "-S", "-E"]


def below():
    """The processes below this one."""
    return {(one.pid, one.started) for one in procfs.tree([os.getpid()], procfs.table())[1:]}


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """After every test: no process, no thread, no descriptor more than before, and no file."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    processes, threads, files = below(), threading.active_count(), os.listdir("/proc/self/fd")
    yield
    gc.collect()
    assert below() <= processes and threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= len(files)
    assert not list(scratch.iterdir())


@pytest.fixture
def start():
    """start("is_right", ...) -> a started server of odd.py, destroyed after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda name: stack.enter_context(ServerProcess().start([*PYTHON, str(ODD), name]))


def echoes(server):
    with Client(server.address, Conversation()) as client:
        client.send_frame(b"hello")
        client.expect_frame(b"hello")
    return True


@pytest.mark.parametrize(
    "name", "is_right prints_other_lines_first listens_everywhere closes_stdout prints_much".split()
)
def test_a_right_server(start, name):
    server = start(name)
    assert server.address[0] == "127.0.0.1"
    assert echoes(server) and echoes(server)
    assert name != "prints_much" or wait_until(lambda: server.stderr.total == 4 * MIB, 60)
    assert server.describe().startswith("still running, ")


def test_a_right_server_that_loads_no_library(tmp_path):
    """It is linked statically, as in Go."""
    text = 'int main(void) { puts("listening on 127.0.0.1:1"); fflush(stdout); return pause(); }'
    words = ["cc", "-static", "-w", "-xc", "-", "-include", "stdio.h", "-include", "unistd.h"]
    command = [str(tmp_path / "server")]
    subprocess.run([*words, "-o", *command], input=text, text=True, check=True)
    with ServerProcess().start(command, preload=[shim_library()]) as server:
        assert server.calls() is None


STARTS = [
    ("stdout", "yes", "xxx"),
    ("stdout", "sh", "-c", "printf 'listening on 127.0.0.1:12345'; exec sleep 1000"),
    ("stdout", "sh", "-c", "sleep 1000 & echo bind: Address already in use >&2; exit 4"),
    ("stdout", "sh", "-c", "kill -PIPE $$"),  # which each Python ignores
    ("stdout", "sleep", "1000"),
    ("stdout", str(ODD)),
    ("stdout", *PYTHON, str(ODD), "forgets_to_say"),
    ("port", *PYTHON, str(ODD), "is_right"),
    ("port", "sleep", "1000"),
    ("port", "no-such-program", "-p", "{port}"),
]


def test_servers_that_do_not_start():
    """Each failure has its hint, and tells what the server did instead."""

    def told(one):
        mode, *command = one
        server = ServerProcess()
        with pytest.raises(Failure) as found:
            server.start(command, mode=mode, patience=Patience(0.5, lambda: [server]))
        assert not server.alive()
        said = f"{' '.join(one)}\n  {found.value.message} [{found.value.hint}]"
        return re.sub(r"port \d{4,}", "port PORT", f"{said}\n  {server.stderr.end()}")

    with ThreadPoolExecutor(4) as pool:
        lines = list(pool.map(told, STARTS))
    golden.check("starts", "\n".join(lines))


@pytest.mark.parametrize("name", ["forks", "leaves_a_bare_daemon", "breeds"])
def test_what_it_started_is_destroyed_too(start, name):
    server = start(name)
    assert echoes(server)
    assert name == "breeds" or len(below()) >= 2  # a look at all processes may miss it
    server.destroy()  # nothing_is_left looks


def test_each_destroys_its_own(start):
    """Several servers at a time, with children that ran away from them, and other processes."""
    names = ("leaves_a_daemon", "forks", "leaves_a_daemon", "is_right")
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as bystander:
        try:
            servers = [start(name) for name in names]
            own = [set(server.pids()) for server in servers]
            assert [len(pids) for pids in own] == [2, 7, 2, 1]
            for index, server in enumerate(servers):
                server.destroy()
                left = {pid for pid, _ in below()}
                assert not own[index] & left
                assert all(others <= left for others in own[index + 1 :])
                assert all(map(echoes, servers[index + 1 :]))
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_it_dies_with_the_grader(tmp_path):
    """Even when the grader gets no chance to end it."""
    script = (
        "import os, sys\nfrom harness.server.process import ServerProcess\n"
        "server = ServerProcess().start(sys.argv[1:])\n"
        "print(*server.pids(), flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, *PYTHON, str(ODD), "is_right"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    pid = int(done.stdout)
    assert wait_until(lambda: procfs.thread_states(pid) <= set("ZX"), 60)
    os.waitpid(pid, 0)  # an orphan: now ours


def test_a_process_that_has_ended_hides_nothing(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for anybody but root
    with subprocess.Popen("true") as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert procfs.hides(os.getpid()) and not procfs.hides(ended.pid)
