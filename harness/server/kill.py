"""Ends processes that do not want to end: those that fork faster than one can look."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable

from harness.linux import procfs

STEP = 0.001  # seconds between two looks at processes that are about to end
PATIENT_LOOKS = 5  # after so many it is a race
RACE_SECONDS = 0.05


def end(choose: Callable[[], list[procfs.Process]], seconds: float) -> bool:
    """Kills what `choose` finds until it finds nothing any more. Whether that came within the time.

    What it finds has to be below this process, which reaps what becomes its child.
    """
    deadline = time.monotonic() + seconds
    looks = 0
    while True:
        found = choose()
        if not found:
            return True
        if time.monotonic() > deadline:
            return False
        kill(found)
        for process in found:
            reap(process.pid)
        looks += 1
        if looks > PATIENT_LOOKS:
            chosen = {process.pid for process in found}
            race(set(procfs.children(os.getpid())) - chosen)
        time.sleep(STEP)


def kill(processes: Iterable[procfs.Process]) -> None:
    """SIGKILL to whole process groups, so that nobody in them can fork away meanwhile.

    In our own group to each by itself; kill(2) means others by the groups 0 and -1.
    """
    ours = {0, 1, os.getpgrp()}
    for target in {p.pid if p.group in ours else -p.group for p in processes}:
        send(target, signal.SIGKILL)


def race(bystanders: set[int]) -> None:
    """Kills every other child of ours as soon as it shows, for RACE_SECONDS.

    A process that forks, leaves its group and ends is gone before a look at all processes is over;
    the child it leaves becomes ours at that moment, and the list of our own children is short.
    """
    end_of_race = time.monotonic() + RACE_SECONDS
    while time.monotonic() < end_of_race:
        for pid in procfs.children(os.getpid()):
            if pid not in bystanders:
                send(-pid, signal.SIGKILL)  # its own group, and so what it has just forked
                send(pid, signal.SIGKILL)
                reap(pid)


def send(pid: int, number: int) -> None:
    """kill(2); nothing happens when there is nobody."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reap(pid: int) -> None:
    """Waits for it if it is a child of ours that has ended."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
