"""The rows of the table, and the servers that are measured, which are built here."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.feedback.failure import LabFault
from harness.server import build
from harness.submission import chapters
from harness.submission.command_line import BUILD
from harness.submission.files import appearing
from harness.submission.sizes import MIB
from harness.submission.target import Target, WrongUsage

HERE = Path(__file__).parent
BUILT = BUILD / "bench"
FLAGS = "-std=gnu11 -O2 -g -Wall -Wextra".split()
ONE_LOOP = ("--threads", "1")  # from 09 on: a server has one core here, and so have the peers
YOURS, SOLUTION, PEER, LIMIT = "yours", "solution", "peer", "limit"

# Name in the table, source, what it is linked with, a header by which one sees that this is here.
PEERS = (
    ("libuv", "echo_uv.c", ["-luv"], "uv.h"),
    ("libevent", "echo_event.c", ["-levent_core"], "event2/event.h"),
    ("libev", "echo_ev.c", ["-lev"], "ev.h"),
)


@dataclass(frozen=True)
class Load:
    """What the load generator does: `connections` clients, each with `depth` frames of `size` bytes
    in flight, beside `idle` ones, each of which has sent `spoke` frames before, 0 or 1.
    """

    connections: int = 1
    depth: int = 1
    size: int = 64
    idle: int = 0
    spoke: int = 0

    @property
    def words(self) -> list[int]:
        """For the command line of the load generator."""
        return [self.connections, self.depth, self.size, self.idle, self.spoke]

    @property
    def one_client(self) -> bool:
        """Returns true if a server that serves one client after the other can answer."""
        return self.connections + self.idle == 1


@dataclass(frozen=True)
class Row:
    """A load and the figure that is taken from it.

    `figure`: REQUESTS, a second, where more is better; or BYTES resident for an idle connection.
    """

    key: str
    text: str
    load: Load
    figure: str = "requests"


REQUESTS, BYTES = "requests", "bytes"

ROWS = (
    Row("a", "1 connection, 1 frame in flight, 64 bytes", Load(1, 1, 64)),
    Row("b", "50 connections, 1 in flight, 64 bytes", Load(50, 1, 64)),
    Row("c", "50 connections, 16 in flight, 64 bytes", Load(50, 16, 64)),
    Row("d", "1 connection, 1,000 in flight, 16 bytes", Load(1, 1000, 16)),
    Row("e", "1,000 connections, 1 in flight, 64 bytes", Load(1000, 1, 64)),
    Row("f", "50 connections beside 5,000 idle ones, 64 bytes", Load(50, 1, 64, idle=5000)),
    Row("g", "4 connections, 4 in flight, 1 MiB", Load(4, 4, MIB)),
    Row("h", "1 connection, 1 in flight, 32 MiB", Load(1, 1, 32 * MIB)),
    Row("i", "bytes resident for a connection that never spoke", Load(idle=5000), BYTES),
    Row("j", "the same after one frame", Load(idle=5000, spoke=1), BYTES),
)


def chosen_rows(text: str, known: Sequence[Row]) -> list[Row]:
    """Those of the rows that the user names, all with "". Raises WrongUsage."""
    keys = [row.key for row in known]
    between = ", " if max(map(len, keys)) > 1 else ""  # else abc names three of them
    words = text.lower().replace(",", " ").split()
    wanted = words if between else list("".join(words))
    for key in wanted:
        if key not in keys:
            names = between.join(keys)
            raise WrongUsage(f"ROWS={text}: there is no row {key!r}; they are {names}")
    return [row for row in known if not wanted or row.key in wanted]


@dataclass(frozen=True)
class Subject:
    """A server. `kind`: YOURS, SOLUTION, PEER or LIMIT. In `command`, {port} is where it listens.

    `one_client`: it serves one client after the other, so rows with several make no sense.
    """

    name: str
    kind: str
    command: tuple[str, ...]
    one_client: bool = False


def solution(chapter: chapters.Chapter, options: Sequence[str] = ()) -> Subject:
    """A chapter's solution, started with these options. Raises BuildFailed, NoCompiler."""
    return _of_sources(chapter.number, SOLUTION, chapter, chapter.solution_dir, options)


def yours(target: Target, options: Sequence[str] = ()) -> Subject:
    """The server that CH, DIR or SERVER name; a command of SERVER has its own options. Raises
    BuildFailed, NoCompiler, WrongUsage."""
    if target.port:
        raise WrongUsage("PORT: give the benchmark a server that is told its port, with {port}")
    if target.command:
        return Subject("yours", YOURS, target.command)
    return _of_sources("yours", YOURS, target.chapter, target.source, options)


def _of_sources(
    name: str, kind: str, chapter: chapters.Chapter, source: Path, options: Sequence[str]
) -> Subject:
    binary = build.cached_server(source, extra_flags=build.FASTEST).binary
    return of_binary(name, kind, chapter, binary, options)


def of_binary(
    name: str, kind: str, chapter: chapters.Chapter, binary: Path, options: Sequence[str] = ()
) -> Subject:
    """A server of the chapter that was built before."""
    loops = ONE_LOOP if chapter.number >= "09" else ()
    command = (str(binary), "-p", "{port}", *loops, *options)
    return Subject(name, kind, command, one_client=serves_one(chapter))


def serves_one(chapter: chapters.Chapter) -> bool:
    """Whether servers of the chapter serve one client after the other."""
    return chapter.number == "01"


def peers() -> tuple[list[Subject], list[str]]:
    """The servers on libraries that are installed, and the names of those that are not."""
    here, missing = [], []
    for name, source, libraries, header in PEERS:
        if not _has(header):
            missing.append(name)
            continue
        binary = _compiled(Path(source).stem, HERE / "peers" / source, libraries)
        here.append(Subject(name, PEER, (str(binary), "-p", "{port}")))
    return here, missing


def limit() -> Subject:
    """An epoll loop that sends back what it reads, and never looks at it."""
    binary = _compiled("limit", HERE / "peers" / "limit.c")
    return Subject("limit", LIMIT, (str(binary), "-p", "{port}"))


def load_generator() -> Path:
    """The program that asks them."""
    return _compiled("load", HERE / "load.c")


def _has(header: str) -> bool:
    command = [*build.find_compiler(), "-E", "-include", header, "-x", "c", "/dev/null"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _compiled(name: str, source: Path, libraries: Sequence[str] = ()) -> Path:
    """The program, built if it is missing or older than what lies beside its source.

    Raises NotJudged.
    """
    binary = BUILT / name
    newest = max(path.stat().st_mtime for path in source.parent.glob("*.[ch]"))
    if binary.exists() and binary.stat().st_mtime > newest:
        return binary
    with appearing(binary) as product:
        command = [*build.find_compiler(), *FLAGS, "-o", str(product), str(source), *libraries]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise LabFault(name, result.stderr)
    return binary
