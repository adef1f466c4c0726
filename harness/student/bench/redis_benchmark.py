"""What redis-benchmark asks of chapter 12, and of redis-server beside it."""

from __future__ import annotations

import csv
import multiprocessing
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.client import resp
from harness.client.redis import here
from harness.lab.target import WrongUsage
from harness.lab.units import MIB
from harness.server.linux import procfs
from harness.server.spawn import LOCALHOST
from harness.student.bench.measure import Bench, Failed
from harness.student.bench.rows import Row
from harness.student.bench.subjects import PEER, Subject

PROGRAM, SERVER = "redis-benchmark", "redis-server"
CHAPTER = "redis"  # the name of the chapter whose servers speak its protocol
OPTIONS = ("--app", "redis")  # of these servers
CPU = "CPU for a request: that of redis-server over that of the server"
RIVALS = (("beside redis-server", PEER),)

DEPTHS = (1, 16)  # requests that a client has in flight: -P
CLIENTS = 50
KEYS = 100_000  # SET, GET and MSET take one of so many keys, at random
ELEMENTS = 1000  # of the list that LRANGE reads the first hundred of
SUBSCRIBERS = 10
CHANNEL, TEXT = "news", "xxx"
SUBSCRIBED = resp.reply([b"subscribe", CHANNEL.encode(), 1])
MESSAGE = resp.reply([b"message", CHANNEL.encode(), TEXT.encode()])
RUN_SECONDS = 60  # until redis-benchmark must have ended, and subscribers must have everything
FORK = multiprocessing.get_context("fork")  # the child has our sockets


@dataclass(frozen=True)
class Load:
    """A run of redis-benchmark. `words`: its last options. `requests`: how many, for each of
    DEPTHS. `before`: a run that puts in what this one reads. `subscribers`: clients that get each
    message which it publishes."""

    words: tuple[str, ...]
    requests: tuple[int, int] = (40_000, 400_000)
    before: Load | None = None
    depth: int = 1
    subscribers: int = 0
    one_client = False

    @property
    def count(self) -> int:
        return self.requests[DEPTHS.index(self.depth)]

    @property
    def options(self) -> list[str]:
        """Options for the command line of redis-benchmark."""
        words = ["-c", CLIENTS, "-P", self.depth, "-n", self.count, "-r", KEYS, "--csv"]
        return [*map(str, words), *self.words]


def _test(name: str, text: str, **more) -> Row:
    return Row(name, text, Load(("-t", name), **more))


_LIST = Load(("-t", "lpush"))
_FEW, _FEWER = (20_000, 60_000), (20_000, 40_000)

ROWS = (
    Row("ping", "PING", Load(("-t", "ping_mbulk"))),
    _test("set", "SET of 3 bytes"),
    _test("get", "GET, after as many SETs", before=Load(("-t", "set"))),
    _test("incr", "INCR"),
    _test("lpush", "LPUSH of 3 bytes, all to one list"),
    _test("lpop", "LPOP, after as many LPUSHes", before=_LIST),
    _test("rpop", "RPOP, the same", before=_LIST),
    Row(
        "lrange",
        f"LRANGE of 100 elements of {ELEMENTS:,}",
        Load(("lrange", "mylist", "0", "99"), _FEWER, Load(("-t", "lpush"), (ELEMENTS,) * 2)),
    ),
    _test("mset", "MSET of 10 keys", requests=_FEW),
    Row(
        "publish",
        f"PUBLISH of {len(TEXT)} bytes to {SUBSCRIBERS} subscribers",
        Load(("publish", CHANNEL, TEXT), _FEW, subscribers=SUBSCRIBERS),
    ),
)


def at_depth(row: Row, depth: int) -> Row:
    """The row with so many requests in flight."""
    load = row.load
    before = load.before and Load(load.before.words, load.before.requests, depth=max(DEPTHS))
    return Row(row.key, row.text, replace(load, before=before, depth=depth))


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


def ask(bench: Bench, _subject: Subject, pid: int, port: int, load: Load) -> dict:
    """What redis-benchmark found, with the names that measure.Figures reads. Raises Failed."""
    if load.before:
        _run(bench, port, load.before)
    used = procfs.cpu_seconds(pid)
    with _subscribed(bench, port, load):
        rate = _run(bench, port, load)
    used = procfs.cpu_seconds(pid) - used
    return {"requests_per_s": rate, "server_us_per_request": 1e6 * used / load.count}


@contextmanager
def _subscribed(bench: Bench, port: int, load: Load) -> Iterator[None]:
    """Keeps the load's subscribers, in a process of their own: so their CPU time is known. Leaves
    when each of them has every message. Raises Failed."""
    if load.subscribers == 0:
        yield
        return
    clients = [_subscriber(port) for _ in range(load.subscribers)]
    reader = FORK.Process(target=_read, args=(clients, load.count * len(MESSAGE), bench.place.load))
    reader.start()
    try:
        yield
        reader.join(RUN_SECONDS)
        if reader.exitcode != 0:
            raise Failed(f"the subscribers have not got {load.count:,} messages each")
    finally:
        reader.kill()
        reader.join()
        for client in clients:
            client.close()


def _subscriber(port: int) -> socket.socket:
    client = socket.create_connection((LOCALHOST, port), RUN_SECONDS)
    client.sendall(resp.command("SUBSCRIBE", CHANNEL))
    if client.recv(len(SUBSCRIBED), socket.MSG_WAITALL) != SUBSCRIBED:
        raise Failed("SUBSCRIBE: another reply than expected")
    return client


def _read(clients: list[socket.socket], size: int, cpu: int) -> None:
    """Reads `size` bytes from each client. Ends with status 1 if the server closes one before."""
    os.sched_setaffinity(0, {cpu})
    missing = dict.fromkeys(clients, size)
    with selectors.DefaultSelector() as ready:
        for client in clients:
            ready.register(client, selectors.EVENT_READ)
        while missing:
            for key, _ in ready.select():
                client = key.fileobj
                came = len(client.recv(MIB))
                if came == 0:
                    sys.exit(1)
                missing[client] -= came
                if missing[client] <= 0:
                    ready.unregister(client)
                    del missing[client]


def _run(bench: Bench, port: int, load: Load) -> float:
    """Runs redis-benchmark. Returns requests a second. Raises Failed."""
    words = [str(bench.generator), "-h", LOCALHOST, "-p", str(port), *load.options]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {bench.place.load}),
            timeout=RUN_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{PROGRAM} has not ended after {RUN_SECONDS} s") from None
    return _rate(done.stdout, done.stderr)


def _rate(out: str, err: str) -> float:
    """The rate in the last line of redis-benchmark's table. Raises Failed."""
    lines = list(csv.reader(out.splitlines()))
    try:
        return float(lines[-1][1])
    except (IndexError, ValueError):
        said = (err or out).strip().splitlines()
        raise Failed(said[0] if said else f"{PROGRAM} printed nothing") from None
