"""How many system calls frames cost: in a loop that is told of readiness, and with io_uring."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from typing import NamedTuple

from harness.client import length_framing
from harness.feedback.failure import Failure, NotJudged
from harness.server import build
from harness.server.process import ServerProcess
from harness.student.demos.shown import PROBE, NotReady, what_to_do
from harness.submission import chapters

SERVERS = {"06": (), "10": ("--threads", "1"), "11": ("--threads", "1", "--io", "uring")}
MAY_BE_MISSING = "11"
FRAME = length_framing.encode(bytes(64))
WRITTEN_SECONDS = 0.1  # until strace has written its last line
REPLY_SECONDS = 2  # for a server that may not be finished

COLUMNS = (
    {"read", "readv", "recvfrom", "recvmsg"},
    {"write", "writev", "sendto", "sendmsg"},
    {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6"},
    {"io_uring_enter"},
)
CALL = re.compile(r"^\d+ +(\w+)\(", re.M)


class Load(NamedTuple):
    """`clients` clients, each of which sends `frames` frames at once in each round, and then reads
    the replies."""

    told: str
    clients: int
    frames: int
    rounds: int


LOADS = (
    Load("50 clients, each with 16 frames in flight", 50, 16, 5),
    Load("50 clients, each with one frame in flight", 50, 1, 10),
    Load("one client, with one frame in flight", 1, 1, 100),
)


def show() -> None:
    """System calls for frames, counted by strace, of the servers of 06, 10 and 11."""
    _require_strace()
    with _one_processor():
        _show()


def _show() -> None:
    tables: dict[Load, list[str]] = {load: [] for load in LOADS}
    missing = ""
    for number, arguments in SERVERS.items():
        try:
            source, calls = _measured(chapters.find(number), arguments)
        except NotReady:
            if number != MAY_BE_MISSING:
                raise
            missing = "\nNo rows of 11: it does not work yet. make grade CH=11 tells why."
            continue
        name = str(source.relative_to(chapters.ROOT))
        for rows, counts in zip(tables.values(), calls):
            rows.append(f"    {name:28}" + "".join(map(_cell, counts)))
    print("System calls for 100 frames of 64 bytes, counted by strace.\n")
    print(f"    {'':28}    read    send    wait    ring     all")
    for load, rows in tables.items():
        print("", load.told, *rows, sep="\n")
    if missing:
        print(missing)


@contextmanager
def _one_processor() -> Iterator[None]:
    """The server and its clients share one, so that it is busy while they send. With two, the
    counts depend on which of them is faster."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _require_strace() -> None:
    """Raises NotJudged if it cannot show the calls of a program here."""
    if not which("strace"):
        raise NotJudged("it needs strace: make setup")
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotJudged(f"strace shows no program here: {done.stderr.strip()}")


def _cell(calls: float) -> str:
    return f"{100 * calls:8.1f}" if calls else f"{'-':>8}"


def _measured(
    chapter: chapters.Chapter, arguments: Sequence[str]
) -> tuple[Path, list[list[float]]]:
    """The student's server if it serves all of the loads, else the solution's: its sources, and for
    each load what _calls() says. Raises NotReady."""
    for source in (chapter.chapter_dir, chapter.solution_dir):
        try:
            with _traced(source, arguments) as (server, trace):
                return source, [_calls(server, trace, load) for load in LOADS]
        except (build.BuildFailed, Failure, OSError):
            continue
    raise NotReady(what_to_do(chapter))


@contextmanager
def _traced(source: Path, arguments: Sequence[str]) -> Iterator[tuple[ServerProcess, Path]]:
    """The server made of these sources, and the file in which strace has a line for each call."""
    process = ServerProcess()
    with tempfile.TemporaryDirectory(prefix="lab-demo-") as directory:
        trace = Path(directory, "trace")
        command = [str(build.cached_server(source).binary), "-p", "0", *arguments]
        wrapper = ("strace", "-f", "-o", str(trace))
        try:
            process.start(command, wrapper=wrapper, writable=[Path(directory)], patience=PROBE)
            yield process, trace
        finally:
            process.destroy()


def _calls(server: ServerProcess, trace: Path, load: Load) -> list[float]:
    """Calls for each frame: those of each of COLUMNS, and all of the server. Raises OSError."""
    frames = FRAME * load.frames
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(server.address, REPLY_SECONDS))
            for _ in range(load.clients)
        ]
        _go_round(clients, frames)  # now all are accepted
        time.sleep(WRITTEN_SECONDS)
        before = trace.stat().st_size
        for _ in range(load.rounds):
            _go_round(clients, frames)
        time.sleep(WRITTEN_SECONDS)
        with trace.open() as lines:
            lines.seek(before)
            calls = Counter(CALL.findall(lines.read()))
    counts = [sum(calls[name] for name in column) for column in COLUMNS] + [calls.total()]
    return [count / (load.clients * load.frames * load.rounds) for count in counts]


def _go_round(clients: Sequence[socket.socket], frames: bytes) -> None:
    for client in clients:
        client.sendall(frames)
    for client in clients:
        received = b""
        while len(received) < len(frames):
            piece = client.recv(len(frames))
            if not piece:
                raise ConnectionError("closed before the reply")
            received += piece
        if received != frames:
            raise ConnectionError("another reply")
