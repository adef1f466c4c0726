"""Chapter 12: a server that speaks the protocol of Redis (--app redis).

The replies of Redis 7.0 are due: most of these claims hold for it, too. For the
clients that others wrote see test_12_clients.py, and for single modules test_12_modules.py.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.claims.instruments.observe import (
    cpu_of,
    made_since,
    steps_of,
    until_asleep,
    until_read,
)
from harness.claims.marker import MUTE, claim
from harness.claims.scenarios.cost import Amount, bounded, linear
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, send_in_pieces, words
from harness.claims.scenarios.redis_talk import (
    BAD,
    ENDED,
    answer,
    ask,
    fill,
    pipelined,
    read_values,
    talk,
)
from harness.client import resp
from harness.client.resp import (
    NO_ARRAY,
    NO_KEY,
    NOT_AN_INTEGER,
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
from harness.failures.failure import Failure
from harness.lab.units import KIB, MIB
from harness.server.work import BLOCKS

LONGEST = 2**63 - 1  # the largest integer of a value
MOST_OF_ERROR = 511  # bytes of its text
PIPELINED = Amount(steps=4_000, cpu=40_000)  # commands, and twice as many

IDLE_CLIENTS, LARGE_BYTES, MANY_WORDS = 40, 300_000, 20_000
AN_IDLE_CLIENT = 16 * KIB  # of memory
BESIDE = 4 * MIB  # lent buffers, and what malloc keeps
# As in chapter 08: what is freed goes back to the kernel at once, see mallopt(3).
EXACT = {"MALLOC_MMAP_THRESHOLD_": str(64 * KIB), "MALLOC_TRIM_THRESHOLD_": "0"}

VALUE_BYTES, UNREAD = 100_000, 400  # bytes of a value, and how often a client asks for it
UNREAD_BYTES = 8 * MIB  # that a server may hold then: high water, a reply, and what it has read

DECLARING = 100  # clients
DECLARED = 16 * MIB  # of memory, for all of them: a few KiB each, and what malloc keeps

PAUSE_KEYS = Amount(steps=20_000, cpu=200_000)
A_DEL, A_MSET = 50, 1_000  # keys
# Times the average of a DEL. In the solution a DEL takes twice as many steps while the table moves.
# One that joins 35,000 free blocks takes 40 times as many.
PAUSE = 5
# The same in CPU time: one that joins 350,000 free blocks takes 350 times as much.
CPU_PAUSE = 100
CPU_PAUSE_TRIES = 3

MUCH = 20_000  # pieces that are freed together, and after what
MUCH_TO_FREE = (
    ("MSET", "FLUSHALL"),
    ("RPUSH", "DEL list"),
    ("RPUSH", "LTRIM list 1 0"),
    ("RPUSH", "PEXPIRE list 0"),
    ("SUBSCRIBE", "QUIT"),
    ("PSUBSCRIBE", "QUIT"),
    ("WATCH", "UNWATCH"),
)
MUCH_WAITS = 12  # at least: some hundred pieces, or a thousand, with each

# What a general hint means in a claim, see marker.claim.
REFUSED = dict.fromkeys((*BAD, "not-closed", "over-limit"), "resp-refused")
DECLARES = dict.fromkeys(("memory-grows", "over-limit", *MUTE, *ENDED), "resp-declared")
PAUSES = dict.fromkeys((*BAD, "over-limit"), "dict-loses")
FLOW = dict.fromkeys((*BAD, "memory-grows", "over-limit"), "resp-flow")

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
    ("STRLEN none", 0),
    ("SET n -1", OK),
    ("INCR n", 0),
    ("DECRBY n 10", -10),
    ("INCRBY n 9223372036854775807", LONGEST - 10),
    ("INCRBY n 10", LONGEST),
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
    ("RENAMENX k k", 0),
    ("UNLINK k none", 1),
    (("SET", "k", b"a\r\nb\0c"), OK),
    ("GETRANGE k 1 3", b"\r\nb"),
    ("GETRANGE k -2 -1", b"\0c"),
    ("GETRANGE k -100 100", b"a\r\nb\0c"),
    ("GETRANGE k 0 -100", b"a"),
    ("GETRANGE k -1 -3", b""),
    ("GETRANGE k 6 9", b""),
    ("GETRANGE none 0 -1", b""),
    ("RPUSH l a b c d e", 5),
    ("LINDEX l 0", b"a"),
    ("LINDEX l -1", b"e"),
    ("LINDEX l 5", None),
    ("LINDEX none x", None),
    ("LSET l 1 B", OK),
    ("LSET l -5 A", OK),
    ("LTRIM l 0 -2", OK),
    ("LRANGE l 0 -1", [b"A", b"B", b"c", b"d"]),
    ("LTRIM l 1 1", OK),
    ("LPOP l 5", [b"B"]),
    ("LTRIM none 0 1", OK),
    ("UNWATCH", OK),
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
    ("GeT a b", arguments_of("get")),
    ("PING a b", arguments_of("ping")),
    ("MSET a", arguments_of("mset")),
    ("MSET a 1 b", arguments_of("mset")),
    ("SET k", arguments_of("set")),
    ("SET k v XYZ", SYNTAX),
    ("SET k v EX", SYNTAX),
    ("SET k v NX XX", SYNTAX),
    ("SET k v EX 1 PX 1", SYNTAX),
    ("SET k v EX x", NOT_AN_INTEGER),
    ("SET k v EX 0", Err("ERR invalid expire time in 'set' command")),
    ("SET k v PX -5", Err("ERR invalid expire time in 'set' command")),
    ("SET k text", OK),
    ("INCR k", NOT_AN_INTEGER),
    ("INCRBY k 1.5", NOT_AN_INTEGER),
    ("SET k 9223372036854775807", OK),
    ("INCR k", Err("ERR increment or decrement would overflow")),
    ("DECRBY k -9223372036854775808", Err("ERR decrement would overflow")),
    ("GET k", b"9223372036854775807"),
    ("RPUSH l a", 1),
    ("GET l", WRONGTYPE),
    ("INCR l", WRONGTYPE),
    ("LPUSH k a", WRONGTYPE),
    ("LRANGE k 0 -1", WRONGTYPE),
    ("LRANGE l a b", NOT_AN_INTEGER),
    ("LPOP l -1", Err("ERR value is out of range, must be positive")),
    ("LINDEX l x", NOT_AN_INTEGER),
    ("LSET l 1 b", Err("ERR index out of range")),
    ("LSET l x b", NOT_AN_INTEGER),
    ("LSET none x b", NO_KEY),
    ("LTRIM k 0 1", WRONGTYPE),
    ("GETRANGE l 0 1", WRONGTYPE),
    ("GETRANGE k 0 x", NOT_AN_INTEGER),
    ("RENAMENX none k", NO_KEY),
    ("TIME now", arguments_of("time")),
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
# What a web page can make a browser send, in any letters, or as a list of arguments.
BY_BROWSERS = (
    b"POST / HTTP/1.1\r\n",
    b"post / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"HOST: 127.0.0.1\r\n",
    b"Host:\r\n",
    b"*1\r\n$4\r\nPoSt\r\n",
    b"*2\r\n$5\r\nhost:\r\n$1\r\na\r\n",
)
OVER_THE_LIMITS = (
    (b"*1048577\r\n", "invalid multibulk length"),
    (b"*2\r\n$4\r\nECHO\r\n$33554433\r\n", "invalid bulk length"),
)


# 12.2 replies: requests


@claim("12.2", points=1, hints=dict.fromkeys(BAD, "resp-cut"))
def test_12_commands_cut_everywhere(launch):
    """Commands arrive cut at every byte, and each is answered as soon as it is complete."""
    client = launch(framing=RESP).connect()
    parts = (
        (resp.command("SET", "key", b"a\r\n$1\r\n"), reply(OK)),
        (b"*0\r\n", b""),
        (b'ECHO "a b"\r\n', reply(b"a b")),
        (resp.command("ECHO", b""), reply(b"")),
        (resp.command("GET", "key"), reply(b"a\r\n$1\r\n")),
    )
    data, due = (b"".join(part[place] for part in parts) for place in (0, 1))
    for cut in range(1, len(data)):
        send_in_pieces(client, data, [cut])
        client.expect_frames(resp.split(due))
    send_in_pieces(client, data, range(1, len(data)))
    client.expect_frames(resp.split(due))
    for sent, comes in parts:
        send_in_pieces(client, sent, range(1, len(sent)))
        if comes:
            client.expect_frame(comes)


@claim("12.2", points=1, hints=dict.fromkeys(BAD, "resp-inline"))
def test_12_inline_commands(launch):
    """A line is a command, too: its words may be quoted as in redis-cli; empty lines are none."""
    server = launch(framing=RESP)
    client = server.connect()
    for line, text in LINES:
        client.send_frame(line)
        client.expect_frame(reply(text))
    lines = b"".join(line for line, _ in LINES[:-2])
    client.exchange(50 * lines, [reply(text) for _, text in LINES[:-2]] * 50)


@claim("12.2", points=2, hints=REFUSED, refusals=True)
def test_12_bytes_that_are_no_command(launch):
    """Bytes that are no command are refused in Redis' words, after all replies that are owed."""
    server = launch(framing=RESP)
    stays = server.connect("stays")
    for data, error in NO_COMMANDS:
        client = server.connect()
        client.send_frames([resp.command("PING"), data])
        client.expect_closed_after([reply(PONG), reply(protocol(error))])
        ask(stays, "PING", PONG)


