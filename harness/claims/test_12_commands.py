"""Chapter 12: keys, subscribers, and commands that wait for EXEC."""

from __future__ import annotations

import signal

from harness.claims.context.observe import until_asleep
from harness.claims.marker import claim
from harness.claims.scenarios.cost import EXACT, bounded
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, expect_stop, words
from harness.claims.scenarios.redis_talk import (
    BAD,
    answer,
    ask,
    fill,
    pipelined,
    read_value,
    read_values,
    talk,
    until,
    until_refused,
)
from harness.client import resp
from harness.client.resp import (
    EXECABORT,
    OK,
    PONG,
    QUEUED,
    RESP,
    WRONGTYPE,
    Err,
    arguments_of,
    reply,
)
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB

KEYS = 3_000
PART = 100  # keys of a SCAN

FAR = 1_000  # seconds: no test takes as long

GIVEN_BACK_BYTES = 4 * MIB  # what is left of what was used

MESSAGE = MIB  # bytes
MOST_MESSAGES = 80  # until the slow subscriber is closed: Redis waits for 32 MiB
SUBSCRIBER_HELD = 16 * MIB  # after it was closed
CLOSING_TRIES = 2
MOST_QUEUED, LEAST_QUEUED = 80, 55  # commands of 1 MiB
# Words of one byte, and lines of so many: 64 MiB is less than each of them with its space and two
# bytes more.
TINY_WORDS, MOST_LINES = 32_000, 530

# What a general hint means in a claim, see marker.claim.
TABLE = dict.fromkeys(BAD, "dict-loses")
SLOW = dict.fromkeys((*BAD, "memory-grows", "over-limit", "not-closed"), "subscriber-slow")
BOUND = dict.fromkeys((*BAD, "memory-grows", "over-limit"), "multi-bound")
STOPS = dict.fromkeys(
    ("not-ended", "wrong-exit", "memory-fault", "memory-leak", *BAD), "redis-stop"
)

CANNOT = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"


# 12.2 replies: keys


@claim("12.2", points=1, hints=TABLE)
def test_12_keys_are_listed(launch, rng):
    """3,000 keys of 16 databases: DBSIZE counts, KEYS and SCAN list each; nothing else changes."""
    client = launch(framing=RESP).connect()
    keys = {f"{words(rng, 3).decode()}:{number}".encode() for number in range(KEYS)}
    fill(client, sorted(keys), b"v")
    talk(client, ("DBSIZE", len(keys)), ("SELECT 15", OK), ("DBSIZE", 0), ("SET a:1 other", OK))
    talk(client, ("KEYS *", [b"a:1"]), ("SELECT 0", OK), ("RPUSH a:list x", 1))
    _expect_keys(client, "KEYS *", keys | {b"a:list"})
    _expect_keys(client, "KEYS a*:[0-9]*", {k for k in keys if k[:1] == b"a"})
    some = {key for key in keys if key[1:2] == b"a" and key[4:5] == b"1"}
    _expect_keys(client, "KEYS ?[^b-z]?:1*", some)
    ask(client, ("SET", 200 * "a", "v"), OK)
    talk(client, (f"KEYS {12 * 'a*'}b", []), (f"DEL {200 * 'a'}", 1))
    found = _scanned(client, keys)
    if not keys <= found:
        text = f"SCAN did not list {len(keys - found)} of {KEYS:,} keys that stayed"
        raise Failure(text, hint="dict-scan")
    talk(client, ("SELECT 15", OK), ("FLUSHDB", OK), ("DBSIZE", 0), ("SELECT 0", OK))
    talk(client, ("EXISTS a:list", 1), ("FLUSHALL", OK), ("DBSIZE", 0), ("SCAN 0", [b"0", []]))
    talk(client, ("SET k v", OK), (("SCAN", 0, "TYPE", ""), [b"0", []]))


