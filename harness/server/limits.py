"""What a server may use of the machine, and the checks that find out when it uses more.

Many processes that start at once take gigabytes before a check has found them all. So, where a
control group may be made, the kernel bounds them at the moment they request memory. RLIMIT_AS does
not fit: threads and some languages reserve far more than they use. And RLIMIT_NPROC counts all
processes of a user, and none for root.
"""

from __future__ import annotations

import errno
import os
import re
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.server.linux import cgroup
from harness.server.output import Output
from harness.server.process_tree import ProcessTree
from harness.submission.sizes import KIB, MIB
from harness.waiting import procfs

MEMORY_LIMIT = 1536 * MIB  # bytes resident, all processes together
OUTPUT_LIMIT = 256 * MIB  # bytes printed; ten times what a line a frame comes to
PROCESS_LIMIT = 2048  # a process for each of 1,150 clients, and then some
THREAD_LIMIT = 8192  # of all processes together
DISK_LIMIT = 256 * MIB  # bytes of all files together, deleted ones that are open too
FILE_LIMIT = 10_000
# Of the kernel's bound, above that of a server: for the grader itself, sockets and temporary files.
GRADERS_BYTES = 1024 * MIB
GRADERS_THREADS = 1024

# Seconds between two calls of Watch.excess(). A thread that wakes up this often costs more than the
# call: 8 ms of CPU time in a second, or 2.
OFTEN = 0.02
SELDOM = 0.2  # where the kernel bounds how many threads there are
LOOK = 5  # calls from one check to the next, if they come often
FULL_LOOK = 50  # the same, for a search of all its processes
# A check comes at once when the machine's load has grown by this much since the last one.
MORE_THREADS = 256
SUDDENLY_MORE = 2 * MORE_THREADS  # within 20 ms: no right server does that
MORE_BYTES = 256 * MIB


class Machine(NamedTuple):
    """What all programs use together: cheap to read, and a sign that one of them uses more."""

    threads: int
    memory: int  # bytes not available
    shared: int  # bytes in files that are in memory only
    disk: int  # bytes used where the server's directory is

    def grew_since(self, before: Machine) -> bool:
        """Whether a check of the server is due."""
        more = [now - then for now, then in zip(self, before)]
        return more[0] > MORE_THREADS or max(more[1:]) > MORE_BYTES


