"""How a stream is cut into frames: by a length in front of each, by line ends, or by a fixed size.

A claim says what it sends, and what is to come back, as a list of bodies; a framing makes bytes on
the wire of them, and says of a byte on the wire where in its frame it stands. Only length framing
puts something in front of a body. With the others the body is the whole frame: a line has its
terminator, and it may be either of the two. No I/O.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.client import length_framing
from harness.evidence.conversation import counted, describe_bytes

MAX_LINE = 65_536  # bytes in front of the terminator; this and the next, too, from docs/protocol.md
MAX_FIXED = 1_048_576


class Difference(NamedTuple):
    """What is wrong with a frame that came. `text` and `hint` as in Failure; `came`: its bytes, as
    far as they belong to it."""

    text: str
    hint: str
    came: bytes


class Framing:
    """Length framing, and what the others have in common with it.

    `options` are those of the server's command line. `noun` is what a frame is called, `header` how
    many bytes stand in front of its body.
    """

    options: tuple[str, ...] = ()
    noun = "frame"
    header = length_framing.HEADER

    def encode(self, body: bytes) -> bytes:
        """The frame that carries `body`. Raises ValueError where no frame can."""
        return length_framing.encode(body)

    def sizes(self, stream: bytes) -> Iterator[int]:
        """Of each of the frames that are the stream, one behind the other, how long it is."""
        at = 0
        while at < len(stream):
            size = self._size(stream, at)
            yield size
            at += size

    def _size(self, stream: bytes, at: int) -> int:
        return length_framing.HEADER + length_framing.declared_length(
            stream[at : at + length_framing.HEADER]
        )

    def sample(self, rng: random.Random, size: int) -> bytes:
        """A body by chance, of about `size` bytes."""
        return rng.randbytes(size)

    def byte(self, frame: bytes, number: int) -> str:
        """What the byte of this number is in its frame, from 1 on: "byte 3 of the length"."""
        if number <= length_framing.HEADER:
            return f"byte {number} of the length"
        return f"byte {number - length_framing.HEADER} of the body"

    def told_sent(self, body: bytes) -> str:
        """The frame, where it is sent, as the object of a sentence."""
        return f"a {self.noun} of {describe_bytes(body)}"

    def told_due(self, body: bytes) -> str:
        """The same where it is waited for."""
        return self.told_sent(body)

    def told_came(self, body: bytes) -> str:
        """What a frame has brought where any would have done."""
        return describe_bytes(body)

    def told_together(self, bodies: Sequence[bytes], size: int) -> str:
        """Frames that are sent back to back, `size` bytes in all, as the object of a sentence."""
        if len(bodies) == 1:
            return self.told_sent(bodies[0])
        return f"{self.counted(len(bodies))} at once, {counted(size, 'byte')}"

    def counted(self, count: int) -> str:
        """So many frames: "1 frame", "2 frames"."""
        return counted(count, self.noun)

    def wanted(self, due: bytes, came: bytes) -> int:
        """Of a frame that began with `came`, in place of `due`: how many bytes are to be shown."""
        return len(due)

    def difference(self, due: bytes, came: bytes, at: int, which: str) -> Difference:
        """`came` instead of `due`, which agree up to the byte at `at`; `which` names the frame."""
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

    def sample(self, rng: random.Random, size: int) -> bytes:
        """All values but 10, and each of the terminators."""
        line = rng.randbytes(min(size, MAX_LINE)).replace(b"\n", b"\r")
        return line + rng.choice((b"\n", b"\r\n"))

    def byte(self, frame: bytes, number: int) -> str:
        last = {len(frame): "the LF"}
        if frame.endswith(b"\r\n"):
            last[len(frame) - 1] = "the CR"
        return last.get(number, f"byte {number}")


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

    def sample(self, rng: random.Random, size: int) -> bytes:
        """Of the one size there is."""
        return rng.randbytes(self.size)

    def byte(self, frame: bytes, number: int) -> str:
        return f"byte {number}"


def _instead(place: str, due: bytes, came: bytes, at: int) -> str:
    return f"{place} is {came[at]:02x} instead of {due[at]:02x}"


LENGTH = Framing()
LINE = Lines()