@claim("12.2", points=1, hints=dict.fromkeys((*BAD, "not-closed"), "resp-http"))
def test_12_browsers_are_refused(launch):
    """POST or Host: closes the connection at once, and nothing that follows it is run."""
    server = launch(framing=RESP)
    stays = server.connect("stays")
    for lines in BY_BROWSERS:
        client = server.connect("browser")
        ask(client, "PING", PONG)
        client.send(lines + b"\r\nSET browser was-here\r\n")
        client.expect_closed_after([])
        ask(stays, "EXISTS browser", 0)
    client = server.connect("browser")
    client.send_frame(b"GET / HTTP/1.1\r\n")
    client.expect_frame(reply(Err("ERR wrong number of arguments for 'get' command")))
    client.send(b"Host: 127.0.0.1\r\n\r\nSET browser was-here\r\n")
    client.expect_closed_after([])
    talk(stays, ("EXISTS browser", 0), ("SET post host:", OK), ("GET post", b"host:"))


@claim("12.2", points=1, cli=True, hints=REFUSED, refusals=True)
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


@claim("12.2", points=1, native=True, hints=DECLARES)
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


@claim("12.2", points=1, cli=True, native=True, hints=DECLARES)
def test_12_idle_clients_own_little(launch, rng):
    """A client that has sent a large command, and waits, costs no more than one that has not."""
    server = launch(framing=RESP, environment=EXACT)
    clients = [server.connect("idle") for _ in range(IDLE_CLIENTS)]
    text = rng.randbytes(LARGE_BYTES)
    large = resp.command("ECHO", text) + resp.command("DEL", *map(str, range(MANY_WORDS)))
    for client in clients:
        ask(client, "PING", PONG)
    base = server.process.resident_bytes()
    for client in clients:
        client.exchange(large, [reply(text), reply(0)])
        send_in_pieces(client, resp.command("PING"), [5])
        client.expect_frame(reply(PONG))
    when = f"with {IDLE_CLIENTS} clients that wait after a large command"
    bounded(server, base, BESIDE + IDLE_CLIENTS * AN_IDLE_CLIENT, when, "before these")