def lacking_descriptors(count: int) -> str:
    """Why this process and its servers cannot have so many descriptors; "" if they can."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed == resource.RLIM_INFINITY or allowed >= count:
        return ""
    return f"this machine allows fewer than {count} descriptors (ulimit -Hn)"


_group: cgroup.Group | None = None  # that this process and its servers are in


def bound_processes() -> None:
    """Lets the kernel bound what the servers of this process use, where that is possible."""
    global _group
    if _group is None:
        _group = cgroup.enter_new(MEMORY_LIMIT + GRADERS_BYTES, THREAD_LIMIT + GRADERS_THREADS)


def release_processes() -> None:
    """Leaves the group of processes, once the last server is gone."""
    global _group
    if _group is not None:
        _group.leave()
    _group = None


def period() -> float:
    """Seconds between two calls of Watch.excess() from now on."""
    return OFTEN if _group is None else SELDOM


def _killed() -> int:
    return _group.killed() if _group is not None else 0


class Watch:
    """Checks one server. `directory` is the one it writes to."""

    def __init__(self, tree: ProcessTree, outputs: Sequence[Output], directory: Path) -> None:
        self._tree = tree
        self._outputs = outputs
        self._directory = directory
        self._calls = 0
        self._killed = _killed()
        self._members = tree.members()
        self._at_start = self._at_full_look = machine(directory)

    def excess(self) -> str:
        """What it uses too much of, "" if nothing. To be called often: mostly it costs little.

        A process that forks without end can have ten thousand after a tenth of a second.
        """
        self._calls += round(period() / OFTEN)
        more_threads = threads() - self._at_full_look.threads > MORE_THREADS
        if self._calls % LOOK and not more_threads:
            return ""
        now = machine(self._directory)
        grown = now.grew_since(self._at_full_look)
        if self._calls % FULL_LOOK == 0 or grown:
            self._look_at_all(now, thorough=grown)
        return self._too_much(now)

    def excess_now(self) -> str:
        """What the server uses too much of, "" if nothing, by a search even if the last one was
        just now."""
        now = machine(self._directory)
        self._look_at_all(now, thorough=now.grew_since(self._at_full_look))
        return self._too_much(now)

    def _too_much(self, now: Machine) -> str:
        return self._crowd() or self._memory() or self._printed() or self._files(now)

    def _look_at_all(self, now: Machine, thorough: bool) -> None:
        """Finds all its processes; `thorough`: see procfs.family(). Stops them meanwhile if they
        may be many and growing, since a search takes long then."""
        suspect = now.threads - self._at_full_look.threads > SUDDENLY_MORE
        if suspect:
            self._tree.hold()
        try:
            self._members = self._tree.members(thorough)
            self._at_full_look = now
        finally:
            if suspect and not self._crowd():
                self._tree.let_go()

    def _crowd(self) -> str:
        orphans = len(procfs.children(os.getpid()))  # ended ones too, which have no mark any more
        if max(len(self._members), orphans) > PROCESS_LIMIT:
            return f"started more than {PROCESS_LIMIT:,} processes"
        if sum(member.threads for member in self._members) > THREAD_LIMIT:
            return f"started more than {THREAD_LIMIT:,} threads"
        return ""

    def _memory(self) -> str:
        """Resident bytes: a quick estimate, and the exact number only if that is too much; shared
        pages count once."""
        too_much = _killed() > self._killed or self._uses_too_much()
        return f"used more than {MEMORY_LIMIT // MIB:,} MiB of memory" if too_much else ""

    def _uses_too_much(self) -> bool:
        return all(
            sum(measure(member.pid) for member in self._members) > MEMORY_LIMIT
            for measure in (procfs.quick_resident_bytes, procfs.resident_bytes)
        )

    def _printed(self) -> str:
        if sum(output.total for output in self._outputs) > OUTPUT_LIMIT:
            return f"printed more than {OUTPUT_LIMIT // MIB:,} MiB"
        return ""

    def _files(self, now: Machine) -> str:
        count, size = written(self._directory)
        if count > FILE_LIMIT:
            return f"made more than {FILE_LIMIT:,} files"
        grown = max(now.disk - self._at_start.disk, now.shared - self._at_start.shared)
        if size <= DISK_LIMIT < grown:
            size += sum(map(nameless_bytes, [member.pid for member in self._members]))
        return f"wrote more than {DISK_LIMIT // MIB:,} MiB to files" if size > DISK_LIMIT else ""


def machine(directory: Path) -> Machine:
    """The use at this moment; zeros where the kernel does not say."""
    memory = dict(re.findall(rb"^(\w+): +(\d+) kB", procfs.read("/proc/meminfo"), re.M))
    names = (b"MemTotal", b"MemAvailable", b"Shmem")
    total, available, shared = (KIB * int(memory.get(name, 0)) for name in names)
    try:
        disk = os.statvfs(directory)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    except OSError:  # it was removed
        used = 0
    return Machine(threads=threads(), memory=total - available, shared=shared, disk=used)


def threads() -> int:
    """The threads of all programs: the second number in the fourth field, see proc_loadavg(5)."""
    fields = procfs.read("/proc/loadavg").split()
    return int(fields[3].split(b"/")[1]) if len(fields) > 3 else 0


def written(directory: Path) -> tuple[int, int]:
    """Number and bytes of the files below the directory; the count ends above FILE_LIMIT."""
    count = size = 0
    directories = [str(directory)]
    while directories and count <= FILE_LIMIT:
        try:
            entries = list(os.scandir(directories.pop()))
            for entry in entries:
                count += 1
                size += 512 * entry.stat(follow_symlinks=False).st_blocks
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.path)
        except OSError as error:  # removed meanwhile, or not readable for us
            if error.errno == errno.ENAMETOOLONG:  # a thousand directories in each other
                return FILE_LIMIT + 1, size
    return count, size


def nameless_bytes(pid: int) -> int:
    """Bytes in files that this process has open and that no directory names."""
    size = 0
    for name, target in procfs.descriptors(pid):
        if target.endswith(" (deleted)"):  # memory files (memfd_create) have such names too
            try:
                size += 512 * os.stat(f"/proc/{pid}/fd/{name}").st_blocks
            except OSError:
                pass
    return size
