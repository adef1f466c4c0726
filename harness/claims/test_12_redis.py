"""Chapter 12: a server that speaks the protocol of Redis (--app redis).

The replies of Redis 7.0 are due: most of these claims hold for it, too. For the
clients that others wrote see test_12_clients.py, and for single modules test_12_modules.py.
"""

from __future__ import annotations

from harness.claims.context.observe import until_asleep, until_read
from harness.claims.marker import MUTE, claim
from harness.claims.scenarios.cost import bounded
from harness.claims.scenarios.exchanges import SMALL_WINDOW, words
from harness.claims.scenarios.redis_talk import BAD, ENDED, answer, ask, pipelined, talk
from harness.client import resp
from harness.client.resp import (
    NOT_AN_INTEGER,
    NO_ARRAY,
    NO_KEY,
    OK,
    PONG,
    RESP,
    SYNTAX,
    WRONGTYPE,
    Answers,
    Err,
    Simple,
    arguments_of,
    protocol,
    reply,
)
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB

LONGEST = 2**63 - 1  # the largest integer of a value
MOST_OF_ERROR = 511  # bytes of its text


DECLARING = 100  # clients
DECLARED = 16 * MIB  # of memory, for all of them: a few KiB each, and what malloc keeps

# What a general hint means in a claim, see marker.claim.
REFUSED = dict.fromkeys((*BAD, "not-closed", "over-limit"), "resp-refused")
DECLARES = dict.fromkeys(("memory-grows", "over-limit", *MUTE, *ENDED), "resp-declared")

EACH_KIND = (
    ("PING", PONG),
    ("PING hello", b"hello"),
    (("ECHO", b""), b""),
    (("ECHO", b"a\r\nb\0c\xff"), b"a\r\nb\0c\xff"),
    ("GET k", None),
    (("SET", "k", b"$-1\r\n"), OK),
    ("GET k", b"$-1\r\n"),
    ("APPEND k +", 6),
    ("STRLEN k", 6),
    ("SET n -1", OK),
    ("INCR n", 0),
    ("SET n 9223372036854775806", OK),
    ("INCR n", LONGEST),
    ("SET n -9223372036854775807", OK),
    ("DECR n", -LONGEST - 1),
    ("MSET a 1 b 2", OK),
    ("MGET a none b", [b"1", None, b"2"]),
    ("LRANGE none 0 -1", []),
    ("RPUSH l x y z", 3),
    ("LRANGE l 0 -1", [b"x", b"y", b"z"]),
    ("LPOP l", b"x"),
    ("LPOP l 5", [b"y", b"z"]),
    ("LPOP l", None),
    ("LPOP l 5", NO_ARRAY),
    ("TYPE a", Simple("string")),
    ("TYPE none", Simple("none")),
    ("DEL a b none", 2),
    ("GETSET k new", b"$-1\r\n+"),
    ("SET k other GET", b"new"),
    ("SET k third NX", None),
    ("GETDEL k", b"other"),
    ("EXISTS k k n n", 2),
    ("SETNX new v", 1),
    ("SETNX new w", 0),
    ("RENAMENX new n", 0),
    ("RENAMENX new k", 1),
    (("SET", "k", b"a\r\nb\0c"), OK),
    ("GETRANGE k 1 3", b"\r\nb"),
    ("GETRANGE k -100 100", b"a\r\nb\0c"),
    ("GETRANGE k 0 -100", b"a"),
    ("GETRANGE k -1 -3", b""),
    ("GETRANGE k 6 9", b""),
    ("RPUSH l a b c d e", 5),
    ("LINDEX l 0", b"a"),
    ("LINDEX l -1", b"e"),
    ("LINDEX l 5", None),
    ("LSET l 1 B", OK),
    ("LSET l -5 A", OK),
    ("LTRIM l 0 -2", OK),
    ("LRANGE l 0 -1", [b"A", b"B", b"c", b"d"]),
    ("LTRIM l 1 1", OK),
    ("LPOP l 5", [b"B"]),
    ("DEL n k", 2),
)

