"""The clock of a server that the harness moves: each call that waits or tells the time goes by it,
to the nanosecond."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.server import preload
from harness.server.linux import prctl
from harness.server.preload import Shim, shim_library
from harness.waiting.clock import MS, Clock, OwnClock, Start
from harness.waiting.wait import wait_until

SOURCE = Path(__file__).with_name("servers") / "clocked.py"
WAYS = "poll ppoll select pselect epoll_wait epoll_pwait nanosleep usleep until".split()
PYTHON = [sys.executable, "-S"]
HOUR = 3_600_000  # ms


class Clocked:
    """A process with a clock of ours."""

    def __init__(self, tmp_path, command):
        shared = Shim(tmp_path / "shim")
        Start().set(shared)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        environment = preload.environment([shim_library()], shared.path)
        given = {"env": environment, "start_new_session": True}
        self.process = subprocess.Popen(command, **pipes, **given)
        assert self.process.stdout.readline() == b"ready\n"
        os.set_blocking(self.process.stdout.fileno(), False)
        self.shared, self.clock = shared, Clock(shared, self.process.pid)

    def begin(self):
        self.process.stdin.write(b".")
        assert self.clock.settle() and self.clock.ours

    def printed(self):
        """For each wait that has ended: how long it took on its clock, in ns, and its result."""
        lines = (self.process.stdout.read() or b"").decode().splitlines()
        return sorted(tuple(map(int, line.split())) for line in lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)  # not waited for before, so it is there
        self.process.communicate()


@pytest.fixture
def clocked(tmp_path):
    """clocked(way, ms, ...) -> clocked.py with these arguments, and a clock of ours"""
    return lambda *words: Clocked(tmp_path, [*PYTHON, SOURCE, *map(str, words)])


def test_each_way_to_wait_ends_at_its_limit(clocked):
    """Not a nanosecond before it; and an hour takes no time."""
    for way in WAYS:
        with clocked(way, HOUR) as program:
            for _ in range(2):
                program.begin()
                program.clock.advance(HOUR - 1 / MS)
                assert program.printed() == [], way
                program.clock.advance(1 / MS)
                assert program.printed() == [(HOUR * MS, 0)], way


@pytest.mark.parametrize("way", ["poll", "epoll_wait", "until"])
def test_processes_have_limits_of_their_own(clocked, way):
    """One advance() goes from due to due: a wait that ends late does not keep the others."""
    limits = (700, 30, 100, 30, 70, 20)
    with clocked(way, *limits) as program:
        program.begin()
        for passed in range(10, 110, 10):
            program.clock.advance(9)
            assert program.printed() == []
            program.clock.advance(1)
            assert program.printed() == [(passed * MS, 0)] * limits.count(passed)
        program.clock.advance(600)
        assert program.printed() == [(700 * MS, 0)]
        program.begin()
        program.clock.advance(HOUR)
        assert program.printed() == sorted((ms * MS, 0) for ms in limits)


# Programs, and why the clock of each is the machine's; "" if it is ours.
COUNTER = "import os; os.read(0, 1); ctypes.CDLL(None).poll(None, 0, 60_000)"
ALARM = "import signal; signal.alarm(60); ctypes.CDLL(None).poll(None, 0, -1)"
INSIDE = """import threading, time, os
libc, minute = ctypes.CDLL(None), (ctypes.c_long * 2)(60, 0)
futex = (202 if os.uname().machine == "x86_64" else 98, (ctypes.c_int * 1)(0), 0, 0)
threading.Thread(target=libc.syscall, args=(*futex, minute), daemon=True).start()
time.monotonic()
libc.poll(None, 0, 60_000)
"""


@pytest.mark.parametrize(
    "code, why",
    [
        (COUNTER, "it does not read the given one"),  # it may read the counter of a processor
        (ALARM, "calls that the library does not see"),
        (INSIDE, "calls that the library does not see"),  # as inside the C library
        ("import signal; signal.pause()", ""),
        ("raise SystemExit", ""),  # a claim about time fails for the crash, and is judged
    ],
)
def test_whose_clock_it_is(tmp_path, code, why):
    code = f"import ctypes\nprint('ready', flush=True)\n{code}"
    with Clocked(tmp_path, [*PYTHON, "-c", code]) as program:
        if why:
            program.process.stdin.write(b".")
            assert wait_until(program.shared.waiters, 60)
            with pytest.raises(OwnClock, match=why):
                wait_until(lambda: not program.clock.ours, 60)
            return
        began = program.clock.now_ms
        program.clock.advance(HOUR)
        assert program.clock.ours and program.clock.now_ms == began + HOUR


ON_A_RING = r"""
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    struct io_uring ring;
    struct io_uring_cqe *completion;
    struct __kernel_timespec minute = {.tv_sec = 60};
    int ends[2];
    char byte;
    if (pipe(ends) < 0 || io_uring_queue_init(8, &ring, 0) < 0)
        return 1;
    dprintf(1, "ready\n");
    while (read(0, &byte, 1) == 1) {
        time(NULL); /* one that asks for no time has a clock of its own */
        io_uring_prep_poll_add(io_uring_get_sqe(&ring), ends[0], POLLIN);
        int submitted = io_uring_submit_and_wait_timeout(&ring, &completion, 1, &minute, NULL);
        dprintf(1, "%d\n", submitted);
    }
}
"""


@pytest.mark.skipif(prctl.ring_problem() != "", reason=prctl.ring_problem())
def test_a_call_that_submits_waits_until_its_limit(tmp_path):
    """When the first slice is over, the call returns how many operations it has submitted."""
    command = [str(tmp_path / "on-a-ring")]
    words = ["cc", "-xc", "-", "-o", *command, "-luring"]
    subprocess.run(words, input=ON_A_RING, text=True, check=True)
    with Clocked(tmp_path, command) as program:
        for _ in range(2):
            program.begin()
            program.clock.advance(59_999)
            now = program.clock._generation
            assert wait_until(lambda: any(one.seen == now for one in program.shared.waiters()), 60)
            assert program.printed() == []
            program.clock.advance(1)
            assert program.printed() == [(1,)]
