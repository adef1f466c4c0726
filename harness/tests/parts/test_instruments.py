"""How long the grader waits, and what it concludes from counts and reports. No server is started."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.claims.instruments import order, sanitizers
from harness.claims.scenarios.cost import GROWTH, GROWTH_COPIED, grows
from harness.failures.failure import Failure, TooBusy
from harness.server.waiting import wait as waits
from harness.server.waiting.wait import SLEEPS, SPINS, Activity, Deadline, Patience
from harness.tests import golden

SECONDS = 8.0


class Server:
    """A server with `threads` threads that gets the part `cpu` of a processor, and the time that
    only its own computing and the test's pauses let pass. `starts`: each look finds a new thread.
    """

    def __init__(self, cpu: float = 0, runnable: bool = False, threads: int = 1, starts=False):
        self.now, self.used, self.starts = 1000.0, 5.0, starts
        self.cpu, self.runnable, self.threads = cpu, runnable or cpu > 0, threads

    def activity_now(self) -> Activity:
        self.threads += self.starts
        return Activity(self.used, self.runnable, self.threads)

    def let_pass(self, seconds: float) -> None:
        self.now += seconds
        self.used += self.cpu * seconds


# What the server does, how patient the grader is, and when and how the wait ends.
# `owed`, `time_left`, `asleep`: the second from which that is no longer so, or is so.
WAITS = {
    "a server that sleeps has its time": ({}, {}, 8, ""),
    "so has one that computes": ({"cpu": 1}, {}, 8, ""),
    "other programs hold the server up": ({"cpu": 0.1}, {}, 80, ""),
    "a server that never gets a processor": ({"runnable": True}, {}, 90, "too busy"),
    "it spins": ({"cpu": 1}, {"spins_end": True}, 2, SPINS),
    "it spins, and others hold it up": ({"cpu": 0.05}, {"spins_end": True}, 40, SPINS),
    "it starts threads": ({"cpu": 1, "starts": True}, {"spins_end": True}, 90, "too busy"),
    "it is known to sleep": ({}, {"asleep": 1}, 1, SLEEPS),
    "it sleeps, and the kernel owes bytes": ({}, {"asleep": 1, "owed": 20}, 20, SLEEPS),
    "the kernel owes bytes": ({}, {"owed": 20}, 20, ""),
    "the kernel owes bytes for ever": ({}, {"owed": 1e9}, 90, "too busy"),
    "its clock will go on": ({}, {"time_left": 20}, 20, ""),
    "it spins, and needs no time": ({"cpu": 1}, {"time_left": 20, "spins_end": True}, 2, SPINS),
    "valgrind slows it down": ({"cpu": 1}, {"times": 3, "least": 5}, 24, ""),
    "it spins, slowed down": ({"cpu": 1}, {"times": 3, "least": 5, "spins_end": True}, 6, SPINS),
    "slowed down, with two threads": (
        {"cpu": 1, "threads": 2},
        {"times": 3, "least": 5, "spins_end": True},
        *(24, ""),
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_how_a_wait_ends(name, monkeypatch):
    does, patience, seconds, end = WAITS[name]
    server = Server(**does)
    monkeypatch.setattr(waits, "time", SimpleNamespace(monotonic=lambda: server.now))
    options = dict(patience)
    began = server.now
    asleep, owed = options.pop("asleep", 1e9), options.pop("owed", 0)
    left = options.pop("time_left", 0)
    deadline = Deadline(
        Patience(
            SECONDS,
            lambda: [server],
            asleep=lambda _: float(server.now - began >= asleep),
            owes=lambda: server.now - began < owed,
            time_left=lambda: server.now - began < left,
            **options,
        )
    )
    try:
        while deadline.left():
            server.let_pass(min(deadline.pause(), deadline.left()) + 0.001)
        found = deadline.waited.hopeless
    except TooBusy:
        found = "too busy"
    assert found == end
    assert seconds <= server.now - began <= 1.05 * seconds + 0.6


def test_a_pause_of_the_grader_is_not_the_servers(monkeypatch):
    """For 30 s other programs keep the grader from running, and the server too."""
    server = Server()
    monkeypatch.setattr(waits, "time", SimpleNamespace(monotonic=lambda: server.now))
    deadline = Deadline(Patience(SECONDS, lambda: [server]))
    server.let_pass(30)
    assert deadline.left()


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.6, 0.9, 1, 2])
def test_a_buffer_may_grow_by_any_part(part):
    """Each byte comes and goes, and is copied whenever the block grows."""

    def steps(size: int) -> float:
        block, copied = 65536.0, 0.0
        while block < size:
            copied, block = copied + block, block * (1 + part)
        return 2 * size + copied

    for size in range(1 << 20, 1 << 22, 1 << 16):
        grows(steps, size, "{:,} bytes", GROWTH_COPIED, "quadratic")


@pytest.mark.parametrize("steps", [lambda n: n * n, lambda n: 2 * n + sum(range(0, n, 65536))])
def test_quadratic_work_is_found(steps):
    with pytest.raises(Failure):
        grows(steps, 1 << 21, "{:,}", GROWTH_COPIED, "quadratic")
    grows({1: 100, 2: 299, 4: 598}.__getitem__, 1, "{:,} MiB", GROWTH, "a block grows once")


@pytest.mark.parametrize(
    "here, there, says",
    [
        ("read(fd 7, 9) = 9", "read(fd 7, 9) = 9", "the same 1 call in the same order"),
        ("a = 1\nb = 4", "a = 1\nb = 9", "call 2 differs: b = 4 here, 9 there"),
        ("a = 1\nb = 2", "a = 1", "call 2 differs: b = 2 here, none there"),
    ],
)
def test_the_first_difference_of_two_orders(here, there, says):
    assert order.compare(here, there) == says


CLANG = """hello
AddressSanitizer:DEADLYSIGNAL
=================================================================
==7==ERROR: AddressSanitizer: SEGV on unknown address 0x7f00 (pc 0x1 bp 0x2 sp 0x3 T0)
==7==The signal is caused by a READ memory access.
    #0 0x55a in read_bits /tmp/a b/reader.c:33:20
    #1 0x55b in reader_i16 /tmp/a b/reader.c:42:10
    #2 0x55c in integers /lab/harness/claims/programs/05_reader.c:9:1

allocated by thread T0 here:
    #0 0x55d in reader_string /tmp/a b/reader.c:99:1
"""
THREADS = """==================
WARNING: ThreadSanitizer: data race (pid=12)
  Write of size 4 at 0x55 by thread T1:
    #0 events_wake /tmp/x/events.c:70 (prog+0x1)

  Previous read of size 8 at 0x55 by main thread (mutexes: write M1):
    #0 read_bits /tmp/x/reader.c:3:1 (prog+0x2)
    #1 main /tmp/x/main.c:4:2 (prog+0x3)
"""
UNDEFINED = "reader.c:33:20: runtime error: left shift of 255 by 24 places\n"
JOINED = "hello\n==7==ThreadSanitizer: dup thread with used id 0x0\n"
NO_ROOM = "FATAL: ThreadSanitizer: unexpected memory mapping 0x5f7e9d2ad000-0x5f7e9d2ae000\n"


def test_reports_of_sanitizers_are_cut_down():
    told = []
    for printed in (CLANG, THREADS, UNDEFINED, JOINED, NO_ROOM):
        fault = sanitizers.fault(printed, ["reader.c", "events.c"])
        told.append(f"{fault.message}\n[{fault.hint}]" if fault else sanitizers.unusable(printed))
        told.append(f"rest: {sanitizers.without_reports(printed)}")
    golden.check("sanitizers", "\n".join(told))
