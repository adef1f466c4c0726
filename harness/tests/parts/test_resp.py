"""The protocol of Redis as bytes: commands, replies, and failures about replies."""

import random
import time

import pytest

from harness.claims.scenarios import redis_commands
from harness.claims.scenarios.differential import BEGIN, Pair
from harness.client import resp
from harness.client.expected_replies import Replies
from harness.client.redis import here
from harness.client.resp import NO_ARRAY, OK, RESP, Answers, Decoder, Err, Malformed, Simple

VALUES = (
    *(OK, Simple(""), Err("ERR no"), 0, -1, 2**63 - 1, None, NO_ARRAY),
    *(b"", b"a", b"\r\n$3\r\n", bytes(range(256)), [], [1], [[], None, [b"x", [OK, Err("E")]], 2]),
)


def test_a_command_is_an_array_of_strings():
    assert resp.command("GET", b"\xff", 7) == b"*3\r\n$3\r\nGET\r\n$1\r\n\xff\r\n$1\r\n7\r\n"
    assert resp.words_of("SET k v") == [b"SET", b"k", b"v"]
    assert resp.words_of(("SET", b"a b", 1)) == [b"SET", b"a b", b"1"]


def test_a_reply_and_back():
    for value in VALUES:
        assert resp.value_of(resp.reply(value)) == value
        assert type(resp.value_of(resp.reply(value))) is type(value)
    assert resp.reply([None, NO_ARRAY, Err("E x"), 5]) == b"*4\r\n$-1\r\n*-1\r\n-E x\r\n:5\r\n"
    with pytest.raises(TypeError):
        resp.reply("text")


def test_replies_come_in_any_pieces():
    replies = [resp.reply(value) for value in VALUES]
    stream, rng = b"".join(replies), random.Random(1)
    for most in (1, 2, 3, 7, 50, len(stream)):
        decoder, found, at = Decoder(), [], 0
        while at < len(stream):
            size = rng.randint(1, most)
            found += decoder.feed(stream[at : at + size])
            at += size
        assert (found, decoder.left) == (replies, 0)
    assert resp.split(stream) == replies
    with pytest.raises(Malformed, match="not complete"):
        resp.split(stream[:-1])


def test_a_large_reply_costs_no_more_than_its_bytes():
    """100,000 pieces: a decoder that begins again with each would need minutes."""
    reply = resp.reply([b"x" * 10] * 100_000)
    decoder = Decoder()
    found = [one for at in range(0, len(reply), 17) for one in decoder.feed(reply[at : at + 17])]
    assert found == [reply]


@pytest.mark.parametrize(
    "data",
    [b"x", b"+OK\r\nx", b"$x\r\n", b"$-2\r\n", b"*-7\r\n", b"$1\r\nabc", b":\r\n", b"*1\r\n!"],
)
def test_what_is_no_reply(data):
    with pytest.raises(Malformed):
        Decoder().feed(data + b"\r\n")


def test_a_failure_names_the_command():
    answers = Answers([[b"SET", b"k", b"v"], [b"GET", b"k"]], [resp.reply(OK), resp.reply(b"v")])
    assert not answers.accept(b"+OK\r\n$1\r\nw\r\n")
    failure = answers.wrong()
    assert failure.message == 'the reply to GET k (reply 2 of 2) is "w"; due is "v"'
    assert (failure.hint, failure.received) == ("wrong-body", b"$1\r\nw\r\n")


def test_a_failure_shows_one_whole_reply():
    answers = Answers([[b"GET", b"k"]], [resp.reply(None)])
    assert not answers.accept(b"-ERR ")
    answers.add_wrong(b"no such thing\r\n+more\r\n")
    failure = answers.wrong()
    assert failure.message == "the reply to GET k is -ERR no such thing; due is (nil)"
    assert (failure.hint, failure.received) == ("wrong-header", b"-ERR no such thing\r\n")
    long = Replies([resp.reply(b"a" * 100)], RESP)
    assert not long.accept(resp.reply(b"a" * 99 + b"b"))
    assert long.wrong().message == "the reply is wrong at byte 105"


def test_steps_are_told_as_commands():
    sent = resp.command("SET", "k", b"a\r\n")
    assert RESP.told_sent(sent) == "SET k a.."
    assert RESP.told_sent(b"PING\r\n") == '"PING.."'
    assert RESP.told_due(resp.reply([1, None])) == "the reply [(integer) 1, (nil)]"
    together = RESP.told_together([sent, resp.command("GET", "k")], 50)
    assert together == "2 commands at once, 50 bytes: SET k a..; GET k"


def test_a_random_date_is_not_over():
    """Redis stores a key with such a date, and counts it until it looks at it again."""
    now = {b"EXAT": time.time(), b"PXAT": 1000 * time.time()}
    for words in redis_commands.sequence(random.Random(7), 30_000):
        for unit, value in zip(words, words[1:]):
            if words[0] == b"SET" and unit in now and value.isdigit():
                assert int(value) == 0 or int(value) > now[unit], words


def test_random_commands_are_the_same_with_the_same_seed():
    """Each MULTI of them has its end."""
    one, two = (redis_commands.sequence(random.Random(7), 3000) for _ in range(2))
    assert one == two != redis_commands.sequence(random.Random(8), 3000)
    assert all(words and all(isinstance(word, bytes) for word in words) for words in one)
    names = [words[0].upper() for words in one]
    for name in (b"SET", b"GET", b"LPUSH", b"LRANGE", b"RENAME", b"EXPIRE", b"MULTI", b"EXEC"):
        assert names.count(name) > 10
    last = max(place for place, name in enumerate(names) if name == b"MULTI")
    assert {b"EXEC", b"DISCARD"} & set(names[last:])


@pytest.mark.parametrize("name, left_out", [("Redis", 0), ("Valkey", 1)])
def test_valkey_gets_no_multi_within_a_transaction(name, left_out, monkeypatch):
    """Valkey replies to a nested MULTI in another way than Redis."""
    monkeypatch.setattr(here, "redis_server", lambda: here.Redis("server", name, "8.1.1"))
    lines = ("MULTI", "PING", "MULTI", "EXEC", "MULTI", "DISCARD", "MULTI", "GET multi", "EXEC")
    commands = [resp.words_of(line) for line in lines]
    due = [*commands[:2], *commands[2 + left_out :]]
    assert Pair(None).whole(commands) == [*BEGIN, *due]
