"""Length framing: frames to bytes and bytes to frames. No I/O.

A frame is a 4-byte little-endian unsigned length N, then N bytes, with 0 <= N <= MAX_FRAME.
"""

from __future__ import annotations

import struct

HEADER = 4
MAX_FRAME = 33_554_432  # 32 MiB, fixed by docs/protocol.md

_LENGTH = struct.Struct("<I")


class Malformed(ValueError):
    """A header declares more than MAX_FRAME bytes."""


def header(length: int) -> bytes:
    """The 4 bytes that declare `length`; any 32-bit value, so lies can be told too."""
    return _LENGTH.pack(length)


def declared_length(data: bytes) -> int:
    """The length that the first 4 bytes of `data` declare, whether it is allowed or not."""
    return _LENGTH.unpack_from(data)[0]


def encode(body: bytes) -> bytes:
    """The frame that carries `body`. Raises Malformed when the body is over MAX_FRAME bytes."""
    if len(body) > MAX_FRAME:
        raise Malformed(f"a body of {len(body):,} bytes is over the maximum of {MAX_FRAME:,}")
    return header(len(body)) + body


class Decoder:
    """Bytes in, frames out, however the bytes were cut."""

    def __init__(self) -> None:
        self._data = bytearray()  # cutting off its front moves no bytes

    def feed(self, data: bytes) -> None:
        self._data += data

    def next_frame(self) -> bytes | None:
        """The body of the next complete frame, None when there is none yet. Raises Malformed."""
        if len(self._data) < HEADER:
            return None
        length = declared_length(self._data)
        if length > MAX_FRAME:
            raise Malformed(f"a header declares {length:,} bytes, the maximum is {MAX_FRAME:,}")
        end = HEADER + length
        if len(self._data) < end:
            return None
        body = bytes(self._data[HEADER:end])
        del self._data[:end]
        return body

    @property
    def pending(self) -> bytes:
        """What was fed and not yet given out as a frame."""
        return bytes(self._data)

    @property
    def buffered(self) -> int:
        """How many bytes are pending."""
        return len(self._data)
