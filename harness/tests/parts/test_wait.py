"""How long the grader waits for a server, and what ends a wait."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.feedback.failure import TooBusy
from harness.waiting import wait as waits
from harness.waiting.wait import SLEEPS, SPINS, Activity, Deadline, Patience

SECONDS = 8.0
BUSY = "too busy"
SPINNER = {"spins_end": True}
SLOWED = {"times": 3, "least": 5}
# What the server does, what the grader knows, how patient it is; when and how the wait ends.
# The part of a processor that the server gets is `cpu`. `owed`, `time_left`: the second until which
# that is so; `asleep`: since when.
WAITS = {
    "a server that sleeps has its time": ({}, {}, {}, 8, ""),
    "other programs hold the server up": ({"cpu": 0.1}, {}, {}, 80, ""),
    "it never gets a processor": ({"runnable": True}, {}, {}, 90, BUSY),
    "it spins": ({"cpu": 1}, {}, SPINNER, 2, SPINS),
    "it spins, and others hold it up": ({"cpu": 0.05}, {}, SPINNER, 40, SPINS),
    "it starts threads": ({"cpu": 1, "starts": True}, {}, SPINNER, 90, BUSY),
    "it is known to sleep": ({}, {"asleep": 1}, {}, 1, SLEEPS),
    "it sleeps, and the kernel owes bytes": ({}, {"asleep": 1, "owed": 20}, {}, 20, SLEEPS),
    "the kernel owes bytes": ({}, {"owed": 20}, {}, 20, ""),
    "the kernel owes bytes for ever": ({}, {"owed": 1e9}, {}, 90, BUSY),
    "its clock will go on": ({}, {"time_left": 20}, {}, 20, ""),
    "it spins, and needs no time": ({"cpu": 1}, {"time_left": 20}, SPINNER, 2, SPINS),
    "valgrind slows it down": ({"cpu": 1}, {}, SLOWED, 24, ""),
    "it spins, slowed down": ({"cpu": 1}, {}, SLOWED | SPINNER, 6, SPINS),
    "slowed down, with two threads": ({"cpu": 1, "threads": 2}, {}, SLOWED | SPINNER, 24, ""),
}


class World:
    """A server and the time, which only let_pass() moves."""

    def __init__(self, cpu=0.0, runnable=False, threads=1, starts=False):
        self.cpu, self.runnable, self.threads, self.starts = cpu, runnable, threads, starts
        self.now, self.used = 0.0, 5.0

    def activity_now(self) -> Activity:
        self.threads += self.starts
        return Activity(self.used, self.runnable or self.cpu > 0, self.threads)

    def let_pass(self, seconds: float) -> None:
        self.now, self.used = self.now + seconds, self.used + self.cpu * seconds


@pytest.mark.parametrize("name", WAITS)
def test_how_a_wait_ends(name, monkeypatch):
    does, known, options, seconds, end = WAITS[name]
    world = World(**does)
    monkeypatch.setattr(waits, "time", SimpleNamespace(monotonic=lambda: world.now))
    patience = Patience(
        SECONDS,
        lambda: [world],
        asleep=lambda _: float(world.now >= known.get("asleep", 1e9)),
        owes=lambda: world.now < known.get("owed", 0),
        time_left=lambda: world.now < known.get("time_left", 0),
        **options,
    )
    deadline, found = Deadline(patience), BUSY
    try:
        while deadline.left():
            world.let_pass(min(deadline.pause(), deadline.left()) + 0.001)
        found = deadline.waited.hopeless
    except TooBusy:
        pass
    assert found == end
    assert seconds <= world.now <= 1.05 * seconds + 0.6
