"""What the clients of one test did, as numbered steps that a failure can show."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from harness.feedback.failure import Failure
from harness.feedback.printable import printable
from harness.submission.sizes import MIB

SHOWN_BYTES = 16  # longer data is told by its size
KEPT_BYTES = MIB  # of a test, for a trace
GRADER = "the grader"  # makes steps, too
LINES = 16  # of a conversation, unless asked otherwise
OTHER_NAMES = 1_000_000_000  # their place after A, B, ...
SHOWN_RANGES = 4  # of the names of clients that do the same


@dataclass
class Step:
    """Something that `who` did. `text` is a verb and what follows it: "sends 2 bytes: 05 00".
    `error` is the Failure that it raised, and `failed` says whether the test failed there."""

    number: int
    who: str
    text: str
    failed: bool = False
    error: Failure | None = None

    def __enter__(self) -> Step:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Failure):
            self.failed, self.error = True, error

    def told(self) -> dict[str, Any]:
        """The step as an object of JSON."""
        return {"number": self.number, "who": self.who, "text": self.text, "failed": self.failed}


@dataclass
class Move:
    """Something that a client's socket did, during a step (its number): one line of a trace.

    `what`: "connect", "send", "recv", "fin", "reset" or "silence" (of the server), "refused",
    "half-close", "close" or "abort"; or of the grader "signal", to the server, and "clock": it
    moves the server's by `size` ns. Otherwise `size` is bytes that moved, of which `data` are the
    first.
    """

    at_ns: int
    who: str
    step: int
    what: str
    size: int
    data: bytes
    port: int = 0  # of the client, at "connect"


class Conversation:
    """The steps of all clients of one test, in the order in which they began.

    `moves` is None unless somebody has put a list there, for a trace.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.moves: list[Move] | None = None
        self._kept = 0

    def restart(self) -> None:
        """Forgets what was said: what comes now is told by itself."""
        self.steps.clear()
        if self.moves is not None:
            self.moves.clear()

    def moved(self, who: str, what: str, data: bytes | memoryview = b"", at_ns: int = 0) -> None:
        """Takes note of what a socket did, now or at `at_ns`. The bytes are copied."""
        if self.moves is not None:
            kept = bytes(data[: max(0, KEPT_BYTES - self._kept)])
            self._kept += len(kept)
            self._move(at_ns or time.monotonic_ns(), who, what, len(data), kept)

    def connected(self, who: str, port: int, began_ns: int) -> None:
        """Takes note of a new connection, that was asked for at `began_ns`."""
        if self.moves is not None:
            self._move(began_ns, who, "connect", 0, b"", port)

    def signalled(self, text: str) -> None:
        """Notes a step of the grader that the server notices: "sends SIGTERM to the server", "lets
        60,000 ms go by"."""
        self.note(GRADER, text)
        self.moved(GRADER, "signal")

    def clock_moved(self, ns: int) -> None:
        """Takes note of the clock of the server, which is about to be moved."""
        if self.moves is not None:
            self._move(time.monotonic_ns(), GRADER, "clock", ns, b"")

    def _move(self, at_ns: int, who: str, *rest: Any) -> None:
        self.moves.append(Move(at_ns, who, len(self.steps), *rest))

    def note(self, who: str, text: str) -> Step:
        step = Step(len(self.steps) + 1, who, text)
        self.steps.append(step)
        return step

    def step(self, who: str, text: str) -> Step:
        """A step that fails when the block raises Failure."""
        return self.note(who, text)

    def blame(self, error: BaseException) -> None:
        """Says that the test failed by this error: steps that raised another one were expected to,
        if this one, or one that led to it, was raised in a step."""
        cause: BaseException | None = error
        while cause is not None:
            blamed = [step for step in self.steps if step.error is cause]
            if blamed:
                for step in self.steps:
                    step.failed = step in blamed
                return
            cause = cause.__context__

    def went_on(self) -> bool:
        """Whether a client waited for something before the step that failed, and it came."""
        waits = [step.failed for step in self.steps if step.text.startswith("waits for ")]
        return bool(waits) and not waits[0]

    def render(self, limit_lines: int = LINES) -> str:
        """One line a step; the failing step, or else the last one, is marked with an arrow.

        Neighbours that say the same are one line. What is still too long loses its middle, never
        the marked line.
        """
        groups = [list(group) for _, group in groupby(self.steps, lambda s: (s.text, s.failed))]
        if not groups:
            return ""
        marked = [i for i, group in enumerate(groups) if group[0].failed] or [len(groups) - 1]
        digits = max(len(_numbers(group)) for group in groups)
        lines: list[str] = []
        last = -1
        for index in _kept(len(groups), marked[0], limit_lines):
            if index > last + 1:
                left_out = sum(len(group) for group in groups[last + 1 : index])
                lines.append(f"   {'':{digits}}  ... {counted(left_out, 'step')} left out")
            arrow = "->" if index in marked else "  "
            lines.append(f"{arrow} {_numbers(groups[index]):>{digits}}  {_sentence(groups[index])}")
            last = index
        if last < len(groups) - 1:
            left_out = sum(len(group) for group in groups[last + 1 :])
            lines.append(f"   {'':{digits}}  ... {counted(left_out, 'more step')}")
        return "\n".join(lines)


def describe_bytes(data: bytes) -> str:
    """`2 bytes: 05 00`, with the text behind it when all of it can be printed; or just the size."""
    size = counted(len(data), "byte")
    if not 0 < len(data) <= SHOWN_BYTES:
        return size
    text = printable(data)
    readable = f' "{text}"' if text.encode() == data else ""
    return f"{size}: {bytes(data).hex(' ')}{readable}"


def counted(number: int, noun: str) -> str:
    """`1 byte`, `2 bytes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _kept(groups: int, marked: int, limit: int) -> list[int]:
    """Which lines to show: the first few, those before the marked one, and the marked one."""
    if groups <= limit:
        return list(range(groups))
    room = max(1, limit - 2)  # two lines may have to say what was left out
    head = room // 3
    first_of_tail = min(max(head, marked - (room - head) + 1), groups - (room - head))
    tail = range(first_of_tail, first_of_tail + room - head)
    return list(range(head)) + list(tail)


def _numbers(group: list[Step]) -> str:
    first, last = group[0].number, group[-1].number
    return str(first) if first == last else f"{first}-{last}"


def _sentence(group: list[Step]) -> str:
    names = list(dict.fromkeys(step.who for step in group))
    if len(names) > 1:
        return f"each of {len(names):,} clients, {_listed(names)}: {group[0].text}"
    times = f"   ({len(group):,} times)" if len(group) > 1 else ""
    return f"{names[0]} {group[0].text}{times}"


def _listed(names: list[str]) -> str:
    """`A to D, F`: names that follow each other in the alphabet are told as a range, and names
    after the first SHOWN_RANGES ranges are left out."""
    ranges: list[list[str]] = []
    for name in sorted(names, key=_place):
        if ranges and _place(name) == _place(ranges[-1][-1]) + 1:
            ranges[-1].append(name)
        else:
            ranges.append([name])
    told = [one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in ranges]
    rest = [] if len(told) <= SHOWN_RANGES else ["and others"]
    return ", ".join(told[:SHOWN_RANGES] + rest)


def _place(name: str) -> int:
    """The place of the name of a client among A, B, ... Z, AA, AB, ...; other names come after
    these, and no two of them are neighbours."""
    if not re.fullmatch("[A-Z]+", name):
        return OTHER_NAMES
    place = 0
    for letter in name:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place
