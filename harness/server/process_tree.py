"""All the processes of one server, wherever they hide: found, measured, paused, ended.

The server is started in a session of its own and with a mark in its environment. This process is
a subreaper: when a process below it loses its parent, it becomes our child, so nothing that a
server starts can leave our part of the process tree, and nothing outside of it is ever signalled.
"""

from __future__ import annotations

import os
import secrets
import signal
from dataclasses import dataclass

from harness.feedback.failure import NotJudged
from harness.server import kill
from harness.server.linux import prctl
from harness.waiting import procfs
from harness.waiting.wait import PATIENCE, Activity, wait_until

MARK = "EVENT_LOOP_LAB_CHILD"
KILL_SECONDS = 10.0  # a killed process is gone long before; only a sick kernel takes longer


prctl.adopt_orphans()
# Our other children have a mark as well: a child without one has wiped its environment.
os.environ.setdefault(MARK, "harness")
_trees: dict[int, ProcessTree] = {}  # those that are not destroyed, by the pid of their leader


def new_mark() -> str:
    """A value for MARK that no other server has, in this process or another."""
    return secrets.token_hex(8)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"


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

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._mark = mark
        self._reaped_cpu = 0.0
        self.paused = False  # by pause(), for longer than hold() stops it
        self.holds = 0  # odd while hold() lasts; grows with each
        self.exit_status: ExitStatus | None = None  # of the leader, once destroyed
        self._seen: set[tuple[int, int]] = set()
        itself = procfs.read_process(leader)
        self._started = itself.started if itself else 0
        _trees[leader] = self

    def members(self, thorough: bool = False) -> list[procfs.Process]:
        """Every process of the server, including ended ones that nobody has waited for.

        None after destroy(). `thorough`: see procfs.family().
        """
        if self.leader not in _trees:
            return []
        return self._members(thorough, wiped_too=False)

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
        """Sends SIGKILL until no process of the server runs any more; destroy() still has to be
        called."""
        kill.send(-self.leader, signal.SIGKILL)  # most processes are in it, and no search is needed
        kill.until_gone(self._running, KILL_SECONDS, reap=_leave, may_race=lambda: False)

    def hold(self) -> None:
        """Stops the processes in the leader's group, so that it does not grow during a search."""
        if not self.paused:
            self.holds |= 1
            kill.send(-self.leader, signal.SIGSTOP)

    def let_go(self) -> None:
        """Ends hold()."""
        if not self.paused:
            kill.send(-self.leader, signal.SIGCONT)
        self.holds += self.holds % 2

    def pause(self) -> None:
        """Stops every process; returns when the kernel says that all their threads have stopped."""
        self.paused = True
        told: set[int] = set()

        def all_stopped() -> bool:
            pids = {member.pid for member in self.members()}
            new = pids - told
            for pid in new:
                kill.send(pid, signal.SIGSTOP)
            told.update(new)
            return not new and all(procfs.stopped(pid) for pid in pids)

        if not wait_until(all_stopped, PATIENCE.seconds):
            raise NotJudged("the server could not be paused")

    def resume(self) -> None:
        """Continues every process."""
        self.paused = False
        for member in self.members():
            kill.send(member.pid, signal.SIGCONT)

    def destroy(self) -> None:
        """Ends and reaps every process of the server. May be called again."""
        if self.leader not in _trees:
            return
        if not kill.until_gone(self._left, KILL_SECONDS, self._reap, _alone):
            raise NotJudged(f"{len(self._left(True)):,} processes of a server cannot be killed")
        del _trees[self.leader]

    def _running(self, thorough: bool) -> list[procfs.Process]:
        return [member for member in self.members(thorough) if member.state not in "ZX"]

    def _left(self, thorough: bool) -> list[procfs.Process]:
        """The processes that destroy() still has to end: also those that have wiped their
        environment, if there is no other server."""
        return self._members(thorough, wiped_too=_alone())

    def _members(self, thorough: bool, wiped_too: bool) -> list[procfs.Process]:
        processes = procfs.family(os.getpid(), thorough)
        me = processes[os.getpid()]
        orphans = [
            process.pid
            for process in processes.values()
            if process.parent == me.pid
            and process.pid not in _trees
            and process.session != me.session
            and self._owns(process, wiped_too)
        ]
        members = procfs.tree([self.leader] + orphans, processes)
        self._seen = {(member.pid, member.started) for member in members}
        return members

    def _owns(self, orphan: procfs.Process, wiped_too: bool) -> bool:
        """Whether this child of ours, which we did not start, comes from this server."""
        if orphan.session == self.leader or (orphan.pid, orphan.started) in self._seen:
            return True
        mark = procfs.environment(orphan.pid, MARK)
        if mark is not None:
            return mark == self._mark
        return wiped_too and orphan.started >= self._started

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


def _leave(_pid: int) -> None:
    """Reaps nothing: an ended process stays a zombie."""


def _alone() -> bool:
    """Whether there is one server only: then an orphan that we get can only come from it."""
    return len(_trees) == 1


def destroy_all() -> None:
    """Ends every server that this process has started."""
    for tree in list(_trees.values()):
        tree.destroy()
