"""What the server does that a failure is about, and what the client of the step that failed waits
for: asked while that server still runs. Of one that has ended nearly all answers are no, or ""."""

from __future__ import annotations

from itertools import filterfalse
from typing import TYPE_CHECKING

from harness.claims.context import locks
from harness.claims.context.observe import never_waits, waits_for_readiness
from harness.client.client import Client
from harness.waiting import asleep, procfs
from harness.waiting.sockets import has_unread, is_in_backlog

if TYPE_CHECKING:
    from harness.claims.context.stage import Server, Stage

BUSY_LOOKS = 5  # checks of a server whose test has failed


class Concerned:
    """The server of a stage that is concerned. All texts go into one line, after the state of its
    process."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def busy(self) -> str:
        """ ", and ..." if it spins: it should be in a wait, and is not."""
        pid = self._pid
        if pid is None or not all(never_waits(pid) for _ in range(BUSY_LOOKS)):
            return ""
        return ", and busy: it never waits"

    def waits_for(self) -> str:
        """ ", and ..." if it is asleep: what for."""
        runs = self._pid is not None
        text = asleep.told(self._server.process, self._server.clients) if runs else ""
        return f", and {text}" if text else ""

    def locked(self) -> str:
        """ ", and a thread waits for a mutex ..." if one of it does, for ever."""
        run = self._stage.run
        pid = self._pid if run.sources and not self._stage.valgrind else None
        text = locks.held(pid, run.sources) if pid else ""
        return f", and a thread {text}" if text else ""

    def not_accepted(self) -> str:
        """ "; it has not accepted ...": its clients."""
        return asleep.not_accepted(self._server.clients) if self._pid else ""

    def at_rest(self) -> bool:
        """Whether no thread of it runs, or wants to: it sleeps, or has ended."""
        server = self._stage.concerned
        return server is None or procfs.thread_states(server.process.pid) <= set("SZX")

    def waits_for_readiness(self) -> bool:
        """Whether it is in such a wait now, see observe.py."""
        return self._pid is not None and waits_for_readiness(self._pid)

    def has_not_accepted(self) -> bool:
        """Whether the client waits until it is accepted."""
        return self._pid is not None and any(map(is_in_backlog, self._failed()))

    def has_accepted(self) -> bool:
        """Whether the client is accepted."""
        return bool(self._pid and self._failed()) and not self.has_not_accepted()

    def has_not_read(self) -> bool:
        """Whether something of the client is not read."""
        return self._pid is not None and any(map(has_unread, self._failed()))

    def is_blocked_by_another(self) -> bool:
        """Whether it sleeps in a call for another client."""
        if self._pid is None or not self._failed():
            return False
        accepted = filterfalse(is_in_backlog, self._failed())
        name = asleep.blocked_by(self._server.process, self._server.clients)
        return bool(name) and name not in [client.name for client in accepted]

    @property
    def _server(self) -> Server:
        return self._stage.concerned

    @property
    def _pid(self) -> int | None:
        return self._stage.pid()

    def _failed(self) -> list[Client]:
        """The clients of this server whose step has failed."""
        names = {step.who for step in self._stage.conversation.steps if step.failed}
        return [client for client in self._server.clients if client.name in names]