def _expect_keys(client, command: str, due: set[bytes]) -> None:
    came = answer(client, command)
    if not isinstance(came, list) or len(came) != len(due) or set(came) != due:
        count = len(came) if isinstance(came, list) else resp.told(came)
        raise Failure(f"{command} lists {count} keys; due are {len(due)}", hint="dict-loses")


def _scanned(client, keys) -> set[bytes]:
    """The keys that SCAN lists while the table grows to twice its size, and shrinks again."""
    found: set[bytes] = set()
    more = [b"more:%d" % number for number in range(2 * KEYS)]
    cursor, step = b"0", 0
    while step == 0 or cursor != b"0":
        came = answer(client, ("SCAN", cursor, "COUNT", PART))
        if not isinstance(came, list) or len(came) != 2 or not isinstance(came[1], list):
            text = f"SCAN replied {resp.told(came)}; due are a cursor and a list"
            raise Failure(text, hint="resp-reply")
        cursor, listed = came
        found.update(listed)
        step += 1
        if step == 8:
            fill(client, more, b"v")
        if step == 16:
            pipelined(client, [(("DEL", *more), len(more))])
        if step > 20 * KEYS:
            raise Failure(f"after {step:,} commands SCAN is not at its end", hint="dict-scan")
    return found & keys


@claim("12.2", points=1, hints=TABLE)
def test_12_order_of_keys_cannot_be_foreseen(launch):
    """Two servers keep the same keys in another order: so nobody can send keys that collide."""
    orders = []
    for _ in range(2):
        client = launch(framing=RESP).connect()
        fill(client, [b"key:%d" % number for number in range(200)], b"v")
        orders.append(answer(client, "KEYS *"))
    if orders[0] == orders[1]:
        text = "two servers list the same 200 keys in the same order"
        raise Failure(text, hint="dict-seed")


# 12.5 subscribers


@claim("12.5", points=3, hints=dict.fromkeys(BAD, "subscribe-count"))
def test_12_messages_reach_subscribers(launch, rng):
    """PUBLISH reaches every subscriber of its channel, once and in order, and counts them."""
    server = launch(framing=RESP)
    publisher = server.connect("publisher")
    ask(publisher, "PUBLISH a nobody", 0)
    first, second = server.connect("first"), server.connect("second")
    _subscribe(first, "a", "b", "a", counts=(1, 2, 2))
    _subscribe(second, "b", counts=(1,))
    text = rng.randbytes(20_000)
    talk(publisher, (("PUBLISH", "a", b"\r\n"), 1), (("PUBLISH", "b", text), 2))
    ask(publisher, "PUBLISH c x", 0)
    first.expect_frames([_message(b"a", b"\r\n"), _message(b"b", text)])
    second.expect_frame(_message(b"b", text))
    many = [b"%d" % number for number in range(1_000)]
    pipelined(publisher, [(("PUBLISH", "b", one), 2) for one in many])
    for subscriber in (first, second):
        subscriber.expect_frames([_message(b"b", one) for one in many])
    first.send_frame(resp.command("UNSUBSCRIBE", "b", "none"))
    first.expect_frames([reply([b"unsubscribe", b"b", 1]), reply([b"unsubscribe", b"none", 1])])
    talk(publisher, ("PUBLISH b x", 1), ("PUBLISH a x", 1))
    first.expect_frame(_message(b"a", b"x"))
    ask(first, "UNSUBSCRIBE", [b"unsubscribe", b"a", 0])
    talk(first, ("UNSUBSCRIBE", [b"unsubscribe", None, 0]), ("GET k", None))
    talk(publisher, ("PUBLISH a x", 0), ("PUBLISH b y", 1))
    second.expect_frames([_message(b"b", b"x"), _message(b"b", b"y")])
    _expect_quiet(server, first, second)


def _message(channel: bytes, text: bytes) -> bytes:
    return reply([b"message", channel, text])


