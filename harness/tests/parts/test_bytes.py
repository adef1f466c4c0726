"""Frames, typed messages and the protocol of Redis as bytes: how they are told, and what a failure
says of wrong ones. No I/O."""

import random
import time

import pytest

from harness.tests import golden
from harness.claims.scenarios import redis_commands
from harness.client import length_framing, messages, resp
from harness.client.expected_replies import End, Replies
from harness.client.framing import LENGTH, LINE, Fixed
from harness.client.messages import ECHO, MALFORMED, MESSAGES, OK, STATS, SUM, WHO, i32, i64
from harness.client.messages import reply, request, string
from harness.client.resp import NO_ARRAY, RESP, Answers, Decoder, Err, Malformed, Simple
from harness.server.waiting.wait import SLEEPS, SPINS, Waited

BODIES = {
    LENGTH: [b"", b"a", b"hello", b"\n"],
    LINE: [b"\n", b"\r\n", b"a\rb\r\r\n", b"\0hello\n"],
    Fixed(3): [b"abc", b"\r\n\0", b"xyz"],
}
SENT = {
    LENGTH: [[b"hi"], [bytes(100)], [b"a", b"b"]],
    LINE: [[b"one\r\n"], [b"a\n", b"b\n"]],
    Fixed(2): [[b"ab"], [b"ab", b"cd"]],
    MESSAGES: [
        *([request(ECHO, 7, string(b"hi"))], [messages.sum_of(8, -5, 300)], [request(STATS, 5)]),
        *([messages.after(7, 50, b"hi")], [messages.every(7, 50, 3, b"")], [messages.cancel(8, 7)]),
        *([messages.reset(8, 7, 50, 1)], [request(99, 5, b"\0")], [b"abc"]),
        *([request(STATS, 5), request(99, 6), b"abc"], [request(STATS, 5)] * 4),
    ],
    RESP: [
        *([resp.command("SET", "k", b"a\r\n")], [b"PING\r\n"]),
        [resp.command("GET", "k"), resp.command("GET", b"\xff", 7)],
    ],
}
DUE = reply(SUM, 7, OK, i64(5))
MALFORMED_TIMES = i32(2 << 24)  # the status with its highest byte first
# framing, the replies that are due, and what comes instead of them
WRONG = [
    (LENGTH, [b"hello"], length_framing.encode(b"hella")),
    (LENGTH, [b"hello"], b"\6"),
    (LENGTH, [b"hello"], b"\0\0\0\5hello"),
    (LINE, [b"one\r\n", b"two\r\n"], b"one\r\ntwo\n"),
    (Fixed(3), [b"abc"], b"aXc"),
    *(
        (MESSAGES, [DUE], length_framing.encode(came))
        for came in (
            *(reply(SUM, 7, OK, i64(6)), reply(SUM, 7, MALFORMED), reply(SUM, 8, OK, i64(5))),
            *(reply(9, 7, MALFORMED), reply(SUM, 7, OK, i64(5), b"x"), reply(SUM, 7, OK), b""),
        )
    ),
    (MESSAGES, [reply(SUM, 7, MALFORMED)], length_framing.encode(DUE) + b"more"),
    (MESSAGES, [DUE], length_framing.encode(reply(SUM, 8, OK))[:10]),
    (MESSAGES, [reply(WHO, 9, OK, i32(3))], length_framing.encode(reply(WHO, 9, OK, i32(0)))),
    (MESSAGES, [reply(STATS, 9, OK, i64(1))], length_framing.encode(reply(STATS, 9, OK, bytes(7)))),
    (MESSAGES, [reply(-1, -1, MALFORMED)], b"\0\0\0\x0c" + i32(-1) + i32(-1) + MALFORMED_TIMES),
    (RESP, [resp.reply(b"a" * 100)], resp.reply(b"a" * 99 + b"b")),
    (RESP, [resp.reply([1, None])], resp.reply([1, NO_ARRAY])),
]
GET = [[b"SET", b"k", b"v"], [b"GET", b"k"]]


