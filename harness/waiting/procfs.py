"""What Linux reports about processes in /proc: a few typed readers. A process may vanish at any
moment, so every reader has a result for a process that is gone."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from harness.submission.sizes import KIB

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds, the unit of times in /proc/PID/stat
# The process has ended, or we may not look at it. EMFILE and the like are our own fault.
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
_PIECE = 64 * KIB
MANY_THREADS = 100  # of one process: then it is as cheap to read the whole process table
_FLAGS = 6  # its place in a line of stat, from the state on
_TCP = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTEN = b"0A"  # include/net/tcp_states.h
# linux/sched.h
_PF_EXITING = 4  # set before a process's descriptors are closed
_WALL = 0x40000000  # children of each kind, see waitpid(2)


class Process(NamedTuple):
    """One line of the process table. `started` (ticks since boot) tells a reused pid apart."""

    pid: int
    parent: int
    group: int
    session: int
    state: str  # R running, S sleeping, T stopped, Z zombie ...; see proc(5)
    started: int
    reaped_cpu: float  # seconds, of children it has waited for; to the nearest tick
    threads: int


class _Socket(NamedTuple):
    """A TCP socket of this machine."""

    port: int
    listens: bool
    inode: int


class Descriptors(NamedTuple):
    """Open descriptors of a server, all its processes together."""

    total: int
    sockets: int


def read_process(pid: int) -> Process | None:
    """The process table's line for `pid`, None if the process does not exist."""
    fields = _stat(f"/proc/{pid}/stat")
    if not fields:
        return None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        state=fields[0].decode(),
        started=int(fields[19]),
        reaped_cpu=(int(fields[13]) + int(fields[14])) * TICK,
        threads=int(fields[17]),
    )


def threads(pid: int) -> list[int]:
    """The ids of its threads; empty when the process is gone."""
    return [int(name) for name in _names(f"/proc/{pid}/task")]


def by_thread(pid: int, name: str) -> dict[int, str]:
    """The contents of this file, by the id of the thread; empty when the process is gone."""
    return {tid: read(f"/proc/{pid}/task/{tid}/{name}").decode() for tid in threads(pid)}


def of_threads(pid: int, name: str) -> list[str]:
    """The contents of this file for each of its threads; empty when the process is gone."""
    return list(by_thread(pid, name).values())


def states(pid: int) -> dict[int, str]:
    """The state of each of its threads, by their ids; empty if the process does not exist."""
    return {tid: fields[0].decode() for tid, fields in _threads(pid).items()}


def thread_states(pid: int) -> set[str]:
    """The states that its threads are in; empty if the process does not exist."""
    return set(states(pid).values())


def stopped(pid: int) -> bool:
    """Returns true if all its threads are stopped or have ended, or it is gone."""
    return thread_states(pid) <= set("TtZX")


def ending(pid: int) -> bool:
    """Returns true if it has ended, or will in a moment: all its threads are about to exit."""
    return all(int(fields[_FLAGS]) & _PF_EXITING for fields in _threads(pid).values())


def wait_channels(pid: int) -> set[str]:
    """The kernel's functions in which its threads sleep: "do_epoll_wait". "0" where the kernel does
    not say, or for a thread that runs; empty when the process is gone."""
    return set(of_threads(pid, "wchan"))


def times_run(pid: int, thread: int) -> int:
    """How often the thread was given a processor so far; 0 if the kernel does not count that."""
    words = read(f"/proc/{pid}/task/{thread}/schedstat").split()
    return int(words[2]) if len(words) == 3 else 0


def seconds_in_line(pid: int) -> dict[int, float]:
    """Seconds that each thread waited for a processor although it was runnable: see schedstat in
    proc(5). Empty if the kernel does not count them, or the process is gone."""
    words = {tid: text.split() for tid, text in by_thread(pid, "schedstat").items()}
    return {tid: int(found[1]) / 1e9 for tid, found in words.items() if len(found) == 3}


def longest_in_line(before: dict[int, float], after: dict[int, float]) -> float:
    """The seconds that one thread waited for a processor: the one that waited longest. Both are of
    seconds_in_line()."""
    in_line = [seconds - before.get(thread, seconds) for thread, seconds in after.items()]
    return max(in_line, default=0.0)


def table() -> dict[int, Process]:
    """Every process, by pid."""
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process}


def family(pid: int) -> dict[int, Process]:
    """The process and all below it, by pid.

    It may miss a process whose parent ends at that moment, and which so gets another parent.
    """
    if pid == os.getpid() and childless():
        own = read_process(pid)
        return {pid: own} if own else {}
    return _walked(pid) or {process.pid: process for process in tree([pid], table())}


def _walked(pid: int) -> dict[int, Process]:
    """The same, found without a search of all processes. Empty where that is not possible or not
    cheaper: some kernels are built without CONFIG_PROC_CHILDREN, and each thread has a list."""
    found: dict[int, Process] = {}
    pids = [pid] if os.path.exists(f"/proc/self/task/{os.getpid()}/children") else []
    for one in pids:  # grows while it is walked
        process = read_process(one)
        if process is not None and process.threads > MANY_THREADS:
            return {}
        if process is not None and one not in found:
            found[one] = process
            pids += [int(child) for text in of_threads(one, "children") for child in text.split()]
    return found


