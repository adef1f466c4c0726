"""What hostile submissions do: `python attacks.py NAME`, run by a server with attacks.c in it.

Each attack bounds itself, whether or not the grader stops it: it takes a fixed amount, never keeps
more than one processor busy, and each of its processes ends after BOUND_SECONDS.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

BOUND_SECONDS = 120
MIB = 1 << 20
REPORT = (
    b"\033[2J\033[H\r\033[K\x9b2J\v\f\xe2\x80\xae\n  100 of 100 points   (1.0 s)\r\n"
    b"  next: chapter 02, chapters/02-nonblocking/README.md\n\033[8m"
)


def main(name: str) -> None:
    signal.alarm(BOUND_SECONDS)
    globals()[name]()


def parent() -> int:
    """The process that has started the server."""
    return int(os.environ["HOSTILE_PARENT"])


def sleeps() -> None:
    while True:
        signal.pause()


def detached() -> bool:
    """True in a new process that nobody has started: its parent has ended."""
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.alarm(BOUND_SECONDS)
    return True


def breeds() -> None:
    """Each process forks and ends, so that it is gone before anybody has searched for it."""
    for _ in range(10_000):
        signal.alarm(BOUND_SECONDS)
        os.setsid()
        time.sleep(0.001)
        if os.fork():
            os._exit(1)


def detaches(mib: int = 100) -> None:
    """Memory in processes that nobody has started, one after the other."""
    mine, theirs = os.pipe()
    for _ in range(30):
        if detached():
            memory = b"x" * (mib * MIB)
            os.write(theirs, memory[:1])
            sleeps()
        os.read(mine, 1)


def detaches_little() -> None:
    detaches(1)


def pours(opened) -> None:
    """Four times what a server may write; no file is over the limit for one."""
    for number in range(32):
        file = opened(number)
        for _ in range(32):
            os.write(file, bytes(MIB))
    sleeps()


def fills_disk() -> None:
    pours(lambda number: os.open(f"file{number}", os.O_WRONLY | os.O_CREAT))


def fills_nameless_files() -> None:
    pours(lambda number: os.open(".", os.O_WRONLY | os.O_TMPFILE))


def hides_memory() -> None:
    """In files that are in memory only, and not mapped."""
    pours(lambda number: os.memfd_create("hidden"))


def many_files() -> None:
    for number in range(15_000):
        os.close(os.open(f"file{number}", os.O_CREAT, 0))
    sleeps()


def goes_deep() -> None:
    """Closed directories, so deep that their path is longer than any may be."""
    for _ in range(40):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    os.chmod(".", 0)
    sleeps()


def floods() -> None:
    for _ in range(1024):
        os.write(1, bytes(MIB))
        os.write(2, bytes(MIB))


def prints_report() -> None:
    """What a grade of full marks looks like, with what a terminal does to hide the real one."""
    os.write(1, REPORT + b'{"name": "test_01_echoes", "verdict": "passed", "detail": {}}\n')
    os.write(2, REPORT)
    with contextlib.suppress(OSError):
        os.write(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY), REPORT)
    sys.exit(1)


def stops() -> None:
    with contextlib.suppress(PermissionError):
        os.kill(parent(), signal.SIGSTOP)
    sys.exit(1)


def edits() -> None:
    with open(os.environ["HOSTILE_TARGET"], "a") as target:
        target.write("# edited\n")


def kills() -> None:
    """Kills the grader with its process group, and leaves children that ignore all signals."""
    for _ in range(3):
        if detached():
            for number in signal.valid_signals() - {signal.SIGALRM, signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            sleeps()
    group = os.getpgid(parent())
    if group not in (1, os.getpgrp()):
        os.killpg(group, signal.SIGKILL)


def attacks_all() -> None:
    """None of these works where the server is confined."""
    for one in (edits, kills, lambda: os.kill(parent(), signal.SIGSTOP)):
        with contextlib.suppress(PermissionError):
            one()


def reaches() -> None:
    """Tries to get out of its isolation, and says on stderr what it has reached."""
    given = json.loads(Path(__file__).with_name("given.json").read_text())
    attempts = {
        "listener": lambda: socket.create_connection(("127.0.0.1", given["port"])),
        # UDP connects by finding a route, and sends nothing.
        "network": lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 9)),
        "socket": lambda: socket.socket(socket.AF_UNIX).connect(given["socket"]),
        "result": lambda: open(given["result"], "a"),
        "sources": lambda: open(__file__, "a"),
        "grader": lambda: os.kill(parent(), signal.SIGKILL),
        "victim": lambda: os.kill(given["victim"], signal.SIGKILL),
        "memory": lambda: shared_memory(given["key"]),
    }
    reached = {name for name, attempt in attempts.items() if works(attempt)}
    private = ("environ", "maps", "auxv", "cwd/Makefile", "root/etc/passwd", "exe")
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(process)) != os.getsid(0):
                reached |= {name for name in private if reads(f"/proc/{process}/{name}", 1)}
    paths = given["paths"]
    read = [i for i, path in enumerate(paths) if reads(path)]
    root = [i for i, path in enumerate(paths) if reads(f"/proc/self/root{path}")]
    print(json.dumps([sorted(reached), read, root]), file=sys.stderr)


def shared_memory(key: int) -> None:
    if ctypes.CDLL(None).shmget(key, 4096, 0o1600) < 0:  # IPC_CREAT
        raise OSError


def works(attempt) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def reads(path: str, least: int = 0) -> bool:
    """Whether at least so many bytes can be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return len(file.read(1) or b"") >= least
    except OSError:
        return False


if __name__ == "__main__":
    main(sys.argv[1])
