"""What is measured: servers that are built here, each with the command that starts it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.failures.failure import LabFault
from harness.lab import chapters, sources
from harness.lab.command_line import BUILD
from harness.lab.files import appearing
from harness.lab.target import Target, WrongUsage
from harness.server import build

HERE = Path(__file__).parent
BUILT = BUILD / "bench"
FLAGS = "-std=gnu11 -O2 -g -Wall -Wextra".split()
ONE_LOOP = ("--threads", "1")  # from 09 on: a server has one core here, and so have the peers
YOURS, SOLUTION, PEER, LIMIT, SPIN = "yours", "solution", "peer", "limit", "spin"

# Name in the table, source, what it is linked with, a header by which one sees that this is here.
PEERS = (
    ("libuv", "echo_uv.c", ["-luv"], "uv.h"),
    ("libevent", "echo_event.c", ["-levent_core"], "event2/event.h"),
    ("libev", "echo_ev.c", ["-lev"], "ev.h"),
)


@dataclass(frozen=True)
class Subject:
    """A server. `kind`: YOURS, SOLUTION, PEER, LIMIT or SPIN, which only makes sense on a core of
    its own. In `command`, {port} is where it listens.

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
        binary = _compiled(Path(source).stem, [HERE / "peers" / source], libraries)
        here.append(Subject(name, PEER, (str(binary), "-p", "{port}")))
    return here, missing


def limit() -> Subject:
    """An epoll loop that sends back what it reads, and never looks at it."""
    binary = _compiled("limit", [HERE / "peers" / "limit.c"], [])
    return Subject("limit", LIMIT, (str(binary), "-p", "{port}"))


def spin() -> Subject:
    """The epoll loop of limit(), but it never sleeps; nor does the load generator that asks it."""
    binary = _compiled("spin", [HERE / "peers" / "limit.c"], ["-DWAIT_MS=0"])
    return Subject("spin", SPIN, (str(binary), "-p", "{port}"))


def load_generator() -> Path:
    """The program that asks them."""
    return _compiled("load", sources.c_files(HERE / "load"), ["-lm"])


def _has(header: str) -> bool:
    command = [*build.find_compiler(), "-E", "-include", header, "-x", "c", "/dev/null"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _compiled(name: str, made_of: list[Path], libraries: list[str]) -> Path:
    """The program, built if it is missing or older than a source.

    Raises NotJudged.
    """
    binary = BUILT / name
    files = [path for source in made_of for path in sources.files(source.parent)]
    if binary.exists() and binary.stat().st_mtime > max(path.stat().st_mtime for path in files):
        return binary
    with appearing(binary) as product:
        command = [*build.find_compiler(), *FLAGS, "-o", str(product), *map(str, made_of)]
        result = subprocess.run([*command, *libraries], capture_output=True, text=True)
        if result.returncode:
            raise LabFault(name, result.stderr)
    return binary
