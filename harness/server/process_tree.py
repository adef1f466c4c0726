"""All the processes of one server, wherever they hide: found, measured, paused, ended.

This process is a subreaper: when a process below it loses its parent, it becomes our child, so
nothing that a server starts can leave our part of the process tree, and nothing outside of it is
ever signalled. Each server has a session of its own. An orphan that has left this session counts as
one of the server that was started last before it was seen.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.feedback.failure import NotJudged
from harness.server.linux import prctl
from harness.waiting import procfs
from harness.waiting.wait import PATIENCE, Activity, Deadline, wait_until

KILL_SECONDS = 10.0  # a killed process is gone long before; only a sick kernel takes longer
LOOK_SECONDS = 0.001  # between two checks of processes that are about to end

prctl.adopt_orphans()
_trees: dict[int, ProcessTree] = {}  # those that are not destroyed, by the pid of their leader
_looking = threading.RLock()  # nobody looks while a leader has no tree: it would be an orphan


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


def send(pid: int, number: int) -> None:
    """kill(2); nothing happens if the process does not exist."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reap(pid: int) -> None:
    """Waits for the process if it is a child of ours that has ended."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def until_gone(
    choose: Callable[[], list[procfs.Process]],
    seconds: float,
    reap: Callable[[int], None] = reap,
) -> bool:
    """Kills what `choose` finds until it has found nothing twice. Returns whether it got there in
    time.

    The processes found have to be below this process, and `reap` is called for each. A process
    that forks and ends all the time is gone before it can be killed. But then its child is ours,
    and is found by the next search: so there is no pause as long as new ones are found.
    """
    deadline = Deadline(seconds)
    killed: set[int] = set()
    empty_looks = 0
    while empty_looks < 2:
        found = choose()
        if not found:
            empty_looks += 1
            continue
        if not deadline.left():
            return False
        empty_looks = 0
        _kill(found)
        pids = {process.pid for process in found}
        if not killed or pids <= killed:
            time.sleep(LOOK_SECONDS)
        killed |= pids
        for pid in pids:
            reap(pid)
    return True


def _kill(chosen: Iterable[procfs.Process]) -> None:
    """SIGKILL to whole process groups, so that no process in them can fork away meanwhile.

    Processes in our own group get it one by one; for kill(2) the groups 0 and -1 mean others.
    """
    ours = {0, 1, os.getpgrp()}
    for target in {p.pid if p.group in ours else -p.group for p in chosen}:
        send(target, signal.SIGKILL)


@dataclass(frozen=True)
class ExitStatus:
    """How a server ended: `code` if it exited, `signal` if that killed it; the other is None."""

    code: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is None:
            return f"exited with status {self.code}"
        return f"killed by {signal_name(self.signal)}"

    @classmethod
    def of(cls, status: int) -> ExitStatus:
        """The exit status for a number that waitpid(2) returned."""
        if os.WIFSIGNALED(status):
            return cls(signal=os.WTERMSIG(status))
        return cls(code=os.WEXITSTATUS(status))


class ProcessTree:
    """The processes of the server that was started as `leader`, our child and a session leader.

    The leader is not reaped before destroy(), so that its pid cannot come to mean another process.
    """

    def __init__(self, start: Callable[[], int]) -> None:
        """`start` starts the leader and returns its pid."""
        with _looking:
            self._before = set(map(_identity, procfs.below()))
            self.leader = start()
            _trees[self.leader] = self
        self._reaped_cpu = 0.0
        self.paused = False  # by pause()
        self.exit_status: ExitStatus | None = None  # of the leader, once destroyed

    def members(self) -> list[procfs.Process]:
        """Every process of the server, including ended ones that nobody has waited for. None after
        destroy()."""
        with _looking:
            if self.leader not in _trees:
                return []
            processes = procfs.family(os.getpid())
            own = processes[os.getpid()]
            orphans = [
                process.pid
                for process in processes.values()
                if process.parent == own.pid
                and process.pid not in _trees
                and process.session != own.session
                and self._owns(process)
            ]
        return procfs.tree([self.leader, *orphans], processes)

    def cpu_seconds(self) -> float:
        """CPU time of the server since its start, user and system, all processes and threads.

        Exact to the nanosecond for existing processes; processes that the server has waited for
        count in the kernel's clock ticks. Children of a process that ignores SIGCHLD are not
        counted.
        """
        return self._cpu_seconds(self.members())

    def _cpu_seconds(self, members: list[procfs.Process]) -> float:
        each = (procfs.cpu_seconds(member.pid) + member.reaped_cpu for member in members)
        return self._reaped_cpu + sum(each)

    def activity_now(self) -> Activity:
        """What all processes of the server do."""
        members = self.members()
        runnable = any(procfs.thread_states(member.pid) & set("RD") for member in members)
        threads = sum(member.threads for member in members)
        return Activity(self._cpu_seconds(members), runnable, threads)

    def kill(self) -> None:
        """Sends SIGKILL until no process of the server runs any more. They stay zombies: destroy()
        still has to be called."""

        def running() -> list[procfs.Process]:
            return [member for member in self.members() if member.state not in "ZX"]

        send(-self.leader, signal.SIGKILL)  # most processes are in it, and no search is needed
        until_gone(running, KILL_SECONDS, reap=bool)

    def pause(self) -> None:
        """Stops every process; returns when the kernel says that all their threads have stopped."""
        self.paused = True
        told: set[int] = set()

        def all_stopped() -> bool:
            pids = {member.pid for member in self.members()}
            new = pids - told
            for pid in new:
                send(pid, signal.SIGSTOP)
            told.update(new)
            return not new and all(procfs.stopped(pid) for pid in pids)

        if not wait_until(all_stopped, PATIENCE.seconds):
            raise NotJudged("the server could not be paused")

    def resume(self) -> None:
        """Continues every process."""
        self.paused = False
        for member in self.members():
            send(member.pid, signal.SIGCONT)

    def destroy(self) -> None:
        """Ends and reaps every process of the server. May be called again."""
        if not until_gone(self.members, KILL_SECONDS, self._reap):
            raise NotJudged(f"{len(self.members()):,} processes of a server cannot be killed")
        _trees.pop(self.leader, None)

    def _owns(self, orphan: procfs.Process) -> bool:
        """Whether this child of ours, which we did not start, comes from this server."""
        owner = _trees.get(orphan.session)
        if owner is None:
            later = [tree for tree in _trees.values() if _identity(orphan) not in tree._before]
            owner = later[-1] if later else None
        return owner is self

    def _reap(self, pid: int) -> None:
        """Waits for a child of ours that has ended; its own parent does so for any other."""
        try:
            reaped, status, usage = os.wait4(pid, os.WNOHANG)
        except ChildProcessError:
            return
        if reaped:
            self._reaped_cpu += usage.ru_utime + usage.ru_stime
        if reaped == self.leader:
            self.exit_status = ExitStatus.of(status)


def _identity(process: procfs.Process) -> tuple[int, int]:
    return process.pid, process.started


def destroy_all() -> None:
    """Ends every server that this process has started."""
    for tree in list(_trees.values()):
        tree.destroy()
