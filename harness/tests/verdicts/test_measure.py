"""What the claims learn about a connection from the kernel."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from harness.tests.parts.peer import peer  # noqa: F401: a fixture
from harness.tests.verdicts.test_idle import plain_server
from harness.claims.instruments import observe
from harness.claims.scenarios import sent_at_once
from harness.claims.scenarios.greedy import greedy
from harness.claims.scenarios.many_clients import arrive_together
from harness.client import stream
from harness.failures.conversation import Conversation
from harness.failures.failure import Failure
from harness.lab.units import KIB, MIB
from harness.server.waiting import sockdiag
from harness.server.waiting.idle import Quiescence
from harness.server.waiting.wait import Activity, Patience, wait_until


class Server:
    """A listening socket, as far as arrive_together() looks at a server."""

    patience = Patience(1.5)

    def __init__(self, backlog: int) -> None:
        self.conversation = Conversation()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.address = self.socket.getsockname()


@pytest.fixture
def pair():
    """A client and the server's end of its connection."""
    with Server(1).socket as listener:
        with socket.create_connection(listener.getsockname()) as client:
            accepted, _ = listener.accept()
            with accepted:
                yield client, accepted


def by_tables(client: socket.socket):
    return observe._unread_in_tables(client.getpeername()[1], client.getsockname()[1])


def test_unread_bytes(pair):
    client, server = pair
    for sent, read, left in ((b"hello", 0, 5), (b"", 3, 2), (b"", 2, 0)):
        client.sendall(sent)
        server.recv(read)
        assert observe.unread_bytes(client) == by_tables(client) == left


def test_where_the_kernel_does_not_answer(pair, monkeypatch):
    def unavailable(here, there):
        raise sockdiag.Unavailable("not here")

    monkeypatch.setattr(sockdiag, "queues", unavailable)
    monkeypatch.setattr(sockdiag, "sending", unavailable)
    pair[0].sendall(b"abc")
    assert observe.unread_bytes(pair[0]) == 3
    assert observe.bytes_within(pair[0], 5) is None
    assert not observe.kernel_tells(pair[0])


def test_unread_bytes_of_one_that_was_never_accepted():
    with Server(5).socket as listener:
        with socket.create_connection(listener.getsockname()) as client:
            client.sendall(b"hello")
            assert observe.unread_bytes(client) == 5


def test_nothing_is_unread_when_the_other_end_is_gone(pair):
    client, server = pair
    server.close()
    assert not observe.unread_bytes(client)
    assert sockdiag.queues(("127.0.0.1", 1), client.getsockname()) is None


def test_bytes_that_are_in_the_server_itself(pair):
    client, server = pair
    for sent, read, written, within in (
        (b"hello", 5, b"", 5),
        (b"", 0, b"hel", 2),
        (b"", 0, b"lo", 0),
    ):
        client.sendall(sent)
        server.recv(read)
        server.sendall(written)
        assert observe.bytes_within(client, 5) == within


@pytest.mark.parametrize(
    "program, asleep",
    [("import time; time.sleep(60)", True), ("while True: pass", False), ("", False)],
)
def test_whether_a_server_sleeps(program, asleep):
    """One that spins, or has ended, is not waited for to the end."""
    with running(program) as process:
        assert observe.until_asleep(SimpleNamespace(process=process), 30) is asleep


