"""The replies a client waits for, compared as they arrive, and what it means when they stop.

No I/O: it gets bytes and returns failures.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from harness.client.framing import LENGTH, Framing
from harness.feedback.compare import first_difference
from harness.feedback.failure import Failure
from harness.waiting.wait import Waited


class End(Enum):
    """Why no more bytes come."""

    FIN = "closed"
    RESET = "reset"
    SILENCE = "silence"


class Replies:
    """The frames that are due, as one stream of bytes, and how much of it has arrived."""

    def __init__(self, bodies: Iterable[bytes], framing: Framing = LENGTH) -> None:
        frames = list(map(framing.encode, bodies))
        self._framing = framing
        self._sizes_if_known: list[int] | None = list(map(len, frames))
        self._stream = b"".join(frames)
        self._matched = 0
        self._wrong = b""  # the bytes that came instead of the stream from _matched on

    @classmethod
    def echo_of(cls, stream: bytes, framing: Framing = LENGTH) -> Replies:
        """The replies due for a stream of whole frames: the same stream. Copies nothing of it."""
        replies = cls((), framing)
        replies._stream = stream
        replies._sizes_if_known = None  # there can be 100,000, and only a failure needs them
        return replies

    @property
    def _sizes(self) -> list[int]:
        """The length of each frame, in order."""
        if self._sizes_if_known is None:
            self._sizes_if_known = list(self._framing.sizes(self._stream))
        return self._sizes_if_known

    @property
    def missing(self) -> int:
        """Bytes still due."""
        return len(self._stream) - self._matched

    def end_at(self, size: int) -> None:
        """Only the first `size` bytes of the stream are due, which are whole frames."""
        self._stream = self._stream[:size]
        self._sizes_if_known = None

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
        """How many more bytes the frame with the wrong byte should have."""
        due, came, _ = self._compared()
        return max(0, self._framing.wanted(due, came) - len(came))

    def add_wrong(self, data: bytes) -> None:
        """Keeps more of what followed the wrong byte, to show it as well."""
        self._wrong += data

    def wrong(self) -> Failure:
        """The failure to raise after accept() said False."""
        due, came, which = self._compared()
        at = first_difference(due, came) or 0
        found = self._framing.difference(due, came, at, which)
        return self._failure(found.text, found.hint, found.came)

    def _compared(self) -> tuple[bytes, bytes, str]:
        """The frame with the wrong byte, the bytes that came instead (and after it), and its
        name."""
        start, size, which = self._frame()
        came = self._stream[start : self._matched] + self._wrong
        return self._stream[start : start + size], came, which

    def ended(self, end: End, waited: Waited, unsent: str = "") -> Failure:
        """The failure to raise when the replies stop early; `waited`: how long one waited.

        `unsent`: a remark for a server that has not taken all of our data.
        """
        start, size, which = self._frame()
        at = self._matched - start
        so_far = f"{at:,} of {size:,} bytes of {which}"
        text, hint = why_it_stopped(end, waited, so_far, begun=at > 0)
        if hint == "silence" and start:
            text = f"nothing of {which} came{waited.told('nothing will')}"
            hint = "replies-missing"
        elif hint == "silence" and unsent:
            hint = "not-taken"
        failure = self._failure(text + unsent, hint, self._stream[start : self._matched])
        failure.asleep = waited.asleep
        return failure

    def _failure(self, text: str, hint: str, received: bytes) -> Failure:
        start, size, _ = self._frame()
        return Failure(
            text, hint=hint, expected=self._stream[start : start + size], received=received
        )

    def _frame(self) -> tuple[int, int, str]:
        """The start (in the stream), size and name of the frame in which the next byte is due."""
        start = 0
        for index, size in enumerate(self._sizes):
            if self._matched < start + size:
                break
            start += size
        return start, size, self.name(index)

    def name(self, index: int) -> str:
        """What a failure calls this one of the replies, counted from 0."""
        return "the reply" if self.count == 1 else f"reply {index + 1:,} of {self.count:,}"


def why_it_stopped(end: End, waited: Waited, so_far: str, begun: bool) -> tuple[str, str]:
    """The message and the hint for bytes that did not come.

    `so_far` says how much did ("3 of 9 bytes of the reply"), `begun` whether it is more than none.
    """
    after = f"after {so_far}" if so_far else "before anything came back"
    if end is End.FIN:
        return f"the connection was closed {after}", "closed-in-reply" if begun else "closed-early"
    if end is End.RESET:
        return f"the connection was reset {after}", "reset-early"
    if begun:
        return f"only {so_far} came, then nothing{waited.told('nothing will')}", "stalled-reply"
    return f"nothing came back{waited.told('nothing will')}", "silence"
