"""What a claim works with: servers to talk to, and random numbers that can be repeated."""

from __future__ import annotations

import json
import os
import shutil
import signal
import string
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count, product
from pathlib import Path
from typing import Any

from harness.claims.context import crash, gdb, recorder, sanitizers, valgrind
from harness.client.client import Client
from harness.client.framing import LENGTH, Framing
from harness.client.stream import Stream, connected_to
from harness.feedback.conversation import Conversation
from harness.feedback.failure import Failure, NotJudged
from harness.server import build
from harness.server.linux import prctl
from harness.server.preload import Shim, alloc_library
from harness.server.process import ServerProcess
from harness.submission.sizes import KIB
from harness.waiting import idle, procfs
from harness.waiting.clock import Clock, Start
from harness.waiting.sockets import all_arrived
from harness.waiting.wait import SECONDS, SEEN_SECONDS, Patience, wait_until

SLOWED = 3.0  # times the patience, under valgrind
SLOWED_SECONDS = 5.0  # at least: valgrind takes a second to start
TIME_WAIT_SECONDS = 75.0  # a minute, see TCP_TIMEWAIT_LEN in net/tcp.h; and some more
HEARD_SECONDS = 0.5  # until we have read what a server has printed; one may never stop printing
TIME_WAIT_LOOK_SECONDS = 0.5  # between two checks of all connections of this machine
MOST_CALLS = 1_000  # of a server that comes to rest each time before a client acts
MOST_CLIENTS = 32  # of such a server: to ask the kernel about more takes too long
AT_ONCE = 16 * KIB  # of what is sent at once, a server may read a part before the rest comes


@dataclass(frozen=True)
class Run:
    """How the server under test is started: decided once by grade.py, the same for every claim.

    `argv` may contain {port}. `mode` and `port` are those of ServerProcess.start. `valgrind`: every
    server runs under it, not only those of claims about memory. `sources` are the student's files,
    by their names without a layer, as debuggers print them; they are in `directory`, and the lab's
    own in the directories `untouched`. `by_calls`: options for a claim that sees calls, see
    submission.chapters.Chapter. `chapter`: the number of the one that is graded. `trace`: the file
    for the record of the test. `debugger`: the file that tells a debugger which
    server to attach to, before the test begins.
    """

    argv: list[str]
    mode: str = "stdout"
    port: int | None = None
    preload: str | None = None
    seed: int = 1
    valgrind: bool = False
    sources: list[str] = field(default_factory=list)
    directory: str | None = None
    untouched: list[str] = field(default_factory=list)
    by_calls: list[str] = field(default_factory=list)
    chapter: str = ""
    trace: str | None = None
    debugger: str | None = None

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: str) -> Run:
        return cls(**json.loads(Path(path).read_text()))


@dataclass(frozen=True)
class Options:
    """How one server is started for a claim.

    `argv_extra`: options after those of the run. `port`: where it has to listen, if that can be
    set. `restarted`: another one has just listened there. `nofile`: it needs this many descriptors.
    `shim`: its calls can be counted and disturbed. `allocations`: they can be made to fail.
    `environment`: variables that it gets. `framing`: of the server and its clients. `sanitize`:
    "thread", or other sanitizers of the compiler; then without the shim. `ring`: the kernel has
    io_uring for it. `defines`: macros with which it is built again, "NAME=1". `clock`:
    it gets a clock that the claim moves, which begins as the machine's or as Start says. `steps`:
    its work is counted, see harness/server/steps, if it can be built for that.
    """

    argv_extra: tuple[str, ...] = ()
    port: int | None = None
    restarted: bool = False
    nofile: int | None = None
    shim: bool = True
    allocations: bool = False
    environment: dict[str, str] | None = None
    framing: Framing = LENGTH
    sanitize: str = ""
    ring: bool = True
    defines: tuple[str, ...] = ()
    clock: bool | Start = False
    steps: bool = False


