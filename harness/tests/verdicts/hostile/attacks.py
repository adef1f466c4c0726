"""What hostile submissions do: a server with attacks.c in it runs `python attacks.py NAME`.

Each attack is bounded by itself: it takes a fixed amount, never keeps more than one processor busy,
and each of its processes ends after BOUND_SECONDS."""

import ctypes
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

BOUND_SECONDS = 120
MIB = 1 << 20
PARENT = int(os.environ.get("HOSTILE_PARENT", 0))  # the process that has started the server
REPORT = (
    b"\033[2J\033[H\r\033[K\x9b2J\v\f\xe2\x80\xae\n  100 of 100 points   (1.0 s)\r\n"
    b"  next: chapter 02, chapters/02-nonblocking/README.md\n\033[8m"
)


def sleeps():
    while True:
        signal.pause()


def detached():
    """True in a new process that nobody has started, because its parent has ended."""
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.alarm(BOUND_SECONDS)
    return True


def breeds():
    """Each process forks and ends, so that it is gone before anybody has searched for it."""
    for _ in range(10_000):
        signal.alarm(BOUND_SECONDS)
        os.setsid()
        if os.fork():
            os._exit(1)


def detaches(mib=100):
    """Memory in processes that nobody has started, one after the other."""
    mine, theirs = os.pipe()
    for _ in range(30):
        if detached():
            memory = b"x" * (mib * MIB)
            os.write(theirs, memory[:1])
            sleeps()
        os.read(mine, 1)


def pours(hidden=0):
    """Four times what a server may write, in files below the limit for one; or in memory files."""
    for number in range(32):
        name = f"file{number}"
        file = os.memfd_create(name) if hidden else os.open(name, os.O_WRONLY | os.O_CREAT)
        for _ in range(32):
            os.write(file, bytes(MIB))
    sleeps()


def many_files():
    for number in range(15_000):
        os.close(os.open(f"file{number}", os.O_CREAT, 0))
    sleeps()


def floods():
    for number in range(1024):
        os.write(1 + number % 2, bytes(MIB))
    sleeps()


def prints_report():
    """What a grade of full marks looks like, with what a terminal does to hide the real one."""
    os.write(1, REPORT + b'{"name": "test_01_echoes", "verdict": "passed", "detail": {}}\n')
    os.write(2, REPORT)
    sys.exit(1)


def stops():
    os.kill(PARENT, signal.SIGSTOP)
    sys.exit(1)


def edits():
    Path(os.environ["HOSTILE_TARGET"]).open("a").write("# edited\n")


def kills():
    """Kills the grader with its process group, and leaves children that ignore all signals."""
    for _ in range(3):
        if detached():
            for number in signal.valid_signals() - {signal.SIGALRM, signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            sleeps()
    if os.getpgid(PARENT) not in (1, os.getpgrp()):
        os.killpg(os.getpgid(PARENT), signal.SIGKILL)


def attacks_all():
    """None of these works where the server is confined."""
    for attack in (edits, kills, stops):
        with suppress(PermissionError):
            attack()


def reaches():
    """Tries to get out of its isolation, and says on stderr what it has reached."""
    given = json.loads(Path(__file__).with_name("given.json").read_text())
    attempts = {
        "listener": lambda: socket.create_connection(("127.0.0.1", given["port"])),
        # UDP connects by finding a route, and sends nothing.
        "network": lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 9)),
        "socket": lambda: socket.socket(socket.AF_UNIX).connect(given["socket"]),
        "result": lambda: open(given["result"], "a"),
        "sources": lambda: open(__file__, "a"),
        "grader": lambda: os.kill(PARENT, signal.SIGKILL),
        "victim": lambda: os.kill(given["victim"], signal.SIGKILL),
        "memory": lambda: ctypes.CDLL(None).shmget(given["key"], 4096, 0o1600) >= 0,  # IPC_CREAT
    }
    attempts |= {path: lambda path=path: open(path, "a") for path in given["locked"]}
    reached = {name for name, attempt in attempts.items() if works(attempt)}
    private = ("environ", "maps", "cwd/Makefile", "root/etc/passwd")
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(ProcessLookupError):
            if PARENT and os.getsid(int(process)) != os.getsid(0):
                reached |= {name for name in private if reads(f"/proc/{process}/{name}", 1)}
    tops = ("", "/proc/self/root")
    read = [[i for i, path in enumerate(given["paths"]) if reads(top + path)] for top in tops]
    print(json.dumps([sorted(reached), *read]), file=sys.stderr)


def works(attempt):
    with suppress(OSError):
        return attempt() is not False


def reads(path, least=0):
    return works(lambda: len(Path(path).open("rb", buffering=0).read(1)) >= least)


if __name__ == "__main__":
    signal.alarm(BOUND_SECONDS)
    globals()[sys.argv[1]](*map(int, sys.argv[2:]))
