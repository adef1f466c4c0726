"""Threads that wait for a mutex for ever, and where: gdb knows, where it is installed and may
attach."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from collections.abc import Collection
from pathlib import PurePath

from harness.waiting import asleep, procfs
from harness.waiting.threads import CALLS

SECONDS = 20  # until gdb has read the symbols and told
STILL_SECONDS = 0.1  # in the same call: then it does not only take its turn
FRAMES = 24  # of a thread, that are looked at
_OWNER_OFFSET = 8  # of `__owner`, a thread's id, in glibc's struct __pthread_mutex_s
_COMMANDS = ("set print frame-arguments none", f"thread apply all backtrace {FRAMES}")
_THREAD = re.compile(r"^Thread \d+ \(.*?(?:LWP|process) (\d+)", re.M)
_FRAME = re.compile(r"^#\d+ .* at (\S+):(\d+)$", re.M)


def held(pid: int, sources: Collection[str]) -> str:
    """`waits for a mutex at loop.c:63 (locked by itself)`, of the first thread that does.

    "" if none does, or nothing can tell. `sources`: the names of the student's files.
    """
    waiting = _in_futex(pid)
    if not waiting:
        return ""
    time.sleep(STILL_SECONDS)
    still = {thread: lock for thread, lock in _in_futex(pid).items() if waiting.get(thread) == lock}
    places = _places(pid, sources) if still else {}
    for thread, lock in still.items():
        if thread in places:
            return f"waits for a mutex at {places[thread]}{_owner(pid, thread, lock)}"
    return ""


def _in_futex(pid: int) -> dict[int, int]:
    """The threads that are asleep in futex(), and the address that each waits for."""
    found = {}
    for thread in procfs.threads(pid):
        words = procfs.read(f"/proc/{pid}/task/{thread}/syscall").decode().split()
        if len(words) > 1 and words[0].isdigit() and CALLS.get(int(words[0])) == "futex":
            found[thread] = int(words[1], 16)
    return found


def _places(pid: int, sources: Collection[str]) -> dict[int, str]:
    """Where in the student's files each thread calls what waits for a mutex."""
    words = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(pid)]
    words += [word for command in _COMMANDS for word in ("-ex", command)]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    _, *parts = _THREAD.split(done.stdout)
    stacks = zip(map(int, parts[::2]), parts[1::2])
    places = {thread: _place(stack, sources) for thread, stack in stacks}
    return {thread: place for thread, place in places.items() if place}


def _place(stack: str, sources: Collection[str]) -> str:
    """The student's line that has called pthread_mutex_lock(); "" if the thread is not there."""
    _, called, callers = stack.partition("pthread_mutex_lock")
    for path, line in _FRAME.findall(callers) if called else ():
        name = PurePath(path).name
        if name in sources:
            return f"{name}:{line}"
    return ""


def _owner(pid: int, thread: int, lock: int) -> str:
    data = asleep.memory(pid, lock + _OWNER_OFFSET, 4)
    owner = struct.unpack("=i", data)[0] if len(data) == 4 else 0
    if not owner:
        return ""
    if owner == thread:
        return " (locked by itself)"
    other = "another thread" if owner in procfs.threads(pid) else "a thread that has ended"
    return f" (locked by {other})"