def childless() -> bool:
    """Whether this process has no children, not even ended ones: then nothing is below it, and no
    search is needed. The kernel looks at all threads at once, see __do_wait() in kernel/exit.c."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WALL)
    except ChildProcessError:
        return True
    return False


def below() -> list[Process]:
    """All processes below this one."""
    return [process for process in family(os.getpid()).values() if process.pid != os.getpid()]


def tree(roots: Iterable[int], processes: dict[int, Process]) -> list[Process]:
    """The roots and everything below them, each once, parents first."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    order = [pid for pid in dict.fromkeys(roots) if pid in processes]
    seen = set(order)
    for pid in order:  # grows while it is walked
        below = [child for child in children.get(pid, []) if child not in seen]
        seen.update(below)
        order += below
    return [processes[pid] for pid in order]


def status(pid: int) -> dict[str, str]:
    """The lines of /proc/PID/status by their names; empty when the process is gone."""
    lines = read(f"/proc/{pid}/status").decode(errors="replace").splitlines()
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads, including ended ones, to the nanosecond; zombies still report
    theirs.

    Uses the process's CPU clock, whose id is made as clock_getcpuclockid(3) makes it.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def resident_bytes(pid: int) -> int:
    """Resident memory; pages shared with other processes count in part (Pss) where Linux tells."""
    found = re.search(rb"^Pss:\s+(\d+) kB", read(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
    return int(found[1]) * KIB if found else quick_resident_bytes(pid)


def peak_bytes(pid: int) -> int:
    """The most resident memory that it has had so far, shared pages counted in full; 0 where Linux
    does not tell."""
    found = re.search(rb"^VmHWM:\s+(\d+) kB", read(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found[1]) * KIB if found else 0


def reserved_bytes(pid: int) -> int:
    """Private memory that it has requested, used or not: data and stacks, see statm."""
    fields = read(f"/proc/{pid}/statm").split()
    return int(fields[5]) * PAGE if fields else 0


def quick_resident_bytes(pid: int) -> int:
    """Resident memory, shared pages counted in full; rounded, but costs next to nothing."""
    fields = read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * PAGE if fields else 0


def end_first(pid: int) -> None:
    """Makes the kernel end this process first if the machine runs out of memory, and everything
    that it starts from now on."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:  # it has ended, or the kernel does not have the file
        pass


def descriptor_targets(pid: int) -> list[str]:
    """What each open descriptor is: "socket:[123]", a path ..."""
    return [target for _, target in descriptors(pid)]


def descriptors(pid: int) -> list[tuple[str, str]]:
    """The number of each open descriptor, and what it is."""
    found = []
    for name in _names(f"/proc/{pid}/fd"):
        try:
            found.append((name, os.readlink(f"/proc/{pid}/fd/{name}")))
        except _GONE:  # closed meanwhile
            pass
    return found


def hides(pid: int) -> bool:
    """Returns true if only root may see the descriptors and the memory map of this process. A
    process that is ending has given up its memory already, and hides nothing."""
    if os.access(f"/proc/{pid}/fd", os.R_OK):
        return False
    return read(f"/proc/{pid}/statm")[:2] not in (b"", b"0 ")


def maps_file(pid: int, path: str) -> bool:
    """Whether the process has mapped the file, as it does with a library it has loaded."""
    return named_in(read(f"/proc/{pid}/maps"), path)


def named_in(maps: bytes, path: str) -> bool:
    """Whether a file is in this list of what a process has mapped."""
    return os.fsencode(path).replace(b"\n", b"\\012") in maps


def listening_ports(pids: Iterable[int]) -> list[int]:
    """The TCP ports on which these processes listen, lowest first."""
    own = {target for pid in pids for target in descriptor_targets(pid)}
    return sorted({port for target, port in listeners().items() if target in own})


def listeners() -> dict[str, int]:
    """The port of every listening TCP socket; sockets are named as descriptor_targets() does."""
    # They come first, see tcp_seq_start() in net/ipv4/tcp_ipv4.c.
    found = (takewhile(lambda one: one.listens, _sockets(family)) for family in _TCP)
    return {f"socket:[{socket.inode}]": socket.port for family in found for socket in family}


def connected_ports() -> set[int]:
    """The local ports of all TCP connections, also of those that are over and in TIME_WAIT."""
    return {one.port for family in _TCP for one in _sockets(family) if not one.listens}


def _sockets(path: str) -> Iterator[_Socket]:
    """The sockets that a file lists, one by one: a long one need not be read completely."""
    try:
        with open(path, "rb") as file:
            next(file, b"")  # the heading
            for fields in map(bytes.split, file):
                port = int(fields[1].rpartition(b":")[2], 16)
                yield _Socket(port, fields[3] == _LISTEN, int(fields[9]))
    except _GONE:
        pass


def _threads(pid: int) -> dict[int, list[bytes]]:
    """The fields of every thread of the process, by its id."""
    found = {tid: _stat(f"/proc/{pid}/task/{tid}/stat") for tid in threads(pid)}
    return {tid: fields for tid, fields in found.items() if fields}


def _names(directory: str) -> list[str]:
    """The names in a directory; none when its process is gone."""
    try:
        return os.listdir(directory)
    except _GONE:
        return []


def _stat(path: str) -> list[bytes]:
    """The fields of a stat file from the third (state) on; see proc(5). Empty when it is gone."""
    text = read(path)
    return text[text.rindex(b")") + 2 :].split() if text else []  # the name may contain anything


def read(path: str) -> bytes:
    """The whole file; empty when it, or its process, is gone or not ours to read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except _GONE:
        return b""
    try:  # without a file object: thousands of these are read in a row
        parts = [os.read(file, _PIECE)]
        while parts[-1]:
            parts.append(os.read(file, _PIECE))
        return b"".join(parts)
    except _GONE:
        return b""
    finally:
        os.close(file)
