"""Frames and typed messages: fields to bytes, and what is said of a reply that is wrong."""

from __future__ import annotations

import pytest

from harness.client import length_framing, messages
from harness.client.expected_replies import Replies
from harness.client.messages import (
    ECHO,
    MALFORMED,
    MESSAGES,
    OK,
    STATS,
    SUM,
    WHO,
    Reply,
    i32,
    i64,
    leb128,
    reply,
    request,
    string,
)


def test_a_frame_is_its_length_little_endian_and_its_body():
    assert length_framing.encode(b"hello") == b"\x05\x00\x00\x00hello"
    assert length_framing.header(0x80000000) == b"\x00\x00\x00\x80"
    assert length_framing.declared_length(b"\x05\x01\x00\x00rest") == 261


def test_a_body_over_the_maximum_cannot_be_encoded():
    longest = bytes(length_framing.MAX_FRAME)
    assert len(length_framing.encode(longest)) == len(longest) + length_framing.HEADER
    with pytest.raises(length_framing.Malformed):
        length_framing.encode(longest + b"x")


def test_numbers_are_little_endian():
    assert i32(-2) == b"\xfe\xff\xff\xff"
    assert i64(2**63 - 1) == b"\xff" * 7 + b"\x7f"


@pytest.mark.parametrize(
    "value, size, data",
    [
        (0, 0, b"\x00"),
        (127, 0, b"\x7f"),
        (128, 0, b"\x80\x01"),
        (300, 0, b"\xac\x02"),
        (16_383, 0, b"\xff\x7f"),
        (16_384, 0, b"\x80\x80\x01"),
        (2**32 - 1, 0, b"\xff\xff\xff\xff\x0f"),
        (3, 3, b"\x83\x80\x00"),
        (0, 5, b"\x80\x80\x80\x80\x00"),
        (128, 1, b"\x80\x01"),
    ],
)
def test_leb128(value, size, data):
    assert leb128(value, size) == data


def test_strings_can_lie():
    assert string(b"hi") == b"\x02hi"
    assert string(b"hi", 5) == b"\x05hi"
    assert string(b"hi", size=2) == b"\x82\x00hi"


def test_requests():
    """The requests are the examples of docs/protocol.md."""
    echo = length_framing.encode(request(ECHO, 7, string(b"hi")))
    assert echo.hex(" ") == "0b 00 00 00 01 00 00 00 07 00 00 00 02 68 69"
    assert messages.sum_of(8, -5, 300) == request(SUM, 8, i32(2), i64(-5), i64(300))
    assert messages.sum_of(8, 5, count=-1) == request(SUM, 8, i32(-1), i64(5))


def test_requests_for_later():
    assert messages.after(7, 50, b"hi").hex(" ") == ("0a 00 00 00 07 00 00 00 32 00 00 00 02 68 69")
    assert messages.every(7, 50, 3, b"") == request(11, 7, i32(50), i32(3), b"\0")
    assert messages.cancel(8, 7) == request(12, 8, i32(7))
    assert messages.reset(8, 7, 50, 1) == request(13, 8, i32(7), i32(50), i32(1))
    assert messages.rung(7, b"hi") == reply(10, 7, OK, string(b"hi"))
    assert messages.rung_again(7, 2, b"") == reply(11, 7, OK, i32(2), b"\0")


def test_the_longest_echo_has_the_longest_reply():
    body = reply(ECHO, 1, OK, string(bytes(messages.LONGEST_ECHO)))
    assert len(body) == length_framing.MAX_FRAME


def test_replies_are_read():
    stats = Reply.of(reply(STATS, 9, OK, i64(1), i64(8), i64(-7)))
    assert stats[:3] == (STATS, 9, OK)
    assert messages.numbers(stats.fields) == (1, 8, -7)
    assert messages.numbers(b"123") is None
    assert messages.numbers(b"") == ()
    assert Reply.of(bytes(11)) is None


