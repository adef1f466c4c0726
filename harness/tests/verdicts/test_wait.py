"""How long the grader waits for a server, and what ends a wait, while other programs have the
processors."""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import SimpleNamespace

import pytest

from harness.claims.scenarios import exchanges, try_cuts
from harness.failures.failure import Failure, NotJudged, TooBusy
from harness.server.process import ServerProcess
from harness.server.spawn import Command
from harness.server.waiting import wait as waits
from harness.server.waiting.clock import Clock
from harness.server.waiting.wait import (
    IDLE_LOOKS,
    SLEEPS,
    SPIN_PART,
    SPINS,
    WAIT_SECONDS,
    Activity,
    Deadline,
    Patience,
    wait_until,
)

SECONDS = 8.0
STEP = 0.5  # between two looks


class Server:
    """It has had `cpu` seconds of a processor, and can run or not."""

    def __init__(self) -> None:
        self.cpu, self.runnable, self.threads, self.looks = 5.0, False, 1, 0

    def activity_now(self) -> Activity:
        self.looks += 1
        return Activity(self.cpu, self.runnable, self.threads)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a test says so, or sleeps."""
    found = SimpleNamespace(now=1000.0)

    def sleep(seconds: float) -> None:
        found.now += seconds

    monkeypatch.setattr(waits, "time", SimpleNamespace(monotonic=lambda: found.now, sleep=sleep))
    return found


def fair(server: Server, seconds: float = SECONDS, **options) -> Patience:
    return Patience(seconds, lambda: [server], **options)


def wait(clock, deadline: Deadline, server: Server, cpu: float = 0) -> float:
    """Looks until nothing is left. Returns the seconds of the clock. `cpu`: the part of the time
    that the server gets."""
    began = clock.now
    while deadline.left():
        pause = min(deadline.pause(), deadline.left()) + 0.001
        clock.now += pause
        server.cpu += cpu * pause
    return clock.now - began


def at_rest(clock, deadline: Deadline) -> None:
    """From now on the server could not run at any look: it takes some of them."""
    for _ in range(IDLE_LOOKS - 1):
        clock.now += STEP
        assert deadline.left()
    clock.now += STEP
    assert not deadline.left()


@pytest.mark.parametrize(
    "runnable, cpu, spins_end, least, most",
    [
        (False, 0, False, 8, 8.1),
        (True, 1, False, 8, 8.1),
        (True, 0.1, False, 80, 83),
        (True, 1, True, 2, 2.6),
        (True, 0.05, True, 40, 43),
    ],
    ids=["sleeps", "computes", "held up", "spins", "spins on a busy machine"],
)
def test_a_server_has_its_cpu_time_however_long_that_takes(
    clock, runnable, cpu, spins_end, least, most
):
    server = Server()
    server.runnable = runnable
    deadline = Deadline(fair(server, spins_end=spins_end))
    assert least <= wait(clock, deadline, server, cpu) <= most
    assert deadline.waited.hopeless == (SPINS if spins_end else "")
    due = SECONDS / SPIN_PART if spins_end else SECONDS
    assert server.cpu - 5 >= runnable * due


def test_what_only_its_clock_makes_a_thread_do_is_not_counted(monkeypatch):
    found = {}
    monkeypatch.setattr(Clock, "stands", True)
    monkeypatch.setattr(Clock, "rest", lambda self, in_line: found.get("now"))
    clock = Clock(None, os.getpid())
    assert clock.activity(Activity(1.0, True, 1)) == Activity(1.0, True, 1)
    found["now"] = {(1, 1): -7}
    assert clock.activity(Activity(2.0, True, 1)) == Activity(2.0, False, 1)
    assert clock.activity(Activity(5.0, True, 1)) == Activity(2.0, False, 1)
    found["now"] = {(1, 1): -8}  # another wait: between the two it has done something
    assert clock.activity(Activity(6.0, True, 1)) == Activity(3.0, False, 1)


def test_a_server_that_starts_threads_or_processes_does_not_spin(clock):
    server = Server()
    server.runnable = True
    deadline = Deadline(fair(server, spins_end=True))
    for _ in range(7):
        clock.now, server.cpu, server.threads = clock.now + 1, server.cpu + 1, server.threads + 1
        assert deadline.left() and not deadline.waited.hopeless
    wait(clock, deadline, server, cpu=1)
    assert deadline.waited.hopeless == SPINS


def test_a_thread_in_place_of_another_is_no_progress(clock):
    server = Server()
    server.runnable = True
    deadline = Deadline(fair(server, spins_end=True))
    assert deadline.left()
    for number in range(4):
        clock.now, server.cpu, server.threads = clock.now + 1, server.cpu + 1, number % 2
        deadline.left()
    assert deadline.waited.hopeless == SPINS


def test_a_wait_does_not_end_while_the_server_could_run(clock):
    server = Server()
    deadline = Deadline(fair(server))
    server.runnable = True
    for _ in range(30):
        clock.now += STEP
        assert deadline.left()
    server.runnable = False
    at_rest(clock, deadline)


def test_a_wait_that_takes_too_long_is_not_judged(clock):
    server = Server()
    server.runnable = True
    began = clock.now
    with pytest.raises(NotJudged, match="too busy: in a wait of 9[0-9] s other programs"):
        wait(clock, Deadline(fair(server)), server, cpu=0.001)
    assert clock.now - began < 100


def test_progress_begins_a_new_wait(clock):
    server = Server()
    server.runnable = True
    deadline = Deadline(fair(server, spins_end=True))
    for _ in range(3):
        assert 2 <= wait(clock, deadline, server, cpu=1) <= 2.6
        deadline.restart()
        assert deadline.left() and not deadline.waited.hopeless


def test_a_short_wait_looks_at_nothing(clock):
    server = Server()
    deadline = Deadline(fair(server))
    clock.now += waits.SHORT_SECONDS
    assert deadline.left() and server.looks == 0


def test_few_looks_are_enough(clock):
    server = Server()
    wait(clock, Deadline(fair(server)), server)
    assert server.looks < 100


def test_time_in_which_the_grader_could_not_run_does_not_count(clock):
    deadline = Deadline(fair(Server()))
    clock.now += 30
    assert deadline.left() > 0
    at_rest(clock, deadline)


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


def test_a_wait_ends_when_the_server_is_known_to_sleep(clock):
    asleep = []
    watched = fair(Server(), asleep=lambda began: bool(asleep))
    deadline, of_the_kernel = Deadline(watched), Deadline(watched, others=True)
    clock.now += 1
    assert deadline.left() and of_the_kernel.left()
    asleep.append(True)
    assert not deadline.left() and of_the_kernel.left() > 0
    assert deadline.waited.hopeless == SLEEPS and deadline.seconds == 1


def test_a_server_that_is_woken_after_all_has_its_whole_time(clock):
    """It was known to sleep, but the kernel still had bytes of it; then other programs came."""
    asleep, owed = [True], [True]
    known = {"asleep": lambda began: bool(asleep), "owes": lambda: bool(owed)}
    deadline = Deadline(fair(Server(), **known))
    began = clock.now
    clock.now += 1
    assert deadline.left()
    asleep.clear()
    owed.clear()
    assert SECONDS - 1 <= wait(clock, deadline, Server()) <= SECONDS
    assert clock.now >= began + SECONDS and deadline.seconds == SECONDS


def test_a_wait_goes_on_while_the_kernel_owes_a_client(clock):
    owed = [True]
    deadline = Deadline(fair(Server(), owes=lambda: bool(owed)))
    for _ in range(10):
        clock.now += 1
        assert deadline.left()
    owed.clear()
    clock.now += 1
    assert not deadline.left()


def test_what_the_kernel_does_not_deliver_is_not_judged(clock):
    deadline = Deadline(fair(Server(), owes=lambda: True))
    with pytest.raises(TooBusy):
        for _ in range(2 * WAIT_SECONDS):
            clock.now += 1
            deadline.left()


def test_a_slowed_server_is_waited_for_longer():
    slowed, little = (Patience(seconds, times=3, least=5) for seconds in (8, 1))
    assert (slowed.seconds, slowed.cpu_seconds) == (24, 8)
    assert (little.seconds, little.cpu_seconds) == (5, 5)


@pytest.mark.parametrize("threads, seconds", [(1, 6), (2, 24)])
def test_a_slowed_server_spins_later_and_only_alone(clock, threads, seconds):
    """What slows it down runs one thread at a time: another one may have something to do."""
    server = Server()
    server.runnable, server.threads = True, threads
    deadline = Deadline(fair(server, spins_end=True, times=3, least=5))
    wait(clock, deadline, server, cpu=1)
    assert seconds <= server.cpu - 5 <= seconds + 1.1
    assert deadline.waited.hopeless == (SPINS if threads == 1 else "")


def test_what_a_server_does():
    one = ServerProcess()
    with one:
        one.begin(Command([sys.executable, "-c", "while True: pass"]))
        before = one.activity_now()
        assert wait_until(lambda: one.activity_now().cpu > before.cpu + 0.05, 60)
        assert one.activity_now().runnable
        os.kill(one.pid, signal.SIGSTOP)
        assert wait_until(lambda: not one.activity_now().runnable, 60)
    assert ServerProcess().activity_now() == Activity()


def test_a_program_that_should_end_may_be_held_up(monkeypatch):
    asked = []
    monkeypatch.setattr(
        ServerProcess, "activity_now", lambda self: asked.append(self) or Activity()
    )
    with pytest.raises(Failure, match="kept running"):
        exchanges.expect_failed_start(["sleep", "60"], 2, "usage", seconds=0.2)
    assert asked


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


def test_a_server_without_a_processor_may_still_take_more(clock):
    """QUIET of a client is short, and a server that others hold up takes nothing in it."""
    server = Server()
    quiet = fair(server).lasting(0.3)
    assert wait(clock, Deadline(quiet), server) < 0.3 + 4 * waits.MORE_SECONDS
    server.runnable = True
    assert wait(clock, Deadline(quiet), server, cpu=0.1) > 1


@pytest.mark.parametrize("spins", [False, True])
def test_a_wait_goes_on_while_the_claim_lets_time_go_by(clock, spins):
    """The proof that the server sleeps may take long on a busy machine. One that spins needs no
    time."""
    server, left = Server(), [True]
    deadline = Deadline(fair(server, time_left=lambda: bool(left), spins_end=True))
    if spins:
        server.runnable = True
        assert wait(clock, deadline, server, cpu=1) < 3
        return
    for _ in range(20):
        clock.now += 1
        assert deadline.left()
    left.clear()
    assert wait(clock, deadline, server) <= waits.MORE_SECONDS


def test_a_server_with_the_clock_of_the_machine_has_more_time(clock):
    """Also in a wait that has begun before that was known."""
    patience = fair(Server(), 2)
    deadline = Deadline(patience)
    clock.now += 1
    assert deadline.left()
    patience.be_longer()
    assert SECONDS - 1.5 <= wait(clock, deadline, Server()) <= SECONDS
    assert deadline.seconds == SECONDS
