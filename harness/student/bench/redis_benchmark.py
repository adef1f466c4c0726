"""What redis-benchmark asks of chapter 12, and of redis-server beside it."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path

from harness.client.redis import here
from harness.server.spawn import LOCALHOST
from harness.student.bench.measure import Bench, Failed, asked
from harness.student.bench.subjects import PEER, Row, Subject, chosen_rows
from harness.submission.target import WrongUsage

PROGRAM, SERVER = "redis-benchmark", "redis-server"
CHAPTER = "redis"  # the name of the chapter whose servers speak its protocol
OPTIONS = ("--app", "redis")  # of these servers
RIVALS = (("beside redis-server", PEER),)

DEPTHS = (1, 16)  # requests that a client has in flight: -P
CLIENTS = 50
KEYS = 100_000  # SET, GET and MSET take one of so many keys, at random
ELEMENTS = 1000  # of the list that LRANGE reads the first hundred of


@dataclass(frozen=True)
class Load:
    """A run of redis-benchmark. `words`: its last options. `requests`: how many, for each of
    DEPTHS. `before`: a run that puts in what this one reads."""

    words: tuple[str, ...]
    requests: tuple[int, int] = (40_000, 400_000)
    before: Load | None = None
    depth: int = 1
    one_client = False

    @property
    def options(self) -> list[str]:
        """Options for the command line of redis-benchmark."""
        count = self.requests[DEPTHS.index(self.depth)]
        words = ["-c", CLIENTS, "-P", self.depth, "-n", count, "-r", KEYS, "--csv"]
        return [*map(str, words), *self.words]


def _test(name: str, text: str, **more) -> Row:
    return Row(name, text, Load(("-t", name), **more))


def _put(name: str, *requests: int) -> Load:
    return Load(("-t", name), *([requests * 2] if requests else []), depth=max(DEPTHS))


ROWS = (
    Row("ping", "PING", Load(("-t", "ping_mbulk"))),
    _test("set", "SET of 3 bytes"),
    _test("get", "GET, after as many SETs", before=_put("set")),
    _test("incr", "INCR"),
    _test("lpush", "LPUSH of 3 bytes, all to one list"),
    _test("lpop", "LPOP, after as many LPUSHes", before=_put("lpush")),
    _test("rpop", "RPOP, the same", before=_put("lpush")),
    Row(
        "lrange",
        f"LRANGE of 100 elements of {ELEMENTS:,}",
        Load(("lrange", "mylist", "0", "99"), (20_000, 40_000), _put("lpush", ELEMENTS)),
    ),
    _test("mset", "MSET of 10 keys", requests=(20_000, 60_000)),
)


def chosen(text: str) -> list[Row]:
    """The rows that ROWS=set,get names. Raises WrongUsage."""
    for key in filter(text.lower().count, ("memory", "publish")):
        raise WrongUsage(f"ROWS={text}: docs/benchmarks.md says how to measure {key!r} by hand")
    return chosen_rows(text, ROWS)


def at_depth(row: Row, depth: int) -> Row:
    """The row with so many requests in flight."""
    return replace(row, load=replace(row.load, depth=depth))


def find() -> Path:
    """The program. Raises WrongUsage if it is not installed."""
    found = here.program(PROGRAM)
    if not found:
        raise WrongUsage(f"{PROGRAM} is not installed: make setup")
    return Path(found)


def redis_server() -> Subject | None:
    """Redis as a server to measure, which keeps nothing on the disk. None if it is not
    installed."""
    server = here.program(SERVER)
    if not server:
        return None
    options = ("--port", "{port}", "--bind", LOCALHOST, "--save", "", "--appendonly", "no")
    return Subject(server.partition("-")[0], PEER, (server, *options))


def ask(bench: Bench, _pid: int, port: int, load: Load) -> dict:
    """What redis-benchmark found, with the names that measure.Figures reads. Raises Failed."""
    for one in filter(None, (load.before, load)):
        words = [str(bench.generator), "-h", LOCALHOST, "-p", str(port), *one.options]
        printed = asked(words, bench.place.load)
    return {"requests": _rate(printed), "seconds": 1}


def _rate(printed: str) -> float:
    """The rate in the last line of redis-benchmark's table. Raises Failed."""
    lines = list(csv.reader(printed.splitlines()))
    try:
        return float(lines[-1][1])
    except (IndexError, ValueError):
        raise Failed((printed.splitlines() or [f"{PROGRAM} printed nothing"])[0]) from None
