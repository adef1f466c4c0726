"""Chapter 12: clients and a server that others wrote. Where one is missing its claim is not judged.

They are Debian's packages: redis-tools, python3-redis, libhiredis-dev and redis-server. Those
of Valkey do as well.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.differential import Pair, compare
from harness.claims.scenarios.redis_commands import sequence
from harness.claims.scenarios.redis_talk import ask, talk
from harness.client.redis import client as others, here
from harness.client.resp import OK, RESP
from harness.feedback.failure import Failure

PLAIN, PIPELINED = 1_000, 3_200  # commands of each test of redis-benchmark
TESTS = "ping,set,get,incr,lpush,rpush,lpop,rpop,lrange,mset"
# Its tests without -t, in their order. Then comes SADD, for which there is no type here.
FIRST_TESTS = "PING_INLINE PING_MBULK SET GET INCR LPUSH RPUSH LPOP RPOP".split()
REFUSED = "Error from server: ERR unknown command 'SADD', with args beginning with: 'myset' "
SEQUENCES, LENGTH = 4, 1_200  # commands

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

# What a general hint means in a claim, see marker.claim.
WRONG = ("wrong-header", "wrong-body", "extra-bytes", "silence", "replies-missing", "closed-early")
KEYS = dict.fromkeys(WRONG, "others-client")


def _command(server, program: str, *options: str) -> list[str]:
    host, port = server.address[:2]
    return [here.program(program), "-h", host, "-p", str(port), *options]


@claim("12.2", points=2, needs="redis-cli")
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


@claim("12.2", points=1, native=True, needs="redis-benchmark", hints=KEYS)
def test_12_redis_benchmark(launch):
    """redis-benchmark runs with one command in flight and with 16, and its keys are as they should
    be; without -t it runs up to SADD."""
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
    server = launch(framing=RESP)
    words = ["-n", str(PLAIN), "-c", "20", "--csv"]
    said = others.run(server, _command(server, "redis-benchmark", *words))
    done = [line.split('"')[1] for line in said.out.splitlines() if line.count('","') > 1][1:]
    refused = done == FIRST_TESTS and REFUSED in said.err
    if not refused and done[: len(FIRST_TESTS) + 1] != [*FIRST_TESTS, "SADD"]:
        text = f"redis-benchmark without -t has done {' '.join(done) or 'no test'}"
        raise Failure(f"{text}, and printed {said.err.strip()!r:.200}", hint="others-client")


@claim("12.6", points=2, needs="redis-py")
def test_12_redis_py(launch):
    """A client made of redis-py works: commands, pipelines, transactions, messages."""
    others.run_ours(launch(framing=RESP), "redis-py", others.python_client("commands"))


@claim("12.5", points=1, needs="hiredis")
def test_12_hiredis(launch):
    """A client made of hiredis works: pipelines, large values and arrays, messages."""
    others.run_ours(launch(framing=RESP), "hiredis", [str(here.hiredis_client())])


@claim("12.7", points=2, needs="redis-server", hints=dict.fromkeys(WRONG, "redis-differs"))
def test_12_same_replies_as_redis(launch, rng):
    """Random commands get the replies of redis-server or valkey-server, byte for byte."""
    server = launch(framing=RESP)
    with Pair(server) as pair:
        for _ in range(SEQUENCES):
            compare(pair, sequence(rng, LENGTH))
    ask(server.connect(), "FLUSHALL", OK)