# 12.2 replies: replies


@claim("12.2", points=2, hints=dict.fromkeys(BAD, "resp-reply"))
def test_12_replies_of_each_kind(launch):
    """Every kind of reply: texts, integers to the ends of 64 bits, bytes, none, and arrays."""
    client = launch(framing=RESP).connect()
    talk(client, *EACH_KIND)
    pipelined(client, EACH_KIND[:-1])


@claim("12.2", points=2, hints=dict.fromkeys(BAD, "resp-error"))
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
    __tracebackhide__ = True
    text = "ERR Unsupported option "
    option = "x" * (length - len(text))
    due, came = Err((text + option)[:MOST_OF_ERROR]), answer(client, ("EXPIRE", "k", 1, option))
    if type(came) is not Err or came != due:
        what = f"the error for an option of {len(option):,} bytes is wrong"
        raise Failure(what, hint="resp-error-long", expected=reply(due), received=reply(came))


@claim("12.2", points=1, hints=dict.fromkeys(BAD, "resp-reply"))
def test_12_what_a_client_is_told_of_itself(launch):
    """CLIENT INFO is the line of CLIENT LIST that is about the client; TIME is two numbers."""
    server = launch(framing=RESP)
    client, other = server.connect(), server.connect("other")
    talk(client, ("CLIENT SETNAME me", OK), ("SELECT 3", OK))
    talk(other, ("SUBSCRIBE a", [b"subscribe", b"a", 1]))
    info, listed = answer(client, "CLIENT INFO"), answer(client, "CLIENT LIST")
    lines = listed.splitlines(keepends=True) if isinstance(listed, bytes) else []
    fields = info.split() if isinstance(info, bytes) else []
    named = [line for line in lines if b" name=me " in line]
    alike = len(named) == 1 and len(lines) == 2 and named[0].split()[:1] == fields[:1]
    if not alike or not {b"db=3", b"sub=0", b"psub=0", b"multi=-1"} <= set(fields):
        text = f"CLIENT INFO replied {resp.told(info)}, and CLIENT LIST {resp.told(listed)}"
        raise Failure(text, hint="resp-reply")
    for _ in range(3):
        now = answer(client, "TIME")
        parts = now if isinstance(now, list) and len(now) == 2 else [b"", b""]
        if not all(isinstance(part, bytes) and part.isdigit() for part in parts):
            raise Failure(f"TIME replied {resp.told(now)}; due are two strings", hint="resp-reply")
        if not 1_500_000_000 < int(parts[0]) < 32_503_680_000 or int(parts[1]) > 999_999:
            text = f"TIME replied {resp.told(now)}; due are seconds since 1970, and microseconds"
            raise Failure(text, hint="resp-reply")