def _subscribe(client, *channels: str, counts) -> None:
    client.send_frame(resp.command("SUBSCRIBE", *channels))
    client.expect_frames(
        [reply([b"subscribe", c.encode(), count]) for c, count in zip(channels, counts)]
    )


def _expect_quiet(server, *clients) -> None:
    """Checks that nothing else has come, and that nothing comes."""
    until_asleep(server)
    for client in clients:
        client.expect_nothing_yet()


@claim("12.5", points=2, hints=dict.fromkeys(BAD, "subscriber-mode"))
def test_12_subscribers_may_only_subscribe(launch):
    """While it has a channel a client may subscribe, unsubscribe, PING and QUIT, and no more."""
    server = launch(framing=RESP)
    client = server.connect()
    _subscribe(client, "a", counts=(1,))
    talk(client, ("PING", [b"pong", b""]), ("PING x", [b"pong", b"x"]))
    for command in ("GET k", "PUBLISH a x", "MULTI"):
        name = command.split()[0].lower()
        ask(client, command, Err(f"ERR Can't execute '{name}': {CANNOT}"))
    ask(client, "SUBSCRIBE", arguments_of("subscribe"))
    ask(client, "NOSUCH", Err("ERR unknown command 'NOSUCH', with args beginning with: "))
    ask(client, "UNSUBSCRIBE a", [b"unsubscribe", b"a", 0])
    talk(client, ("PING", PONG), ("PUBLISH a x", 0))
    _subscribe(client, "a", counts=(1,))
    ask(server.connect(), "PUBLISH a x", 1)
    client.expect_frame(_message(b"a", b"x"))
    client.send_frame(resp.command("QUIT"))
    client.expect_closed_after([reply(OK)])


@claim("12.5", points=2, hints=dict.fromkeys(BAD, "subscribe-pattern"))
def test_12_patterns(launch):
    """PSUBSCRIBE takes a pattern: a message comes once for each subscription that it fits."""
    server = launch(framing=RESP)
    publisher, first, second = (server.connect(name) for name in ("publisher", "first", "second"))
    ask(first, "PUNSUBSCRIBE", [b"punsubscribe", None, 0])
    first.send_frame(resp.command("PSUBSCRIBE", "room.*", "*", "room.*"))
    due = ((b"room.*", 1), (b"*", 2), (b"room.*", 2))
    first.expect_frames([reply([b"psubscribe", one, count]) for one, count in due])
    _subscribe(first, "room.a", "x*", counts=(3, 4))
    _subscribe(second, "room.a", counts=(1,))
    ask(publisher, "PUBLISH room.a 1", 4)
    first.expect_frame(_message(b"room.a", b"1"))
    _expect_both(first, b"room.a", b"1")
    ask(publisher, "PUBLISH xy 2", 1)
    first.expect_frame(_by_pattern(b"*", b"xy", b"2"))
    ask(publisher, "PUBLISH room. 3", 2)
    _expect_both(first, b"room.", b"3")
    ask(first, "GET k", Err(f"ERR Can't execute 'get': {CANNOT}"))
    ask(first, "UNSUBSCRIBE x*", [b"unsubscribe", b"x*", 3])
    ask(first, "UNSUBSCRIBE", [b"unsubscribe", b"room.a", 2])
    ask(first, "UNSUBSCRIBE", [b"unsubscribe", None, 2])
    ask(first, "PING", [b"pong", b""])
    ask(first, "PUNSUBSCRIBE *", [b"punsubscribe", b"*", 1])
    ask(publisher, "PUBLISH room.b 4", 1)
    first.expect_frame(_by_pattern(b"room.*", b"room.b", b"4"))
    ask(first, "PUNSUBSCRIBE", [b"punsubscribe", b"room.*", 0])
    talk(first, ("PING", PONG), ("PUBLISH room.a 5", 1))
    second.expect_frames([_message(b"room.a", b"1"), _message(b"room.a", b"5")])
    ask(second, r"PSUBSCRIBE \*[a-c]", [b"psubscribe", rb"\*[a-c]", 2])
    talk(publisher, ("PUBLISH *b 6", 1), ("PUBLISH xb 7", 0))
    second.expect_frame(_by_pattern(rb"\*[a-c]", b"*b", b"6"))
    second.reset()
    until(server, publisher, "PUBLISH *b 8", 0, "subscriber-left")
    _expect_quiet(server, first)


