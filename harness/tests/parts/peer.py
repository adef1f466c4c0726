"""The other end of a client's connection, in the test's own hands."""

import select
import socket
import struct
import threading

import pytest

from harness.client import length_framing
from harness.client.client import Client, Conversation
from harness.failures import failure
from harness.failures.failure import Failure
from harness.lab.units import KIB
from harness.server.waiting.wait import Patience

HELLO = length_framing.encode(b"hello")


def short():
    """For waits that are meant to run out."""
    return Patience(0.2)


class Peer:
    """A listening socket, and the server's end of each connection, both in the test's own hands."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.talk = Conversation()
        self.pairs = []
        self.threads = []

    def connect(self, name="A", **options):
        """A client and the other end of its connection."""
        client = Client(self.listener.getsockname(), self.talk, name, **options)
        end, _ = self.listener.accept()
        end.settimeout(10)
        self.pairs.append((client, end))
        return client, end

    def run(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def close(self):
        for client, _ in self.pairs:
            client.abandon()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()
        for _, end in self.pairs:
            end.close()
        self.listener.close()


@pytest.fixture
def peer():
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def fails(peer):
    """fails(hint, pattern, function, *arguments): it raises this Failure, and marks its step."""

    def check(hint, pattern, function, *arguments):
        steps = len(peer.talk.steps)
        with pytest.raises(Failure, match=pattern) as raised:
            function(*arguments)
        assert raised.value.hint in hint.split("|")
        assert raised.value.hint in failure.HINT_KEYS
        assert peer.talk.steps[steps].failed
        assert sum(step.failed for step in peer.talk.steps) == 1
        return raised.value

    return check


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def wait_for_hang_up(client):
    poller = select.poll()
    poller.register(client, 0)
    assert poller.poll(10_000)


def echo(end):
    """Sends back what comes, as it comes, until the peer is done."""
    while True:
        data = end.recv(64 * KIB)
        if not data:
            end.shutdown(socket.SHUT_WR)
            return
        end.sendall(data)
