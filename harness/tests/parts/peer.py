"""A peer that the test controls, at the other end of a client's connection."""

import fcntl
import select
import socket
import struct
import termios
import threading
from types import SimpleNamespace

import pytest

from harness.client import length_framing
from harness.client.client import Client, Conversation
from harness.waiting import wait
from harness.waiting.wait import Patience, wait_until

HELLO = length_framing.encode(b"hello")
SHORT = Patience(0.05)  # for waits that are meant to run out
SECONDS = 10  # at most, until the kernel has delivered what was sent


class Peer:
    """A listening socket, and the server's end of each connection."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.talk = Conversation()
        self.pairs = []
        self.threads = []

    def connect(self, **options):
        """A client and the other end of its connection."""
        client = Client(self.listener.getsockname(), self.talk, **options)
        end, _ = self.listener.accept()
        end.settimeout(SECONDS)
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
            thread.join(SECONDS)
            assert not thread.is_alive()
        for _, end in self.pairs:
            end.close()
        self.listener.close()


@pytest.fixture
def peer():
    peer = Peer()
    yield peer
    peer.close()


def slowly(monkeypatch, *acts):
    """A patience of 1 s on a clock of its own, which goes on whenever it is read. While a client
    waits, the server does the next of these acts each 0.5 s."""
    now, last, left, patience = [1000.0], [1000.0], list(acts), Patience(1)

    def monotonic():
        now[0] += 0.1
        return now[0]

    def activity():
        if left and now[0] - last[0] > 0.5:
            last[0] = now[0]
            left.pop(0)()
        return wait.Activity()

    monkeypatch.setattr(wait, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(patience, "activity", activity)
    return patience


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def arrives(client, data, end, then=None):
    """Sends these bytes, then a FIN or a RST if asked to, and waits until the client has them."""
    end.sendall(data)

    def has_them():
        here = fcntl.ioctl(client.fileno(), termios.FIONREAD, b"\0\0\0\0")
        return struct.unpack("i", here)[0] == len(data)

    assert wait_until(has_them, SECONDS)
    if then:
        then(end)
        poller = select.poll()
        poller.register(client, select.POLLRDHUP)
        assert poller.poll(1000 * SECONDS)
