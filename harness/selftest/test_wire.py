"""Frames to bytes and back, however the bytes are cut."""

import time

import pytest

from harness.client import length_framing

BODIES = [b"", b"a", bytes(range(256)), b"", b"hello" * 100]


def frames_in(decoder):
    return list(iter(decoder.next_frame, None))


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


def test_cut_in_two_anywhere():
    stream = b"".join(map(length_framing.encode, BODIES[:4]))
    for cut in range(len(stream) + 1):
        decoder = length_framing.Decoder()
        decoder.feed(stream[:cut])
        bodies = frames_in(decoder)
        decoder.feed(stream[cut:])
        assert bodies + frames_in(decoder) == BODIES[:4], cut
        assert decoder.buffered == 0


def test_byte_by_byte():
    decoder = length_framing.Decoder()
    bodies = []
    for byte in b"".join(map(length_framing.encode, BODIES)):
        decoder.feed(bytes([byte]))
        bodies += frames_in(decoder)
    assert bodies == BODIES


def test_pending_is_what_no_frame_has_taken():
    decoder = length_framing.Decoder()
    decoder.feed(length_framing.encode(b"one") + length_framing.encode(b"second")[:7])
    assert decoder.next_frame() == b"one"
    assert decoder.next_frame() is None
    assert decoder.pending == b"\x06\x00\x00\x00sec"
    assert decoder.buffered == 7


def test_a_header_over_the_maximum_is_malformed():
    decoder = length_framing.Decoder()
    decoder.feed(length_framing.header(length_framing.MAX_FRAME))
    assert decoder.next_frame() is None
    decoder = length_framing.Decoder()
    decoder.feed(length_framing.header(length_framing.MAX_FRAME + 1))
    with pytest.raises(length_framing.Malformed):
        decoder.next_frame()


def test_cost_is_linear():
    """Twice the frames in one buffer cost about twice the time, not four times."""

    def seconds(count):
        decoder = length_framing.Decoder()
        decoder.feed(length_framing.encode(b"x" * 16) * count)
        start = time.process_time()
        assert len(frames_in(decoder)) == count
        return time.process_time() - start

    ratios = (seconds(200_000) / seconds(100_000) for _ in range(4))
    assert any(ratio < 3 for ratio in ratios)
