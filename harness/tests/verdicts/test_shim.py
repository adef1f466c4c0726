"""The shim: what its schedules make of the calls of a C program, what it counts, and what of a
server it leaves alone."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.failures.failure import NotJudged
from harness.server import shim
from harness.server.linux import procfs
from harness.server.process import ServerProcess
from harness.server.shim import (
    Group,
    Plan,
    Shim,
    Step,
    alloc_library,
    fail,
    layout,
    piece,
    shim_library,
)
from harness.server.shim.layout import PASS, SPURIOUS
from harness.server.waiting.wait import wait_until

SOURCE = Path(__file__).with_name("servers") / "disturbed.c"
INPUTS = ["read", "recv", "recvfrom", "readv", "recvmsg"]
OUTPUTS = ["write", "send", "sendto", "writev", "sendmsg"]
WAITS = ["poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait"]
EAGAIN, EINTR, EPIPE = fail(errno.EAGAIN), fail(errno.EINTR), fail(errno.EPIPE)
READS, WRITES = Group.INPUT, Group.OUTPUT


@pytest.fixture(params=["-O0", "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"])
def disturb(request, tmp_path):
    """disturb(words, *plans) -> what disturbed.c printed, and what the library has seen of it"""
    program = tmp_path / "disturbed"
    subprocess.run(["cc", *request.param.split(), "-o", program, SOURCE], check=True)

    def run(words: str, *plans: Plan, traced: bool = False) -> tuple[str, Shim]:
        shared = Shim(tmp_path / "shim")
        shared.schedule(*plans)
        if traced:
            shared.record_what_is_watched()
        libraries = [shim_library(), *([alloc_library()] if "malloc" in words else [])]
        done = subprocess.run(
            [program, *words.split()],
            env=shim.environment(libraries, shared.path),
            capture_output=True,
            text=True,
            timeout=60,
        )
        said = done.stdout.strip() if done.returncode == 0 else f"ended {done.returncode}"
        return said, shared

    return run


# FUNCTION, TIMES and so on; plans; what the program prints.
CASES = [
    # A piece larger than the requested size takes two calls; errors come between pieces.
    *(
        (f"{name} 7", [Plan(READS, [piece(1), EAGAIN, piece(6), EINTR, PASS], connection=0)], says)
        for name in INPUTS
        for says in ["a EAGAIN bcde fg EINTR hijk l"]
    ),
    *(
        (f"{name} 4", [Plan(WRITES, [piece(3), EAGAIN, piece(1)])], "3 EAGAIN 1 4 wxywwxyz")
        for name in OUTPUTS
    ),
    ("send 2", [Plan(WRITES, [EPIPE])], "EPIPE 4 wxyz"),
    ("write 2", [Plan(WRITES, [EPIPE])], f"ended {-signal.SIGPIPE}"),
    ("writev 2", [Plan(WRITES, [EPIPE])], f"ended {-signal.SIGPIPE}"),
    # Cut, a peek would show the same piece for ever; a real socket shows more at the next look.
    ("peek 3", [Plan(READS, [piece(2), EINTR])], "abcd abcd abcd"),
    *(
        (f"read 3 {how}", [Plan(READS, [piece(1), EINTR], connection=0)], "a EINTR bcde")
        for how in ("dup", "dup2", "dup3", "fcntl")
    ),
    # No EAGAIN where a call may wait.
    ("read 3 blocking", [Plan(READS, [piece(1), EAGAIN, piece(2)])], "a bc defg"),
    # Calls that find nothing do not count.
    ("read 5", [Plan(READS, [fail(errno.ECONNRESET)], skip=3)], "abcd efgh ijkl EAGAIN EAGAIN"),
    ("read 3", [Plan(READS, [EINTR], skip=1)], "abcd EINTR efgh"),
    ("read 2", [Plan(READS, [EINTR], at_least=5)], "abcd efgh"),
    ("read 1", [Plan(READS, [piece(1)], connection=1)], "abcd"),
    ("read 2", [Plan(WRITES, [piece(1)]), Plan(READS | WRITES, [piece(2)])], "ab cdef"),
    *((f"{name} 3", [Plan(Group.WAIT, [EINTR, PASS])], "EINTR 1 1") for name in WAITS),
    *(
        (f"{name} 2 empty", [Plan(Group.WAIT, [Step(SPURIOUS), PASS], connection=at)], says)
        for name in WAITS
        for at, says in ((0, "1 0"), (7, "0 0"))
    ),
    *(
        (f"{name} 2", [Plan(Group.ACCEPT, [fail(getattr(errno, error))], skip=1)], f"{error} 0")
        for name in ("accept", "accept4")
        for error in ("EINTR", "ECONNABORTED", "EMFILE")
    ),
    # It is closed all the same.
    ("close 2", [Plan(Group.CLOSE, [EINTR])], "EINTR EBADF"),
    ("malloc 2", [Plan(Group.ALLOCATION, [fail(errno.ENOMEM)], at_least=4)], "ENOMEM 0"),
]


def test_what_a_schedule_makes_of_calls(disturb):
    found = [(words, plans, disturb(words, *plans)[0]) for words, plans, _ in CASES]
    assert found == CASES


def test_chance_is_repeated_by_its_seed(disturb):
    steps = [piece(4), EINTR, EAGAIN]
    said = [disturb("read 40", Plan(READS, steps, seed=seed))[0] for seed in (7, 7, 8)]
    assert said[0] == said[1] != said[2]
    for words in map(str.split, said):
        assert "".join(word for word in words if word[0] != "E") == "abcdefghijkl"
        assert {"EINTR", "EAGAIN"} <= set(words)


def test_what_is_counted_and_recorded(disturb):
    """A call that its schedule has changed is told apart, and so is a second close()."""
    for kind, names in enumerate((OUTPUTS, INPUTS, WAITS, ["accept", "accept4"])):
        for name in names:
            found = []
            for times in (0, 3):
                _, shared = disturb(f"{name} {times}")
                told = [one.function for one in shared.record()]
                found.append((shared.calls()[kind], told.count(name)))
            assert [more - few for few, more in zip(*found)] == [3, 3], name
    _, shared = disturb("read 2", Plan(READS, [piece(1)]))
    read = [one for one in shared.record() if one.function == "read"]
    assert [(one.size, one.result, one.fault) for one in read] == [(4, 1, True), (4, 4, False)]
    _, shared = disturb("close 2")
    closed = [one.closed_twice for one in shared.record() if one.function == "close"]
    assert closed == [False, True]


def test_a_spin_does_not_push_out_what_was_before(disturb):
    _, shared = disturb("poll 100000", traced=True)
    record = shared.record()
    (counter,) = [one for one in record if one.repeated]
    assert counter.result > 99_000
    told = [one.function for one in record if one.is_major and not one.repeated]
    assert told[:2] == ["accept", "send"] and len(record) < layout.RECORD_ENTRIES


def test_a_schedule_that_met_no_call_is_no_test(disturb):
    """A claim that passes then has not disturbed the server."""
    _, met = disturb("read 7", Plan(READS, [PASS], connection=0))
    met.require_calls()  # a step that changes nothing has met its call all the same
    _, unmet = disturb("read 7", Plan(READS, [piece(1)], connection=5))
    with pytest.raises(NotJudged, match="sees none of the calls"):
        unmet.require_calls()


def test_names_of_a_server_are_its_own():
    """A server may call its functions as it likes: the library exports what it replaces only."""
    for library, own in ((shim_library(), {"shim_allocation_fails"}), (alloc_library(), set())):
        words = ["nm", "-D", "--defined-only", "--format=posix", str(library)]
        names = {line.split()[0] for line in subprocess.check_output(words, text=True).splitlines()}
        others = {"calloc", "free", "malloc", "realloc", "reallocarray", "sigaction", "signal"}
        others |= {"sleep", "usleep"}
        others |= {name for name in names if name.lstrip("_").startswith("io_uring_")}
        assert names - own <= {*layout.FUNCTIONS, *others}


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
