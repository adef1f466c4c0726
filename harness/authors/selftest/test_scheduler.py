"""In which order the workers of a grade run its claims."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.grading.scheduler import OneByOne

NAMES = tuple("abcdefg")


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


@pytest.fixture
def scheduler(pytestconfig, monkeypatch):
    """With a configuration of pytest: each version of xdist reads other options of it."""
    monkeypatch.setattr(pytestconfig.option, "tx", ["popen"] * 2)
    return OneByOne(pytestconfig, None)


def scheduled(scheduler: OneByOne) -> list[Worker]:
    """Two workers that have been given their first tests."""
    workers = [Worker(), Worker()]
    for worker in workers:
        scheduler.add_node(worker)
    for worker in workers:
        scheduler.add_node_collection(worker, [f"test_01_blocking.py::{name}" for name in NAMES])
    scheduler.schedule()
    return workers


def run(scheduler: OneByOne, worker: Worker, tests: str) -> None:
    for name in tests:
        scheduler.mark_test_complete(worker, NAMES.index(name))


def test_the_next_one_goes_to_whom_it_is_due(scheduler):
    first, second = scheduled(scheduler)
    assert (first.sent, second.sent) == (["a", "c"], ["b", "d"])
    run(scheduler, second, "bd")
    run(scheduler, first, "a")
    assert (first.sent, second.sent) == (["a", "c", "g"], ["b", "d", "e", "f"])
    assert not first.shutting_down and not second.shutting_down
    run(scheduler, first, "cg")
    run(scheduler, second, "ef")
    assert first.shutting_down and second.shutting_down


def test_what_a_dead_worker_had_is_run_by_another(scheduler):
    first, second = scheduled(scheduler)
    assert scheduler.remove_node(first).endswith("a")
    new = Worker()
    scheduler.add_node(new)
    scheduler.add_node_collection(new, scheduler.collection)
    scheduler.schedule()
    assert new.sent == ["e", "f"]
    run(scheduler, second, "bd")
    run(scheduler, new, "e")
    assert sorted(second.sent + new.sent) == list("bcdefg")
