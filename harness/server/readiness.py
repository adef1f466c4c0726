"""When a server is ready, and what to report about one that never is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.feedback.failure import Failure, NotJudged
from harness.server.output import KEPT
from harness.server.spawn import LOCALHOST
from harness.waiting import procfs
from harness.waiting.wait import Deadline, Patience, Waited

if TYPE_CHECKING:
    from harness.server.process import ServerProcess

LINE = "listening on ADDR:PORT"
LOOK = 0.005  # seconds between two checks of the listening sockets
STOLEN_SECONDS = 0.5  # for a server to find that its port is taken, and to end

_PATTERN = re.compile(rb"^listening on (\S+):(\d{1,5})\r?\n", re.MULTILINE)
_EVERY_ADDRESS = {"0.0.0.0", "::", "[::]", "*"}


def announced(server: ServerProcess, patience: Patience) -> tuple[str, int]:
    """The address in the line `listening on ADDR:PORT`; other lines may come before it."""
    deadline = Deadline(patience)
    while True:
        server.activity.clear()
        ended = server.status is not None
        if ended:
            server.settle()
        address = announced_in(server.stdout.head)
        if address:
            return address
        if ended:
            raise _died(server)
        if server.stdout.closed or len(server.stdout.head) == KEPT:
            server.settle()  # it may be about to end, and its end says more
            raise _died(server) if server.status else _not_announced(server, server.stdout.head)
        pause = min(deadline.left(), deadline.pause())
        activity, head = server.activity.wait(pause), server.stdout.head
        if not activity and not announced_in(head) and not deadline.left():
            raise _not_announced(server, head, deadline.waited)


def announced_in(printed: bytes) -> tuple[str, int] | None:
    """The address to connect to, from the first of these lines."""
    found = _PATTERN.search(printed)
    if not found or not 0 < int(found[2]) < 65536:
        return None
    host = found[1].decode(errors="replace")
    return (LOCALHOST if host in _EVERY_ADDRESS else host.strip("[]"), int(found[2]))


def accepting(server: ServerProcess, port: int, patience: Patience) -> tuple[str, int]:
    """Returns when the server listens on the port. No connection is made: a client that sends
    nothing and leaves is a test of its own."""
    deadline = Deadline(patience)
    while server.status is None:
        if port in procfs.listeners().values():
            if port not in procfs.listening_ports(server.pids()):
                server.wait(STOLEN_SECONDS)
            if server.status is None:
                return (LOCALHOST, port)
        elif not deadline.left():
            raise _not_listening(server, port, deadline.seconds)
        else:
            server.activity.wait(LOOK)
            server.activity.clear()
    raise _died(server)


def require_unused(port: int) -> None:
    """Raises NotJudged when something else listens on the port."""
    if port in procfs.listeners().values():
        raise NotJudged(f"port {port} is used by another program")


def _died(server: ServerProcess) -> Failure:
    end = server.describe()
    verb = "was " if end.startswith("killed") else ""
    hint = "over-limit" if end.startswith("killed by the grader") else "died-at-start"
    return Failure(f"the server {verb}{end} before it listened", hint=hint)


def _not_listening(server: ServerProcess, port: int, seconds: float) -> Failure:
    """The failure of a server that runs and does not listen on the port that it was given."""
    others = procfs.listening_ports(server.pids())
    if others:
        text = f"the server listens on port {others[0]}, not on port {port}"
        return Failure(text, hint="wrong-address")
    text = f"the server does not listen on port {port} after {seconds:g} s"
    return Failure(text, hint="not-listening")


def _not_announced(server: ServerProcess, head: bytes, waited: Waited | None = None) -> Failure:
    """The failure of a server that runs and did not print where it listens, but `head`. Without
    `waited` it cannot print any more."""
    within = "" if waited is None else f" within {waited.seconds:g} s"
    if waited is not None and waited.hopeless:
        within = f": it {waited.hopeless}"
    ports = procfs.listening_ports(server.pids())
    if head:
        said = head.decode(errors="replace").split("\n")[0]
        if announced_in(head + b"\n"):
            text = f"the server printed {said[:60]!r} and no newline after it{within}"
            return Failure(text, hint="not-announced")
        text = f"the server printed {said[:60]!r} instead of '{LINE}'"
        return Failure(text, hint="wrong-first-line")
    if ports:
        text = f"the server listens on port {ports[0]}, but did not print '{LINE}'{within}"
        return Failure(text, hint="not-announced")
    text = f"the server neither listened nor printed anything{within}"
    return Failure(text, hint="not-listening")
