"""A control group for this process, where one may be made: the kernel bounds what all processes in
it have together, at the moment they request more. See cgroups(7).

Version 2 has one hierarchy of directories, version 1 has one for each controller.

LAB_BOUND=0 in the environment switches it off.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from harness.waiting import procfs

SWITCH = "LAB_BOUND"
MEMORY, TASKS = "memory", "pids"  # the controllers
NAME = "event-loop-lab-{pid}"
TRIES = 5  # before we are in it, another process may take our empty group for one left behind
_PROCESSES = "cgroup.procs"  # a process that writes 0 into it moves there
_KILLED = re.compile(rb"^oom_kill (\d+)$", re.M)


class Group(NamedTuple):
    """The directory for each of the two controllers; in version 2 they are the same one. `before`:
    where this process was."""

    memory: Path
    tasks: Path
    before: tuple[Path, ...]

    def killed(self) -> int:
        """How many processes the kernel has ended because they took too much memory together."""
        for name in ("memory.events", "memory.oom_control"):
            found = _KILLED.search(procfs.read(str(self.memory / name)))
            if found:
                return int(found[1])
        return 0

    def leave(self) -> None:
        """Moves this process back to where it was; the group is removed if nothing else is in
        it."""
        for directory in self.before:
            _write(directory / _PROCESSES, 0)
        for directory in {self.memory, self.tasks}:
            _remove(directory)


def enter_new(memory: int, tasks: int) -> Group | None:
    """Bounds the memory (bytes) and the threads that this process and everything it starts from now
    on may have together. None where that is impossible: then nothing has changed."""
    if os.environ.get(SWITCH) == "0":
        return None
    mine = places(procfs.read("/proc/self/cgroup").decode(), mounts())
    if {MEMORY, TASKS} - mine.keys():
        return None
    homes = {controller: _home(controller, *mine[controller]) for controller in (MEMORY, TASKS)}
    if None in homes.values():
        return None
    name = NAME.format(pid=os.getpid())
    group = Group(
        memory=homes[MEMORY] / name,
        tasks=homes[TASKS] / name,
        before=tuple({own for _, own in mine.values()}),
    )
    for _ in range(TRIES):
        if _make(group) and _bound(group, memory, tasks) and _enter(group):
            return group
        group.leave()
    return None


def mounts() -> dict[str, Path]:
    """Where each controller's hierarchy is mounted; that of version 2 has the name ""."""
    found = {}
    for line in procfs.read("/proc/self/mounts").decode().splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found[""] = Path(where)
        elif kind == "cgroup":
            found.update({name: Path(where) for name in options.split(",")})
    return found


def places(memberships: str, mounted: Mapping[str, Path]) -> dict[str, tuple[Path, Path]]:
    """For each of the two controllers, the top of its hierarchy and our directory in it.

    `memberships`: the text of /proc/self/cgroup, lines like "8:pids:/a/b"; "0::/a/b" is version 2,
    which has the controllers that no hierarchy of version 1 has.
    """
    found = {}
    lines = [line.split(":", 2) for line in memberships.splitlines()]
    paths = {name: path for _, names, path in lines for name in names.split(",")}
    for controller in (MEMORY, TASKS):
        name = controller if controller in paths else ""
        if name in paths and name in mounted:
            top = mounted[name]
            found[controller] = (top, top / paths[name].lstrip("/"))
    return found


def _home(controller: str, top: Path, own: Path) -> Path | None:
    """The nearest directory, ours or one above, in which a group can have this controller.

    In version 2 a directory with processes in it gives no controller to groups below it. The top
    is the exception.
    """
    for directory in [own, *own.parents]:
        shared = directory / "cgroup.subtree_control"
        if not shared.exists() or controller.encode() in procfs.read(str(shared)).split():
            return directory if os.access(directory, os.W_OK) else None
        if directory == top:
            break
    return None


def _make(group: Group) -> bool:
    """Makes the directories. Removes those that other processes have left behind, if they are
    empty."""
    for directory in {group.memory, group.tasks}:
        for old in directory.parent.glob(NAME.format(pid="*")):
            _remove(old)
        try:
            directory.mkdir(exist_ok=True)
        except OSError:
            return False
    return True


def _bound(group: Group, memory: int, tasks: int) -> bool:
    """Sets the limits; memory that is swapped out counts, where the kernel supports it."""
    bounds = {"memory.max": memory, "memory.swap.max": 0}
    if not (group.memory / "memory.max").exists():
        bounds = {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}
    set_now = [_write(group.memory / name, value) for name, value in bounds.items()]
    return set_now[0] and _write(group.tasks / "pids.max", tasks)


def _enter(group: Group) -> bool:
    return all(_write(directory / _PROCESSES, 0) for directory in {group.memory, group.tasks})


def _write(file: Path, number: int) -> bool:
    """Whether the kernel took it."""
    try:
        file.write_text(str(number))
    except OSError:
        return False
    return True


def _remove(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:  # not empty, or gone
        pass
