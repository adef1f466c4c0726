"""A server that can do nothing more: when it is called so, and what it is said to wait for."""

import contextlib
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from harness.client.client import Client
from harness.failures.conversation import Conversation
from harness.server.linux import procfs
from harness.server.process import ServerProcess
from harness.server.shim import shim_library
from harness.server.waiting import asleep, delivery, idle, sockdiag
from harness.server.waiting.clock import Start
from harness.server.waiting.wait import Patience, wait_until

# A server that prints its port, lets one client in as `c`, and then does CODE.
PROGRAM = """
import select, socket, signal
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
c = s.accept()[0]
{code}
"""
POLL = "p = select.poll(); p.register(s, 1); p.register(c, {events}); p.poll({limit})"
EPOLL = "e = select.epoll(); e.register(s, 1); e.register(c, 1); e.poll()"
SELECT = "select.select([s, c], [], [])"

PROBES = 4  # the timer of a socket whose peer has no space
CALM_SECONDS = 1.0  # in which one that is not quiescent has been looked at often


def plain_server(process: subprocess.Popen) -> SimpleNamespace:
    """A process that keeps the clock of the machine, as far as Quiescence looks at a server."""
    return SimpleNamespace(
        pid=process.pid,
        alive=lambda: process.poll() is None,
        clock=None,
        paused=False,
        shim=None,
        has_unheard_output=lambda: False,
        pids=lambda: [process.pid],
        cpu_seconds=lambda: procfs.cpu_seconds(process.pid),
    )


