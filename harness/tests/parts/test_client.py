"""The client against peers that are right, and when there is none."""

import errno
import os
import resource
import socket
import subprocess
import sys

import pytest

from harness.tests.parts.peer import (  # noqa: F401: fixtures
    HELLO,
    echo,
    fails,
    peer,
    reset,
    short,
)
from harness.client import length_framing
from harness.client.client import Client, Conversation
from harness.failures.failure import Failure, NotJudged
from harness.lab.units import MIB

# Connecting


def test_refused(peer, fails):
    address = peer.listener.getsockname()
    peer.listener.close()
    fails("connect-refused", "Connection refused", Client, address, peer.talk)


def test_never_taken(peer, fails):
    """The backlog is full, so the kernel neither accepts nor refuses."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    patience = short()
    others = []

    def connect_until_full():
        for _ in range(10):
            others.append(Client(listener.getsockname(), Conversation(), patience=patience))

    with pytest.raises(Failure, match="did not take the connection for 0.2 s") as raised:
        connect_until_full()
    assert raised.value.hint == "connect-stuck"
    for other in others:
        other.abandon()
    listener.close()


def test_no_descriptors_left_is_not_the_servers_fault(peer, monkeypatch):
    def none_left(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "socket", none_left)
    with pytest.raises(NotJudged, match="Too many open files"):
        Client(peer.listener.getsockname(), peer.talk)


def test_no_ports_left_is_not_the_servers_fault(peer, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect_ex", lambda *_: errno.EADDRNOTAVAIL)
    with pytest.raises(NotJudged, match="Cannot assign"):
        Client(peer.listener.getsockname(), peer.talk)


def test_many_clients(peer):
    pairs = [peer.connect(f"C{number}") for number in range(1500)]
    for client, _ in pairs:
        client.send_frame(b"hello")
    for _, end in pairs:
        end.sendall(end.recv(100))
    for client, _ in reversed(pairs):
        client.expect_frame(b"hello")


def test_the_limit_of_descriptors_is_raised():
    script = (
        "import resource\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))\n"
        "import harness.client.client\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    soft, hard = map(int, result.stdout.split())
    assert soft == (16_384 if hard == resource.RLIM_INFINITY else min(16_384, hard))


# What is right


def test_frames_come_in_any_pieces(peer):
    client, end = peer.connect()
    for byte in HELLO:
        end.sendall(bytes([byte]))
    client.expect_frame(b"hello")
    end.sendall(length_framing.encode(b"") + length_framing.encode(b"x") + HELLO)
    client.expect_frames([b"", b"x"])
    assert client.read_frame() == b"hello"


def test_sends_what_it_says(peer):
    client, end = peer.connect()
    client.send(b"\5\0")
    assert end.recv(100) == b"\5\0"
    client.send_frame(b"hello")
    assert end.recv(100) == HELLO
    client.send_frames([b"a", b""])
    assert end.recv(100) == b"\1\0\0\0a\0\0\0\0"
    client.half_close()
    assert end.recv(100) == b""
    end.sendall(b"late")
    assert client.read_some(100) == b"late"


def test_every_send_is_on_its_way_at_once(peer):
    client, end = peer.connect()
    with socket.socket(fileno=os.dup(client.fileno())) as same:
        assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    for byte in b"no delay":
        client.send(bytes([byte]))
        assert end.recv(100) == bytes([byte])


def test_closes_by_fin_and_resets_by_rst(peer):
    client, end = peer.connect()
    client.close()
    client.close()
    assert end.recv(1) == b""
    client, end = peer.connect()
    client.reset()
    with pytest.raises(ConnectionResetError):
        end.recv(1)
    assert "A resets the connection" in peer.talk.render()


def test_using_a_closed_client_is_a_fault_of_the_test(peer):
    client, _ = peer.connect()
    client.close()
    with pytest.raises(RuntimeError, match="after closing it"):
        client.send(b"x")


def test_big_traffic_with_an_echo_in_both_directions(peer):
    client, end = peer.connect()
    peer.run(echo, end)
    bodies = [os.urandom(8 * MIB), b"", b"x" * 1000, os.urandom(MIB)]
    client.exchange(b"".join(map(length_framing.encode, bodies)), bodies)
    client.half_close()
    client.expect_eof()


@pytest.mark.parametrize("size, count", [(length_framing.MAX_FRAME, 1), (16, 10_000)])
def test_no_loop_over_bytes(peer, size, count):
    """As many lines of Python as there are bytes would take longer than most servers."""
    client, end = peer.connect()
    peer.run(echo, end)
    bodies = [os.urandom(size)] * count
    data = b"".join(map(length_framing.encode, bodies))
    lines = 0

    def count_lines(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return count_lines

    before = sys.gettrace()
    sys.settrace(count_lines)
    try:
        client.exchange(data, bodies)
    finally:
        sys.settrace(before)
    assert lines < len(data) / 2


@pytest.mark.parametrize("by", [socket.socket.close, reset])
@pytest.mark.parametrize("bodies", [[], [b"hello", b""]])
def test_fin_and_rst_both_count_as_closed(peer, by, bodies):
    client, end = peer.connect()
    end.sendall(b"".join(map(length_framing.encode, bodies)))
    by(end)
    if bodies:
        client.expect_closed_after(bodies)
    else:
        client.expect_eof()


def test_nothing_is_expected_and_nothing_comes(peer):
    client, _ = peer.connect()
    client.expect_nothing(0.05)