ERRORS = (
    ("nosuch", Err("ERR unknown command 'nosuch', with args beginning with: ")),
    ("NoSuch a b", Err("ERR unknown command 'NoSuch', with args beginning with: 'a' 'b' ")),
    (
        ("no\r\nsuch", "a\nb"),
        Err("ERR unknown command 'no  such', with args beginning with: 'a b' "),
    ),
    (
        ("nosuch", 200 * "x", "y"),
        Err(f"ERR unknown command 'nosuch', with args beginning with: '{128 * 'x'}' "),
    ),
    ("get", arguments_of("get")),
    ("PING a b", arguments_of("ping")),
    ("MSET a 1 b", arguments_of("mset")),
    ("SET k", arguments_of("set")),
    ("SET k v XYZ", SYNTAX),
    ("SET k v NX XX", SYNTAX),
    ("SET k v EX x", NOT_AN_INTEGER),
    ("SET k v EX 0", Err("ERR invalid expire time in 'set' command")),
    ("SET k text", OK),
    ("INCR k", NOT_AN_INTEGER),
    ("SET k 9223372036854775807", OK),
    ("INCR k", Err("ERR increment or decrement would overflow")),
    ("DECRBY k -9223372036854775808", Err("ERR decrement would overflow")),
    ("RPUSH l a", 1),
    ("GET l", WRONGTYPE),
    ("INCR l", WRONGTYPE),
    ("LPUSH k a", WRONGTYPE),
    ("LRANGE l a b", NOT_AN_INTEGER),
    ("LPOP l -1", Err("ERR value is out of range, must be positive")),
    ("LSET l 1 b", Err("ERR index out of range")),
    ("CLIENT INFO all", arguments_of("client|info")),
    ("RENAME none k", NO_KEY),
    ("SELECT 16", Err("ERR DB index is out of range")),
    ("EXPIRE k x", NOT_AN_INTEGER),
    (("EXPIRE", "k", 10, "SOON\r\n"), Err("ERR Unsupported option SOON")),
    (("EXPIRE", "k", 10, "\nSO\r\nON"), Err("ERR Unsupported option  SO  ON")),
    ("SCAN x", Err("ERR invalid cursor")),
    ("HELLO 4", Err("NOPROTO unsupported protocol version")),
    ("EXEC", Err("ERR EXEC without MULTI")),
    ("DISCARD", Err("ERR DISCARD without MULTI")),
    ("PING", PONG),
)

# Lines, and the arguments of the ECHO that they are.
LINES = (
    (b"ECHO a\r\n", b"a"),
    (b"echo a\n", b"a"),
    (b"  ECHO \t a \r\n", b"a"),
    (b"\r\n\n\r\nECHO a\r\n", b"a"),
    (b'ECHO "a b"\r\n', b"a b"),
    (b'ECHO ""\r\n', b""),
    (rb'ECHO "\x41\n\r\t\b\a\\\"\xff"' + b"\r\n", b'A\n\r\t\b\a\\"\xff'),
    (rb"ECHO 'a\' \n\x41'" + b"\r\n", rb"a' \n\x41"),
    (b'ECHO a"b"\r\n', b"ab"),
    (b"ECHO " + 60_000 * b"a" + b"\r\n", 60_000 * b"a"),
    (b"*0\r\n*-1\r\nECHO a\r\n", b"a"),
)

# Bytes that are no command, and the error that says so.
NO_COMMANDS = (
    (b"*1\r\n+PING\r\n", "expected '$', got '+'"),
    (b"*1\r\nPING\r\n", "expected '$', got 'P'"),
    (b"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"),
    (b"*x\r\n", "invalid multibulk length"),
    (b"*\r\n", "invalid multibulk length"),
    (b"*1x\r\n", "invalid multibulk length"),
    (b"* 1\r\n", "invalid multibulk length"),
    (b"*2147483648\r\n", "invalid multibulk length"),
    (b"*18446744073709551617\r\n", "invalid multibulk length"),
    (b"*1\r\n$x\r\n", "invalid bulk length"),
    (b"*1\r\n$\r\n", "invalid bulk length"),
    (b"*1\r\n$-1\r\n", "invalid bulk length"),
    (b"*1\r\n$4 \r\n", "invalid bulk length"),
    (b"*1\r\n$536870913\r\n", "invalid bulk length"),
    (b"*1\r\n$18446744073709551620\r\n", "invalid bulk length"),
    (b'ECHO "a\r\n', "unbalanced quotes in request"),
    (b"ECHO 'a\r\n", "unbalanced quotes in request"),
    (b'ECHO "a"b\r\n', "unbalanced quotes in request"),
    (65_600 * b"a", "too big inline request"),
    (b"*" + 65_600 * b"1", "too big mbulk count string"),
    (b"*1\r\n$" + 65_600 * b"1", "too big bulk count string"),
)
OVER_THE_LIMITS = (
    (b"*1048577\r\n", "invalid multibulk length"),
    (b"*2\r\n$4\r\nECHO\r\n$33554433\r\n", "invalid bulk length"),
)


# 12.2 replies: requests


@claim("12.2", hints=dict.fromkeys(BAD, "resp-inline"))
def test_12_inline_commands(launch):
    """A line is a command, too: its words may be quoted as in redis-cli; empty lines are none."""
    server = launch(framing=RESP)
    client = server.connect()
    for line, text in LINES:
        client.send_frame(line)
        client.expect_frame(reply(text))
    lines = b"".join(line for line, _ in LINES[:-2])
    client.exchange(50 * lines, [reply(text) for _, text in LINES[:-2]] * 50)


