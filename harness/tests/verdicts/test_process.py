"""Servers that end badly, hide, flood or hang: measured, paused, and gone without a trace."""

import os
import signal
import subprocess
import sys
import time

import pytest

from harness.tests.verdicts.odd_servers import (  # noqa: F401: fixtures
    below,
    echoes,
    nothing_is_left,
    short,
    start,
)
from harness.client.client import Client, Conversation
from harness.failures.failure import NotJudged
from harness.lab.units import MIB
from harness.server import limits, process, process_tree
from harness.server.linux import procfs
from harness.server.waiting.wait import wait_until

CHILDREN = 100

# Ending


def test_stops_when_asked(start):
    server = start("exits_politely")
    assert server.stop_gently(10) == process.ExitStatus(code=0)
    assert server.ended_by_test
    assert server.describe() == "exited with status 0"


def test_ignores_sigterm(start):
    server = start("ignores_sigterm")
    assert server.stop_gently(0.2) is None
    assert server.alive()


def test_killed_by_a_signal(start):
    server = start("crashes")
    with Client(server.address, Conversation()) as client:
        client.expect_eof()
    assert not server.alive()
    assert server.describe() == "killed by SIGSEGV"
    assert not server.ended_by_test
    server.signal(signal.SIGTERM)  # there is nobody any more


def test_the_status_and_the_last_words_are_there_as_soon_as_the_end_is_seen(start):
    for _ in range(10):
        server = start("exits_with_7")
        with Client(server.address, Conversation()) as client:
            client.expect_eof()
        assert server.describe() == "exited with status 7"
        assert server.stderr.end() == "last words"


@pytest.mark.parametrize(
    "status, text",
    [
        (process.ExitStatus(code=1), "exited with status 1"),
        (process.ExitStatus(signal=signal.SIGPIPE), "killed by SIGPIPE"),
        (process.ExitStatus(signal=40), "killed by signal 40"),
    ],
)
def test_statuses_in_words(status, text):
    assert str(status) == text


@pytest.mark.parametrize("name", ["forks", "leaves_a_daemon", "leaves_a_bare_daemon", "breeds"])
def test_what_it_started_is_destroyed_too(start, name):
    server = start(name)
    assert echoes(server)
    assert name == "breeds" or len(below()) >= 2  # a look at all processes may miss it
    server.destroy()  # nothing_is_left looks


def test_each_destroys_its_own(start):
    """Several at a time, with children that ran away from them."""
    servers = [start(name) for name in ("leaves_a_daemon", "forks", "leaves_a_daemon", "is_right")]
    own = [set(server.pids()) for server in servers]
    assert [len(pids) for pids in own] == [2, 7, 2, 1]
    for index, server in enumerate(servers):
        server.destroy()
        left = {pid for pid, _ in below()}
        assert not own[index] & left
        for others in own[index + 1 :]:
            assert others <= left
        for other in servers[index + 1 :]:
            assert echoes(other)


def test_a_bare_daemon_is_nobodys_until_the_last_server_goes(start):
    before = below()
    other, server = start("is_right"), start("leaves_a_bare_daemon")
    server._tree._seen.clear()  # as if nobody had looked while it was not yet a daemon
    server.destroy()
    assert len(below() - before) == 2
    assert echoes(other)


def test_other_children_of_ours_are_let_alone(start):
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]
    server = start("is_right")
    bystanders = [
        subprocess.Popen(sleep),
        subprocess.Popen(sleep, env={}),
        subprocess.Popen(sleep, start_new_session=True),
    ]
    try:
        assert server.pids() == [server.pid]
        server.destroy()
        assert all(bystander.poll() is None for bystander in bystanders)
    finally:
        for bystander in bystanders:
            bystander.kill()
            bystander.wait()


def test_a_child_that_was_just_started_has_its_environment():
    """Popen() returns while the kernel still writes the environment of the new program."""
    for _ in range(CHILDREN):
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        try:
            assert procfs.environment(child.pid, process_tree.MARK) == "harness"
        finally:
            child.kill()
            child.wait()


