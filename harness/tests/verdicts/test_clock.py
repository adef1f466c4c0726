"""The clock of a server that the harness moves: each call that waits or tells the time goes by it,
to the nanosecond."""

import contextlib
import json
import os
import re
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.tests.drawn import some
from harness.claims.scenarios.timed import in_time
from harness.claims.stage.stage import Run, Stage
from harness.client.client import Client, Conversation
from harness.failures.failure import Failure, TooBusy
from harness.server import shim
from harness.server.output import Drain
from harness.server.process import ServerProcess
from harness.server.shim import Shim, shim_library
from harness.server.shim.layout import Mode
from harness.server.waiting.clock import MS, Clock, OwnClock, Start
from harness.server.waiting.wait import wait_until

SERVERS = Path(__file__).with_name("servers")
WAYS = """
    poll ppoll select pselect epoll_wait epoll_pwait epoll_pwait2 nanosleep clock_nanosleep
    clock_nanosleep_until usleep sleep cond_timedwait cond_monotonic cond_clockwait timerfd
    timerfd_read timerfd_interval setitimer alarm interrupted_sleep interrupted_poll
""".split()
OF_DAY = ("clock_nanosleep_until", "cond_timedwait")
HOUR = 3_600_000  # ms


class Clocked:
    """clocked.c with a clock of ours."""

    def __init__(self, tmp_path, *words, start=Start()):
        program = tmp_path / "clocked"
        source = SERVERS / "clocked.c"
        subprocess.run(["cc", "-O1", "-o", program, source, "-pthread"], check=True)
        shared = Shim(tmp_path / "shim")
        start.set(shared)
        self.process = subprocess.Popen(
            [program, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=shim.environment([shim_library()], shared.path),
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdout.readline() == b"ready\n"
        os.set_blocking(self.process.stdout.fileno(), False)
        self.clock = Clock(shared, self.process.pid)

    def begin(self):
        self.process.stdin.write(b".")
        assert self.clock.settle()
        assert self.clock.ours

    def printed(self):
        """For each wait that has ended: how long it took on both clocks, in ms, and its result."""
        lines = (self.process.stdout.read() or b"").decode().splitlines()
        numbers = [list(map(int, line.split())) for line in lines]
        return [(passed / MS, of_day / MS, result) for passed, of_day, result in numbers]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.mark.parametrize("way", some(WAYS, 8, "ways to wait", str))
def test_a_wait_ends_at_its_limit(tmp_path, way):
    with Clocked(tmp_path, way, 5_000) as program:
        for _ in range(3):
            program.begin()
            program.clock.advance(4_999)
            assert program.printed() == []
            program.clock.advance(1)
            assert program.printed() == [(5_000, 5_000, 0)]


def test_a_part_of_a_millisecond(tmp_path):
    with Clocked(tmp_path, "poll", 3) as program:
        program.begin()
        program.clock.advance(2.75)
        assert program.printed() == []
        program.clock.advance(0.5)
        assert program.printed() == [(3, 3, 0)]


def test_an_hour_takes_no_time(tmp_path):
    with Clocked(tmp_path, "poll", HOUR) as program:
        program.begin()
        began = time.monotonic()
        program.clock.advance(HOUR - 1)
        assert program.printed() == []
        program.clock.advance(1)
        assert program.printed() == [(HOUR, HOUR, 0)]
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("kind", ["threads", "fork"])
@pytest.mark.parametrize("way", ["poll", "cond_timedwait", "timerfd"])
def test_each_has_a_limit_of_its_own(tmp_path, way, kind):
    limits = (700, 30, 100, 30)
    words = ([] if kind == "threads" else ["fork"]) + [way, *limits]
    with Clocked(tmp_path, *words) as program:
        program.begin()
        for passed in range(10, 710, 10):
            program.clock.advance(9)
            assert program.printed() == []
            program.clock.advance(1)
            assert program.printed() == [(passed, passed, 0)] * limits.count(passed)


@pytest.mark.parametrize("way", ["poll", "timerfd", "setitimer"])
def test_one_advance_goes_from_due_to_due(tmp_path, way):
    """The one that is late does not keep the others: each wait ends at its own time."""
    limits = [100, 1, 30, 7, 7, 99] if way != "setitimer" else [50]
    with Clocked(tmp_path, "fork", way, *limits, *limits) as program:
        program.begin()
        program.clock.advance(HOUR)
        assert sorted(program.printed()) == sorted((ms, ms, 0) for ms in 2 * limits)
        assert program.clock.ours


@pytest.mark.parametrize("way", ["poll", *OF_DAY])
@pytest.mark.parametrize("hours", [-1, 1])
def test_the_time_of_day_is_set(tmp_path, way, hours):
    """A wait for a time of day lasts an hour longer, or ends at once; no other wait changes."""
    with Clocked(tmp_path, way, 1_000) as program:
        program.begin()
        program.clock.advance(600)
        program.clock.jump(hours * HOUR)
        more = 400 if way not in OF_DAY else max(0, 400 - hours * HOUR)
        if more:
            assert program.printed() == []
            program.clock.advance(more - 1)
            assert program.printed() == []
            program.clock.advance(1)
        assert program.printed() == [(600 + more, 600 + more + hours * HOUR, 0)]


def test_the_start_can_be_chosen(tmp_path):
    with Clocked(tmp_path, "poll", 1_000, start=Start(uptime_ms=2**32 - 60_000)) as program:
        assert 2**32 - 60_000 <= program.clock.now_ms < 2**32
        program.begin()
        program.clock.advance(120_000)
        assert program.printed() == [(1_000, 1_000, 0)]
        assert program.clock.now_ms > 2**32


def test_a_server_that_is_stopped_for_a_search_is_waited_for(tmp_path):
    with Clocked(tmp_path, "poll", 1_000) as program:
        program.begin()
        holds = [1]
        program.clock._holds = lambda: holds[0]
        os.kill(program.process.pid, signal.SIGSTOP)

        def let_go() -> None:
            os.kill(program.process.pid, signal.SIGCONT)
            holds[0] = 2

        timer = threading.Timer(0.3, let_go)
        timer.start()
        program.clock.advance(3_000)
        assert program.printed() == [(1_000, 1_000, 0)]
        timer.join()


def test_a_paused_server_sees_the_time_afterwards(tmp_path):
    with Clocked(tmp_path, "poll", 1_000) as program:
        program.begin()
        os.kill(program.process.pid, signal.SIGSTOP)
        program.clock.advance(3_000)
        assert program.printed() == []
        os.kill(program.process.pid, signal.SIGCONT)
        with selectors.DefaultSelector() as selector:
            selector.register(program.process.stdout, selectors.EVENT_READ)
            assert selector.select(10)
        assert program.printed() == [(3_000, 3_000, 0)]


def test_one_that_does_not_read_it_keeps_the_clock_of_the_machine(tmp_path):
    """It waits with a limit and has asked for no time: it may read the counter of a processor."""
    code = """if True:
        import ctypes, os
        print("ready", flush=True)
        os.read(0, 1)
        ctypes.CDLL(None).poll(None, 0, 500)
    """
    shared = Shim(tmp_path / "shim")
    Start().set(shared)
    command = [sys.executable, "-S", "-c", code]
    environment = shim.environment([shim_library()], shared.path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        clock = Clock(shared, process.pid)
        process.stdin.write(b".")
        process.stdin.flush()
        assert wait_until(shared.waiters, 5)
        with pytest.raises(OwnClock, match="it does not read the given one"):
            assert clock.ours
        process.kill()


def test_one_that_waits_unseen_keeps_the_clock_of_the_machine(tmp_path):
    """It reads ours, but a thread of it waits with a limit in a call of its own, as inside the C
    library."""
    code = """if True:
        import ctypes, os, threading, time
        libc, minute = ctypes.CDLL(None), (ctypes.c_long * 2)(60, 0)
        futex = (202 if os.uname().machine == "x86_64" else 98, (ctypes.c_int * 1)(0), 0, 0)
        threading.Thread(target=libc.syscall, args=(*futex, minute), daemon=True).start()
        print("ready", flush=True)
        time.monotonic()
        libc.poll(None, 0, 60_000)
    """
    shared = Shim(tmp_path / "shim")
    Start().set(shared)
    command = [sys.executable, "-S", "-c", code]
    environment = shim.environment([shim_library()], shared.path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            clock = Clock(shared, process.pid)
            assert wait_until(shared.waiters, 5)
            with pytest.raises(OwnClock, match="calls that the library does not see"):
                wait_until(lambda: not clock.ours, 10)
        finally:
            process.kill()


def test_one_that_has_ended_has_shown_nothing(tmp_path):
    """A claim about time fails for the crash, and is judged."""
    shared = Shim(tmp_path / "shim")
    Start().set(shared)
    command = [sys.executable, "-S", "-c", "print('ready', flush=True); input()"]
    environment = shim.environment([shim_library()], shared.path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        clock = Clock(shared, process.pid)
        process.kill()
        process.wait()
        assert clock.ours


def test_one_that_sleeps_for_ever_keeps_our_clock(tmp_path):
    """It has not shown by which clock it goes, and none would wake it."""
    shared = Shim(tmp_path / "shim")
    Start().set(shared)
    code = "import signal; print('ready', flush=True); signal.pause()"
    command = [sys.executable, "-S", "-c", code]
    environment = shim.environment([shim_library()], shared.path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        clock = Clock(shared, process.pid)
        began = clock.now_ms
        clock.advance(3_600_000)
        assert clock.ours and not clock.stands
        assert clock.now_ms == began + 3_600_000
        process.kill()


TALKER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print("listening on 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
client, _ = listener.accept()
client.recv(1)
sys.stderr.write("x" * 1_000_000)
client.recv(1)
"""


def test_one_that_waits_for_space_in_a_pipe_is_not_at_rest(monkeypatch):
    """It is asleep until we read what it has printed, and then it goes on."""
    stage = Stage(Run([sys.executable, "-S", "-c", TALKER], preload=str(shim_library())))
    server = stage.launch(clock=True)
    reads, read = threading.Event(), Drain._read

    def late(*arguments) -> None:
        reads.wait(10)
        read(*arguments)

    monkeypatch.setattr(Drain, "_read", late)
    server.connect().send(b".")
    assert wait_until(server.process.has_unheard_output, 10)
    threading.Timer(0.3, reads.set).start()
    assert server.clock.settle()
    assert reads.is_set()
    stage.clear()


@pytest.mark.parametrize("asleep, kind", [(True, Failure), (False, TooBusy)])
def test_with_the_clock_of_the_machine_one_that_sleeps_for_ever_is_judged(asleep, kind):
    server = SimpleNamespace(clock=SimpleNamespace(ours=False))
    with pytest.raises(kind, match="nothing came"), in_time(server):
        raise Failure("nothing came back", hint="silence", asleep=asleep)


# It looks at what has come every 20 ms of its clock, and sends a part of it back each time.
LOOKS_ROUND = """
import socket, time
s = socket.create_server(("127.0.0.1", 0))
print("listening on 127.0.0.1:%d" % s.getsockname()[1], flush=True)
c = s.accept()[0]
while True:
    time.monotonic()
    time.sleep(0.02)
    c.sendall(c.recv(4))
"""


def test_in_a_wait_time_goes_by_only_where_the_claim_says_so():
    """Outside of within() the clock stands, so the wait ends as soon as the server sleeps."""
    program = [sys.executable, "-S", "-c", LOOKS_ROUND]
    stage = Stage(Run(program, preload=str(shim_library()), sources=["looks_round.py"]))
    server = stage.launch(clock=True)
    client = server.connect()
    began = server.clock.now_ms
    client.send_frame(b"four")
    with pytest.raises(Failure, match="nothing will for the next 20 ms: the server") as found:
        client.expect_frame(b"four")
    assert found.value.asleep and server.clock.now_ms == began
    with server.clock.within(30), pytest.raises(Failure, match="only 4 of 8 bytes"):
        client.expect_frame(b"four")
    assert server.clock.now_ms == began + 20
    with server.clock.within(30):
        assert client.read_some(100) == b"four"
    assert server.clock.now_ms == began + 40
    stage.clear()


def test_only_claims_move_a_clock():
    """With Quiescence in their waits, as far as Clock.within() lets it."""
    harness = Path(__file__).parents[2]
    moves = re.compile(r"\bclock\.(advance|jump|go_on|within)\(")
    moving = {
        str(path.relative_to(harness))
        for part in ("claims", "client", "grading", "server")
        for path in (harness / part).rglob("*.py")
        if moves.search(path.read_text())
    }
    inside = {name for name in moving if not name.startswith(("claims/test_", "claims/scenarios/"))}
    assert inside == {"claims/instruments/observe.py", "server/waiting/idle.py"}


SLOW_START = """
import sys, time
print("ready", flush=True)
while time.process_time() < float(sys.argv[1]):
    pass
sys.stdin.readline()
"""


@contextlib.contextmanager
def in_line():
    """What is started in this block shares one processor with programs that want all of it."""
    before, loop = os.sched_getaffinity(0), ["timeout", "60", "sh", "-c", "while :; do :; done"]
    os.sched_setaffinity(0, {min(before)})
    busy = [subprocess.Popen(loop) for _ in range(8)]
    os.sched_setaffinity(0, before)
    try:
        yield min(before)
    finally:
        for process in busy:
            process.terminate()
            process.wait()


def test_one_that_stands_in_line_comes_to_rest(tmp_path):
    """It needs nearly 0.1 s of a processor, and gets a twenty-fifth of one."""
    shared = Shim(tmp_path / "shim")
    Start().set(shared)
    environment = shim.environment([shim_library()], shared.path)
    command = [sys.executable, "-S", "-c", SLOW_START, "0.12"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        with in_line() as processor:
            os.sched_setaffinity(process.pid, {processor})
            os.setpriority(os.PRIO_PROCESS, process.pid, 5)
            assert Clock(shared, process.pid).settle()
        process.stdin.close()
        assert process.wait(10) == 0


READER = """
import sys, time
sys.stdin.readline()
reads = [time.monotonic_ns() for _ in range(300_000)]
print(sorted(set(reads)), flush=True)
"""


def test_no_other_time_is_seen_while_it_is_set(tmp_path):
    """A server that reads it at any moment reads the time before or after, never another one."""
    shared = Shim(tmp_path / "shim")
    Start().set(shared)
    at = time.monotonic_ns() + HOUR * MS
    environment = shim.environment([shim_library()], shared.path)
    command = [sys.executable, "-S", "-c", READER]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        shared.set_clock(Mode.STANDS, at, at)
        process.stdin.write("read\n")
        process.stdin.flush()
        while not select.select([process.stdout], [], [], 0)[0]:
            for _ in range(1_000):
                shared.set_clock(Mode.STANDS, at, at)
        assert json.loads(process.stdout.read()) == [at]


PYTHON = """
import select, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
poller = select.{kind}()
print("listening on 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
client, _ = listener.accept()
poller.register(client, select.POLLIN)
while True:
    ms = int(client.recv(16))
    due = time.monotonic() + ms / 1000
    while (left := due - time.monotonic()) > 0:
        poller.poll(left * {unit})
    client.send(b"due\\n")
"""


@pytest.mark.parametrize("kind, unit", [("poll", 1000), ("epoll", 1)])
def test_a_server_in_python(kind, unit):
    code = PYTHON.format(kind=kind, unit=unit)
    with ServerProcess() as process:
        command = [sys.executable, "-S", "-c", code]
        process.start(command, preload=[shim_library()], clock=Start())
        client = Client(process.address, Conversation())
        for _ in range(100):
            client.send(b"60000")
            assert process.clock.settle()
            process.clock.advance(59_999)
            client.expect_nothing_yet()
            process.clock.advance(1 + 1)  # its numbers are rounded
            assert client.read_some(10) == b"due\n"
        client.abandon()
