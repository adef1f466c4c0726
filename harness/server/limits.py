"""What a server may use of the machine, and the checks that find out when it uses more.

RLIMIT_AS does not fit: threads and some languages reserve far more memory than they use. And
RLIMIT_NPROC counts all processes of a user, and none for root. So what all processes of a server
have together is added up: once a second, and at once when the whole machine has more of it.
"""

from __future__ import annotations

import errno
import os
import re
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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

PERIOD = 0.02  # seconds between two calls of Watch.excess(), each of which is cheap
LOOK = 5  # calls from one check to the next
FULL_LOOK = 50  # the same, for a search of all its processes
# A check comes at once when the machine's load has grown by this much since the last one.
MORE_THREADS = 256
MORE_BYTES = 256 * MIB


class Machine(NamedTuple):
    """What all programs use together: cheap to read, and a sign that one of them uses more."""

    threads: int
    memory: int  # bytes not available, also in files that are in memory only
    disk: int  # bytes used where the server's directory is


def lacking_descriptors(count: int) -> str:
    """Why this process and its servers cannot have so many descriptors; "" if they can."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed == resource.RLIM_INFINITY or allowed >= count:
        return ""
    return f"this machine allows fewer than {count} descriptors (ulimit -Hn)"


class Watch:
    """Checks one server. `directory` is the one it writes to."""

    def __init__(self, tree: ProcessTree, outputs: Sequence[Output], directory: Path) -> None:
        self._tree = tree
        self._outputs = outputs
        self._directory = directory
        self._calls = 0
        self._members = tree.members()
        self._before = machine(directory)  # at the last search

    def excess(self) -> str:
        """What it uses too much of, "" if nothing. To be called often: mostly it costs little.

        A process that forks without end can have ten thousand after a tenth of a second.
        """
        self._calls += 1
        more_threads = threads() - self._before.threads > MORE_THREADS
        if self._calls % LOOK and not more_threads:
            return ""
        now = machine(self._directory)
        more_bytes = max(now.memory - self._before.memory, now.disk - self._before.disk)
        if self._calls % FULL_LOOK == 0 or more_threads or more_bytes > MORE_BYTES:
            return self.excess_now()
        return self._too_much()

    def excess_now(self) -> str:
        """What the server uses too much of, "" if nothing, by a search even if the last one was
        just now."""
        self._members = self._tree.members()
        self._before = machine(self._directory)
        return self._too_much(nameless=True)

    def _too_much(self, nameless: bool = False) -> str:
        """`nameless`: the files that no directory names count, too."""
        if len(self._members) > PROCESS_LIMIT:
            return f"started more than {PROCESS_LIMIT:,} processes"
        if sum(member.threads for member in self._members) > THREAD_LIMIT:
            return f"started more than {THREAD_LIMIT:,} threads"
        if self._uses_too_much():
            return f"used more than {MEMORY_LIMIT // MIB:,} MiB of memory"
        if sum(output.total for output in self._outputs) > OUTPUT_LIMIT:
            return f"printed more than {OUTPUT_LIMIT // MIB:,} MiB"
        count, size = written(self._directory)
        if count > FILE_LIMIT:
            return f"made more than {FILE_LIMIT:,} files"
        if nameless:
            size += sum(nameless_bytes(member.pid) for member in self._members)
        return f"wrote more than {DISK_LIMIT // MIB:,} MiB to files" if size > DISK_LIMIT else ""

    def _uses_too_much(self) -> bool:
        """A quick estimate, and the exact number only if that is too much; shared pages count
        once."""
        return all(
            sum(measure(member.pid) for member in self._members) > MEMORY_LIMIT
            for measure in (procfs.quick_resident_bytes, procfs.resident_bytes)
        )


def machine(directory: Path) -> Machine:
    """The use at this moment; zeros where the kernel does not say."""
    memory = dict(re.findall(rb"^(\w+): +(\d+) kB", procfs.read("/proc/meminfo"), re.M))
    total, available = (KIB * int(memory.get(name, 0)) for name in (b"MemTotal", b"MemAvailable"))
    try:
        disk = os.statvfs(directory)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    except OSError:  # it was removed
        used = 0
    return Machine(threads=threads(), memory=total - available, disk=used)


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
