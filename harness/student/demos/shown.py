"""The servers that a demo shows: the student's own where it works, else the solution's. And what
several demos need."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.client.client import Client
from harness.feedback.conversation import Conversation
from harness.feedback.failure import Failure, LabFault, NotJudged
from harness.server import build
from harness.server.preload import shim_library
from harness.server.process import ServerProcess
from harness.submission import chapters, files
from harness.submission.chapters import Chapter
from harness.submission.command_line import BUILD
from harness.waiting.wait import PATIENCE, Patience

PROBE = Patience(1.0)  # for a server that may not be finished


class NotReady(Exception):
    """The server that is to be shown does not work yet. The message says what to do."""


class Shown:
    """A server that is shown, and its clients."""

    patience = PATIENCE

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self.address = process.address
        self.conversation = Conversation()  # of those that are not told one by one
        self._clients: list[Client] = []

    def connect(self, name: str, patience: Patience = PATIENCE) -> Client:
        client = Client(self.process.address, Conversation(), name, patience=patience)
        self._clients.append(client)
        return client

    def calls(self) -> int | None:
        """How many reads, writes and waits it has made so far; None when nobody counts."""
        calls = self.process.calls()
        return calls and calls.inputs + calls.outputs + calls.waits

    def works(self, together: int) -> bool:
        """Whether two rounds of `together` clients at once are served, each a frame."""
        try:
            for _ in range(2):
                clients = [self.connect("probe", PROBE) for _ in range(together)]
                for client in clients:
                    client.send_frame(b"are you there?")
                    client.expect_frame(b"are you there?")
                self.leave()
        except Failure:
            return False
        return True

    def leave(self) -> None:
        """All clients close their connections."""
        for client in self._clients:
            client.abandon()
        self._clients.clear()

    def end(self) -> None:
        self.leave()
        self.process.destroy()


@contextmanager
def server_of(
    number: str, together: int, nofile: int = 4096, arguments: Sequence[str] = ()
) -> Iterator[Shown]:
    """The student's server of that chapter if it `works`, else the solution's. Raises NotReady.

    `together`: how many clients at once it has to serve; 1, or more than its stubs can.
    `nofile`: descriptors that it may open. `arguments`: with which it is started to be shown.
    """
    chapter = chapters.find(number)
    shown = _working(chapter.chapter_dir, together, nofile, arguments)
    if shown:
        print(f"Server: chapters/{chapter.slug}\n", flush=True)
    else:
        shown = _working(chapter.solution_dir, together, nofile, arguments)
        if not shown:
            raise NotReady(what_to_do(chapter))
        print(f"Server: solutions/{chapter.slug}, since chapters/{chapter.slug} is not done\n")
    try:
        yield shown
    finally:
        shown.end()


def _working(source: Path, together: int, nofile: int, arguments: Sequence[str]) -> Shown | None:
    """The server made of these sources, None when they do not become one that works."""
    shown = _start(source, nofile)
    if shown and not shown.works(together):
        shown.end()
        return None
    if shown and arguments:  # what has tried it speaks plain frames
        shown.end()
        shown = _start(source, nofile, arguments)
    return shown


def _start(source: Path, nofile: int, arguments: Sequence[str] = ()) -> Shown | None:
    """The server made of these sources, None when they do not become one that listens."""
    process = ServerProcess()
    try:
        binary = build.cached_server(source).binary
        command = [str(binary), "-p", "0", *arguments]
        process.start(command, nofile=nofile, preload=_counting(), patience=PROBE)
    except (build.BuildFailed, Failure):
        return None
    return Shown(process)


def _counting() -> list[Path]:
    """The library that counts system calls, nothing when it cannot be made here."""
    try:
        return [shim_library()]
    except NotJudged:
        return []


def what_to_do(chapter: Chapter) -> str:
    return (
        f"this shows the server of chapter {chapter.number}, which does not work yet:\n"
        f"      make grade CH={chapter.number}"
    )


# What several demos need

WATCHED_SECONDS = 0.7  # to watch what a server costs


class Stopwatch:
    """Tells what happens, and when."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def tell(self, text: str) -> None:
        print(f"  {self.seconds():4.1f} s  {text}", flush=True)


def built(name: str, *more: Path, within: Path | None = None) -> str:
    """The program made of NAME.c of this directory, and of `more`, which include headers as from
    the directory `within`. Raises NotJudged."""
    source, program = Path(__file__).with_name(f"{name}.c"), BUILD / "demos" / name
    with files.appearing(program) as made:
        command = [*build.find_compiler(), "-O2", "-pthread", "-o", made, source, *more]
        command += ["-iquote", within] if within else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise LabFault(source.name, done.stderr)
    return str(program)


def round_trip(client: Client) -> None:
    client.send_frame(b"ping")
    client.expect_frame(b"ping")
