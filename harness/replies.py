"""The replies a client waits for, compared as they arrive, and what it means when they stop.

No I/O: bytes are given to it, failures are taken from it.
"""

from __future__ import annotations

from enum import Enum
from typing import Iterable

from harness import wire
from harness.failure import Failure, first_difference


class End(Enum):
    """Why no more bytes come."""

    FIN = "closed"
    RESET = "reset"
    SILENCE = "silence"


class Replies:
    """The frames that are due, as one stream of bytes, and how much of it has come."""

    def __init__(self, bodies: Iterable[bytes]) -> None:
        frames = [wire.encode(body) for body in bodies]
        self._sizes = [len(frame) for frame in frames]
        self._stream = b"".join(frames)
        self._matched = 0
        self._wrong = b""  # what came instead of the stream from _matched on

    @classmethod
    def echo_of(cls, stream: bytes) -> "Replies":
        """What is due for a stream of whole frames: the same stream. Copies nothing of it."""
        replies = cls(())
        replies._stream = stream
        at = 0
        while at < len(stream):
            replies._sizes.append(wire.HEADER + wire.declared_length(stream[at : at + wire.HEADER]))
            at += replies._sizes[-1]
        return replies

    @property
    def missing(self) -> int:
        """Bytes still due."""
        return len(self._stream) - self._matched

    @property
    def count(self) -> int:
        """Frames due altogether."""
        return len(self._sizes)

    def accept(self, data: bytes) -> bool:
        """Compares the next bytes, at most `missing` of them. False: they are wrong."""
        due = self._stream[self._matched : self._matched + len(data)]
        if data == due:
            self._matched += len(data)
            return True
        at = first_difference(due, data) or 0
        self._matched += at
        self._wrong = data[at:]
        return False

    def still_wanted(self) -> int:
        """After a wrong byte: how many more bytes the frame with it should have."""
        start, size, _ = self._frame()
        return max(0, start + size - self._matched - len(self._wrong))

    def add_wrong(self, data: bytes) -> None:
        """More of what followed the wrong byte, to be shown with it."""
        self._wrong += data

    def wrong(self) -> Failure:
        """The failure to raise after accept() said False."""
        start, size, which = self._frame()
        received = self._stream[start : self._matched] + self._wrong
        at = self._matched - start
        due, got = self._stream[self._matched], self._wrong[0]
        if at >= wire.HEADER:
            place = f"byte {at - wire.HEADER:,} of the body of {which}"
            text = f"{place} is {got:02x} instead of {due:02x}"
            return self._failure(text, "wrong-body", received[:size])
        if len(received) < wire.HEADER:
            text = f"byte {at} of the length header of {which} is {got:02x} instead of {due:02x}"
            return self._failure(text, "wrong-header", received)
        says = wire.declared_length(received)
        text = f"the length header of {which} says {says:,} instead of {size - wire.HEADER:,}"
        return self._failure(text, "wrong-header", received[: wire.HEADER + says])

    def ended(self, end: End, seconds: float, remark: str = "") -> Failure:
        """The failure to raise when the replies stop early; `seconds` is how long was waited."""
        start, size, which = self._frame()
        at = self._matched - start
        so_far = f"{at:,} of {size:,} bytes of {which}"
        text, hint = why_it_stopped(end, seconds, so_far, begun=at > 0)
        if hint == "silence" and start:
            text, hint = f"nothing of {which} came for {seconds:g} s", "replies-missing"
        return self._failure(text + remark, hint, self._stream[start : self._matched])

    def _failure(self, text: str, hint: str, received: bytes) -> Failure:
        start, size, _ = self._frame()
        return Failure(
            text, hint=hint, expected=self._stream[start : start + size], received=received
        )

    def _frame(self) -> "tuple[int, int, str]":
        """Start in the stream, size and name of the frame in which the next byte is due."""
        start = 0
        for index, size in enumerate(self._sizes):
            if self._matched < start + size:
                break
            start += size
        which = "the reply" if self.count == 1 else f"reply {index + 1:,} of {self.count:,}"
        return start, size, which


def why_it_stopped(end: End, seconds: float, so_far: str, begun: bool) -> "tuple[str, str]":
    """The message and the hint for bytes that did not come.

    `so_far` says how much did ("3 of 9 bytes of the reply"), `begun` whether it is more than none.
    """
    after = f"after {so_far}" if so_far else "before anything came back"
    if end is End.FIN:
        return f"the connection was closed {after}", "closed-in-reply" if begun else "closed-early"
    if end is End.RESET:
        return f"the connection was reset {after}", "reset-early"
    if begun:
        return f"only {so_far} came, then nothing for {seconds:g} s", "stalled-reply"
    return f"nothing came back for {seconds:g} s", "silence"