@contextlib.contextmanager
def served(code):
    """A process, as far as Quiescence needs it, and a client of it."""
    command = [sys.executable, "-c", PROGRAM.format(code=code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            address = ("127.0.0.1", int(process.stdout.readline()))
            with Client(address, Conversation(), patience=Patience(5.0)) as client:
                yield plain_server(process), client
        finally:
            process.kill()


def told(code, before=lambda client: None) -> str:
    """Returns what the failure says of a quiescent server that runs this code."""
    with served(code) as (process, client):
        before(client)
        asks, began = idle.Quiescence(lambda: [process], lambda: [client]), time.monotonic()
        assert wait_until(lambda: asks(began), 30)
        return asleep.told(process, [client])


@pytest.mark.parametrize(
    "code, said",
    [
        (POLL.format(events=1, limit=""), "asleep in poll(): fd 3 POLLIN, fd 4 (A) POLLIN"),
        (POLL.format(events=0, limit=""), "asleep in poll(): fd 3 POLLIN, fd 4 (A) nothing"),
        (EPOLL, "asleep in epoll_wait(): fd 3 POLLIN, fd 4 (A) POLLIN"),
        (SELECT, "asleep in select(): fd 3 readable, fd 4 (A) readable"),
        ("c.recv(1)", "asleep in recv(): fd 4 (A)"),
        ("s.accept()", "asleep in accept(): fd 3"),
        ("signal.pause()", "asleep in pause()"),
    ],
)
def test_what_it_waits_for(code, said):
    assert told(code).replace("accept4", "accept") == said


def test_what_it_has_not_read():
    said = told("s.accept()", lambda client: client.send(b"twelve bytes"))
    assert said.endswith("; it has not read 12 bytes of fd 4 (A)")


@pytest.mark.parametrize(
    "count, said",
    [
        (0, ""),
        (1, "; it has not accepted client 0"),
        (7, "; it has not accepted client 0, client 1, client 2, client 3 and 3 more"),
    ],
)
def test_whom_it_has_not_accepted(count, said):
    with served("signal.pause()") as (_, client), contextlib.ExitStack() as stack:
        clients = [client]
        for number in range(count):
            one = Client(client.ends[1], Conversation(), name=f"client {number}")
            clients.append(stack.enter_context(one))
        assert wait_until(lambda: asleep.not_accepted(clients) == said, 30)


@pytest.mark.parametrize(
    "code",
    [
        POLL.format(events=1, limit=60_000),
        "import struct\nc.setsockopt(1, 20, struct.pack('ll', 60, 0))\nc.recv(1)",
        "signal.signal(signal.SIGALRM, print); signal.alarm(60); signal.pause()",
        "import time; time.sleep(60)",
    ],
    ids=["a time limit", "SO_RCVTIMEO", "an alarm", "sleeps"],
)
def test_what_time_will_wake(code):
    with served(code) as (process, client):
        asks, began = idle.Quiescence(lambda: [process], lambda: [client]), time.monotonic()
        assert not wait_until(lambda: asks(began), CALM_SECONDS)


def test_one_that_has_ended_is_not_waited_for():
    """Alone it says nothing: then a client hears of the end."""
    with served("pass") as (ended, _), served("s.accept()") as (process, client):
        assert wait_until(lambda: not ended.alive(), 30)
        asks, began = idle.Quiescence(lambda: [ended, process], lambda: [client]), 1.0
        assert wait_until(lambda: asks(began), 30)
        alone = idle.Quiescence(lambda: [ended], list)
        assert not wait_until(lambda: alone(began), CALM_SECONDS)


@pytest.mark.parametrize("timers", [0, 1])
def test_where_the_library_counts_timers_a_handler_says_nothing(timers):
    """Valgrind has handlers of all signals."""
    code = "signal.signal(signal.SIGALRM, print); signal.pause()"
    with served(code) as (process, client):
        process.shim = SimpleNamespace(kernel_timers=lambda: timers)
        asks, began = idle.Quiescence(lambda: [process], lambda: [client]), time.monotonic()
        found = wait_until(lambda: asks(began), CALM_SECONDS if timers else 30)
        assert found == (timers == 0)


def test_one_that_waits_for_a_page_will_go_on(monkeypatch):
    """It is in a call without a limit, and the kernel has it wait: the state is D, and not S."""
    monkeypatch.setattr(procfs, "thread_states", lambda pid: {"S", "D"})
    with served("c.recv(1)") as (process, client):
        asks, began = idle.Quiescence(lambda: [process], lambda: [client]), time.monotonic()
        assert not wait_until(lambda: asks(began), CALM_SECONDS)


def test_a_client_that_takes_nothing_keeps_nobody_awake():
    """The receive buffer of the client is full, and so a part of the output is not on its way."""
    with served("c.sendall(bytes(1 << 26))") as (process, client):
        asks, began = idle.Quiescence(lambda: [process], lambda: [client]), time.monotonic()
        assert wait_until(lambda: asks(began), 30)


@pytest.mark.parametrize(
    "unread, timer, drops, delivering",
    [(0, 1, False, True), (0, PROBES, False, True), (9, 1, False, True)]
    + [(9, PROBES, False, False), (0, 1, True, False)],
)
def test_what_the_kernel_has_still_to_deliver(monkeypatch, unread, timer, drops, delivering):
    """Output of the server; but not if the client has to take something first, or drops it."""
    ours, theirs = sockdiag.End(unread, 0, 1, 1), sockdiag.End(0, 5, 2, 1, timer)
    monkeypatch.setattr(sockdiag, "end", lambda one, other: {"h": ours, "t": theirs}[one])
    monkeypatch.setattr(delivery, "has_arrived", lambda client: True)
    client = SimpleNamespace(closed=False, drops=drops, ends=("h", "t"))
    assert delivery.is_delivering(client) is delivering


@pytest.mark.parametrize(
    "unread, unsent, owed", [(0, 0, False), (0, 1, True), (1, 1, False), (1, 0, False)]
)
def test_a_client_that_has_read_all_is_owed_what_is_on_its_way(monkeypatch, unread, unsent, owed):
    """Otherwise what is on its way waits for the client."""
    ends = {"here": sockdiag.End(unread, 0, 1, 1), "there": sockdiag.End(0, unsent, 2, 1)}
    monkeypatch.setattr(sockdiag, "end", lambda one, other: ends[one])
    client = SimpleNamespace(closed=False, drops=False, ends=("here", "there"))
    asks = idle.Quiescence(list, lambda: [client])
    assert asks.owes() is owed
    client.drops = True  # then what is on its way never comes
    assert not asks.owes()


def test_a_client_that_has_left_is_forgotten_when_the_server_has_heard_of_it():
    with served("socket.socket.recv(c, 1); s.accept()") as (process, client):
        asks = idle.Quiescence(lambda: [process], lambda: [client])
        client.close()
        began = time.monotonic()
        assert wait_until(lambda: asks(began), 30)


def test_a_client_that_has_left_may_have_sent_more_than_there_is_space_for():
    with served("s.accept()") as (process, client):
        asks = idle.Quiescence(lambda: [process], lambda: [client])
        while client.offer(bytes(1 << 20)) > 0:
            pass
        client.close()
        began = time.monotonic()
        assert wait_until(lambda: asks(began), 10)


def test_a_claim_may_have_streams_alone():
    with served("s.accept()") as (process, client):
        streams = [client._stream]
        asks = idle.Quiescence(lambda: [process], lambda: streams)
        client.send(bytes(10))
        began = time.monotonic()
        assert wait_until(lambda: asks(began), 10)


def test_a_clock_that_stands_wakes_nobody():
    """A server with a time limit waits for the claim to move its clock."""
    code = f"c.recv(1)\nimport time; time.monotonic()\n{POLL.format(events=1, limit=60_000)}"
    listens = "print('listening on 127.0.0.1', end=':'); print("
    program = PROGRAM.format(code=code).replace("print(", listens)
    with ServerProcess() as process:
        command = [sys.executable, "-S", "-c", program]
        process.start(command, preload=[shim_library()], clock=Start())
        with Client(process.address, Conversation()) as client:
            client.send(b"x")
            process.clock.advance(10)
            assert process.clock.stands
            asks = idle.Quiescence(lambda: [process], lambda: [client])
            began = time.monotonic()
            assert wait_until(lambda: asks(began), 30)


def test_what_is_in_the_middle_of_a_delivery_is_waited_for(monkeypatch):
    """The processor of a virtual machine may stand still there: the bytes are in the socket, and
    the thread that waits for them sleeps."""
    with served(POLL.format(events=1, limit="")) as (process, client):
        asks, began = idle.Quiescence(lambda: [process], lambda: [client]), time.monotonic()
        assert wait_until(lambda: asks(began), 30)
        monkeypatch.setattr(idle, "finish_deliveries", lambda: client.send(b"x"))
        time.sleep(idle.LOOK_SECONDS)
        assert not asks(began)
