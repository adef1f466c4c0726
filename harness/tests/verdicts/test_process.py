"""Servers that come up in a strange way or not at all, end badly, hide, flood or hang: each gets a
clear verdict, and is gone without a trace."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.client.client import Client, Conversation
from harness.failures.failure import Failure, NotJudged
from harness.lab.chapters import ROOT
from harness.lab.units import MIB
from harness.server import limits, readiness, spawn
from harness.server.linux import procfs
from harness.server.process import ServerProcess
from harness.server.shim import shim_library
from harness.server.waiting.wait import Patience, wait_until
from harness.tests import golden

ODD = Path(__file__).with_name("servers") / "odd.py"
PYTHON = [sys.executable, "-S", "-E"]


def below():
    """The processes below this one."""
    return {(one.pid, one.started) for one in procfs.tree([os.getpid()], procfs.table())[1:]}


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """After every test: no process, no thread, no descriptor more than before, and no file."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before = below(), threading.active_count(), descriptors()
    yield
    gc.collect()
    assert below() - before[0] == set()
    assert threading.active_count() <= before[1]
    assert descriptors() <= before[2]
    assert not list(scratch.iterdir())


@pytest.fixture
def start():
    """start("is_right", ...) -> a started server of odd.py, destroyed after the test."""
    servers = []

    def begin(name, *words, **options):
        servers.append(ServerProcess())
        return servers[-1].start([*PYTHON, str(ODD), name, *words], **options)

    yield begin
    for server in servers:
        server.destroy()


def echoes(server):
    with Client(server.address, Conversation()) as client:
        client.send_frame(b"hello")
        client.expect_frame(b"hello")
    return True


# Beginning

RIGHT = "is_right prints_other_lines_first listens_everywhere closes_stdout reserves_much_memory"


@pytest.mark.parametrize("name", RIGHT.split())
def test_a_right_server(start, name):
    server = start(name)
    assert server.address[0] == "127.0.0.1"
    assert echoes(server) and echoes(server)
    assert name != "closes_stdout" or wait_until(lambda: server.stdout.closed, 60)
    server.look_at_limits()
    assert server.describe().startswith("still running, ")
    server.destroy()
    server.destroy()
    assert str(server.status) == "killed by SIGKILL"


def test_a_right_server_that_is_linked_statically(tmp_path):
    """Without the library no calls are seen; what the lab itself has linked must have it."""
    (tmp_path / "server.c").write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { puts("listening on 127.0.0.1:1"); fflush(stdout); return pause(); }\n'
    )
    static = str(tmp_path / "server")
    subprocess.run(["cc", "-static", "-o", static, f"{static}.c"], check=True)
    with ServerProcess().start([static], preload=[shim_library()]) as server:
        assert server.calls() is None
    with pytest.raises(NotJudged, match="ld.so does not say why"):
        ServerProcess().start([static], preload=[shim_library()], linked_here=True)


STARTS = """
    prints_for_ever prints_another_line prints_garbage forgets_the_newline prints_a_bad_port
    closes_stdout_first says_nothing forgets_to_say dies_at_once dies_and_leaves_a_child
""".split()
IN_PORT_MODE = ("is_right", "says_nothing", "dies_at_once")
COMMANDS = ("/nowhere/server", "no-such-program -p {port}", str(ODD), "kill_pipe", "not_a_program")


def test_servers_that_do_not_start(tmp_path):
    """Each failure has its hint, and tells what the server did instead."""
    (tmp_path / "kill_pipe").write_text("#!/bin/sh\nkill -PIPE $$\n")  # ignored by each Python
    (tmp_path / "not_a_program").write_bytes(b"\x7fELF but not really")
    for name in ("kill_pipe", "not_a_program"):
        (tmp_path / name).chmod(0o755)
    tried = [(name, [*PYTHON, str(ODD), name], {}) for name in STARTS]
    tried += [(name, [*PYTHON, str(ODD), name], {"mode": "port"}) for name in IN_PORT_MODE]
    tried += [(name, str(tmp_path / name) if "_" in name else name, {}) for name in COMMANDS]

    def told(name, command, how):
        server = ServerProcess()
        with pytest.raises(Failure) as found:
            server.start(command, patience=Patience(0.5, lambda: [server]), **how)
        assert not server.alive()
        said = re.sub(r"port \d{4,}", "port PORT", f"{found.value.message} [{found.value.hint}]")
        said = re.sub(r"127.0.0.1:\d{4,5}'", "127.0.0.1:PORT'", said)
        end = f" stderr: {server.stderr.end()}" if server.stderr.total else ""
        return f"{name}{' with a port' if how else ''}:{end}\n  {said}"

    with ThreadPoolExecutor(4) as pool:
        lines = list(pool.map(lambda one: told(*one), tried))
    golden.check("starts", "\n".join(lines), ODD, tmp_path)