def first_wrong(replies, came):
    """The failure when these bytes come: first as many as are due, and then what else is wanted."""
    first = came[: replies.missing]
    assert not replies.accept(first)
    rest = came[len(first) :]
    replies.add_wrong(rest[: replies.still_wanted()])
    failure = replies.wrong()
    return f"{failure.hint}: {failure.message}\n   came: {failure.received.hex(' ') or 'nothing'}"


def test_how_bytes_are_told():
    lines = []
    for framing, together in SENT.items():
        lines += [f"## {' '.join(framing.options) or 'length'}"]
        for bodies in together:
            data = b"".join(map(framing.encode, bodies))
            lines += [framing.told_together(bodies, len(data)), f"   {data[:40].hex(' ')}"]
    lines += ["## wrong replies"]
    lines += [first_wrong(Replies(due, framing), came) for framing, due, came in WRONG]
    answers = ((GET, b"+OK\r\n$1\r\nw\r\n"), (GET[:1], b"-ERR no such thing\r\n+more\r\n"))
    for commands, came in answers:
        due = [resp.reply(resp.OK), resp.reply(b"v")][: len(commands)]
        lines += [first_wrong(Answers(commands, due), came)]
    lines += ["## replies that stop"]
    for size in (0, 1, 9, 12):
        for end in End:
            for waited in (Waited(8), Waited(1, SLEEPS), Waited(1, SPINS), Waited(1, SLEEPS, 50)):
                replies = Replies([b"hello", b"second"])
                whole = b"".join(map(length_framing.encode, [b"hello", b"second"]))
                assert replies.accept(whole[:size])
                failure = replies.ended(end, waited)
                lines += [f"{failure.hint}: {failure.message}"]
    golden.check("bytes", "\n".join(dict.fromkeys(lines)))


def test_a_stream_is_taken_apart_again():
    rng = random.Random(5)
    for framing, bodies in BODIES.items():
        samples = [framing.sample(rng, size) for size in (0, 1, 2, 500, 100_000)]
        frames = [framing.encode(body) for body in bodies + samples]
        assert list(framing.sizes(b"".join(frames))) == list(map(len, frames))
        replies = Replies.echo_of(b"".join(frames), framing)
        assert replies.count == len(frames) and replies.accept(b"".join(frames))
        assert replies.missing == 0
    ends = {LINE.sample(rng, 5).endswith(b"\r\n") for _ in range(20)}
    assert ends == {True, False}


VALUES = (
    *(resp.OK, Simple(""), Err("ERR no"), 0, -1, 2**63 - 1, None, NO_ARRAY, b"", b"\r\n$3\r\n"),
    *(bytes(range(256)), [], [1], [[], None, [b"x", [resp.OK, Err("E")]], 2]),
)


def test_replies_of_redis_come_in_any_pieces():
    replies = [resp.reply(value) for value in VALUES]
    assert [resp.value_of(one) for one in replies] == list(VALUES)
    stream, rng = b"".join(replies), random.Random(1)
    for most in (1, 2, 7, 50):
        decoder, found, at = Decoder(), [], 0
        while at < len(stream):
            size = rng.randint(1, most)
            found += decoder.feed(stream[at : at + size])
            at += size
        assert (found, decoder.left) == (replies, 0)
    for wrong in (b"x", b"$x\r\n", b"$-2\r\n", b"*-7\r\n", b"$1\r\nabc", b":\r\n", b"*1\r\n!"):
        with pytest.raises(Malformed):
            Decoder().feed(wrong + b"\r\n")


def test_random_commands_have_the_same_replies_in_redis():
    """No date of them is over: Redis would still count such a key."""
    now = {b"EXAT": time.time(), b"PXAT": 1000 * time.time()}
    for words in redis_commands.sequence(random.Random(7), 30_000):
        for unit, value in zip(words, words[1:]):
            if words[0] == b"SET" and unit in now and value.isdigit():
                assert int(value) == 0 or int(value) > now[unit], words
