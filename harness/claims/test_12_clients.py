"""Chapter 12: subscribers, commands that wait for EXEC, and clients that others wrote.

They are of Debian's packages redis-tools, python3-redis and redis-server; those of Valkey do as
well. Where one is missing its claim is not judged.
"""

from __future__ import annotations

import signal

from harness.claims.context.observe import until_asleep
from harness.claims.marker import claim
from harness.claims.scenarios.beside_redis import compare, redis_here, sequence
from harness.claims.scenarios.cost import EXACT, bounded
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, expect_stop, words
from harness.claims.scenarios.redis_talk import (
    BAD,
    answer,
    ask,
    pipelined,
    read_value,
    talk,
    until,
    until_refused,
)
from harness.client import resp
from harness.client.redis import client as others, here
from harness.client.resp import EXECABORT, OK, PONG, QUEUED, RESP, Err, reply
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB

PLAIN, PIPELINED = 1_000, 3_200  # commands of each test of redis-benchmark
BESIDE_REDIS = 2_000  # random commands
TESTS = "ping,set,get,incr,lpush,rpush,lpop,rpop,lrange,mset"

# What one types into redis-cli, and what it prints.
TYPED = (
    ("PING", "PONG"),
    ('SET k "a b"', "OK"),
    ("GET k", '"a b"'),
    ("APPEND k \\n", "(integer) 5"),
    ("GET k", '"a b\\\\n"'),
    ("INCR n", "(integer) 1"),
    ("RPUSH l a b c", "(integer) 3"),
    ("LRANGE l 0 -1", '1) "a"\n2) "b"\n3) "c"'),
    ("GET none", "(nil)"),
    ("LPOP none 2", "(nil)"),
    ("KEYS none", "(empty array)"),
    ("INCR k", "(error) ERR value is not an integer or out of range"),
    ("NOSUCH a", "(error) ERR unknown command 'NOSUCH', with args beginning with: 'a' "),
    ("SELECT 3", "OK"),
    ("GET k", "(nil)"),
    ("TYPE k", "none"),
)

GIVEN_BACK_BYTES = 4 * MIB  # what is left of what was used

MESSAGE = MIB  # bytes
MOST_MESSAGES = 80  # until the slow subscriber is closed: Redis waits for 32 MiB
SUBSCRIBER_HELD = 16 * MIB  # after it was closed
CLOSING_TRIES = 2
MOST_QUEUED, LEAST_QUEUED = 80, 55  # commands of 1 MiB
# Words of one byte, and lines of so many: 64 MiB is less than each of them with its space and two
# bytes more.
TINY_WORDS, MOST_LINES = 32_000, 530

FAR = 600  # s: a time to live that ends after the claim

# What a general hint means in a claim, see marker.claim.
STOPS = dict.fromkeys(
    ("not-ended", "wrong-exit", "memory-fault", "memory-leak", *BAD), "redis-stop"
)
KEYS = dict.fromkeys(BAD, "others-client")
SLOW = dict.fromkeys((*BAD, "memory-grows", "over-limit", "not-closed"), "subscriber-slow")
BOUND = dict.fromkeys((*BAD, "memory-grows", "over-limit"), "multi-bound")


# 12.5 subscribers


@claim("12.5", fatal="bytes", hints=dict.fromkeys(BAD, "subscribe-count"))
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


@claim("12.5", fatal="growth", native=True, hints=SLOW)
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


@claim("12.6", hints=dict.fromkeys(BAD, "multi-queue"))
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


@claim("12.6", fatal="growth", cli=True, native=True, hints=BOUND)
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


# All together


@claim("12.7", cli=True, valgrind=True, hints=STOPS)
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


# Clients that others wrote


def _command(server, program: str, *options: str) -> list[str]:
    host, port = server.address[:2]
    return [here.program(program), "-h", host, "-p", str(port), *options]


@claim("12.2", needs="redis-cli")
def test_12_redis_cli(launch):
    """redis-cli works: what it prints for each command is what it prints of Redis."""
    server = launch(framing=RESP)
    lines = "".join(f"{typed}\n" for typed, _ in TYPED)
    said = others.run(server, _command(server, "redis-cli", "--no-raw"), lines.encode())
    left = said.out
    for typed, due in TYPED:
        server.conversation.note("redis-cli", typed)
        if not left.startswith(f"{due}\n"):
            came = left.splitlines()[0] if left else said.err.strip() or "nothing"
            text = f"redis-cli: {typed} printed {came!r:.200}; due is {due!r:.200}"
            raise Failure(text, hint="others-client")
        left = left[len(due) + 1 :]


@claim("12.2", native=True, needs="redis-benchmark", hints=KEYS)
def test_12_redis_benchmark(launch):
    """redis-benchmark runs with one command in flight and with 16, and its keys are as they should
    be."""
    for count, flight in ((PLAIN, "1"), (PIPELINED, "16")):
        server = launch(framing=RESP)
        words = ["-t", TESTS, "-n", str(count), "-c", "20", "-P", flight, "-d", "3", "--csv"]
        said = others.run(server, _command(server, "redis-benchmark", *words))
        rows = [line for line in said.out.splitlines() if line.count('","') > 1]
        if said.status or len(rows) < 15 or "rror" in said.out + said.err:
            last = (said.err + said.out).strip().splitlines()[-1:] or ["nothing"]
            text = f"redis-benchmark -P {flight} ended with status {said.status}"
            raise Failure(f"{text}, and printed last: {last[0]!r:.200}", hint="others-client")
        talk(
            server.connect(),
            ("GET counter:__rand_int__", str(count).encode()),
            ("LLEN mylist", count),
            ("GET key:__rand_int__", b"VXK"),
            ("DBSIZE", 3),
        )


@claim("12.7", needs="redis-py")
def test_12_redis_py(launch):
    """A client made of redis-py works: pipelines, transactions, messages, patterns and locks."""
    others.run_ours(launch(framing=RESP), "redis-py", others.PYTHON_CLIENT)


@claim("12.7", needs="redis-server", hints=dict.fromkeys(BAD, "redis-differs"))
def test_12_same_replies_as_redis(launch, rng):
    """Random commands get the replies of redis-server or valkey-server, byte for byte."""
    server = launch(framing=RESP)
    with redis_here() as redis:
        compare(server, redis, sequence(rng, BESIDE_REDIS))
