"""What a wait of the grader counts while other programs have the processors."""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import SimpleNamespace

import pytest

from harness.claims.scenarios import exchanges, try_cuts
from harness.failures.failure import Failure, NotJudged
from harness.server import patience as waits
from harness.server.patience import Deadline, Fair, Patience, Spent, Stretched, Watchful, wait_until
from harness.server.process import ServerProcess
from harness.server.spawn import Command

SECONDS = 8.0
STEP = 0.5  # between two looks


class Server:
    """It has had `seconds` of a processor, and its only thread stood in line for `in_line`."""

    def __init__(self) -> None:
        self.seconds = self.in_line = 0.0
        self.runnable = False
        self.looks = 0

    def spent(self) -> Spent:
        self.looks += 1
        return Spent(5.0 + self.seconds, {-1: 3.0 + self.in_line}, self.runnable)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a test says so, or sleeps."""
    found = SimpleNamespace(now=1000.0)

    def sleep(seconds: float) -> None:
        found.now += seconds

    monkeypatch.setattr(waits, "time", SimpleNamespace(monotonic=lambda: found.now, sleep=sleep))
    monkeypatch.setattr(waits.procfs, "seconds_in_line", lambda pid: {})
    return found


def fair(server: Server, seconds: float = SECONDS) -> Fair:
    return Fair(Patience(((0, seconds),)), lambda: [server])


def wait(clock, deadline: Deadline, server: Server, cpu: float = 0, in_line: float = 0) -> float:
    """Looks until nothing is left. Returns the seconds of the clock. `cpu`, `in_line`: parts of the
    time that the server gets, and stands in line."""
    began = clock.now
    while deadline.left():
        pause = min(deadline.pause(), deadline.left()) + 0.001
        clock.now += pause
        server.seconds += cpu * pause
        server.in_line += in_line * pause
    return clock.now - began


@pytest.mark.parametrize(
    "cpu, in_line, least, most",
    [
        (0, 0, 8, 8.1),
        (0.01, 0.5, 15.8, 16.5),
        (0.02, 0.8, 38, 41),
        (0.2, 0.8, 8, 8.1),
        (0.05, 0.9, 19, 22),
    ],
    ids=["sleeps", "held up", "held up for long", "computes", "spins on a busy machine"],
)
def test_a_wait_is_longer_by_the_time_in_line(clock, cpu, in_line, least, most):
    server = Server()
    deadline = Deadline(fair(server))
    assert least <= wait(clock, deadline, server, cpu, in_line) <= most


def test_a_wait_does_not_end_while_a_thread_stands_in_line(clock):
    server = Server()
    deadline = Deadline(fair(server))
    server.runnable = True
    clock.now += 1
    deadline.left()
    for _ in range(30):
        clock.now += STEP
        assert deadline.left()
    server.runnable = False
    clock.now += STEP
    assert not deadline.left()


def test_a_thread_that_spins_does_not_make_it_longer(clock):
    server = Server()
    server.runnable = True
    assert wait(clock, Deadline(fair(server)), server, cpu=1) <= 8.1


def test_a_wait_that_takes_too_long_is_not_judged(clock):
    server = Server()
    deadline = Deadline(fair(server))
    began = clock.now
    with pytest.raises(NotJudged, match="too busy: in a wait of 6[0-9] s other programs"):
        wait(clock, deadline, server, cpu=0.001, in_line=0.99)
    assert clock.now - began < 70


def test_progress_begins_a_new_wait(clock):
    server = Server()
    deadline = Deadline(fair(server))
    wait(clock, deadline, server, in_line=0.5)
    deadline.restart()
    assert 8 <= wait(clock, deadline, server) <= 8.1


def test_a_short_wait_reads_nothing(clock):
    server = Server()
    deadline = Deadline(fair(server))
    clock.now += waits.SHORT_SECONDS
    assert deadline.left() and server.looks == 0


def test_few_looks_are_enough(clock):
    server = Server()
    wait(clock, Deadline(fair(server)), server, in_line=0.5)
    assert server.looks < 20


def test_time_in_which_the_grader_could_not_run_does_not_count(clock):
    deadline = Deadline(fair(Server()))
    clock.now += 30
    assert deadline.left() > SECONDS - 2
    clock.now += SECONDS
    assert deadline.left() > 0


def test_what_came_in_the_last_moment_counts(clock):
    """We are kept from running between a look and the end of the wait."""

    def arrived() -> bool:
        found = clock.now > 1000 + SECONDS
        clock.now += 0.9
        return found

    assert wait_until(arrived, SECONDS)
    assert not wait_until(lambda: False, SECONDS)


def test_other_waits_keep_to_the_clock(clock):
    deadline = Deadline(SECONDS)
    clock.now += 30
    assert not deadline.left()


def test_a_wait_that_ends_early_is_fair_too(clock):
    server = Server()
    watchful = Watchful(fair(server), lambda began, seconds: "")
    assert 15.8 <= wait(clock, Deadline(watchful), server, in_line=0.5) <= 16.5


def test_a_slowed_server_is_excused_however_much_it_computes(clock):
    server = Server()
    slowed = Stretched(Patience(((0, SECONDS),)), 1, 0, lambda: server.in_line)
    assert 15.8 <= wait(clock, Deadline(slowed), server, cpu=0.5, in_line=0.5) <= 16.5


def test_what_a_server_has_spent():
    """Two that spin on the same processor stand in line for each other."""
    one, other = ServerProcess(), ServerProcess()
    processor = min(os.sched_getaffinity(0))
    with one, other:
        for process in (one, other):
            process.begin(Command([sys.executable, "-c", "while True: pass"]))
            os.sched_setaffinity(process.pid, {processor})
        before = one.spent()
        assert wait_until(lambda: one.spent().held_up(before, 100) > 0.05, 20)
        assert wait_until(lambda: one.spent().cpu > before.cpu, 20)
        assert one.spent().runnable
        assert one.spent().held_up(before, 0) == 0
        one.signal(signal.SIGKILL)
        one.wait(fair(Server(), 20))
        assert not one.spent().runnable
    assert ServerProcess().spent() == Spent()


def test_a_program_that_should_end_is_held_up_itself(monkeypatch):
    """The server that runs beside it is not asked."""
    asked = []
    monkeypatch.setattr(ServerProcess, "spent", lambda self: asked.append(self) or Spent())
    server = Server()
    patience = fair(server, 0.2)
    with pytest.raises(Failure, match="kept running"):
        exchanges.expect_failed_start(["sleep", "60"], 2, "usage", patience)
    assert asked and server.looks == 0


def test_cuts_are_waited_for_as_fair():
    server = Server()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        tried = SimpleNamespace(address=listener.getsockname(), patience=fair(server, 0.1))
        (ours,) = try_cuts._asked(tried, [b"message"])
        theirs, _ = listener.accept()
        with ours.socket, theirs:
            assert try_cuts._answer(tried, ours) is None
            assert server.looks
            theirs.sendall(b"reply")
            theirs.shutdown(socket.SHUT_WR)
            assert try_cuts._answer(tried, ours) == b"reply"


def test_a_client_that_cannot_connect_fails_its_cut():
    """The batch ends: only the first cut that fails is told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    tried = SimpleNamespace(address=address, patience=fair(Server(), 0.1))
    assert try_cuts._asked(tried, [b"one", b"two"]) == []
    assert try_cuts._answer(tried, None) == b""
