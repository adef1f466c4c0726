"""Deals the claims to the workers of pytest-xdist, one after the other; see Deal."""

from __future__ import annotations

from collections.abc import Callable

from xdist.scheduler import LoadScheduling

from harness.grading.deal import HOPELESS, MANY_FAILED, Deal
from harness.server.patience import PATIENCE

AHEAD = 2  # a worker begins a test when it knows the next one, or that there is none


class Lanes(LoadScheduling):
    """The scheduler of a grade. Tests that a dead worker had not begun go to the others. `failed`:
    how many claims have failed so far."""

    def __init__(self, config, log, deal: Deal, failed: Callable[[], int]) -> None:
        super().__init__(config, log)
        self._deal = deal
        self._failed = failed
        self._sleepers: list = []  # workers for tests that mostly sleep

    def add_node(self, node) -> None:
        super().add_node(node)
        computing = [n for n in self.nodes if n not in self._sleepers and not n.shutting_down]
        if len(computing) > self._deal.jobs:
            self._sleepers.append(node)

    def schedule(self) -> None:
        """Called when every worker has listed its tests, and when a worker joins later."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = list(self.node2collection.values())[0]
            names = [test.rsplit("::", 1)[-1] for test in self.collection]
            ranks = {name: rank for rank, name in enumerate(self._deal.waits)}
            self._waits = {i: ranks[name] for i, name in enumerate(names) if name in ranks}
            self._native = {i for i, name in enumerate(names) if name in self._deal.native}
            self._slowed = [i for i, name in enumerate(names) if name in self._deal.slowed]
            others = [i for i in range(len(names)) if i not in self._slowed]
            self.pending[:] = others + self._slowed
            for node in self.nodes:  # one for each before any has a second
                self._send_next(node)
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node, duration: float = 0) -> None:
        """Called when a worker has ended a test: it gets another one, or the message that it was
        the last. A worker without tests ends, and the tests it still has are run."""
        while not node.shutting_down and len(self.node2pending[node]) < AHEAD:
            if not self._send_next(node):
                node.shutdown()

    def _send_next(self, node) -> bool:
        test = self._next(node)
        if test is None:
            return False
        self.pending.remove(test)
        self.node2pending[node].append(test)
        node.send_runtest_some([test])
        return True

    def _next(self, node) -> int | None:
        """The test to run next: tests that mostly sleep are for the sleepers while there are
        any; then one of them goes on, or all of them."""
        slowed = [test for test in self._slowed if test in self.pending]
        waiting = sorted(self._waits.keys() & set(self.pending), key=self._waits.get)
        if node in self._sleepers:
            hopeless = PATIENCE.ran_out >= HOPELESS or self._failed() >= MANY_FAILED
            goes_on = hopeless or node is self._sleepers[0]
            mine = {*self._native, *waiting, *slowed}
            others = [test for test in self.pending if goes_on and test not in mine]
            found = waiting + (slowed + others if PATIENCE.shortest else others + slowed)
        else:
            found = [test for test in self.pending if test not in self._waits] + waiting
        return found[0] if found else None
