"""Which claims of a grade run at the same time, and what its workers know of each other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.grading import scoring
from harness.grading.deal import HOPELESS, MANY_FAILED, SLEEPERS, Deal
from harness.grading.lanes import Lanes
from harness.lab.chapters import find
from harness.server.patience import PATIENCE, Deadline, Patience, Stretched, Watchful, wait_until

NAMES = ("short", "native", "other", "long", "last", "middle", "more", "memory", "end")
DEAL = Deal(2, 2, ("long", "middle", "short"), ("native",), ("memory",))


class Worker:
    """What the scheduler sees of a worker."""

    def __init__(self) -> None:
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="gw")
        self.sent: list[str] = []

    def send_runtest_some(self, tests: list[int]) -> None:
        self.sent += [NAMES[test] for test in tests]

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduled(lanes: Lanes, count: int) -> list[Worker]:
    """Workers that have been given their first tests."""
    workers = [Worker() for _ in range(count)]
    for worker in workers:
        lanes.add_node(worker)
    for worker in workers:
        lanes.add_node_collection(worker, [f"test_01_blocking.py::{name}" for name in NAMES])
    lanes.schedule()
    return workers


@pytest.fixture
def lanes(pytestconfig, monkeypatch):
    """With a configuration of pytest: each version of xdist reads other options of it."""
    monkeypatch.setattr(pytestconfig.option, "tx", ["popen"] * DEAL.workers)
    return Lanes(pytestconfig, None, DEAL, lambda: 0)


def run_all(lanes: Lanes, worker: Worker) -> None:
    for name in worker.sent:  # grows while it is walked
        lanes.mark_test_complete(worker, NAMES.index(name))


def test_what_sleeps_runs_beside_what_computes(lanes):
    first, second, spare, sleeper = scheduled(lanes, 4)
    assert (spare.sent, sleeper.sent) == (["long", "short"], ["middle", "memory"])
    run_all(lanes, sleeper)
    assert sleeper.sent == ["middle", "memory"] and sleeper.shutting_down
    run_all(lanes, spare)
    assert spare.sent == ["long", "short", "end"] and spare.shutting_down
    run_all(lanes, first)
    assert {*first.sent, *second.sent} == {*NAMES} - {*sleeper.sent, *spare.sent}


@pytest.mark.parametrize("ran_out, failed", [(HOPELESS, 0), (0, MANY_FAILED)])
def test_where_waits_run_out_or_many_fail_the_others_run_there_too(
    lanes, monkeypatch, ran_out, failed
):
    monkeypatch.setattr(PATIENCE, "_ran_out", ran_out)
    monkeypatch.setattr(lanes, "_failed", lambda: failed)
    *_, sleeper = scheduled(lanes, 4)
    run_all(lanes, sleeper)
    assert "end" in sleeper.sent and "native" not in sleeper.sent


def test_what_slows_a_server_down_comes_last(lanes):
    first, second, _ = scheduled(lanes, 3)
    run_all(lanes, first)
    assert [name for name in first.sent if name not in DEAL.waits][-1] == "memory"


def test_a_slowed_server_is_waited_for_longer():
    patience = Patience(((0, 8.0), (1, 3.0), (2, 1.0), (3, 0.25)))
    slowed = Stretched(patience, 3, 5, lambda: 0)
    seconds = []
    for _ in range(4):
        seconds.append(slowed.seconds)
        slowed.expired()
    assert seconds == [24, 9, 5, 2.5]


def test_what_a_dead_worker_had_is_run_by_another(lanes):
    first, second, sleeper = scheduled(lanes, 3)
    lost = first.sent[1]
    assert lanes.remove_node(first).endswith(first.sent[0])
    new = Worker()
    lanes.add_node(new)
    lanes.add_node_collection(new, lanes.collection)
    lanes.schedule()
    run_all(lanes, second)
    run_all(lanes, new)
    assert lost in second.sent + new.sent


def test_a_deal():
    claims = scoring.holding(scoring.load(), find("10"))
    assert Deal.of(claims, 2).workers == 2 + SLEEPERS
    assert Deal.of(claims, 1).workers == 1
    assert Deal.of(claims, 0).workers == 0
    assert Deal.of(claims[:5], 2).workers == 2
    seconds = {claim.name: claim.waits for claim in claims}
    waits = [seconds[name] for name in Deal.of(claims, 2).waits]
    assert waits == sorted(waits, reverse=True) and waits[-1] > 0


def test_workers_share_their_patience(tmp_path):
    one, other = (Patience(((0, 8.0), (2, 1.0))) for _ in range(2))
    for patience in (one, other):
        patience.share(tmp_path / "ran-out")
    one.expired()
    assert other.ran_out == 1 and other.seconds == 8
    other.expired()
    assert one.seconds == other.seconds == 1


def test_nothing_more_is_expected_of_a_server_that_does_nothing():
    patience = Patience(((0, 8.0), (2, 1.0), (5, 0.5)))
    patience.expired()
    patience.give_up()
    assert (patience.ran_out, patience.seconds) == (5, 0.5)


def test_a_stretched_patience_gives_up_too():
    patience = Patience(((0, 8.0), (2, 1.0)))
    Watchful(Stretched(patience, 3, 1, float), lambda began, seconds: False).give_up()
    assert patience.ran_out == 2


def test_a_wait_ends_when_the_server_is_known_to_hang():
    hopeless = []
    watched = Watchful(Patience(((0, 8.0),)), lambda began, seconds: bool(hopeless))
    deadline, of_the_kernel = Deadline(watched), Deadline(watched, others=True)
    assert not wait_until(lambda: not deadline.left(), 0.3)
    hopeless.append(True)
    assert wait_until(lambda: not deadline.left(), 5)
    assert deadline.seconds < 5 and of_the_kernel.left() > 0
