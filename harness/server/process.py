"""A server under test: started, watched, measured, and certainly ended."""

from __future__ import annotations

import atexit
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.feedback.failure import Failure, NotJudged
from harness.server import limits, preload, readiness, scratch, spawn
from harness.server.output import Drain, Output
from harness.server.preload import Calls, Crash, Shim
from harness.server.process_tree import ExitStatus, ProcessTree, destroy_all, signal_name
from harness.server.steps import Work
from harness.submission import surroundings
from harness.submission.sizes import MB
from harness.waiting import procfs
from harness.waiting.clock import Clock
from harness.waiting.wait import PATIENCE, Activity, Deadline, Patience, wait_until

SHARED_MEMORY = Path("/dev/shm")
DYING_SECONDS = 2.0  # between the first sign of its end and the exit status; mostly far less
LAST_OUTPUT_SECONDS = 0.2  # after the end; a process left behind may hold the pipes for longer
COMPLAINT_SECONDS = 1.0  # for a program that ends, and for what ld.so has printed to come here
HIDDEN = "only root may see what the server has open: it is not dumpable, see prctl(2)"
PORT_TRIES = 3
KILLED = ExitStatus(signal=signal.SIGKILL)
ENDING_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL}


class ServerProcess:
    """One server, with all the processes that it starts. start() once, destroy() in the end.

    Its output is in `stdout` and `stderr`, also after the end. `ended_by_test` says that a test has
    ended it, so that its end is expected. The address is known after start().
    """

    def __init__(self) -> None:
        self.activity = threading.Event()  # set when something was printed or the server ended
        self.tell: Callable[[str], object] = str  # gets a text for each signal() and the like
        self._home: Path | None = None
        self._reset()

    def _reset(self) -> None:
        """Sets all fields as before start()."""
        self.address = ("", 0)
        self.pid = 0
        self.status: ExitStatus | None = None
        self.ended_by_test = False
        self.stdout, self.stderr = Output(), Output()
        self._ended = threading.Event()
        self._watching = threading.Lock()  # held by the drain, and by a check of the limits
        self._tree: ProcessTree | None = None
        self._destroyed = False
        self.clock: Clock | None = None  # if one was asked for, after start()
        self._shim: Shim | None = None
        self._shim_is_loaded = False
        self._work: Work | None = None
        self._killed_for = ""
        self._last_words = ""  # what describe() said before destroy()

    # Beginning

    def start(
        self,
        argv: str | Sequence[str],
        *,
        mode: str = "stdout",
        port: int | None = None,
        patience: Patience = PATIENCE,
        **how: Any,
    ) -> ServerProcess:
        """Starts the server and returns it when it can be connected to.

        mode "stdout": it prints `listening on ADDR:PORT`. mode "port": it listens on `port`, or
        with None on a free one that we choose; "{port}" in `argv` stands for it. `how`: more fields
        of spawn.Command. Raises Failure when the server does not come up, NotJudged when that
        could not be tried. The calling thread has to outlive the server, which is killed when it
        ends.
        """
        command = spawn.Command(argv, **how)
        if mode == "stdout":
            return self._start(command, None, patience)
        if port is not None:
            readiness.require_unused(port)
            return self._start(command, port, patience)
        for _ in range(PORT_TRIES - 1):
            try:
                return self._start(command, spawn.free_port(), patience)
            except Failure as failure:
                if failure.hint != "died-at-start":  # else someone may have taken the port
                    raise
        return self._start(command, spawn.free_port(), patience)

    def run(self, argv: Sequence[str], patience: Patience, ring: bool = True) -> ExitStatus | None:
        """Starts a program that should end by itself and waits for that; None if it still runs.

        It is confined, limited and destroyed like a server. Its output is in `stdout`, `stderr`.
        `ring` is that of start().
        """
        try:
            self.begin(spawn.Command(argv, ring=ring))
            wait_until(self._ended.is_set, patience)
            self.settle()
            return self.status
        finally:
            self.destroy()

    def begin(self, command: spawn.Command, port: int | None = None) -> None:
        """Starts a program and does not wait for anything. It is confined and limited like a
        server, and destroy() has to be called. Raises as start() does."""
        self._reset()
        self._home = Path(tempfile.mkdtemp(prefix="event-loop-lab-"))
        self._launch(command, port, self._home)

    def _start(self, command: spawn.Command, port: int | None, patience: Patience) -> ServerProcess:
        try:
            self.begin(command, port)
            if port is None:
                self.address = readiness.announced(self, patience)
            else:
                self.address = readiness.accepting(self, port, patience)
            self._look_for_shim(command)
            if command.clock is not None:
                self.clock = Clock(self.shim, self.pid)
        except BaseException:
            self.destroy()
            raise
        return self

    def _launch(self, command: spawn.Command, port: int | None, home: Path) -> None:
        """Starts the program and the two threads that attend to it."""
        directory = home / "scratch"
        directory.mkdir()
        environment = {
            **surroundings.of_a_server(),
            **command.environment,
            "TMPDIR": str(directory),
        }
        if command.preload:
            crashes = not command.wrapper  # which is valgrind
            self._shim = Shim(home / "shim", calls=command.counted, crashes=crashes)
            if command.traced:
                self._shim.shared.detail = 1
            if command.clock is not None:
                command.clock.set(self._shim)
            environment.update(preload.environment(command.preload, self._shim.path, directory))
        if command.steps:
            self._work = Work(home / "work")
            environment.update(self._work.environment())
        writable = [home, *command.writable]
        if port is not None:  # any program: some need named semaphores (shm_overview(7))
            writable.append(SHARED_MEMORY)

        def begin() -> int:
            self._child = spawn.start(command, port, directory, environment, writable)
            return self._child.pid

        self._tree = ProcessTree(begin)
        self.pid = self._child.pid
        procfs.end_first(self.pid)
        self._limits = limits.Watch(self._tree, [self.stdout, self.stderr], home)
        pipes = {self._child.stdout: self.stdout, self._child.stderr: self.stderr}
        self._drain = Drain(pipes, self.activity, self._watch, limits.PERIOD)
        self._drain.start()
        self._waiter = threading.Thread(target=self._wait_for_end, name="waiter", daemon=True)
        self._waiter.start()

    # Ending

    def alive(self) -> bool:
        """Whether it was started and has not ended. Processes that it left behind do not count."""
        self.settle()
        return self._tree is not None and self.status is None

    def ended_by_itself(self) -> bool:
        """Whether it does not run, and no test has ended it."""
        return not self.alive() and not self.ended_by_test

    def wait(self, limit: float | Patience | Deadline) -> ExitStatus | None:
        """Waits for its end; None if it still runs after that."""
        deadline = limit if isinstance(limit, Deadline) else Deadline(limit, others=True)
        while not self._ended.wait(min(deadline.left(), deadline.pause())) and deadline.left():
            pass
        return self.status

    def signal(self, number: int) -> None:
        """Sends a signal to the server itself; nothing happens when it has ended."""
        self.ended_by_test |= number in ENDING_SIGNALS
        if self.shim is not None:
            self.shim.shared.signals += 1  # a call that it interrupts does fail
        if self.alive():
            self.tell(f"sends {signal_name(number)} to the server")
            os.kill(self.pid, number)  # not reaped before destroy(), so the pid is still its own

    def leave_log(self) -> None:
        """Closes our end of its stderr, as `head` does: what it writes there from now on raises
        SIGPIPE."""
        self.tell("closes the pipe that the server logs to")
        self._drain.leave(self.stderr)
        wait_until(lambda: self.stderr.closed, PATIENCE)

    def stop_gently(self, limit: float | Patience) -> ExitStatus | None:
        """Sends SIGTERM and waits; None when it still runs after that."""
        self.signal(signal.SIGTERM)
        return self.wait(limit)

    def settle(self) -> None:
        """Waits a moment for a server that is ending, as a client may have seen."""
        if self._tree is None or self._destroyed:
            return
        if procfs.ending(self.pid) and self._dies():
            self._drain.dry.wait(LAST_OUTPUT_SECONDS)

    def _dies(self) -> bool:
        """Waits for the end of a server that is ending. Whether it came."""
        if not self._ended.is_set():
            self.wait(Patience(DYING_SECONDS, lambda: [self]))
        return self._ended.is_set()

    def look_at_limits(self) -> None:
        """Kills a server that uses too much: the last check may be some time ago."""
        if self._tree is not None and not self._destroyed:
            self._watch(self._limits.excess_now)
            if self._killed_for:
                self._dies()

    def destroy(self) -> None:
        """Kills everything the server started and removes what it wrote. May be called again.

        Its output, status, describe(), crash(), cpu_seconds() and calls() are still available.
        """
        self.ended_by_test = True
        if self._tree is not None and not self._destroyed:
            self._last_words = self.describe()
            self._destroyed = True
            self._tree.destroy()
            self._drain.finish()
            if self._waiter.is_alive():  # not if it could not be started
                self._waiter.join()
            self._child.returncode = 0  # any number tells Popen that there is nothing to wait for
            self.status = self.status or self._tree.exit_status
            self._ended.set()
        if self._home is not None:
            scratch.remove(self._home)

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    # Measuring

    def describe(self) -> str:
        """The state of the server, or how it ended: "still running, 0.3 MB resident", "killed by
        SIGPIPE" ..."""
        self.settle()
        if self._last_words:
            return self._last_words
        if self._tree is None:
            return "not started"
        if self.status is None:
            return f"still running, {self.resident_bytes() / MB:.1f} MB resident"
        return f"killed by the grader: {self._killed_for}" if self._killed_for else str(self.status)

    def crash(self) -> Crash | None:
        """Where the server has crashed, if a crash has ended it; or, while it runs, where a child
        has crashed."""
        self.settle()
        found = self._shim.crash() if self._shim else None
        if found is None:
            return None
        by_it = self.status == ExitStatus(signal=found.signal) and found.pid == self.pid
        return found if by_it or self.status is None else None

    def pids(self) -> list[int]:
        """The server and every process that it has started, as far as they exist."""
        return [member.pid for member in self._tree.members()] if self._tree else []

    def cpu_seconds(self) -> float:
        """CPU time since the start, user and system, of all its processes; see ProcessTree."""
        return self._tree.cpu_seconds() if self._tree else 0.0

    def activity_now(self) -> Activity:
        """What all processes of the server do; but not what only the clock has them do."""
        found = self._tree.activity_now() if self._tree else Activity()
        return self.clock.activity(found) if self.clock else found

    def resident_bytes(self) -> int:
        """Resident memory of all its processes; shared pages count once."""
        return sum(map(procfs.resident_bytes, self.pids()))

    def peak_bytes(self) -> int:
        """The most resident memory that each of its processes has had so far, together."""
        return sum(map(procfs.peak_bytes, self.pids()))

    def reserved_bytes(self) -> int:
        """Memory that its processes have requested, whether they use it or not."""
        return sum(map(procfs.reserved_bytes, self.pids()))

    def descriptors(self) -> procfs.Descriptors:
        """Open descriptors of all its processes together. Raises NotJudged."""
        if any(map(procfs.hides, self.pids())):
            raise NotJudged(HIDDEN)
        targets = [target for pid in self.pids() for target in procfs.descriptor_targets(pid)]
        sockets = [target for target in targets if target.startswith("socket:")]
        return procfs.Descriptors(total=len(targets), sockets=len(sockets))

    def calls(self) -> Calls | None:
        """System calls so far; None without the shim, or when it could not be loaded."""
        return self.shim.calls() if self.shim else None

    def steps(self) -> int | None:
        """The work so far of all its processes, see harness/server/steps. None: it was not built so
        that it counts."""
        return self._work.steps() if self._work else None

    @property
    def shim(self) -> Shim | None:
        """The shared memory with which to schedule faults and read the record; None where calls()
        is None."""
        return self._shim if self._shim_is_loaded else None

    @property
    def paused(self) -> bool:
        """Whether a claim has stopped it: then it does nothing before resume()."""
        return self._tree is not None and self._tree.paused

    def pause(self) -> None:
        """Stops all its processes (SIGSTOP); returns when they have stopped.

        With the shim, no call fails because of that: it is no test of EINTR.
        """
        if self._tree is not None:
            if self.shim is not None:
                self.shim.shared.pauses += 1  # no call fails for that
            self.tell("stops the server (SIGSTOP)")
            self._tree.pause()

    def resume(self) -> None:
        """Lets all its processes run on (SIGCONT)."""
        if self._tree is not None:
            self.tell("lets the server continue (SIGCONT)")
            self._tree.resume()

    def has_unheard_output(self) -> bool:
        """Whether it has printed something that is still in a pipe to us."""
        return self._tree is not None and not self._destroyed and self._drain.has_unread()

    # Attending: each of these runs in a thread of its own

    def _wait_for_end(self) -> None:
        """Notes how the server ended, and leaves it a zombie so that its pid stays its own."""
        try:
            result = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # destroy() was faster
            return
        if result is not None:
            by_signal = result.si_code != os.CLD_EXITED
            number = result.si_status
            self.status = ExitStatus(signal=number) if by_signal else ExitStatus(code=number)
        self._ended.set()
        self.activity.set()

    def _watch(self, excess: Callable[[], str] | None = None) -> None:
        """Kills a server that uses too much: `excess` says of what."""
        with self._watching:
            if self._tree is None or self._killed_for:
                return
            found = (excess or self._limits.excess)()
            if found:
                self._killed_for = found
                self._tree.kill()

    def _look_for_shim(self, command: spawn.Command) -> None:
        """Notes whether the libraries were loaded: a statically linked program does not load any.
        Raises NotJudged if the lab has linked the program: then claims would pass unexamined.

        One that the lab has linked and that ends just now has had them: a process that ends shows
        no libraries any more.
        """
        paths = map(os.path.realpath, command.preload)
        self._shim_is_loaded = bool(command.preload) and all(
            any(procfs.maps_file(pid, path) for pid in self.pids()) for path in paths
        )
        if command.preload and command.linked_here and not self._shim_is_loaded:
            if not wait_until(lambda: not self.alive(), COMPLAINT_SECONDS):
                hidden = any(map(procfs.hides, self.pids()))
                raise NotJudged(HIDDEN if hidden else preload.not_loaded(self.stderr.text()))
            self._shim_is_loaded = True


atexit.register(destroy_all)