@contextlib.contextmanager
def running(program):
    """A process of Python with this text."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        process.activity_now = Activity
        try:
            yield process
        finally:
            process.kill()


WAITS = "import select; select.select([], [], []{})"

LOCKED = """
import fcntl, os
file = os.memfd_create("locked")
fcntl.flock(file, fcntl.LOCK_EX)
fcntl.flock(os.open(f"/proc/self/fd/{file}", os.O_RDWR), fcntl.LOCK_EX)
"""


@pytest.mark.parametrize(
    "program, hangs",
    [
        (WAITS.format(""), True),
        ("import signal; signal.sigwait([12])", True),
        (LOCKED, False),
        (WAITS.format(", 60"), False),
        ("import time\nwhile True: time.sleep(0.1)", False),
        ("while True: pass", False),
    ],
    ids=["for ever", "a signal", "another call", "until a time", "now and then", "spins"],
)
def test_a_server_that_hangs(program, hangs):
    with running(program) as process:
        server = plain_server(process)
        observe.until_asleep(SimpleNamespace(process=process), 1)
        hang, began = Quiescence(lambda: [server]), time.monotonic()
        assert not hang(began)
        assert wait_until(lambda: hang(began), 60 if hangs else 2) is hangs


def test_a_flood_has_begun_and_ends():
    server = Server(5)
    came = [0, 0]  # bytes, of each client

    def echo(number: int) -> None:
        with server.socket.accept()[0] as stream:
            try:
                while data := stream.recv(64 * KIB):
                    came[number] += len(data)
                    stream.sendall(data)
            except OSError:  # the client has closed with replies unread
                pass

    with server.socket:
        threads = [threading.Thread(target=echo, args=(number,), daemon=True) for number in (0, 1)]
        for thread in threads:
            thread.start()
        with greedy(server, b"hello", clients=2):
            assert any(came)
            assert wait_until(lambda: min(came) > MIB, 10)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()


def test_greedy_clients_of_a_dead_server():
    server = Server(5)
    server.socket.close()
    with pytest.raises(Failure, match="Connection refused") as found, greedy(server, b"hello"):
        pytest.fail("nobody has taken the connections")
    assert found.value.hint == "connect-refused"
    assert server.conversation.steps[0].failed


def test_a_long_backlog_takes_everybody():
    server = Server(300)
    with server.socket:
        arrive_together(server, 200)


@pytest.mark.parametrize("backlog", [0, 5])
def test_a_short_backlog_is_told(backlog):
    server = Server(backlog)
    with server.socket, pytest.raises(Failure, match=f"^{backlog + 1} of 200 clients") as found:
        arrive_together(server, 200)
    assert found.value.hint == "backlog-too-short"
    assert server.conversation.steps[0].failed


def test_nobody_listens():
    server = Server(5)
    server.socket.close()
    with pytest.raises(Failure, match="^0 of 200 clients .* refused") as found:
        arrive_together(server, 200)
    assert found.value.hint == "connect-refused"


@pytest.mark.parametrize("code, waits", [("while True: pass", False), ("time.sleep(60)", True)])
def test_a_process_that_never_waits(code, waits):
    with running(f"import time\nprint(flush=True)\n{code}") as process:
        process.stdout.readline()

        def reached():
            return observe.never_waits(process.pid) != waits

        assert wait_until(reached, 10)
        assert all(reached() for _ in range(5))
    assert not observe.never_waits(process.pid)


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("first, held", [(12, 0), (4, 8)])
def test_whether_a_reply_leaves_at_once(peer, first, held, filtered, monkeypatch):
    """Where the kernel lets this user attach no filter to a socket, the client delays its
    acknowledgements instead."""
    if not filtered:
        monkeypatch.setattr(stream, "_ATTACH_FILTER", 0x7FFF)  # no option has this number
    monkeypatch.setattr(sent_at_once, "until_asleep", lambda server: None)
    server = SimpleNamespace(patience=Patience(5.0))

    def reply(end):
        """In one call, or in two."""
        frame = end.recv(100)
        end.sendall(frame[:first])
        end.sendall(frame[first:])

    def connect():
        client, end = peer.connect()
        peer.run(reply, end)
        return server, client

    if not held:
        sent_at_once.leaves_at_once(connect, b"12345678")
        return
    with pytest.raises(Failure, match=f"its kernel holds {held} of 12 bytes back until"):
        sent_at_once.leaves_at_once(connect, b"12345678")
