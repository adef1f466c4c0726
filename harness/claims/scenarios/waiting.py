"""Tries a table: every state in which a connection waits, and every way in which its client may end
that. The rows are in waiting_states.py, which also says how a chapter adds some.

All clients of a table are connected at once: so a claim takes about as long as its slowest cell.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from harness.claims.context.observe import until_asleep, until_read
from harness.claims.marker import GONE, MUTE
from harness.claims.scenarios.cost import EXACT, bounded
from harness.claims.scenarios.rpc_talk import echo_text
from harness.claims.scenarios.timed import LATE_MS, soon
from harness.client.client import Client
from harness.client.framing import Framing
from harness.client.messages import MESSAGES
from harness.feedback.failure import Failure, TooBusy
from harness.submission.sizes import MIB
from harness.waiting.wait import wait_until

BACKENDS = tuple(("--backend", name) for name in ("select", "poll", "epoll"))

# The ends. With a FIN the client closes, and reads nothing more. After a half-close it reads.
FIN, RST, HALF_CLOSE, SILENCE = "a FIN", "a RST", "a half-close", "silence"
DOES = {FIN: Client.close, RST: Client.reset, HALF_CLOSE: Client.half_close}

# What a general hint means where a client is finished, or has half-closed, and was owed replies.
LOST = dict.fromkeys((*MUTE, *GONE), "replies-lost-at-eof")

# The hints for connections that stay although they should not.
STAYS = {**dict.fromkeys((FIN, HALF_CLOSE, SILENCE), "descriptor-leak"), RST: "reset-unnoticed"}

# With select a server sees some ends only when it looks round, once in so many seconds at least. A
# wait gives it this time, too, but not if another server of the claim spins.
LOOK_SECONDS = 5

KEPT_BYTES = 6 * MIB  # over the start, when all clients have gone: what malloc and threads keep


class Outcome(Enum):
    """What the server must do when its client leaves like this."""

    FORGOTTEN = "its descriptor is closed and its memory is free"
    ANSWERED = "it gets what it is owed and is closed"
    SERVED = "it gets what it is owed, and then its next request is answered"


@dataclass(frozen=True)
class Waiting:
    """A client that waits. `owed`: the bodies of the replies that it still has to get. `serve`: its
    next request and the reply, if these are not those of its State."""

    client: Client
    owed: Sequence[bytes] = ()
    serve: Callable[[Client], None] | None = None


@dataclass(frozen=True)
class State:
    """A row of a table.

    `name`: how a client is, "idle". `enter`: brings a new client of the server into the state; it
    gets the end, too, since an alarm has to ring soon for some ends, and never for others. `fin`,
    `rst`, `half_close` and `silence`: what each end leads to; or why this cell is left out.
    `options`: of the server. `serve`: a request of a client and its reply. `ms`: after so many the
    server goes on by itself. `seconds`: that it may take by itself until it closes in silence; the
    other ends are noticed at once. `given_up`: after so many seconds it may close a client that
    does not take what it is owed; 0 means never. `stays`: the hint of each end for a connection
    that stays, where it is not the one of STAYS.
    """

    name: str
    enter: Callable[..., Waiting]
    fin: Outcome | str
    rst: Outcome | str
    half_close: Outcome | str
    silence: Outcome | str
    options: tuple[str, ...] = ()
    serve: Callable[[Client], None] = echo_text
    ms: int = 0
    seconds: float = 0
    given_up: float = 0
    stays: Mapping[str, str] = field(default_factory=dict)

    def cells(self) -> Iterable[Cell]:
        """The cells that are not left out."""
        row = {FIN: self.fin, RST: self.rst, HALF_CLOSE: self.half_close, SILENCE: self.silence}
        return [Cell(self, *one) for one in row.items() if isinstance(one[1], Outcome)]


@dataclass(frozen=True)
class Cell:
    """A state, an end, and what that leads to."""

    state: State
    end: str
    outcome: Outcome

    def hint(self) -> str:
        """When the connection stays although it should not."""
        return {**STAYS, **self.state.stays}[self.end]

    def means(self, owed: bool) -> Mapping[str, str] | None:
        """What general hints mean after the end; None is what the claim says. `owed`: the client
        was owed replies."""
        if owed and self.outcome is Outcome.ANSWERED:
            return LOST
        return {} if self.end == SILENCE else None

    def told(self, failure: Failure, ended: Waiting | None, options: str) -> Failure:
        """The failure of a server on which this cell is tried alone. `ended`: the client, if it has
        done what ends its wait."""
        after = f", then {self.end}: {self.outcome.value}" if ended else ""
        return Failure(
            f"{failure.message} ({options}; a client that is {self.state.name}{after})",
            hint=self.hint() if failure.hint == "not-closed" else failure.hint,
            expected=failure.expected,
            received=failure.received,
            asleep=failure.asleep,
            means=self.means(bool(ended.owed)) if ended else {},
        )


def every_end(
    launch: Callable,
    rng: random.Random,
    states: Sequence[State],
    ways: Sequence[tuple[str, ...]] = BACKENDS,
    framing: Framing = MESSAGES,
) -> None:
    """Tries all cells of the table at once, with each of `ways`: options of the server.

    Of a server with which something goes wrong each cell is tried alone, and the first of them that
    goes wrong again is the failure."""
    trials = []
    for way in ways:
        for kind in dict.fromkeys((state.options, state.seconds) for state in states):
            alike = [state for state in states if (state.options, state.seconds) == kind]
            cells = [cell for state in alike for cell in state.cells()]
            trials.append(_Trial(launch, rng, (*way, *kind[0]), framing, cells))
    for steps in _Trial.STEPS:
        for trial in trials:
            try:
                for step in steps:
                    step(trial)
            except Failure:
                trial.one_by_one()
                raise


class _Trial:
    """A server, and the cells that are tried on it: with the same options and `seconds`."""

    def __init__(
        self,
        launch: Callable,
        rng: random.Random,
        options: tuple[str, ...],
        framing: Framing,
        cells: Sequence[Cell],
    ) -> None:
        self._launch, self._rng, self._options, self._framing = launch, rng, options, framing
        self._cells = cells
        self._waiting: list[Waiting] = []
        self._connected = 0
        self._server = launch(options, framing=framing, environment=EXACT, clock=True)
        first = self._server.connect("first")
        cells[0].state.serve(first)  # after this it has opened everything that it needs
        self._descriptors = self._server.process.descriptors().total - 1
        first.close()
        until_asleep(self._server)
        self._resident = self._server.process.resident_bytes()
        self._other = self._server.connect("other")

    def enter(self) -> None:
        """All clients get into their states, and the server has noticed."""
        self._entered = time.monotonic()
        for cell in self._cells:
            self._waiting.append(cell.state.enter(self._server, cell.end, self._rng))
        if not self._server.clock.ours:
            for waiting in self._waiting:
                until_read(waiting.client)
        self._server.clock.settle()
        self._settle()

    def end(self) -> None:
        """Each client does what its column says."""
        for cell, waiting in zip(self._cells, self._waiting):
            if cell.end in DOES:
                DOES[cell.end](waiting.client)
        self._settle()

    def expect(self) -> None:
        """Each end leads to what the table says, and another client is served meanwhile."""
        self._connected = 1
        if self._server.clock.ours:
            self._server.clock.advance(max(cell.state.ms for cell in self._cells) + LATE_MS)
        for cell, waiting in zip(self._cells, self._waiting):
            try:
                self._connected += self._expect_outcome(cell, waiting)
            except Failure:
                passed = time.monotonic() - self._entered
                if 0 < cell.state.given_up < passed and not self._server.clock.ours:
                    raise TooBusy(f"a client was made to wait for {passed:.1f} s") from None
                raise
        self._settle()

    def count(self) -> None:
        """The server has closed all other connections, or does so in time."""
        seconds = self._cells[0].state.seconds
        silent = sum(cell.end == SILENCE for cell in self._cells)
        if seconds and self._server.clock.ours:
            self._expect_closed_at_once(self._connected + silent)
        self._expect_connections(self._connected, seconds if silent else 0)

    def _expect_outcome(self, cell: Cell, waiting: Waiting) -> bool:
        """Whether the client stays connected."""
        if cell.outcome is Outcome.ANSWERED:
            waiting.client.expect_closed_after(waiting.owed)
            waiting.client.close()
        elif cell.outcome is Outcome.SERVED:
            if waiting.owed:
                waiting.client.expect_frames(waiting.owed)
            (waiting.serve or cell.state.serve)(waiting.client)
        return cell.outcome is Outcome.SERVED

    def leave(self) -> None:
        """The clients that are left close, and nothing of all of them remains."""
        for client in (*(waiting.client for waiting in self._waiting), self._other):
            client.close()
        self._expect_connections(0)
        bounded(self._server, self._resident, KEPT_BYTES, "when all clients have gone")

    # Each group for all trials, before the next one. Within the first no other trial comes between:
    # a client that is owed something has some seconds to take it.
    STEPS = ((enter, end, expect), (count,), (leave,))

    def one_by_one(self) -> None:
        """Tries each cell on a server of its own, and raises the first failure."""
        for cell in self._cells:
            self._server.conversation.restart()
            alone = _Trial(self._launch, self._rng, self._options, self._framing, [cell])
            ended = None
            try:
                for step in (step for steps in _Trial.STEPS for step in steps):
                    ended = alone._waiting[0] if step is _Trial.end else ended
                    step(alone)
            except Failure as failure:
                raise cell.told(failure, ended, " ".join(self._options)) from None

    def _settle(self) -> None:
        """Another client is served in two iterations at least, and then the server waits."""
        for _ in range(2):
            self._cells[0].state.serve(self._other)
        until_asleep(self._server)

    def _more_than(self, count: int) -> int:
        """How many connections more than `count` the server has."""
        return self._server.process.descriptors().total - self._descriptors - count

    def _still_has(self, more: int, when: str) -> Failure:
        what = "a connection" if more == 1 else f"{more} connections"
        text = f"{when} the server still has {what} of clients that have gone"
        return Failure(text, hint=self._cells[0].hint())

    def _expect_closed_at_once(self, count: int) -> None:
        """The server has closed all its connections but `count`, and its clock stands."""
        text = "counts the connections while the clock of the server stands"
        self._server.conversation.note("the grader", text)
        if not soon(self._server, lambda: self._more_than(count) <= 0):
            raise self._still_has(self._more_than(count), "while its clock stands")

    def _expect_connections(self, count: int, seconds: float = 0) -> None:
        """The server has closed all its connections but `count` after so many seconds, or does so
        soon."""
        patience = self._server.patience
        by_itself = 0.0 if self._server.clock.ours else seconds
        if self._server.clock.ours:
            looks = LOOK_SECONDS if "select" in self._options else 0
            self._server.clock.advance(1000 * max(seconds, looks) + LATE_MS)

        def closed() -> bool:
            return self._more_than(count) <= 0

        with self._server.conversation.step("the grader", "counts the server's descriptors"):
            if wait_until(closed, by_itself) or wait_until(closed, patience):
                return
            when = f"after {by_itself + patience.seconds:g} s"
            raise self._still_has(self._more_than(count), when)