@pytest.mark.parametrize(
    "body, words",
    [
        (reply(SUM, 8, OK, i64(-295)), "cmd 2 (SUM), seq 8, status 0 (ok), -295"),
        (reply(STATS, 9, OK, i64(1), i64(8)), "cmd 3 (STATS), seq 9, status 0 (ok), 1, 8"),
        (reply(SUM, 8, OK, b"\0"), "cmd 2 (SUM), seq 8, status 0 (ok), then 1 byte: 00"),
        (reply(WHO, 9, OK, i32(3)), "cmd 20 (WHO), seq 9, status 0 (ok), loop 3"),
        (reply(-1, -1, MALFORMED), "cmd -1, seq -1, status 2 (malformed)"),
        (reply(99, 1, 77), "cmd 99, seq 1, status 77"),
        (reply(11, 1, 5), "cmd 11 (EVERY), seq 1, status 5 (cancelled)"),
        (reply(12, 1, 6), "cmd 12 (CANCEL), seq 1, status 6 (no such timer)"),
        (
            reply(ECHO, 1, OK, string(bytes(300))),
            "cmd 1 (ECHO), seq 1, status 0 (ok), then 302 bytes: ac 02 00 00 00 00 ..",
        ),
    ],
)
def test_replies_are_told(body, words):
    assert str(Reply.of(body)) == words
    assert MESSAGES.told_due(body) == f"the reply: {words}"
    assert MESSAGES.told_came(body) == words


def test_requests_are_told():
    assert MESSAGES.told_sent(b"abc") == 'a message of 3 bytes: 61 62 63 "abc"'
    assert MESSAGES.told_sent(request(STATS, 5)) == "a message: cmd 3 (STATS), seq 5"
    told = MESSAGES.told_sent(request(99, 5, b"\0"))
    assert told == "a message: cmd 99, seq 5, then 1 byte: 00"


def test_few_requests_are_named():
    few = [request(STATS, 5), request(99, 6), b"abc"]
    told = MESSAGES.told_together(few, 31)
    assert told == "3 messages at once, 31 bytes: STATS (seq 5), cmd 99 (seq 6), 3 bytes"
    assert MESSAGES.told_together([*few, b""], 35) == "4 messages at once, 35 bytes"
    assert MESSAGES.told_together(few[:1], 12) == "a message: cmd 3 (STATS), seq 5"


# Replies that are wrong

DUE = reply(SUM, 7, OK, i64(5))


def wrong(due, frame):
    """The failure when `frame` arrives, first as much as is due and then what else is wanted."""
    replies = Replies([due], MESSAGES)
    first = frame[: replies.missing]
    assert not replies.accept(first)
    rest = frame[len(first) :]
    replies.add_wrong(rest[: replies.still_wanted()])
    return replies.wrong()


@pytest.mark.parametrize(
    "came, hint, words",
    [
        (reply(SUM, 7, OK, i64(6)), "wrong-fields", "status 0 (ok), 6; due is"),
        (reply(SUM, 7, MALFORMED), "wrong-status", "status 2 (malformed); due is"),
        (reply(SUM, 8, OK, i64(5)), "wrong-seq", "the reply has cmd 2 (SUM), seq 8,"),
        (reply(9, 7, MALFORMED), "wrong-seq", "the reply has cmd 9, seq 7, status 2"),
        (reply(SUM, 7, OK, i64(5), b"x"), "wrong-header", "says 21 instead of 20"),
        (reply(SUM, 7, OK), "wrong-header", "says 12 instead of 20"),
        (b"", "wrong-header", "says 0 instead of 20"),
    ],
)
def test_a_wrong_reply(came, hint, words):
    failure = wrong(DUE, length_framing.encode(came))
    assert failure.hint == hint
    assert words in failure.message
    assert failure.expected == length_framing.encode(DUE)
    assert failure.received == length_framing.encode(came)


def test_fields_that_are_not_due_are_shown():
    """The reply is longer than the one that is due."""
    failure = wrong(reply(SUM, 7, MALFORMED), length_framing.encode(DUE) + b"more")
    assert "status 0 (ok), 5; due is" in failure.message
    assert failure.received == length_framing.encode(DUE)


def test_a_length_that_cannot_be():
    """Numbers with the highest byte first: no status is told that it is a part of."""
    failure = wrong(reply(-1, -1, MALFORMED), b"\0\0\0\x0c" + reply(-1, -1, 2 << 24))
    assert failure.hint == "wrong-header"
    assert "says 201,326,592 instead of 12" in failure.message


def test_a_reply_of_which_little_came():
    failure = wrong(DUE, length_framing.encode(reply(SUM, 8, OK))[:10])
    assert failure.hint == "wrong-header"
