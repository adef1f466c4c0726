"""Random commands to a server under test and to Redis, one after the other: whose reply is due is
asked of Redis itself."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from harness.client import resp
from harness.client.redis import here
from harness.client.resp import Answers
from harness.feedback.failure import Failure, NotJudged
from harness.server.process import ServerProcess

OPTIONS = '--port {port} --bind 127.0.0.1 --save "" --appendonly no --loglevel warning'
PIECE = 1 << 18
SECONDS = 60  # for Redis to reply, on a busy machine

# What stands for an argument in TEMPLATES, and what it may be. A few keys are used again and again,
# so that commands meet keys of each type.
ARGUMENTS = {
    "K": ("a", "b", "c", "list", "l2", "n"),
    "L": ("list", "l2", "list", "l2", "a"),  # a list more often than not
    "T": ("", "x", "hello", "a b", "12", "-7", f"{2**63 - 1}", "\r\n", "\0", "$5", "v" * 200),
    "N": ("0", "1", "-1", "10", "07", "+1", "1.5", "x", f"{2**63 - 1}", f"-{2**63}"),
    "I": ("0", "1", "2", "-1", "-2", "5", "-100", "100", "x"),
    "U": ("100000", "0", "-1", "x", "9223372036854775807"),  # of time: far away, over, or no time
}
# Their replies do not depend on time or chance, right or wrong: no TTL of a key that lives for some
# time, and no order of keys. SET stores no key whose time is over, as Redis counts it for a while.
TEMPLATES = tuple(
    line.split()
    for line in """
    SET K T|SET K T NX|SET K T XX GET|set K T keepttl
    SET K T EX 100000|SET K T PXAT 4102444800000|SET K T EX 0|SET K T PX x
    SET K T FOO|SET K T NX XX|SET K|SETNX K T|SETEX K 100000 T|PSETEX K x T
    GET K|GET K|GET K|GET K|GET|GET K K|GETSET K T|GETDEL K|GETRANGE K I I|GETRANGE K I I
    MSET K T K T|MSET K|MGET K K L|APPEND K T|STRLEN K|STRLEN K K
    INCR n|incr K|DECR K|INCRBY n N|INCRBY K N|DECRBY n N
    DEL K|DEL K K|UNLINK K|DEL|EXISTS K K|TYPE K|RENAME K K|RENAMENX K K|PERSIST K
    EXPIRE K U|PEXPIRE K U|EXPIREAT K 4102444800|EXPIRE K 100000 NX|EXPIRE K 100000 XX
    EXPIRE K U FOO
    LPUSH L T T|RPUSH L T|RPUSH L T T T|LPUSH L|LPOP L|RPOP L|LPOP L N|RPOP L 2|LLEN L
    LRANGE L I I|LRANGE L I I|LRANGE L 0 -1|LINDEX L I|LSET L I T|LTRIM L I I
    PING|PING T|ECHO T|SELECT 0|SELECT 16|SELECT x|DBSIZE|KEYS nothing*|SCAN x|PUBLISH K T
    WATCH K|UNWATCH|EXEC|DISCARD|NOSUCH K|GETT
    """.replace("\n", "|").split("|")
    if line.strip()
)
MULTI_PART, END_PART = 0.05, 0.25  # of all places a MULTI begins, and then ends


def sequence(rng: random.Random, length: int) -> Iterator[list[bytes]]:
    """So many random commands, for empty databases; afterwards no MULTI is open."""
    yield from ([b"SELECT", b"0"], [b"FLUSHALL"])
    queued = False
    for _ in range(length):
        if not queued and rng.random() < MULTI_PART:
            queued = True
            yield [b"MULTI"]
            continue
        template = rng.choice(TEMPLATES)
        if queued and rng.random() < END_PART:
            template = [rng.choice(("EXEC", "EXEC", "DISCARD"))]
        queued = queued and template[0] not in ("EXEC", "DISCARD")
        yield [rng.choice(ARGUMENTS.get(word, (word,))).encode() for word in template]
    if queued:
        yield [b"DISCARD"]


@contextmanager
def redis_here() -> Iterator[socket.socket]:
    """A connection with a redis-server of our own. Raises NotJudged."""
    other, process = here.redis_server(), ServerProcess()
    try:
        process.start(f"{other.program} {OPTIONS}", mode="port")
        with socket.create_connection(process.address, SECONDS) as connection:
            yield connection
    except (Failure, OSError) as error:
        if process.status is not None:
            raise NotJudged(f"{other.program} does not run here: {error}") from None
        raise
    finally:
        process.destroy()


def compare(server, redis: socket.socket, commands: Iterator[list[bytes]]) -> None:
    """Checks that the server replies to each command what Redis replies to it. The conversation
    ends with the command whose reply differs."""
    client, decoder = server.connect("compares"), resp.Decoder()
    for words in commands:
        data = resp.command(*words)
        redis.sendall(data)
        due: list[bytes] = []
        while not due:
            due = decoder.feed(redis.recv(PIECE))
        client.send_frame(data)
        client.expect_frames(Answers([words], due))
    client.close()