class Server:
    """A running server under test. `process` measures it and sends it signals."""

    def __init__(
        self, stage: Stage, process: ServerProcess, logs: Path | None, framing: Framing
    ) -> None:
        self._stage = stage
        self.process = process
        self.logs = logs
        self.framing = framing
        self.patience, self.conversation = stage.patience, stage.conversation
        self.clients: list[Client] = []
        self._comes_to_rest = True

    @property
    def shim(self) -> Shim | None:
        """The library that disturbs its calls; None if it is not in the server."""
        return self.process.shim

    @property
    def address(self) -> tuple[str, int]:
        return self.process.address

    @property
    def clock(self) -> Clock:
        """The clock of the server: the machine's, if it was not launched with one."""
        return self.process.clock or Clock(None, self.process.pid)

    @property
    def own(self) -> bool:
        """Whether it was built here, and nothing slows it down."""
        return bool(self._stage.run.sources) and not self._stage.valgrind

    def connect(
        self,
        name: str | None = None,
        rcvbuf: int | None = None,
        segment: int | None = None,
        patience: Patience | None = None,
    ) -> Client:
        """A new client. Without a name it gets the next letter: A, B, ... Z, AA, AB, ...

        `rcvbuf`, `segment` and `patience` are those of Client.
        """
        client = Client(
            self.address,
            self.conversation,
            name or next(self._stage.names),
            rcvbuf=rcvbuf,
            segment=segment,
            patience=patience or self.patience,
            framing=self.framing,
            prepare=self.rest,
        )
        self.clients.append(client)
        return client

    def rest(self, size: int) -> None:
        """Lets a server whose clock is ours come to rest before a client sends `size` bytes,
        connects or closes. So each run of a claim with this seed gives the server the same input at
        the same place. It does not wait for a server that has not come to rest before, nor after a
        client has sent more than arrives together."""
        shim, clock = self.process.shim, self.process.clock
        calm = self._comes_to_rest and size <= AT_ONCE and shim is not None and clock is not None
        calm = calm and len(self.clients) <= MOST_CLIENTS
        try:
            self._comes_to_rest = calm and shim.shared.recorded <= MOST_CALLS and clock.calm()
        except NotJudged:  # the server has spoilt the record
            self._comes_to_rest = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops the server for the time of the block: what is done there comes to it at once."""
        self.rest(0)
        self.process.pause()
        try:
            yield
        finally:
            self.process.resume()

    def describe(self) -> str:
        return self.process.describe()

    def last_lines(self) -> str:
        """The end of what it has printed on stderr."""
        return self.process.stderr.end()


class Stage:
    """What belongs to one test: its conversation, its servers, and how they ended.

    `valgrind`: the claim is about memory, and its servers run under valgrind in each run.
    `sees_calls`: the test counts or disturbs calls that move bytes. `own_clock`: why these servers
    keep the clock of the machine, see OwnClock; "" if they may get one that the test moves.
    """

    def __init__(
        self, run: Run, valgrind: bool = False, sees_calls: bool = False, own_clock: str = ""
    ) -> None:
        self.run = run
        self.sees_calls = sees_calls
        self._own_clock = own_clock
        self.valgrind, self.about_memory = run.valgrind or valgrind, valgrind
        self.conversation = Conversation()
        self.patience = gdb.PATIENCE if run.debugger else self._patience()
        self.names = _letters()
        self.servers: list[Server] = []
        self.sanitized = False  # one of them is watched by a sanitizer
        self.body_passed = False
        self._in_line = procfs.seconds_in_line(os.getpid())
        self._ran_out = Patience.ran_out
        self._ending: tuple[str, str] | None = None
        self._surprised = False  # when it was cleared
        self._recorders: list[recorder.Recorder] = []
        if run.trace:
            self.conversation.moves = []  # from now on, what the clients' sockets do is recorded

    def launch(self, argv_extra: tuple[str, ...] = (), **options: Any) -> Server:
        """Starts a server and waits until it listens. `argv_extra`, `options`: see Options."""
        wanted = Options(argv_extra, **options)
        if self.run.port is not None and not wanted.restarted:
            self._free_the_port()
        self.sanitized |= bool(wanted.sanitize)
        with uncounted():
            counted = self._counted() if wanted.steps else None
        argv = self._argv(wanted, counted)
        logs = self.new_logs() if self.valgrind else None
        server = Server(self, ServerProcess(), logs, wanted.framing)
        server.process.tell = self.conversation.signalled
        self.servers.append(server)
        try:
            self._start(server, argv, wanted, bool(counted))
        except Failure:
            problem = self._unusable(server, wanted)
            if problem:
                raise NotJudged(problem) from None
            raise
        if self.run.trace:
            self._recorders.append(recorder.Recorder(server.process))
        if self.run.debugger and len(self.servers) == 1:
            gdb.hold(server.process.pid, Path(self.run.debugger))
        return server

    def _argv(self, wanted: Options, counted: str | None) -> list[str]:
        """The server's command line. `counted`: the program that is built to be counted."""
        program, *more = self.run.argv
        program = counted or program
        if wanted.sanitize or wanted.defines:
            with uncounted():
                program = self._built(wanted)
        port = [] if wanted.port is None or self.run.mode == "port" else ["-p", str(wanted.port)]
        calls = self.run.by_calls if self.sees_calls else []
        framing = wanted.framing.options if self.run.sources else ()  # another server has its own
        return [program, *more, *calls, *framing, *port, *wanted.argv_extra]

    def _start(self, server: Server, argv: list[str], wanted: Options, steps: bool) -> None:
        """Starts it; twice, if only connections of another claim were in its way."""
        try:
            self._start_once(server, argv, wanted, steps)
        except Failure as failure:
            if wanted.restarted and failure.hint == "died-at-start":
                text = f"started again on port {wanted.port} at once, {failure.message}"
                raise Failure(text, hint="port-still-in-use") from None
            if failure.hint != "died-at-start" or not self._make_port_free():
                raise
            self._start_once(server, argv, wanted, steps)

    def _make_port_free(self) -> bool:
        """Frees a fixed port on which connections of earlier servers are left. Returns whether it
        did. Another claim tests that a server can bind such a port.
        """
        port = self.run.port
        if port is None or port not in procfs.connected_ports():
            return False
        if prctl.enter_new_network():
            return True
        text = (
            f"waits until port {port} is free: connections of the earlier server are in TIME_WAIT"
        )
        self.conversation.note("the grader", text)

        def free() -> bool:
            return port not in procfs.connected_ports()

        return wait_until(free, TIME_WAIT_SECONDS, TIME_WAIT_LOOK_SECONDS)

    def _start_once(self, server: Server, argv: list[str], wanted: Options, steps: bool) -> None:
        environment = dict(wanted.environment or {})
        if wanted.sanitize:
            environment.update(sanitizers.environment())
        if self.run.debugger:
            environment.update(gdb.ENVIRONMENT)
        server.process.start(
            argv,
            mode=self.run.mode,
            port=self.run.port or wanted.port,
            nofile=wanted.nofile,
            preload=self._libraries(wanted),
            linked_here=bool(self.run.sources),
            wrapper=self._wrapper(server, wanted),
            writable=[server.logs] if server.logs else [],
            environment=environment,
            patience=self.patience,
            traced=bool(self.run.trace),
            ring=wanted.ring,
            clock=self._clock(wanted),
            steps=steps,
        )
        if server.process.clock is not None:
            server.process.clock.arrived = lambda: _nothing_is_on_its_way(server)
            server.process.clock.tell = self.conversation.signalled
            server.process.clock.moved = self.conversation.clock_moved
        elif wanted.clock:
            self.patience.be_longer()
            if self._own_clock:
                text = f"leaves the server the clock of the machine: {self._own_clock}"
                self.conversation.note("the grader", text)

    def _clock(self, wanted: Options) -> Start | None:
        """How the clock of a server begins that gets one; not while a debugger looks at it."""
        if not wanted.clock or self.run.debugger or self._own_clock:
            return None
        return wanted.clock if isinstance(wanted.clock, Start) else Start()

    def _wrapper(self, server: Server, wanted: Options) -> list[str]:
        """The command in front of the server's: valgrind's, or one that a sanitizer needs."""
        if server.logs:
            return valgrind.wrapper(server.logs)
        return sanitizers.wrapper(wanted.sanitize)

    def _unusable(self, server: Server, wanted: Options) -> str:
        """Why the machine, and not the server, is the reason that it has not started; "" if it is
        not."""
        if wanted.sanitize:
            return sanitizers.unusable(server.process.stderr.text())
        if server.logs:
            return valgrind.gave_up(server.logs) or valgrind.unusable(self.run.argv[0])
        return ""

    def _built(self, wanted: Options) -> str:
        """The server, built from the student's files for these sanitizers or with these macros."""
        flags = sanitizers.flags(wanted.sanitize) or tuple(f"-D{one}" for one in wanted.defines)
        try:
            return str(build.cached_server(Path(self.run.directory), extra_flags=flags).binary)
        except build.BuildFailed as error:
            text = f"the server does not build with {' '.join(flags)}: {error}"
            if wanted.sanitize:
                text = f"the compiler does not build with -fsanitize={wanted.sanitize}"
            raise NotJudged(text.splitlines()[0]) from None

    def _counted(self) -> str | None:
        """The server, built from the student's files so that its work is counted. None: there are
        no files, or it runs under valgrind, or cannot be built like that."""
        if not self.run.sources or not self.run.directory or self.valgrind:
            return None
        try:
            return str(build.counted_server(Path(self.run.directory)))
        except (build.BuildFailed, NotJudged):
            text = "cannot build the server so that its work is counted, so its CPU time counts"
            self.conversation.note("the grader", text)
            return None

    def new_logs(self) -> Path:
        """An empty directory for valgrind's logs of one server."""
        if valgrind.missing():
            raise NotJudged(valgrind.MISSING)
        return Path(tempfile.mkdtemp(prefix="event-loop-lab-valgrind-"))

    def _libraries(self, wanted: Options) -> list[Path]:
        """The libraries loaded into the server: the shim, unless a sanitizer takes its place."""
        if not self.run.preload or not wanted.shim or wanted.sanitize:
            return []
        failing = wanted.allocations and not valgrind.sanitized(self.run.argv[0])
        return [Path(self.run.preload), *([alloc_library()] if failing else [])]

    def _processes(self) -> list[ServerProcess]:
        return [server.process for server in self.servers]

    def seconds_held_up(self) -> float:
        """Seconds in this test for which the grader could run, and other programs had the
        processors. Those of the servers do not count: threads that spin wait for each other."""
        return procfs.longest_in_line(self._in_line, procfs.seconds_in_line(os.getpid()))

    def has_waited_in_vain(self) -> bool:
        """Whether a wait of this test has run out."""
        return Patience.ran_out > self._ran_out

    def _clients(self) -> list[Client | Stream]:
        """The ends of all connections: those that are open, and those of clients that have left."""
        left = [one for server in self.servers for one in server.clients if one.closed]
        return left + [
            one for server in self.servers for one in connected_to(server.process.address)
        ]

    def _patience(self) -> Patience:
        """How long a claim waits. The grader knows what a server that is built here can do in a
        wait: nothing while it sleeps, and little else. Another one may work in processes that the
        grader does not see."""
        own = bool(self.run.sources)
        quiet = idle.Quiescence(self._processes, self._clients, sees_all=own)
        slowed = {"times": SLOWED, "least": SLOWED_SECONDS} if self.valgrind else {}
        seconds = SEEN_SECONDS if own else SECONDS
        return Patience(
            seconds,
            self._processes,
            asleep=quiet,
            owes=quiet.owes,
            time_left=quiet.time_left,
            spins_end=own,
            **slowed,
        )

    def _free_the_port(self) -> None:
        """Checks and ends the servers so far: with a fixed port only one can listen at a time."""
        self.check_servers()
        for server in self.servers:
            _leave(server)

    @property
    def concerned(self) -> Server | None:
        """The server that a failure is about: one that has ended by itself; or else that of the
        client whose step has failed; or else the last one."""
        failed = {step.who for step in self.conversation.steps if step.failed}
        servers = [one for one in self.servers if isinstance(one, Server)]  # and no program
        ended = [one for one in servers if one.process.ended_by_itself()]
        own = [one for one in self.servers if failed & {client.name for client in one.clients}]
        return next(iter([*ended, *reversed(own), *reversed(self.servers)]), None)

    def ending(self) -> tuple[str, str]:
        """The state of the server concerned, and the end of its stderr: from before it was
        destroyed."""
        if self._ending is None and self.servers:
            process = self.concerned.process
            wait_until(lambda: not process.has_unheard_output(), HEARD_SECONDS)
            return self.concerned.describe(), self.concerned.last_lines()
        return self._ending or ("", "")

    def crashed(self) -> str:
        """Where in its source the server concerned has crashed; "" if it has not, or if that is
        unknown."""
        found = self.concerned.process.crash() if self.servers else None
        return crash.place(found, self.run.sources) if found else ""

    def means(self, hint: str | None) -> str | None:
        """What a general hint means with the framing of the server concerned."""
        server = self.concerned
        return server.framing.hints.get(hint, hint) if isinstance(server, Server) else hint

    def pid(self) -> int | None:
        """The process id of the server concerned, if it has not ended."""
        server = self.concerned if self._ending is None else None
        return server.process.pid if server is not None and server.process.alive() else None

    def surprised(self) -> bool:
        """Whether the server concerned has ended by itself: from before it was destroyed."""
        if self._ending is not None or not self.servers:
            return self._surprised
        return self.concerned.process.ended_by_itself()

    def check_servers(self) -> None:
        """After a body that passed: checks that the servers that it did not end still run, and are
        clean."""
        if self.servers:
            self.conversation.note("the grader", "checks whether the server still runs")
        for server in self.servers:
            server.process.look_at_limits()
            server.process.settle()
            if server.process.ended_by_itself():
                text = f"after the last step the server was gone: {server.describe()}"
                raise self.explained(Failure(text, hint="ended-early"))
        if self.valgrind:
            for server in self.servers:
                misread = self._misread(server)
                if misread:
                    raise NotJudged(misread)
                valgrind.check(server.process, server.logs, self.run.sources, self.patience)

    def explained(self, error: Failure) -> Failure | NotJudged:
        """What valgrind or a sanitizer reports about the memory of the server concerned before
        `error`; NotJudged if valgrind is the one that has ended; otherwise the error."""
        if self.sanitized:
            self.concerned.process.settle()
            printed = self.concerned.process.stderr.text()
            return sanitizers.fault(printed, self.run.sources) or error
        if not self.valgrind or not self.servers:
            return error
        logs = self.concerned.logs
        gave_up = valgrind.gave_up(logs) or self._misread(self.concerned)
        if gave_up:
            return NotJudged(gave_up)
        return valgrind.fault_so_far(logs, self.run.sources) or error

    def _misread(self, server: Server) -> str:
        """Why valgrind's reports say nothing about this running server; "" if they can be trusted.
        The given code of chapter 11 and later uses io_uring in ways that valgrind understands."""
        used = any("[io_uring]" in one for one in procfs.descriptor_targets(server.process.pid))
        if not used or self.run.chapter >= "11":
            return ""
        return "valgrind does not understand io_uring: it misses what the kernel writes to memory"

    def clear(self) -> None:
        """Ends everything, whatever happened."""
        try:
            self._surprised = self.surprised()
            self._ending = self.ending()
            if self.run.trace:
                recorder.save(Path(self.run.trace), self.conversation, self._recorders)
        finally:  # even if no descriptor is free to look at a process: these hold them
            for server in self.servers:
                _leave(server)
                if server.logs:
                    shutil.rmtree(server.logs, ignore_errors=True)


@contextmanager
def uncounted() -> Iterator[None]:
    """The time that a test may take stands still meanwhile: a compiler has a limit of its own, and
    may wait for that of another test. pytest-timeout has set this alarm."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)


def _nothing_is_on_its_way(server: Server) -> bool:
    """Whether all that its clients have sent is in its sockets, and we have read all that it has
    printed: until then it may be asleep because a pipe is full, and goes on."""
    return all_arrived(server.clients) and not server.process.has_unheard_output()


def _leave(server: Server) -> None:
    """Ends its clients and then the server, so that no connection keeps its port in use."""
    for client in server.clients:
        client.abandon(by_reset=True)
    server.process.destroy()


def _letters():
    """A, B, ... Z, AA, AB, ..."""
    for length in count(1):
        for letters in product(string.ascii_uppercase, repeat=length):
            yield "".join(letters)
