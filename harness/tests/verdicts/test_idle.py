"""A server that can do nothing more: when it is called so, and what it is said to wait for."""

from __future__ import annotations

import contextlib
import sys
import time

import pytest

from harness.client.client import Client
from harness.feedback.conversation import Conversation
from harness.server.preload import shim_library
from harness.server.process import ServerProcess
from harness.waiting import idle, threads
from harness.waiting.wait import Patience, wait_until

# A server that lets one client in as `c`, and then does CODE.
PROGRAM = """
import ctypes, os, select, signal, socket, struct, threading, time
os.closerange(3, 64)  # whatever Python itself has opened
s = socket.create_server(("127.0.0.1", 0))
print("listening on 127.0.0.1:%d" % s.getsockname()[1], flush=True)
c = s.accept()[0]
{code}
"""
POLL = "p = select.poll(); p.register(s, 1); p.register(c, {events}); p.poll({limit})"
EPOLL = "e = select.epoll(); e.register(s, 1); e.register(c, 1); e.poll()"
THREAD = "threading.Thread(target={}, args=({},)).start(); s.accept()"
SLEEPS = {
    POLL.format(events=1, limit=""): "asleep in poll(): fd 3 POLLIN, fd 4 (A) POLLIN",
    POLL.format(events=0, limit=""): "asleep in poll(): fd 3 POLLIN, fd 4 (A) nothing",
    EPOLL: "asleep in epoll_wait(): fd 3 POLLIN, fd 4 (A) POLLIN",
    "select.select([s, c], [], [])": "asleep in select(): fd 3 readable, fd 4 (A) readable",
    "c.recv(1)": "asleep in recv(): fd 4 (A)",
    "s.accept()": "asleep in accept(): fd 3",
    "signal.pause()": "asleep in pause()",
    # Its client takes nothing, and so most of its output is not on its way.
    "c.sendall(bytes(1 << 26))": "asleep in send(): fd 4 (A)",
    THREAD.format("c.recv", 1): "asleep in accept(), recv(): fd 3, fd 4 (A)",
}
WILL_GO_ON = [
    POLL.format(events=1, limit=60_000),
    "c.setsockopt(1, 20, struct.pack('ll', 60, 0)); c.recv(1)",
    "signal.signal(signal.SIGALRM, print); signal.alarm(60); signal.pause()",
    "time.sleep(60)",
    "while True: pass",
    "os.fork() or time.sleep(60); s.accept()",
    THREAD.format("time.sleep", 60),
    "pass",  # it has ended: then a client hears of the end
    "ctypes.CDLL(None).timer_create(1, None, ctypes.byref(ctypes.c_void_p())); signal.pause()",
]


@contextlib.contextmanager
def served(code, library=False):
    """A server that runs this code, and a client of it. `library`: it has loaded the shim."""
    command = [sys.executable, "-S", "-c", PROGRAM.format(code=code)]
    preload = [shim_library()] if library else []
    with ServerProcess().start(command, preload=preload) as process:
        with Client(process.address, Conversation(), patience=Patience(5.0)) as client:
            yield process, client


def sleeps(process, *clients) -> bool:
    """Waits until the server is said to do nothing more."""
    asks, began = idle.Quiescence(lambda: [process], lambda: list(clients)), time.monotonic()
    return wait_until(lambda: asks(began), 60)


@pytest.mark.parametrize("library", [False, True])
def test_a_server_that_sleeps_for_ever(library):
    """It is found with and without the shim, and the failure says what it waits for."""
    found = {}
    for code in SLEEPS:
        with served(code, library) as (process, client):
            assert sleeps(process, client), code
            found[code] = threads.told(process, [client]).replace("accept4", "accept")
    assert found == SLEEPS


@pytest.mark.parametrize("library", [False, True])
def test_a_server_that_may_go_on_is_waited_for(library):
    with contextlib.ExitStack() as stack:
        asks = []
        for code in WILL_GO_ON if library else WILL_GO_ON[:-1]:
            process, client = stack.enter_context(served(code, library))
            asks.append(idle.Quiescence(lambda one=process: [one], lambda one=client: [one]))
        began = time.monotonic()
        assert not wait_until(lambda: any([ask(began) for ask in asks]), 0.5)