def test_a_port_of_our_choice(start, monkeypatch):
    """No client but that of the claim connects to the server."""
    monkeypatch.chdir(ODD.parent)
    command = f"'{sys.executable}' -S odd.py serves_one_client {{port}}"
    with ServerProcess().start(command, mode="port") as server:
        assert echoes(server)
    monkeypatch.setattr(readiness, "STOLEN_SECONDS", 10)
    taken = start("is_right")
    free = spawn.free_port()
    ports = iter([taken.address[1], free])
    monkeypatch.setattr(spawn, "free_port", lambda: next(ports))
    server = start("forgets_to_say_and_is_slow", "{port}", mode="port")
    assert server.address[1] == free and echoes(server)
    with pytest.raises(NotJudged, match="used by another program"):
        start("is_right", mode="port", port=taken.address[1])
    server.destroy()
    monkeypatch.setattr(procfs, "listeners", dict)  # as where the kernel forwards it to a container
    assert echoes(start("forgets_to_say", str(free), mode="port", port=free))


# Ending


def test_how_it_has_ended(start):
    """The status and the last words are there as soon as a client sees the end."""
    for _ in range(3):
        for name, end, words in (
            ("crashes", "killed by SIGSEGV", ""),
            ("exits_with_7", "exited with status 7", "last words"),
        ):
            server = start(name)
            with Client(server.address, Conversation()) as client:
                client.expect_eof()
            assert not server.alive() and not server.ended_by_test
            assert (server.describe(), server.stderr.end()) == (end, words)
            server.signal(signal.SIGTERM)  # there is nobody any more
            server.pause()
            server.resume()
    server = start("exits_politely")
    assert str(server.stop_gently(60)) == server.describe() == "exited with status 0"
    assert server.ended_by_test


@pytest.mark.parametrize("name", ["forks", "leaves_a_daemon", "leaves_a_bare_daemon", "breeds"])
@pytest.mark.parametrize("paused", [False, True])
def test_what_it_started_is_destroyed_too(start, name, paused):
    server = start(name)
    assert echoes(server)
    assert name == "breeds" or len(below()) >= 2  # a look at all processes may miss it
    if paused and name != "breeds":
        server.pause()
    server.destroy()  # nothing_is_left looks


def test_each_destroys_its_own(start):
    """Several servers at a time, with children that ran away from them, and other processes."""
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]
    bystanders = [subprocess.Popen(sleep, env={}), subprocess.Popen(sleep, start_new_session=True)]
    try:
        names = ("leaves_a_daemon", "forks", "leaves_a_daemon", "is_right")
        servers = [start(name) for name in names]
        own = [set(server.pids()) for server in servers]
        assert [len(pids) for pids in own] == [2, 7, 2, 1]
        for index, server in enumerate(servers):
            server.destroy()
            left = {pid for pid, _ in below()}
            assert not own[index] & left
            assert all(others <= left for others in own[index + 1 :])
            assert all(map(echoes, servers[index + 1 :]))
        assert all(bystander.poll() is None for bystander in bystanders)
    finally:
        for bystander in bystanders:
            bystander.kill()
            bystander.wait()


def test_it_dies_with_the_grader(tmp_path):
    """Even when the grader gets no chance to end it."""
    script = (
        "import os, sys\nfrom harness.server.process import ServerProcess\n"
        "server = ServerProcess().start(sys.argv[1:])\n"
        "print(*server.pids(), flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, *PYTHON, str(ODD), "exits_politely"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    pid = int(done.stdout)
    assert wait_until(lambda: procfs.thread_states(pid) <= set("ZX"), 60)
    os.waitpid(pid, 0)  # an orphan: now ours


# Output and limits


def test_it_is_never_held_up_by_a_full_pipe(start):
    server = start("prints_much_later")
    assert echoes(server)
    assert wait_until(lambda: server.stdout.total > 4 * MIB and server.stderr.total == 4 * MIB, 60)
    assert server.stdout.head.startswith(b"listening on ")
    assert server.stderr.tail.endswith(b"yyy\n")


def test_memory_of_children_over_the_limit(start, monkeypatch):
    """test_hostile.py goes over the other limits, in a grade."""
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 150 * MIB)
    server = start("eats_memory_in_children")
    assert server.wait(60)
    assert server.describe() == "killed by the grader: used more than 150 MiB of memory"
