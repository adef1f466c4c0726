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
from harness.submission.command_line import BUILD
from harness.waiting.wait import PATIENCE, Patience

PROBE = Patience(1.0)  # for a server that may not be finished
WATCHED_SECONDS = 0.7  # to watch what a server costs


class NotReady(Exception):
    """The server that is to be shown does not work yet. The message says what to do."""


class Shown:
    """A server that runs, and its clients. `how`: fields of spawn.Command. `source`: the directory
    it was made of."""

    patience = PATIENCE

    def __init__(self, *command: str, patience: Patience = PATIENCE, **how) -> None:
        self.source = ""
        self.process = ServerProcess().start(command, patience=patience, **how)
        self.address = self.process.address
        self.conversation = Conversation()  # of those that are not told one by one
        self._clients: list[Client] = []

    def connect(self, name: str, patience: Patience = PATIENCE) -> Client:
        client = Client(self.address, Conversation(), name, patience=patience)
        self._clients.append(client)
        return client

    def calls(self) -> int | None:
        """How many reads, writes and waits it has made so far; None when nobody counts."""
        calls = self.process.calls()
        return calls and calls.inputs + calls.outputs + calls.waits

    def leave(self) -> None:
        """All clients close their connections."""
        for client in self._clients:
            client.abandon()
        self._clients.clear()

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
        self.process.destroy()


@contextmanager
def server_of(
    number: str, together: int, arguments: Sequence[str] = (), told: bool = True, **how
) -> Iterator[Shown]:
    """The student's server of that chapter if it works, else the solution's. Raises NotReady.

    `together`: how many clients at once it has to serve; 1, or more than its stubs can.
    `arguments`: with which it is started to be shown. `told`: which one it is, is printed. `how`:
    fields of spawn.Command.
    """
    chapter = chapters.find(number)
    own, solution = chapter.chapter_dir, chapter.solution_dir
    plain = () if "--app" in arguments else arguments  # with another app it echoes no frames
    source = next((one for one in (own, solution) if _works(one, together, plain)), None)
    if not source:
        raise NotReady(
            f"this shows the server of chapter {number}, which does not work yet:\n"
            f"      make grade CH={number}"
        )
    name = str(source.relative_to(chapters.ROOT))
    if told:
        why = "" if source == own else f", since chapters/{chapter.slug} is not done"
        print(f"Server: {name}{why}\n", flush=True)
    how = {"nofile": 4096, "preload": _counting(), **how}
    binary = build.cached_server(source).binary
    with Shown(str(binary), "-p", "0", *arguments, **how) as server:
        server.source = name
        yield server


def _works(source: Path, together: int, arguments: Sequence[str]) -> bool:
    """Returns true if two rounds of `together` clients at once are served, each a frame."""
    try:
        binary = build.cached_server(source).binary
        with Shown(str(binary), "-p", "0", *arguments, patience=PROBE) as server:
            for _ in range(2):
                clients = [server.connect("probe", PROBE) for _ in range(together)]
                for client in clients:
                    round_trip(client)
                server.leave()
    except (build.BuildFailed, Failure):
        return False
    return True


def _counting() -> list[Path]:
    """The library that counts system calls, nothing when it cannot be made here."""
    try:
        return [shim_library()]
    except NotJudged:
        return []


# What several demos need


class Stopwatch:
    """Tells what happens, and when."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def tell(self, text: str) -> None:
        print(f"  {self.seconds():4.1f} s  {text}", flush=True)


def built(name: str, *more: object) -> str:
    """The program made of NAME.c of this directory, with these arguments of the compiler. Raises
    NotJudged."""
    source, program = Path(__file__).with_name(f"{name}.c"), BUILD / "demos" / name
    with files.appearing(program) as made:
        command = [*build.find_compiler(), "-O2", "-pthread", "-o", made, source, *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise LabFault(source.name, done.stderr)
    return str(program)


def printed_by(*command: str) -> list[list[str]]:
    """The lines that a program prints, as columns."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotJudged(f"{command[0]} ended with status {done.returncode}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def round_trip(client: Client) -> None:
    client.send_frame(b"ping")
    client.expect_frame(b"ping")


def reply_ms(client: Client, request: bytes = b"ping", reply: bytes = b"ping") -> float:
    """How long a client that has waited a moment waits for the reply."""
    time.sleep(0.005)
    start = time.monotonic()
    client.send_frame(request)
    client.expect_frame(reply)
    return 1000 * (time.monotonic() - start)
