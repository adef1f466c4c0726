"""The shim: what its schedules make of the calls of a program, and what of a
server it leaves alone."""

from __future__ import annotations

import ctypes
import errno
import signal
import subprocess
import sys
from pathlib import Path

from harness.server import preload
from harness.server.preload import Group, Plan, Shim, Step, alloc_library, fail, piece, shim_library
from harness.server.process import ServerProcess
from harness.submission.sizes import MIB
from harness.waiting import procfs
from harness.waiting.shared import PASS, SPURIOUS
from harness.waiting.wait import wait_until

LIBC = ctypes.CDLL(None)
SOURCE = Path(__file__).with_name("servers") / "disturbed.py"
INPUTS = ["read", "recv", "recvfrom", "readv", "recvmsg"]
OUTPUTS = ["write", "send", "sendto", "writev", "sendmsg"]
WAITS = ["poll", "ppoll", "select", "epoll_wait"]
ACCEPTS = ["accept", "accept4"]
ALLOCATIONS = ["malloc", "calloc", "realloc", "reallocarray"]
EAGAIN, EINTR, EPIPE = fail(errno.EAGAIN), fail(errno.EINTR), fail(errno.EPIPE)
READS, WRITES, WAITING, ACCEPTING = Group.INPUT, Group.OUTPUT, Group.WAIT, Group.ACCEPT
NO_MEMORY = Plan(Group.ALLOCATION, [fail(errno.ENOMEM)], at_least=MIB)


def disturbed(tmp_path, words: str, *plans: Plan) -> tuple[str, Shim]:
    """Returns what disturbed.py printed, and what the library has seen of it."""
    shared = Shim(tmp_path / "shim")
    shared.schedule(*plans)
    command = [sys.executable, "-S", SOURCE, *words.split()]
    environment = preload.environment([shim_library(), alloc_library()], shared.path)
    given = {"env": environment, "timeout": 60}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **given)
    return done.stdout.strip() if done.returncode == 0 else f"ended {done.returncode}", shared


# FUNCTION, TIMES and so on; the plan; what the program prints.
PIECES = [piece(1), EAGAIN, piece(6), EINTR, PASS, piece(1)]
CASES = [
    # A piece larger than the requested size takes two calls; errors come between pieces.
    *((f"{one} 7", Plan(READS, PIECES), "a EAGAIN bcde fg EINTR hijk l") for one in INPUTS),
    *(
        (f"{one} 4", Plan(WRITES, [piece(3), EAGAIN, piece(1)]), "3 EAGAIN 1 4 wxywwxyz")
        for one in OUTPUTS
    ),
    ("send 2", Plan(WRITES, [EPIPE]), "EPIPE 4 wxyz"),
    ("write 2", Plan(WRITES, [EPIPE]), f"ended {-signal.SIGPIPE}"),
    # Cut, a peek would show the same piece for ever; a real socket shows more at the next look.
    ("peek 2", Plan(READS, [piece(2), EINTR]), "abcd abcd"),
    ("read 2", Plan(READS, [Step(SPURIOUS)], connection=0), "EAGAIN abcd"),
    ("read 3 dup", Plan(READS, [piece(1), EINTR], connection=0), "a EINTR bcde"),
    ("read 3 blocking", Plan(READS, [piece(1), EAGAIN, piece(2)]), "a bc defg"),
    # Calls that find nothing do not count.
    ("read 5", Plan(READS, [EPIPE], skip=3), "abcd efgh ijkl EAGAIN EAGAIN"),
    ("read 3", Plan(READS, [EINTR], skip=1), "abcd EINTR efgh"),
    ("read 2", Plan(READS, [EINTR], at_least=5), "abcd efgh"),
    ("read 1", Plan(READS, [piece(1)], connection=1), "abcd"),
    ("read 6", Plan(READS, [piece(1), EINTR, PASS], cycles=True), "a EINTR bcde f EINTR ghij"),
    ("read 4 blocking", Plan(READS, [EAGAIN, piece(2)], cycles=True), "ab cd ef gh"),
    *((f"{one} 3", Plan(WAITING, [EINTR, PASS]), "EINTR 1 1") for one in WAITS),
    *((f"{one} 2", Plan(ACCEPTING, [fail(errno.EMFILE)], skip=1), "EMFILE fd") for one in ACCEPTS),
    *((f"{one} 2", NO_MEMORY, "ENOMEM 0") for one in ALLOCATIONS),
    ("close 2", Plan(Group.CLOSE, [EINTR]), "EINTR EBADF"),  # it is closed all the same
]


def test_what_a_schedule_makes_of_calls(tmp_path):
    found = [(words, plan, disturbed(tmp_path, words, plan)[0]) for words, plan, _ in CASES]
    assert found == CASES


def test_a_pause_interrupts_no_call():
    """Without the library epoll_wait(2) fails with EINTR when a process goes on. A signal still
    interrupts it."""
    command = [sys.executable, "-S", str(SOURCE.with_name("odd.py")), "waits_with_epoll"]
    with ServerProcess().start(command, preload=[shim_library()]) as server:
        for number in range(3):
            assert wait_until(lambda: procfs.thread_states(server.pid) == {"S"}, 60)
            server.pause()
            server.resume()
            assert wait_until(lambda: procfs.thread_states(server.pid) == {"S"}, 60)
            assert server.stdout.head.count(b"interrupted") == number
            server.signal(signal.SIGUSR2)
            told = (number + 1) * b"interrupted\n"
            assert wait_until(lambda: server.stdout.head.endswith(told), 60)


def test_the_library_has_no_name_of_a_student():
    """A function of the library with such a name would take the place of the student's."""
    command = ["nm", "-D", "--defined-only", str(shim_library())]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[-1].split("@")[0] for line in lines}
    own = [name for name in names if not hasattr(LIBC, name) and "io_uring_" not in name]
    assert own == ["shim_allocation_fails"]
