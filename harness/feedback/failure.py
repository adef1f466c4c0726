"""What is raised when a server or the harness fell short.

Failure is the server's fault and costs points. NotJudged is the harness's or the machine's, and
never does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# Every way of failing that this package can tell apart. hints.md has a text for each.
HINT_KEYS = (
    "connect-refused",  # nobody listens
    "connect-stuck",  # the connection is neither accepted nor refused
    "silence",  # no byte of the reply came
    "replies-missing",  # some replies came whole, then not a byte of the next
    "stalled-reply",  # the reply stopped after some of its bytes; the connection is open
    "closed-early",  # the server closed (FIN) before the first byte of the reply
    "closed-in-reply",  # the server closed (FIN) after some bytes of the reply
    "reset-early",  # the connection was reset before the reply was complete
    "wrong-header",  # the length in front of the reply is wrong
    "wrong-body",  # the length is right, a byte of the body is not
    "wrong-seq",  # of a typed message: cmd or seq is not that of the request
    "wrong-status",  # of a typed message
    "wrong-fields",  # of a typed message: all that is in front of them is right
    "extra-bytes",  # bytes came that nothing asked for
    "not-closed",  # the server should have closed the connection and did not
    "not-taken",  # the server stopped reading what was sent to it
    "cannot-start",  # the program could not be executed
    "died-at-start",  # it ended before it listened
    "not-listening",  # it runs, but does not listen
    "not-announced",  # it listens, but did not print where
    "wrong-first-line",  # it printed something else than where it listens
)


class Failure(AssertionError):
    """The server did something wrong. `message` is one sentence: what happened, no advice.

    `hint` is one of HINT_KEYS or a key that hints.md adds. `expected` and `received` are the bytes
    of the frame that went wrong, from its first byte to as far as is known. `asleep`: the server
    waits, and will wait for ever. `means`: what a general hint means for this failure, if that is
    not what the claim says of all of its failures; see `hints` of claims/marker.py.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        expected: bytes | None = None,
        received: bytes | None = None,
        asleep: bool = False,
        means: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.expected = expected
        self.received = received
        self.asleep = asleep
        self.means = means


@contextmanager
def meaning(means: Mapping[str, str]) -> Iterator[None]:
    """What general hints mean for a failure of the block: for a claim whose own hints are about
    what has not happened yet."""
    try:
        yield
    except Failure as failure:
        failure.means = means
        raise


class NotJudged(Exception):
    """The harness or the machine is at fault, or an instrument is not available here."""


class LabFault(NotJudged):
    """A piece of the lab does not compile on this machine, and the code that is graded is not the
    reason. `what`: its name. `said`: what the compiler printed."""

    def __init__(self, what: str, said: str) -> None:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        line = next(iter([*errors, *lines]), "the compiler printed nothing")
        super().__init__(
            f"{what} cannot be compiled here. This is a fault of the lab or of this machine, and "
            f"not of the code that is graded. Please report it with this line: {line}"
        )


class TooBusy(NotJudged):
    """Other programs had the processors for so long that the server may be right. The claim is
    tried once more when nothing of the grade runs beside it. `text` says what took too long."""

    def __init__(self, text: str) -> None:
        super().__init__(f"this machine is too busy: {text}")
