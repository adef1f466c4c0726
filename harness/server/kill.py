"""Kills processes until none is left, even if they fork faster than a search takes."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable

from harness.waiting import procfs
from harness.waiting.wait import Deadline

LOOK_SECONDS = 0.001  # between two checks of processes that are about to end
ENDING_SECONDS = 0.005  # at most, for the end of a process that was killed just now
PATIENT_LOOKS = 5  # after this many it is a race
RACE_SECONDS = 0.05


def _reap(pid: int) -> None:
    """Waits for the process if it is a child of ours that has ended."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def until_gone(
    choose: Callable[[bool], list[procfs.Process]],
    seconds: float,
    reap: Callable[[int], None] = _reap,
    may_race: Callable[[], bool] = lambda: True,
) -> bool:
    """Kills what `choose` finds until it has found nothing twice. Returns whether it got there in
    time.

    It searches twice, as one search can miss a process that forks just then; the second search is
    thorough, see procfs.family(). The processes found have to be below this process, and `reap` is
    called for each. `may_race`: whether a child that this process gets from now on may be killed as
    well, see race().
    """
    deadline = Deadline(seconds)
    looks = empty_looks = 0
    while empty_looks < 2:
        found = choose(empty_looks > 0)
        if not found:
            empty_looks += 1
            continue
        if not deadline.left():
            return False
        empty_looks = 0
        looks += 1
        processes(found)
        pids = {process.pid for process in found}
        _wait_for_end(found[0].pid)
        for pid in pids:
            reap(pid)
        if looks > PATIENT_LOOKS and may_race():
            race(set(procfs.children(os.getpid())) - pids, reap)
        if looks > 1:
            time.sleep(LOOK_SECONDS)
    return True


def _wait_for_end(pid: int) -> None:
    """Waits a moment for the end of a killed process: mostly the others have ended by then."""
    try:
        exited = os.pidfd_open(pid)
    except OSError:  # it is gone, or the kernel is an old one
        return
    try:
        poller = select.poll()
        poller.register(exited, select.POLLIN)
        poller.poll(ENDING_SECONDS * 1000)
    finally:
        os.close(exited)


def processes(chosen: Iterable[procfs.Process]) -> None:
    """SIGKILL to whole process groups, so that no process in them can fork away meanwhile.

    Processes in our own group get it one by one; for kill(2) the groups 0 and -1 mean others.
    """
    ours = {0, 1, os.getpgrp()}
    for target in {p.pid if p.group in ours else -p.group for p in chosen}:
        send(target, signal.SIGKILL)


def race(bystanders: set[int], reap: Callable[[int], None] = _reap) -> None:
    """Kills every other child of ours as soon as it appears, for RACE_SECONDS.

    A process that forks, leaves its group and ends is gone before a search of all processes is
    over. Its child becomes ours at that moment, and the list of our own children is short.
    """
    deadline = Deadline(RACE_SECONDS)
    while deadline.left():
        for pid in procfs.children(os.getpid()):
            if pid not in bystanders:
                send(-pid, signal.SIGKILL)  # its own group, and so what it has just forked
                send(pid, signal.SIGKILL)
                reap(pid)


def send(pid: int, number: int) -> None:
    """kill(2); nothing happens if the process does not exist."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
