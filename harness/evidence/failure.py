"""What is raised when a server or the harness fell short; and two byte strings side by side.

Failure is the server's fault and costs points. NotJudged is the harness's or the machine's, and
never does.
"""

from __future__ import annotations

from typing import Optional

# Every way of failing that this package can tell apart. hints.py has a text for each.
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

    `hint` is one of HINT_KEYS or a key that hints.py adds. `expected` and `received` are the bytes
    of the frame that went wrong, from its first byte to as far as is known.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: Optional[str] = None,
        expected: Optional[bytes] = None,
        received: Optional[bytes] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.expected = expected
        self.received = received


class NotJudged(Exception):
    """The harness or the machine is at fault, or an instrument is not available here."""


def first_difference(one: bytes, other: bytes) -> Optional[int]:
    """The offset of the first byte that differs, None when the two are the same.

    When one is the beginning of the other, that is the length of the shorter.
    """
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return None if len(one) == len(other) else high
    while high - low > 1:  # the first `low` bytes agree, the first `high` do not
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def compare(expected: bytes, received: bytes, width: int = 80) -> str:
    """Both byte strings around their first difference, a caret under it, its offset, both lengths.

    Long strings are cut to one row of hex and text each, chosen so that the difference is in it.
    """
    at = first_difference(expected, received)
    if at is None:
        return f"expected and received are the same {_bytes(len(expected))}"
    per_row = max(4, min(16, (width - len("expected      ||")) // 4))
    start = 0 if at < per_row else at - per_row // 2
    columns = max(len(expected), len(received)) - start
    columns = min(per_row, columns)
    caret = " " * (len("expected   ") + 3 * (at - start)) + f"^^ {_verdict(expected, received, at)}"
    lines = [
        _row("expected", expected, start, columns),
        _row("received", received, start, columns),
        caret,
        f"           expected {_bytes(len(expected))}, received {_bytes(len(received))}",
    ]
    if start or len(expected) > columns or len(received) > columns:
        lines[-1] += f"; shown: bytes {start:,} to {start + columns - 1:,}"
    return "\n".join(lines)


def _verdict(expected: bytes, received: bytes, at: int) -> str:
    if at >= len(received):
        return f"byte {at:,} did not come"
    if at >= len(expected):
        return f"byte {at:,}: nothing was expected here"
    return f"first difference at byte {at:,}, counting from 0"


def _row(label: str, data: bytes, start: int, columns: int) -> str:
    part = data[start : start + columns]
    if not part:
        return f"{label}   (nothing here)"
    digits = part.hex(" ").ljust(3 * columns - 1)
    return f"{label}   {digits}   |{printable(part)}|"


def printable(data: bytes) -> str:
    """The bytes as ASCII, a dot for each that cannot be printed."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def harmless(text: str) -> str:
    """The text with a dot for every character that would move the cursor, or worse."""
    return "".join(char if char.isprintable() or char in "\n\t" else "." for char in text)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"
