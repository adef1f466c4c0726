"""Frames with a length in front, as bytes."""

import pytest

from harness.client import length_framing


def test_a_header_is_little_endian():
    assert length_framing.header(1) == b"\x01\x00\x00\x00"
    assert length_framing.header(0x80000000) == b"\x00\x00\x00\x80"
    assert length_framing.header(0xFFFFFFFF) == b"\xff\xff\xff\xff"
    assert length_framing.declared_length(b"\x05\x01\x00\x00rest") == 261


def test_a_frame_is_header_and_body():
    assert length_framing.encode(b"hello") == b"\x05\x00\x00\x00hello"
    assert length_framing.encode(b"") == bytes(4)


def test_a_body_over_the_maximum_cannot_be_encoded():
    assert (
        len(length_framing.encode(bytes(length_framing.MAX_FRAME)))
        == length_framing.MAX_FRAME + length_framing.HEADER
    )
    with pytest.raises(length_framing.Malformed):
        length_framing.encode(bytes(length_framing.MAX_FRAME + 1))
