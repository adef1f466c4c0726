"""A server with one thread whose clock stands makes the same calls in the same order whenever it
gets the same bytes at the same times of its clock, and each of them when it is at rest. So a claim
that is run again with its seed goes as before."""

from __future__ import annotations

from harness.feedback.failure import NotJudged
from harness.submission.sizes import KIB

MOST_CALLS = 1_000  # of a server: after more, nobody waits until it is at rest
MOST_CLIENTS = 32  # of a server: to ask the kernel about more takes too long
AT_ONCE = 16 * KIB  # of what is sent at once, a server may read a part before the rest comes


class Order:
    """Whether the calls of one server follow from what the claim does."""

    def __init__(self, process, clients: list) -> None:
        self._process = process
        self._clients = clients
        self._by_chance = False

    def before(self, size: int) -> None:
        """A client is about to send so many bytes, to connect, or to close. The server comes to
        rest first: so it gets that at the same place in each run."""
        if not self._by_chance:
            self._by_chance = size > AT_ONCE or self._process.clock is None or not self._is_calm()

    def _is_calm(self) -> bool:
        shim, clock = self._process.shim, self._process.clock
        if shim is None or len(self._clients) > MOST_CLIENTS:
            return False
        try:
            return shim.recorded() <= MOST_CALLS and clock.calm()
        except NotJudged:  # the server has spoilt the record
            return False