def _by_pattern(pattern: bytes, channel: bytes, text: bytes) -> bytes:
    return reply([b"pmessage", pattern, channel, text])


def _expect_both(client, channel: bytes, text: bytes) -> None:
    """The message comes for two patterns, in any order."""
    came = read_values(client, 2)
    due = [[b"pmessage", pattern, channel, text] for pattern in (b"*", b"room.*")]
    if sorted(map(repr, came)) != sorted(map(repr, due)):
        text = f"for two patterns came {resp.told(came)}; due is {resp.told(due)}"
        raise Failure(text, hint="subscribe-pattern")


@claim("12.5", points=1, hints=dict.fromkeys(BAD, "subscriber-left"))
def test_12_subscribers_leave(launch):
    """A subscriber that closes, resets or quits is not counted, and is missing to nobody."""
    server = launch(framing=RESP)
    publisher, stays = server.connect("publisher"), server.connect("stays")
    _subscribe(stays, "a", "z", counts=(1, 2))
    for leave in ("close", "reset", "half_close", "quit"):
        leaving = [server.connect("leaves") for _ in range(5)]
        for client in leaving:
            _subscribe(client, "a", "b", counts=(1, 2))
        ask(publisher, "PUBLISH b x", 5)
        for client in leaving[1:4]:  # not in the order in which they came
            client.send_frame(resp.command("QUIT")) if leave == "quit" else getattr(client, leave)()
        until(server, publisher, "PUBLISH b y", 2, "subscriber-left")
        ask(publisher, "PUBLISH a last", 3)
        stays.expect_frame(_message(b"a", b"last"))
        for client in leaving:
            client.abandon(by_reset=True)
        until(server, publisher, "PUBLISH b z", 0, "subscriber-left")
    ask(publisher, "PUBLISH z end", 1)
    stays.expect_frame(_message(b"z", b"end"))


@claim("12.5", points=2, native=True, hints=SLOW)
def test_12_slow_subscribers_are_closed(launch, rng):
    """A subscriber that does not read is closed; the publisher and others go on meanwhile."""
    server = launch(framing=RESP)
    publisher, reads = server.connect("publisher"), server.connect("reads")
    _subscribe(reads, "a", counts=(1,))
    ask(publisher, "SET k v", OK)
    # A message of no bytes can be the one too much, if the output is at the limit to some bytes.
    # That does not happen again with another subscriber.
    for _ in range(CLOSING_TRIES):
        count, slow_has_left = _publishes_until_closed(server, publisher, reads, rng)
        if not slow_has_left:
            break
    if slow_has_left or count not in (1, 2):
        who = "1 reads, and the slow one was closed" if slow_has_left else "there is one that reads"
        text = f"PUBLISH counts {resp.told(count)} subscribers; {who}"
        raise Failure(text, hint="subscriber-slow")
    talk(publisher, ("GET k", b"v"), ("PUBLISH a last", 1))
    reads.expect_frame(_message(b"a", b"last"))


