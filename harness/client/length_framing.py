"""Length framing: frames as bytes. No I/O.

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
    """The 4 bytes that declare `length`: any 32-bit value, so a header can also lie."""
    return _LENGTH.pack(length)


TOO_LONG = header(MAX_FRAME + 1)  # of a frame that a server refuses


def declared_length(data: bytes, at: int = 0) -> int:
    """The length that the 4 bytes from `at` on declare, whether it is allowed or not."""
    return _LENGTH.unpack_from(data, at)[0]


def encode(body: bytes) -> bytes:
    """The frame that carries `body`. Raises Malformed when the body is over MAX_FRAME bytes."""
    if len(body) > MAX_FRAME:
        raise Malformed(f"a body of {len(body):,} bytes is over the maximum of {MAX_FRAME:,}")
    return _LENGTH.pack(len(body)) + body


def ends(frames: bytes) -> list[int]:
    """The position where each of these frames ends. They have to be complete and valid."""
    found, at = [], 0
    while at < len(frames):
        at += HEADER + declared_length(frames, at)
        found.append(at)
    return found
