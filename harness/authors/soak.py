"""Lets random clients talk to a right server that a sanitizer or valgrind observes.

The server is started again and again: each backend with each protocol in turn, other options at
random, and it is stopped with SIGTERM while clients are connected. What the tool reports, a server
that ends by itself or does not answer, a wrong exit status and a stop that hangs are failures.
They are printed with the seed that begins with the same server and the same clients; the order in
which the server hears them is another one each time. Exit status: 0 none, 1 some, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import random
import signal
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness.authors.random_clients import FIXED, LENGTH, LINE, REDIS, RPC, RandomClient, Talk
from harness.claims.instruments import sanitizers, valgrind
from harness.failures.failure import Failure, NotJudged
from harness.lab import command_line, seed, sources
from harness.lab.chapters import find
from harness.lab.numbers import is_whole
from harness.lab.target import Target, WrongUsage, add_options, resolve, setting
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.process_tree import ExitStatus
from harness.server.waiting.wait import Patience

SECONDS = 60  # unless SECONDS= is given
MOST_SECONDS = 36_000
LIFE_SECONDS = 20.0  # of one server
PATIENCE = Patience(60.0)  # for a start, an answer, a stop: valgrind is fifty times as slow
REST_SECONDS = 0.0005  # after an act that has moved no byte
CLIENTS = (3, 20, 60)
FIRST = 8  # chapter: earlier ones lack most options
SANITIZERS = ("address,undefined", "thread")
TOOLS = ("memcheck", "helgrind", "drd")
# The first chapter, and what to start with it.
WAYS = (
    *((8, ("--backend", name)) for name in ("select", "poll", "epoll")),
    (11, ("--io", "uring")),
)
TALKS = (RPC, LENGTH, RPC, LINE, FIXED)
TALKS_OF_REDIS = (REDIS, RPC, REDIS, LENGTH, LINE, FIXED)
# The first chapter, an option and its values, if it has one. Each is given to half of the servers.
OPTIONS = (
    (8, "-v", ()),
    (8, "--high-water", ("1", "1000", "100000")),
    (8, "--low-water", ("0",)),
    (8, "--quota", ("1/5", "20/50")),
    (8, "--idle-timeout", ("30", "1000")),
    (8, "--frame-timeout", ("30", "1000")),
    (8, "--max-conns", ("2", "15")),
    (9, "--threads", ("1", "2", "5")),
)
FEW_DESCRIPTORS, FEW_PART = 32, 0.2  # of the servers; most of their clients have to wait


@dataclass
class Life:
    """One server from its start to its stop. `found`: what is wrong, "" if nothing."""

    number: int
    options: list[str]
    talk: Talk
    clients: int  # at once
    nofile: int | None
    connections: int = 0
    requests: int = 0
    found: str = ""


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.splitlines()[0])
    add_options(parser, chapter="08 or later", tree="or chapters")
    add = parser.add_argument
    add("--with", dest="tool", metavar="TOOL", default=setting("WITH") or SANITIZERS[0])
    add("--seconds", metavar="N", default=setting("SECONDS") or str(SECONDS))
    add("--seed", metavar="N", default=setting("SEED"), help="of the first server")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse(arguments)
    return command_line.run("soak", lambda: run(options), build.BuildFailed, NotJudged)


def run(options: argparse.Namespace) -> int:
    """Lives, until the time is over. Returns the exit status."""
    target, seconds, first = _checked(options)
    flags = sanitizers.flags(options.tool) if options.tool in SANITIZERS else ()
    binary = build.cached_server(target.source.resolve(), extra_flags=flags).binary
    begin, lives = time.monotonic(), []
    while not lives or time.monotonic() - begin < seconds:
        life = drawn(int(target.chapter.number), first + len(lives))
        lives.append(life)
        left = seconds - (time.monotonic() - begin)
        live(life, binary, target.source, options.tool, min(LIFE_SECONDS, left))
        if life.found:
            again = f"make soak {target.words} WITH={options.tool} SEED={life.number}"
            print(f"FAILED {' '.join(life.options)}\n{life.found}\n  again: {again}", flush=True)
    failed = sum(bool(life.found) for life in lives)
    count = f"{len(lives)} servers, {sum(one.connections for one in lives):,} connections"
    count += f", {sum(one.requests for one in lives):,} requests"
    took = time.monotonic() - begin
    print(f"{target.chapter.number}  {options.tool}  {took:.0f} s  {count}: {failed} failed")
    return 1 if failed else 0


def _checked(options: argparse.Namespace) -> tuple[Target, int, int]:
    """What is to be run, for how many seconds, from which seed. Raises WrongUsage."""
    if not options.chapter or int(find(options.chapter).number) < FIRST:
        raise WrongUsage(f"which chapter, of {FIRST:02} and later? For instance: make soak CH=09")
    if options.server:
        raise WrongUsage("SERVER= has no source files to build; give DIR=")
    if options.tool not in SANITIZERS + TOOLS:
        raise WrongUsage(f"WITH={options.tool}: one of {' '.join(SANITIZERS + TOOLS)}")
    if options.tool in TOOLS and valgrind.missing():
        raise WrongUsage(valgrind.MISSING)
    if not is_whole(options.seconds) or not 1 <= int(options.seconds) <= MOST_SECONDS:
        raise WrongUsage(f"SECONDS={options.seconds}: a number from 1 to {MOST_SECONDS}")
    if options.seed and not is_whole(options.seed):
        raise WrongUsage(f"SEED={options.seed}: that is not a whole number")
    origin = options.origin or (None if options.dir else "solutions")
    target = resolve(find(options.chapter), origin, options.dir)
    return target, int(options.seconds), int(options.seed or seed.by_chance())


def drawn(chapter: int, number: int) -> Life:
    """The server of this number: backend and protocol in turn, the rest at random."""
    rng = random.Random(number)
    ways = [way for since, way in WAYS if since <= chapter]
    talks = TALKS_OF_REDIS if chapter >= 12 else TALKS
    talk = talks[number // len(ways) % len(talks)]
    options = [*ways[number % len(ways)], *talk.options]
    few = rng.random() < FEW_PART
    left_out = {"--max-conns": few, "--threads": talk is REDIS}
    for since, name, values in OPTIONS:
        if since <= chapter and rng.random() < 0.5 and not left_out.get(name):
            options += [name, *rng.choices(values, k=1 if values else 0)]
    clients = max(CLIENTS) if few else rng.choice(CLIENTS)
    return Life(number, options, talk, clients, FEW_DESCRIPTORS if few else None)


def live(life: Life, binary: Path, source: Path, tool: str, seconds: float) -> None:
    """Starts the server, lets clients talk to it for some seconds, and stops it."""
    with tempfile.TemporaryDirectory(prefix="event-loop-lab-soak-") as directory:
        logs = Path(directory)
        with ServerProcess() as process:
            try:
                process.start(
                    [str(binary), "-p", "0", *life.options],
                    wrapper=_wrapper(tool, logs),
                    nofile=life.nofile,
                    writable=[logs],
                    patience=PATIENCE,
                    environment=sanitizers.environment(),
                )
                told = _talk(life, process, tool, seconds)
            except Failure as failure:
                told = [str(failure)]
        life.found = "\n".join([*told, *_reported(process, logs, source)])


def _wrapper(tool: str, logs: Path) -> list[str]:
    """What comes before the command of the server."""
    if tool in SANITIZERS:
        return sanitizers.wrapper(tool)
    if tool == "memcheck":
        return valgrind.wrapper(logs)
    return ["valgrind", f"--tool={tool}", "--vgdb=no", f"--log-file={logs}/%p.log"]


def _talk(life: Life, process: ServerProcess, tool: str, seconds: float) -> list[str]:
    """Lets clients come, do something at random, and go; then stops the server, while some are
    connected. Returns what is wrong."""
    rng, clients = random.Random(life.number), []
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.status is None:
        if len(clients) < life.clients:
            calm = life.nofile is not None  # so that the others wait until they are turned away
            clients.append(RandomClient(process.address, life.talk, rng, calm))
            life.connections += 1
        client = rng.choice(clients)
        if not client.act():
            time.sleep(REST_SECONDS)
        if client.over:
            life.requests += client.requests
            clients.remove(client)
    life.requests += sum(client.requests for client in clients)
    wrong = _ended_badly(life, process, tool)
    for client in clients:
        client.close()
    return wrong


def _ended_badly(life: Life, process: ServerProcess, tool: str) -> list[str]:
    """What is wrong: the server has to answer once more, and then to stop."""
    if process.status is not None:
        return [f"it ended by itself: {process.describe()}"]
    wrong = [] if _answers(life, process) else [f"no answer within {PATIENCE.seconds:g} s"]
    status = process.stop_gently(PATIENCE.seconds / 2)
    if status is None and tool == "thread":
        # ThreadSanitizer calls a signal handler late: at the next call into the C library. liburing
        # waits without one, so a signal just before the wait is heard when the next event comes.
        status = process.stop_gently(PATIENCE.seconds / 2)
    if status is None:
        return [*wrong, f"it did not stop within {PATIENCE.seconds / 2:g} s of SIGTERM"]
    return wrong if status == ExitStatus(code=0) else [*wrong, process.describe()]


def _answers(life: Life, process: ServerProcess) -> bool:
    """Whether one more client is heard: it gets bytes, or is closed. Where few may connect, it
    waits for its turn, and that is right."""
    if "--max-conns" in life.options or life.nofile:
        return True
    try:
        with socket.create_connection(process.address, PATIENCE.seconds) as client:
            client.sendall(life.talk.right)
            client.recv(1)
    except TimeoutError:
        return False
    except OSError:  # closed, or the server has ended: its status tells
        pass
    return True


def _reported(process: ServerProcess, logs: Path, source: Path) -> list[str]:
    """What the tool has reported, whole."""
    names = {path.name for path in sources.files(source)}
    texts = [log.read_text(errors="replace") for log in sorted(logs.glob("*.log"))]
    reports = [text for text in texts if valgrind.read_log(text, names)]
    printed = process.stderr.text()
    own = sanitizers.without_reports(printed)
    return reports if own == printed else [*reports, printed[len(own) :]]
