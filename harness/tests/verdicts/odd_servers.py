"""Starts the servers of servers/odd.py, and sees that nothing is left of them."""

import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from harness.client.client import Client, Conversation
from harness.failures.failure import Failure
from harness.failures.hints import HINTS
from harness.server.linux import procfs
from harness.server.process import ServerProcess
from harness.server.waiting.wait import Patience

ODD = str(Path(__file__).with_name("servers") / "odd.py")
PYTHON = [sys.executable, "-S", "-E"]


def short():
    """For waits that are meant to run out."""
    return Patience(0.5)


def below():
    """The processes below this one."""
    return {(one.pid, one.started) for one in procfs.tree([os.getpid()], procfs.table())[1:]}


def _descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """After every test: no process, no thread, no descriptor more than before, and no file.

    There may be fewer: what an earlier test has dropped is collected when Python sees fit.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    processes, threads, descriptors = below(), threading.active_count(), _descriptors()
    yield
    assert below() - processes == set()
    assert threading.active_count() <= threads
    assert _descriptors() <= descriptors
    assert not list(scratch.iterdir())


@pytest.fixture
def start():
    """start("is_right", ...) -> a started server of odd.py, destroyed after the test."""
    servers = []

    def begin(name, **options):
        server = ServerProcess()
        servers.append(server)
        return server.start([*PYTHON, ODD, name], **options)

    yield begin
    for server in servers:
        server.destroy()


@pytest.fixture
def fails_to_start():
    """Checks that the start of a server of odd.py, or of a command that is a list with one element,
    raises a Failure with this hint and message. Returns the server that was tried."""

    def check(hint, pattern, what, seconds=8, **options):
        server = ServerProcess()
        command = [*PYTHON, ODD, what] if isinstance(what, str) else what[0]
        patience = Patience(seconds, lambda: [server])
        with pytest.raises(Failure, match=pattern) as raised:
            server.start(command, patience=patience, **options)
        assert raised.value.hint == hint
        assert hint in HINTS
        assert not server.alive()
        return server

    return check


def echoes(server):
    with Client(server.address, Conversation()) as client:
        client.send_frame(b"hello")
        client.expect_frame(b"hello")
    return True