def _publishes_until_closed(server, publisher, reads, rng) -> tuple[object, bool]:
    """Sends messages to one that reads, and to one that does not, until that is closed. Returns the
    last reply of PUBLISH, and whether the closed one was counted in it."""
    slow = server.connect("slow", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    _subscribe(slow, "a", "b", counts=(1, 2))
    base = server.process.resident_bytes()
    count, closed, sent = 2, False, []
    while count == 2 and not closed and len(sent) < 2 * MOST_MESSAGES:
        text = words(rng, 8) * (MESSAGE // 8)
        publisher.exchange(resp.command("PUBLISH", "a", text), [])
        count = read_value(publisher)
        sent += [_message(b"a", text), _message(b"b", b"")]
        reads.expect_frame(sent[-2])
        if count == 2 and server.own:  # Redis counts a subscriber, and closes it then
            closed = answer(publisher, ("PUBLISH", "b", "")) == 0
    if server.own:
        bounded(server, base, SUBSCRIBER_HELD, "after the end of the slow subscriber", "before")
    until(server, publisher, "PUBLISH b x", 0, "subscriber-slow")
    _expect_beginning(slow, b"".join(sent))
    return count, closed


def _expect_beginning(client, stream: bytes) -> None:
    """The stream comes, or a beginning of it, and then the server closes."""
    at = 0
    while True:
        try:
            came = client.read_some(len(stream))
        except Failure as failure:
            if failure.hint in ("closed-early", "reset-early", "closed-in-reply"):
                return
            raise
        if came != stream[at : at + len(came)]:
            raise Failure(
                f"after {at:,} bytes of messages, others came than were published",
                hint="subscriber-slow",
                expected=stream[at : at + len(came)],
                received=came,
            )
        at += len(came)


# 12.6 queue


@claim("12.6", points=3, hints=dict.fromkeys(BAD, "multi-queue"))
def test_12_commands_wait_for_exec(launch, rng):
    """From MULTI on commands are queued; EXEC runs all of them, DISCARD none."""
    server = launch(framing=RESP)
    client, other = server.connect(), server.connect()
    talk(client, ("MULTI", OK), (("SET", "k", b"\r\n"), QUEUED), ("INCR n", QUEUED))
    talk(client, ("RPUSH l a b", QUEUED), ("LRANGE l 0 -1", QUEUED))
    ask(client, "MULTI", Err("ERR MULTI calls can not be nested"))
    talk(client, ("GET k", QUEUED), ("PING", QUEUED))
    talk(other, ("EXISTS k n l", 0), ("SET k other", OK))
    ask(client, "EXEC", [OK, 1, 2, [b"a", b"b"], b"\r\n", PONG])
    talk(client, ("EXEC", Err("ERR EXEC without MULTI")), ("GET k", b"\r\n"))
    talk(client, ("MULTI", OK), ("EXEC", []), ("MULTI", OK), ("DEL k", QUEUED), ("DISCARD", OK))
    talk(client, ("EXISTS k", 1), ("MULTI", OK), ("SELECT 1", QUEUED), ("SET only1 v", QUEUED))
    talk(client, ("EXEC", [OK, OK]), ("GET only1", b"v"), ("SELECT 0", OK), ("GET only1", None))
    values = [words(rng, 50) for _ in range(500)]
    pairs = [("MULTI", OK), *((("SET", "k", value), QUEUED) for value in values)]
    pairs += [("GET k", QUEUED), ("EXEC", [OK] * len(values) + [values[-1]])]
    pipelined(client, pairs * 3)
    pairs = [("MULTI", OK), ("PUBLISH a x", QUEUED), ("EXEC", [1])]
    _subscribe(other, "a", counts=(1,))
    pipelined(client, pairs)
    other.expect_frame(_message(b"a", b"x"))


@claim("12.6", points=3, hints=dict.fromkeys(BAD, "multi-errors"))
def test_12_errors_after_multi(launch):
    """A command that cannot be queued aborts EXEC; one that fails in EXEC does not stop others."""
    client = launch(framing=RESP).connect()
    unknown = Err("ERR unknown command 'NOSUCH', with args beginning with: ")
    for command, error in (("NOSUCH", unknown), ("GET", arguments_of("get"))):
        talk(client, ("MULTI", OK), ("SET a 1", QUEUED), (command, error), ("SET b 1", QUEUED))
        talk(client, ("EXEC", EXECABORT), ("EXISTS a b", 0), ("SET c 1", OK))
        talk(client, ("MULTI", OK), (command, error), ("DISCARD", OK), ("MULTI", OK))
        talk(client, ("GET c", QUEUED), ("EXEC", [b"1"]))
    talk(client, ("MULTI", OK), ("SET a text", QUEUED), ("LPUSH a x", QUEUED), ("INCR a", QUEUED))
    talk(client, ("SET b 1", QUEUED), ("INCR b", QUEUED))
    not_integer = Err("ERR value is not an integer or out of range")
    talk(client, ("EXEC", [OK, WRONGTYPE, not_integer, OK, 2]), ("GET b", b"2"))


@claim("12.6", points=2, cli=True, native=True, hints=BOUND)
def test_12_queues_are_bounded(launch, rng):
    """Commands that wait for EXEC may take 64 MiB; one more is refused, and EXEC runs none."""
    server = launch(framing=RESP, environment=EXACT)
    client, command = server.connect(), resp.command("SET", "k", rng.randbytes(MIB))
    talk(client, ("GET k", None), ("MULTI", OK))
    base = server.process.resident_bytes()
    queued = until_refused(client, command, MOST_QUEUED)
    if not LEAST_QUEUED <= queued < MOST_QUEUED:
        text = f"after MULTI {queued} commands of 1 MiB each were queued; due are about 60"
        raise Failure(text, hint="multi-bound")
    talk(client, ("GET k", QUEUED), ("EXEC", EXECABORT), ("GET k", None))
    bounded(server, base, GIVEN_BACK_BYTES, "after EXEC has run none of the commands", "before")
    ask(client, "MULTI", OK)
    queued = until_refused(client, b"DEL" + b" k" * TINY_WORDS + b"\r\n", MOST_LINES)
    if queued == MOST_LINES:
        text = f"after MULTI {queued} commands of {TINY_WORDS:,} words each were queued"
        raise Failure(f"{text}, as if a word cost its bytes alone", hint="multi-bound")
    talk(client, ("GET k", QUEUED), ("EXEC", EXECABORT), ("GET k", None))


# All together: 12.7 watch


@claim("12.7", points=2, cli=True, valgrind=True, hints=STOPS)
def test_12_stops_with_everything_in_use(launch, rng):
    """Under valgrind: SIGTERM with keys, subscribers, a queue and watches ends it with 0, and frees
    all."""
    server = launch(framing=RESP)
    client, queued, reads = server.connect(), server.connect("queues"), server.connect("reads")
    slow = server.connect("slow", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    talk(client, ("RPUSH l a b c", 3), ("LPOP l", b"a"), (f"SET far v EX {FAR}", OK))
    pipelined(client, [(f"SET k{n} v PX {n + 1}", OK) for n in range(100)])
    pipelined(client, [(f"SET far{n} v EX {FAR}", OK) for n in range(100)])
    ask(client, f"EXPIRE far5 {2 * FAR}", 1)
    talk(client, ("RENAME far1 far2", OK), ("DEL far3 far4", 2), ("SELECT 3", OK), ("SET k v", OK))
    _subscribe(reads, "a", "b", counts=(1, 2))
    _subscribe(slow, "a", counts=(1,))
    ask(reads, "PSUBSCRIBE z*", [b"psubscribe", b"z*", 3])
    talk(queued, ("WATCH far1 far2 none", OK), ("UNWATCH", OK), ("WATCH far5 none far5", OK))
    talk(queued, ("MULTI", OK), (("SET", "k", words(rng, 5_000)), QUEUED), ("INCR k", QUEUED))
    ask(client, "SET far5 v", OK)
    for _ in range(4):
        message = words(rng, 1_000) * 400
        client.exchange(resp.command("PUBLISH", "a", message), [])
        read_value(client)
        reads.expect_frame(_message(b"a", message))
    server.connect("begins").send(resp.command("SET", "k", words(rng, 5_000))[:-3])
    server.connect("line").send(b"SET k")
    until_asleep(server)
    expect_stop(server, signal.SIGTERM)