@claim("12.2", hints=REFUSED, refusals=True)
def test_12_bytes_that_are_no_command(launch):
    """Bytes that are no command are refused in Redis' words, after all replies that are owed."""
    server = launch(framing=RESP)
    stays = server.connect("stays")
    for data, error in NO_COMMANDS:
        client = server.connect()
        client.send_frames([resp.command("PING"), data])
        client.expect_closed_after([reply(PONG), reply(protocol(error))])
        ask(stays, "PING", PONG)


@claim("12.2", cli=True, hints=REFUSED, refusals=True)
def test_12_limits_of_a_command(launch, rng):
    """An argument may have 32 MiB, a command 1,048,576 arguments; more is refused at once."""
    server = launch(framing=RESP)
    stays = server.connect("stays")
    for data, error in OVER_THE_LIMITS:
        client = server.connect()
        client.send(data)
        client.expect_closed_after([reply(protocol(error))])
        ask(stays, "PING", PONG)
    large = rng.randbytes(resp.MAX_BULK)
    pipelined(stays, [(("ECHO", large), large)])
    many = b"*%d\r\n$3\r\nDEL\r\n" % resp.MAX_ARGUMENTS + b"$1\r\nk\r\n" * (resp.MAX_ARGUMENTS - 1)
    stays.exchange(many, Answers([[b"DEL", b"k"]], [reply(0)]))


@claim("12.2", fatal="growth", native=True, hints=DECLARES)
def test_12_declared_sizes_take_no_memory(launch):
    """100 clients that declare a million arguments, or 32 MiB, and send little cost little."""
    server = launch(framing=RESP)
    stays = server.connect("stays")
    ask(stays, "PING", PONG)
    base = server.process.resident_bytes()
    reserved = server.process.reserved_bytes()
    beginnings = (b"*1048576\r\n$3\r\nDEL\r\n$1\r\na\r\n", b"*2\r\n$4\r\nECHO\r\n$33554432\r\nabc")
    for number in range(DECLARING):
        client = server.connect("declares")
        client.send(beginnings[number % 2])
        until_read(client)
    until_asleep(server)
    bounded(server, base, DECLARED, f"with {DECLARING} clients that declare much and send little")
    if server.own and server.process.reserved_bytes() - reserved > DECLARING * MIB:
        more = (server.process.reserved_bytes() - reserved) / MIB
        text = f"for {DECLARING} clients that declare much it has reserved {more:,.0f} MiB"
        raise Failure(text, hint="resp-declared")
    ask(stays, "PING", PONG)


# 12.2 replies: replies


@claim("12.2", hints=dict.fromkeys(BAD, "resp-reply"))
def test_12_replies_of_each_kind(launch):
    """Every kind of reply: texts, integers to the ends of 64 bits, bytes, none, and arrays."""
    client = launch(framing=RESP).connect()
    talk(client, *EACH_KIND)
    pipelined(client, EACH_KIND[:-1])


@claim("12.2", hints=dict.fromkeys(BAD, "resp-error"))
def test_12_errors_in_the_words_of_redis(launch):
    """Errors have Redis' words, for other people's clients read them; the connection stays."""
    server = launch(framing=RESP)
    client = server.connect()
    talk(client, *ERRORS)
    if server.own:  # an error of Redis has no limit
        for length in (MOST_OF_ERROR, MOST_OF_ERROR + 1, 700, 5_000):
            _expect_cut_error(client, length)
        ask(client, "PING", PONG)


def _expect_cut_error(client, length: int) -> None:
    """Of an error with so many bytes comes what an error may have."""
    text = "ERR Unsupported option "
    option = "x" * (length - len(text))
    due, came = Err((text + option)[:MOST_OF_ERROR]), answer(client, ("EXPIRE", "k", 1, option))
    if type(came) is not Err or came != due:
        what = f"the error for an option of {len(option):,} bytes is wrong"
        raise Failure(what, hint="resp-error-long", expected=reply(due), received=reply(came))


@claim("12.2", fatal="bytes", hints=dict.fromkeys(BAD, "resp-large"))
def test_12_large_replies(launch, rng):
    """Values of megabytes and arrays of 50,000 elements arrive whole, also at a slow reader."""
    server = launch(framing=RESP)
    client, late = server.connect(), server.connect("late", rcvbuf=SMALL_WINDOW)
    value, items = rng.randbytes(4 * MIB), [words(rng, 10) for _ in range(500)]
    pipelined(client, [(("SET", "v", value), OK), ("GET v", value)])
    pipelined(client, [(("RPUSH", "l", *items), (turn + 1) * 500) for turn in range(100)])
    pipelined(client, [("LRANGE l 0 -1", 100 * items), ("LRANGE l -500 -1", items)])
    commands = ("GET v", "PING", "LRANGE l 0 -1", "GET none")
    due = (value, PONG, 100 * items, None)
    late.send(b"".join(resp.command(*one.split()) for one in commands))
    until_asleep(server)
    ask(client, "PING", PONG)
    late.expect_frames(Answers([one.encode().split() for one in commands], map(reply, due)))
