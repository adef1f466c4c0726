"""Frames to bytes and back, however the bytes are cut."""

import time

import pytest

from harness import wire

BODIES = [b"", b"a", bytes(range(256)), b"", b"hello" * 100]


def frames_in(decoder):
    return list(iter(decoder.next_frame, None))


def test_a_header_is_little_endian():
    assert wire.header(1) == b"\x01\x00\x00\x00"
    assert wire.header(0x80000000) == b"\x00\x00\x00\x80"
    assert wire.header(0xFFFFFFFF) == b"\xff\xff\xff\xff"
    assert wire.declared_length(b"\x05\x01\x00\x00rest") == 261


def test_a_frame_is_header_and_body():
    assert wire.encode(b"hello") == b"\x05\x00\x00\x00hello"
    assert wire.encode(b"") == bytes(4)


def test_a_body_over_the_maximum_cannot_be_encoded():
    assert len(wire.encode(bytes(wire.MAX_FRAME))) == wire.MAX_FRAME + wire.HEADER
    with pytest.raises(wire.Malformed):
        wire.encode(bytes(wire.MAX_FRAME + 1))


def test_cut_in_two_anywhere():
    stream = b"".join(map(wire.encode, BODIES[:4]))
    for cut in range(len(stream) + 1):
        decoder = wire.Decoder()
        decoder.feed(stream[:cut])
        bodies = frames_in(decoder)
        decoder.feed(stream[cut:])
        assert bodies + frames_in(decoder) == BODIES[:4], cut
        assert decoder.buffered == 0


def test_byte_by_byte():
    decoder = wire.Decoder()
    bodies = []
    for byte in b"".join(map(wire.encode, BODIES)):
        decoder.feed(bytes([byte]))
        bodies += frames_in(decoder)
    assert bodies == BODIES


def test_pending_is_what_no_frame_has_taken():
    decoder = wire.Decoder()
    decoder.feed(wire.encode(b"one") + wire.encode(b"second")[:7])
    assert decoder.next_frame() == b"one"
    assert decoder.next_frame() is None
    assert decoder.pending == b"\x06\x00\x00\x00sec"
    assert decoder.buffered == 7


def test_a_header_over_the_maximum_is_malformed():
    decoder = wire.Decoder()
    decoder.feed(wire.header(wire.MAX_FRAME))
    assert decoder.next_frame() is None
    decoder = wire.Decoder()
    decoder.feed(wire.header(wire.MAX_FRAME + 1))
    with pytest.raises(wire.Malformed):
        decoder.next_frame()


def test_cost_is_linear():
    """Twice the frames in one buffer cost about twice the time, not four times."""

    def seconds(count):
        decoder = wire.Decoder()
        decoder.feed(wire.encode(b"x" * 16) * count)
        start = time.process_time()
        assert len(frames_in(decoder)) == count
        return time.process_time() - start

    ratios = (seconds(200_000) / seconds(100_000) for _ in range(4))
    assert any(ratio < 3 for ratio in ratios)
