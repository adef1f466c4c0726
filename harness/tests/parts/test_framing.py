"""The three framings: bodies to frames, where a frame ends, and what is said of a wrong one."""

from __future__ import annotations

import random

import pytest

from harness.client import length_framing
from harness.client.expected_replies import Replies
from harness.client.framing import LENGTH, LINE, MAX_LINE, Fixed

BODIES = {
    LENGTH: [b"", b"a", b"hello", b"\n"],
    LINE: [b"\n", b"\r\n", b"a\rb\r\r\n", b"\0hello\n"],
    Fixed(3): [b"abc", b"\r\n\0", b"xyz"],
    Fixed(1): [b"\n", b"a"],
}
EACH = pytest.mark.parametrize("framing", BODIES, ids=lambda framing: " ".join(framing.options))


@EACH
def test_a_stream_is_taken_apart_again(framing):
    frames = [framing.encode(body) for body in BODIES[framing]]
    assert list(framing.sizes(b"".join(frames))) == list(map(len, frames))
    assert [len(frame) - framing.header for frame in frames] == list(map(len, BODIES[framing]))


@EACH
def test_samples_can_be_sent(framing):
    rng = random.Random(5)
    for size in (0, 1, 2, 500, 100_000):
        body = framing.sample(rng, size)
        assert list(framing.sizes(framing.encode(body))) == [framing.header + len(body)]


def test_samples_of_lines_have_both_ends():
    rng = random.Random(5)
    ends = {LINE.sample(rng, 5).endswith(b"\r\n") for _ in range(20)}
    assert ends == {True, False}


@pytest.mark.parametrize(
    "framing, body",
    [
        *((LINE, body) for body in (b"", b"a", b"a\r", b"a\nb\n", b"a\nb")),
        (LINE, b"x" * (MAX_LINE + 1) + b"\n"),
        (LINE, b"x" * MAX_LINE + b"\r\r\n"),
        (Fixed(3), b"ab"),
        (Fixed(3), b""),
        (LENGTH, bytes(length_framing.MAX_FRAME + 1)),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, bytes) else value.noun,
)
def test_what_no_frame_can_carry_is_refused(framing, body):
    with pytest.raises(ValueError):
        framing.encode(body)


def test_the_longest_lines():
    for end in (b"\n", b"\r\n"):
        assert LINE.encode(b"x" * MAX_LINE + end)


@pytest.mark.parametrize(
    "framing, frame, names",
    [
        (
            LENGTH,
            length_framing.encode(b"ab"),
            {1: "byte 1 of the length", 6: "byte 2 of the body"},
        ),
        (LINE, b"ab\r\n", {1: "byte 1", 3: "the CR", 4: "the LF"}),
        (LINE, b"a\rb\n", {2: "byte 2", 3: "byte 3", 4: "the LF"}),
        (Fixed(2), b"\r\n", {1: "byte 1", 2: "byte 2"}),
    ],
)
def test_bytes_have_names(framing, frame, names):
    assert {number: framing.byte(frame, number) for number in names} == names


def test_frames_are_told():
    assert LENGTH.told_sent(b"hi") == LENGTH.told_due(b"hi") == 'a frame of 2 bytes: 68 69 "hi"'
    assert LINE.told_sent(b"\n") == "a line of 1 byte: 0a"
    assert (LINE.counted(1), Fixed(2).counted(2000)) == ("1 line", "2,000 frames")
    assert LENGTH.told_together([b"hi"], 6) == 'a frame of 2 bytes: 68 69 "hi"'
    assert LINE.told_together([b"\n"] * 2, 2) == "2 lines at once, 2 bytes"
    assert LENGTH.told_came(b"hi") == '2 bytes: 68 69 "hi"'


# Replies


def wrong(framing, due, came):
    """The failure when `came` arrives in place of these bodies."""
    replies = Replies(due, framing)
    assert not replies.accept(came)
    return replies.wrong()


def test_a_wrong_byte_of_a_line():
    failure = wrong(LINE, [b"one\r\n", b"two\r\n"], b"one\r\ntwo\n")
    assert failure.message == "byte 3 of reply 2 of 2 is 0a instead of 0d"
    assert failure.hint == "wrong-body"
    assert (failure.expected, failure.received) == (b"two\r\n", b"two\n")


def test_a_wrong_byte_of_a_fixed_frame():
    failure = wrong(Fixed(3), [b"abc"], b"aXc")
    assert failure.message == "byte 1 of the reply is 58 instead of 62"
    assert (failure.expected, failure.received) == (b"abc", b"aXc")


@EACH
def test_a_stream_is_due_as_it_is_sent(framing):
    stream = b"".join(map(framing.encode, BODIES[framing]))
    replies = Replies.echo_of(stream, framing)
    assert (replies.count, replies.missing) == (len(BODIES[framing]), len(stream))
    assert replies.accept(stream)
    assert replies.missing == 0
