"""How a stream is cut into frames: by a length in front of each, by line ends, or by a fixed size.

A claim lists bodies to send and bodies to expect. A framing turns them into bytes on the wire, and
tells the position of a byte in its frame. Only length framing puts something before a body. With
the others the body is the whole frame: a line includes its terminator, which may be either of the
two. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from harness.client import length_framing
from harness.feedback.conversation import counted, describe_bytes

MAX_LINE = 65_536  # bytes before the terminator; this and the next are from docs/protocol.md
MAX_FIXED = 1_048_576


class Difference(NamedTuple):
    """A frame that came, and what is wrong with it. `text` and `hint` as in Failure; `came`: the
    bytes that belong to it."""

    text: str
    hint: str
    came: bytes


class Framing:
    """Length framing, and the base class of the others.

    `options` are those of the server's command line. `noun` is the word for a frame, `header` the
    number of bytes before its body. `hints`: what a general hint means with this framing.
    """

    options: tuple[str, ...] = ()
    noun = "frame"
    header = length_framing.HEADER
    hints: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def encode(self, body: bytes) -> bytes:
        """The frame that carries `body`. Raises ValueError if no frame can carry it."""
        return length_framing.encode(body)

    def sizes(self, stream: bytes) -> Iterator[int]:
        """The length of each frame of the stream, in order."""
        at = 0
        while at < len(stream):
            size = self._size(stream, at)
            yield size
            at += size

    def _size(self, stream: bytes, at: int) -> int:
        return length_framing.HEADER + length_framing.declared_length(stream, at)

    def told_sent(self, body: bytes) -> str:
        """A sent frame, as the object of a sentence."""
        return f"a {self.noun} of {describe_bytes(body)}"

    def told_due(self, body: bytes) -> str:
        """An expected frame, as the object of a sentence."""
        return self.told_sent(body)

    def told_came(self, body: bytes) -> str:
        """A received frame, in words, where any frame was right."""
        return describe_bytes(body)

    def told_together(self, bodies: Sequence[bytes], size: int) -> str:
        """Frames that are sent back to back, `size` bytes in all, as the object of a sentence."""
        if len(bodies) == 1:
            return self.told_sent(bodies[0])
        return f"{self.counted(len(bodies))} at once, {counted(size, 'byte')}"

    def counted(self, count: int) -> str:
        """A number of frames in words: "1 frame", "2 frames"."""
        return counted(count, self.noun)

    def wanted(self, due: bytes, came: bytes) -> int:
        """How many bytes to show of a frame that began with `came`, instead of `due`."""
        return len(due)

    def difference(self, due: bytes, came: bytes, at: int, which: str) -> Difference:
        """The failure for `came` instead of `due`, which agree up to the byte at `at`; `which`
        names the frame."""
        if at >= self.header:
            return self._in_body(due, came, at, which)
        if len(came) < self.header:
            place = f"byte {at} of the length header of {which}"
            return Difference(_instead(place, due, came, at), "wrong-header", came)
        says, length = length_framing.declared_length(came), length_framing.declared_length(due)
        text = f"the length header of {which} says {says:,} instead of {length:,}"
        return Difference(text, "wrong-header", came[: self.header + says])

    def _in_body(self, due: bytes, came: bytes, at: int, which: str) -> Difference:
        place = f"byte {at - self.header:,} of {'the body of ' if self.header else ''}{which}"
        return Difference(_instead(place, due, came, at), "wrong-body", came[: len(due)])


class Lines(Framing):
    """A body is a line up to and including LF."""

    options = ("--framing", "line")
    noun = "line"
    header = 0

    def encode(self, body: bytes) -> bytes:
        text = body[:-2] if body.endswith(b"\r\n") else body[:-1]
        if not body.endswith(b"\n") or b"\n" in text or len(text) > MAX_LINE:
            raise ValueError(f"{len(body):,} bytes that are not a line, or too long for one")
        return body

    def _size(self, stream: bytes, at: int) -> int:
        return stream.index(b"\n", at) + 1 - at


class Fixed(Framing):
    """Every body has the same size."""

    header = 0

    def __init__(self, size: int) -> None:
        self.options = ("--framing", f"fixed:{size}")
        self.size = size

    def encode(self, body: bytes) -> bytes:
        if len(body) != self.size:
            raise ValueError(f"{len(body):,} bytes are not a frame of {self.size:,}")
        return body

    def _size(self, stream: bytes, at: int) -> int:
        return self.size


def _instead(place: str, due: bytes, came: bytes, at: int) -> str:
    return f"{place} is {came[at]:02x} instead of {due[at]:02x}"


LENGTH = Framing()
LINE = Lines()