def test_destroyed_while_paused(start):
    server = start("forks")
    server.pause()
    server.destroy()


def test_paused_and_destroyed_after_it_has_ended(start):
    server = start("crashes")
    os.kill(server.pid, signal.SIGKILL)
    assert server.wait(10)
    server.pause()
    server.resume()
    server.destroy()
    assert server.describe() == "killed by SIGKILL"


def test_what_is_forgotten_is_destroyed_at_the_end(start):
    server = start("forks")
    process_tree.destroy_all()
    assert server.pids() == []


# Output


def test_it_is_never_held_up_by_a_full_pipe(start):
    server = start("prints_much_later")
    assert echoes(server)
    assert wait_until(lambda: server.stdout.total > 4 * MIB and server.stderr.total == 4 * MIB, 10)
    assert len(server.stdout.head) == len(server.stdout.tail) == 65536
    assert server.stdout.head.startswith(b"listening on ")
    assert server.stderr.tail.endswith(b"yyy\n")


def test_memory_of_children_over_the_limit(start, monkeypatch):
    """test_hostile.py goes over the other limits, in a grade."""
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 150 * MIB)
    server = start("eats_memory_in_children")
    assert server.wait(30)
    assert server.describe() == "killed by the grader: used more than 150 MiB of memory"


# Measuring


def test_cpu_seconds_of_threads_and_children(start):
    """Each CPU second counts once. Python takes longer to start on a slow machine."""
    of_python = start("is_right").cpu_seconds()
    server = start("works_in_threads")
    assert 0.4 <= server.cpu_seconds() < 0.6 + 3 * of_python
    server.destroy()
    assert server.cpu_seconds() >= 0.4


def test_cpu_seconds_are_finer_than_a_clock_tick(start):
    """An idle server uses none, an echo uses some that is well below 10 ms."""
    server = start("is_right")
    with Client(server.address, Conversation()) as client:
        client.exchange(b"\0\0\0\0", [b""])
        looks = []

        def is_idle():
            looks.append(server.cpu_seconds())
            time.sleep(0.1)
            return server.cpu_seconds() == looks[-1]

        assert wait_until(is_idle, 60)
        client.exchange(b"\0\0\0\0", [b""])
        assert 0 < server.cpu_seconds() - looks[-1] < 0.01


def test_descriptors(start):
    server = start("is_right")
    before = server.descriptors()
    clients = [Client(server.address, Conversation()) for _ in range(20)]
    assert wait_until(lambda: server.descriptors().sockets == before.sockets + 20, 10)
    assert server.descriptors().total == before.total + 20
    for client in clients:
        client.abandon()
    assert wait_until(lambda: server.descriptors() == before, 10)


def test_memory_that_is_only_reserved(start):
    server = start("reserves_much_memory")
    assert server.resident_bytes() < 100 * MIB
    server.wait(0.3)  # the watch looks every 0.1 s
    assert server.alive()


def test_shared_memory_counts_once(start):
    server = start("forks")
    assert len(server.pids()) == 7
    whole = sum(map(procfs.quick_resident_bytes, server.pids()))
    assert 0 < server.resident_bytes() < whole / 2


# Pausing


def test_pause_and_resume(start):
    server = start("forks")
    server.pause()
    assert {one.state for one in (procfs.read_process(pid) for pid in server.pids())} == {"T"}
    before = server.cpu_seconds()
    with Client(server.address, Conversation()) as client:
        client.send_frame(b"hello")
        client.expect_nothing(0.1)
        assert server.cpu_seconds() == before
        server.resume()
        client.expect_frame(b"hello")


def test_pause_waits_until_all_have_stopped(start, monkeypatch):
    server = start("forks")
    asked = []
    monkeypatch.setattr(procfs, "stopped", lambda pid: asked.append(pid) or len(asked) > 20)
    server.pause()
    assert set(asked) <= set(server.pids()) and len(asked) > 20
    monkeypatch.setattr(procfs, "stopped", lambda pid: False)
    monkeypatch.setattr(process_tree, "PATIENCE", short())
    with pytest.raises(NotJudged, match="could not be paused"):
        server.pause()
