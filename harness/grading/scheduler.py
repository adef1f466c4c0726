"""Deals the claims to the workers of pytest-xdist, one after the other in their order."""

from __future__ import annotations

from xdist.scheduler import LoadScheduling

AHEAD = 2  # a worker begins a test when it knows the next one, or that there is none


class OneByOne(LoadScheduling):
    """The scheduler of a grade. The one that it comes from deals many tests at a time, and their
    order is lost. Tests that a dead worker had not begun go to the others."""

    def schedule(self) -> None:
        """Called when every worker has listed its tests, and when a worker joins later."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = list(self.node2collection.values())[0]
            self.pending[:] = range(len(self.collection))
            for node in self.nodes:  # one for each before any has a second
                self._send_tests(node, 1)
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node, duration: float = 0) -> None:
        """Called when a worker has ended a test: it gets another one, or the message that it was
        the last. A worker without tests ends, and the tests it still has are run."""
        while not node.shutting_down and len(self.node2pending[node]) < AHEAD:
            if self.pending:
                self._send_tests(node, 1)
            else:
                node.shutdown()
