"""Two byte strings side by side, and a caret under their first difference."""

from __future__ import annotations

from harness.feedback.conversation import counted
from harness.feedback.printable import printable


def first_difference(one: bytes, other: bytes) -> int | None:
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
    due, came = (counted(len(data), "byte") for data in (expected, received))
    at = first_difference(expected, received)
    if at is None:
        return f"expected and received are the same {due}"
    per_row = max(4, min(16, (width - len("expected      ||")) // 4))
    start = 0 if at < per_row else at - per_row // 2
    columns = max(len(expected), len(received)) - start
    columns = min(per_row, columns)
    caret = " " * (len("expected   ") + 3 * (at - start)) + f"^^ {_verdict(expected, received, at)}"
    lines = [
        _row("expected", expected, start, columns),
        _row("received", received, start, columns),
        caret,
        f"           expected {due}, received {came}",
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
