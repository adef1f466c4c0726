"""The order of what servers did: their calls one after the other, without times.

A server with one thread whose clock stands makes the same calls in the same order whenever it gets
the same bytes at the same times of its clock, and each of them when it is at rest. So two runs of a
claim with one seed can be compared, call by call.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from itertools import zip_longest

from harness.feedback.conversation import counted
from harness.feedback.failure import NotJudged
from harness.server.preload import Entry
from harness.submission.sizes import KIB

MOST_CALLS = 1_000  # of a server: more are not compared, and not kept
MOST_CLIENTS = 32  # of a server: to ask the kernel about more takes too long
AT_ONCE = 16 * KIB  # of what is sent at once, a server may read a part before the rest comes
OWN_OUTPUTS = (0, 1, 2)  # the server's standard input, output and error
PORT = ("accept", "accept4")  # of these `size` is the port of the peer: another one in each run


class Order:
    """The calls of one server, as far as they follow from what the claim does."""

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
            return shim.shared.recorded <= MOST_CALLS and clock.calm()
        except NotJudged:  # the server has spoilt the record
            return False

    def calls(self) -> list[str] | None:
        """Each as a line: "read(fd 7, 512) = 512". None if chance has a part in their order: the
        server has several threads, does not come to rest, or goes by the clock of the machine; or
        if it has made too many calls, or none that are seen."""
        self.before(0)
        if self._by_chance or not self._process.clock.stands:
            return None
        made = self._process.shim.record()
        if len({call.thread for call in made}) != 1 or any(call.repeated for call in made):
            return None
        return [_told(call) for call in made if call.fd not in OWN_OUTPUTS and not call.watched]


def of(orders: Iterable[Order]) -> str:
    """The calls of the servers of a claim, one server after the other, a line each; "" if chance
    has a part in it."""
    lines: list[str] = []
    for order in orders:
        calls = order.calls()
        if calls is None:
            return ""
        lines += calls
    return "\n".join(lines)


def compare(here: str, there: str) -> str:
    """ "the same 214 calls in the same order", or the first difference between two orders."""
    ours, theirs = here.splitlines(), there.splitlines()
    for number, (one, other) in enumerate(zip_longest(ours, theirs, fillvalue=""), 1):
        if one != other:
            return f"call {number:,} differs: {_difference(one, other)}"
    return f"the same {counted(len(ours), 'call')} in the same order"


def _difference(here: str, there: str) -> str:
    call, _, result = here.partition(" = ")
    other, _, result_there = there.partition(" = ")
    if call == other:
        return f"{call} = {result} here, {result_there} there"
    return f"{here or 'none'} here, {there or 'none'} there"


def _told(call: Entry) -> str:
    of = [f"fd {call.fd}"] if call.fd >= 0 else []
    of += [f"{call.size:,}"] if call.size and call.function not in PORT else []
    result = errno.errorcode.get(call.error, str(call.error)) if call.error else f"{call.result:,}"
    return f"{call.function}({', '.join(of)}) = {result}"