@claim("12.2", points=1, hints=dict.fromkeys(BAD, "resp-large"))
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


@claim("12.2", points=1, cli=True, native=True, hints=FLOW)
def test_12_unread_replies_are_bounded(launch, rng):
    """A client that reads no replies is not read, either; and a quota counts each command."""
    server = launch(framing=RESP)
    other, value = server.connect("other"), rng.randbytes(VALUE_BYTES)
    ask(other, ("SET", "v", value), OK)
    base = server.process.resident_bytes()
    late = server.connect("late", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    late.send_frames([resp.command("GET", "v")] * UNREAD)
    until_asleep(server)
    what = f"with {UNREAD} replies of {VALUE_BYTES:,} bytes that a client does not read"
    bounded(server, base, UNREAD_BYTES, what, "before")
    ask(other, "PING", PONG)
    late.expect_frames(Answers([[b"GET", b"v"]] * UNREAD, [reply(value)] * UNREAD))
    server = launch(("--quota", "5/60000"), framing=RESP)
    client = server.connect()
    client.send_frames([resp.command("PING")] * 7)
    client.expect_frames([reply(PONG)] * 5)
    until_asleep(server)
    client.expect_nothing_yet()


@claim("12.2", points=1, native=True, sees_calls=True)
def test_12_pipelined_commands_cost_the_same(launch, rng):
    """Twice as many commands sent at once take about twice the work."""
    server = launch(framing=RESP, steps=True)
    client = server.connect()
    lot = [(("SET", f"key:{number}", words(rng, 20)), OK) for number in range(500)]
    lot += [(f"GET key:{number}", command[2]) for number, (command, _) in enumerate(lot)]
    data = b"".join(resp.command(*resp.words_of(command)) for command, _ in lot)
    due = b"".join(reply(value) for _, value in lot)

    def work(count: int) -> None:
        times = count // len(lot)
        client.exchange(times * data, [times * due])

    linear(server, work, PIPELINED, "{:,} commands")


# 12.3 table


def _costs_of_del(server, client, rng, keys: list[bytes], cost: Callable) -> list[float]:
    """Sets all keys, and removes them in another order: so no free block is beside the one before.
    Returns the `cost` of each DEL, which is steps_of or cpu_of."""
    __tracebackhide__ = True
    fill(client, keys, b"x")
    rng.shuffle(keys)
    costs = []
    for first in range(0, len(keys), A_DEL):
        part = keys[first : first + A_DEL]
        costs.append(cost(server, lambda: ask(client, ("DEL", *part), len(part))))
    return costs


@claim("12.3", points=1, native=True, hints=PAUSES, sees_calls=True)
def test_12_no_command_pays_for_others(launch, rng):
    """No DEL of those that remove all keys costs many times as much as the others."""
    server = launch(framing=RESP, steps=True, environment=BLOCKS)
    client = server.connect()
    keys = [b"key:%d" % number for number in range(PAUSE_KEYS.of(server))]
    fill(client, keys[:A_MSET], b"x")
    if b"table_moves:0\r\n" in answer(client, "INFO"):
        raise Failure(f"with {A_MSET:,} keys nothing was moved", hint="dict-grows")
    if server.process.steps() is None:
        return _no_del_takes_long(server, client, rng, keys)
    costs = _costs_of_del(server, client, rng, keys, steps_of)
    most, mean = max(costs), sum(costs) / len(costs)
    if most > PAUSE * mean:
        text = f"a DEL of {A_DEL} keys takes {mean:,.0f} steps on the average, "
        raise Failure(f"{text}and one took {most:,}", hint="dict-pause")


@claim("12.7", points=1, native=True, hints=dict.fromkeys(BAD, "freed-at-once"), sees_calls=True)
def test_12_much_is_freed_in_pieces(launch):
    """Between the pieces of many keys, of a long list, of many channels, watches or commands that
    are freed, the server looks for other clients."""
    server = launch(framing=RESP)
    names, other = [b"%d" % number for number in range(MUCH)], server.connect("other")
    for before, command in MUCH_TO_FREE:
        client = server.connect()
        if before == "MSET":
            fill(client, names, b"x")
        else:
            client.exchange(resp.command(before, "list", *names), [])
            read_values(client, MUCH + 1 if "SUBSCRIBE" in before else 1)
        _expect_pieces(server, client, other, f"{before} {MUCH:,} times", command)
        client.abandon(by_reset=True)


def _expect_pieces(server, client, other, what: str, command: str) -> None:
    """The server waits for something many times, and not once, while `command` frees much."""
    __tracebackhide__ = True
    until_asleep(server)
    if (before := server.process.calls()) is None:
        return
    client.send_frame(resp.command(*command.split()))
    until_asleep(server)
    ask(other, ("EXISTS", "list", "1"), 0)
    waits = made_since(server, before, "waits")
    if waits < MUCH_WAITS:
        text = f"after {what}, {command} frees all at once: the server looks {waits} times for more"
        raise Failure(text, hint="freed-at-once")


def _no_del_takes_long(server, client, rng, keys: list[bytes]) -> None:
    __tracebackhide__ = True
    # An interrupt may fall into one DEL, but not into one of each round.
    for _ in range(CPU_PAUSE_TRIES):
        keys.sort()
        costs = _costs_of_del(server, client, rng, keys, cpu_of)
        most, mean = max(costs), sum(costs) / len(costs)
        if most <= CPU_PAUSE * mean:
            return
    text = f"a DEL of {A_DEL} keys costs {1e6 * mean:.0f} µs of CPU on the average, "
    raise Failure(f"{text}and one cost {1e3 * most:.1f} ms", hint="dict-pause")
