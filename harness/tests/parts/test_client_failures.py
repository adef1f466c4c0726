"""The client against peers that do exactly one thing wrong."""

import os
import time
from socket import MSG_WAITALL, socket

import pytest

from harness.tests.parts.peer import (  # noqa: F401: fixtures
    HELLO,
    fails,
    peer,
    reset,
    short,
    wait_for_hang_up,
)
from harness.client import length_framing, stream
from harness.failures.compare import first_difference
from harness.failures.failure import Failure
from harness.lab.units import MIB
from harness.server.waiting.wait import Deadline, Patience

close = socket.close

# One wrong thing


def connected(peer, came, then):
    """A client to which these bytes have come, and then a FIN, a RST or nothing."""
    client, end = peer.connect(patience=short())
    end.sendall(came)
    if then:
        then(end)
    return client


STALLED = "only {} of 9 bytes of the reply came, then nothing for 0.2 s"
CLOSED, RESET = "closed after {} of 9 bytes of the reply", "reset after {} of 9 bytes of the reply"
CHANGED = [bytes([*HELLO[:at], HELLO[at] ^ 0xFF, *HELLO[at + 1 :]]) for at in range(len(HELLO))]
HEADER_SAYS = "the length header of the reply says [0-9,]+ instead of 5"
# In place of the reply "hello": what comes, and then a FIN, a RST or nothing.
ONE_REPLY = [
    (b"", None, "silence", "nothing came back for 0.2 s"),
    *((HELLO[:n], None, "stalled-reply", STALLED.format(n)) for n in range(1, 9)),
    (b"", close, "closed-early", CLOSED.format(0)),
    *((HELLO[:n], close, "closed-in-reply", CLOSED.format(n)) for n in range(1, 9)),
    *((HELLO[:n], reset, "reset-early", RESET.format(n)) for n in (0, 3)),
    (b"\6", None, "wrong-header", "byte 0 of the length header of the reply is 06 instead of 05"),
    *((wrong, None, "wrong-header", HEADER_SAYS) for wrong in CHANGED[: length_framing.HEADER]),
    *(
        (wrong, None, "wrong-body", f"byte {at} of the body of the reply is .. instead of ..")
        for at, wrong in enumerate(CHANGED[length_framing.HEADER :])
    ),
]


@pytest.mark.parametrize("came, then, hint, says", ONE_REPLY)
def test_one_reply(peer, fails, came, then, hint, says):
    client = connected(peer, came, then)
    raised = fails(hint, says, client.expect_frame, b"hello")
    assert (raised.expected, raised.received) == (HELLO, came)


SECOND, OTHER = length_framing.encode(b"second"), length_framing.encode(b"sEcond")


@pytest.mark.parametrize(
    "came, then, received, hint, says",
    [
        (HELLO, None, b"", "replies-missing", "nothing of reply 2 of 3"),
        (HELLO, close, b"", "closed-early", "closed after 0 of 10 bytes of reply 2 of 3"),
        (HELLO + OTHER, None, OTHER, "wrong-body", "byte 1 of the body of reply 2 of 3 is 45 inst"),
    ],
)
def test_one_of_several_replies(peer, fails, came, then, received, hint, says):
    client = connected(peer, came, then)
    raised = fails(hint, says, client.expect_frames, [b"hello", b"second", b"hello"])
    assert (raised.expected, raised.received) == (SECOND, received)


MANY = bytes(64 * MIB)
SENT = r"nothing came back for 0.2 s \([0-9,]+ of 67,108,864 bytes had been sent\)"


@pytest.mark.parametrize(
    "came, then, hint, says, call, arguments",
    [
        (b"", None, "silence", "nothing came back", "exchange", [HELLO, [b"hello"]]),
        (b"", close, "closed-early", "closed before anything came back", "read_some", [10]),
        (b"", close, "closed-early", "closed before anything", "expect_nothing", [5]),
        (b"\1\0\0\2", None, "wrong-header", "over the maximum", "read_frame", []),
        (b"more", None, "extra-bytes", '4 bytes.*"more" came', "expect_eof", []),
        (b"more", None, "extra-bytes", '4 bytes.*"more" came', "expect_nothing", [5]),
        (b"more", None, "extra-bytes", '4 bytes.*"more" came', "expect_closed_after", [[]]),
        (b"", None, "not-closed", "still open after 0.2 s", "expect_eof", []),
        (b"", None, "not-taken", "then no more for 0.2 s", "send", [MANY]),
        (b"", None, "not-taken", SENT, "exchange", [MANY, [bytes(MIB)]]),
        (HELLO, None, "not-taken", "then no more", "exchange", [MANY, [b"hello"]]),
    ],
    ids=lambda value: "" if isinstance(value, list) else None,
)
def test_other_calls(peer, fails, came, then, hint, says, call, arguments):
    client = connected(peer, came, then)
    raised = fails(hint, says, getattr(client, call), *arguments)
    if hint == "extra-bytes":
        assert (raised.expected, raised.received) == (b"", came)
    if call == "send":
        assert raised.expected is None


def test_a_peer_that_reads_no_more(peer, fails):
    client, end = peer.connect(patience=short())
    client.send(bytes(100_000))
    end.recv(1000)
    fails("silence", "nothing came back for 0.2 s", client.expect_frame, b"hello")


def test_a_late_extra_byte_is_found_by_the_next_call(peer, fails):
    client, end = peer.connect()
    end.sendall(HELLO + b"!")
    client.expect_frame(b"hello")
    fails("extra-bytes", "came without a request", client.expect_eof)


# Silence


def test_a_peer_that_is_still_reading_is_waited_for(peer):
    """It takes longer than our patience before it answers, and reads all the time."""
    client, end = peer.connect(patience=Patience(2.0))
    body = bytes(MIB)
    frame = length_framing.encode(body)

    def reads_and_answers():
        left = len(frame)
        for part in range(50):
            time.sleep(0.1)  # two and a half times the patience, all together
            left -= len(end.recv(left // (50 - part), MSG_WAITALL))
        end.sendall(frame)

    peer.run(reads_and_answers)
    client.send_frame(body)
    client.expect_frame(body)


def test_silence_for_raw_reads(peer):
    client, end = peer.connect(patience=short())
    with pytest.raises(Failure) as raised:
        client.read_some(10)
    assert raised.value.hint == "silence"
    end.sendall(b"\1\0")
    with pytest.raises(Failure, match="2 of 4 bytes of the reply's header") as raised:
        client.read_frame()
    assert raised.value.hint == "stalled-reply"
    end.sendall(b"\5\0\0\0he")
    with pytest.raises(Failure, match="6 of 9 bytes of the reply") as raised:
        client.read_frame()
    assert raised.value.received == b"\5\0\0\0he"


@pytest.mark.parametrize("method", ["expect_frame", "exchange"])
def test_patience_starts_anew_with_every_byte(peer, method):
    """The whole reply takes longer than the longest wait for a byte."""
    arguments = {"expect_frame": [b"hello"], "exchange": [HELLO, [b"hello"]]}[method]
    client, end = peer.connect(patience=Patience(2.0))
    begun = time.monotonic()

    def trickle():
        for byte in HELLO:
            time.sleep(0.25)
            end.sendall(bytes([byte]))

    peer.run(trickle)
    getattr(client, method)(*arguments)
    assert time.monotonic() - begun > 2


def test_a_wait_whose_time_is_over_is_counted(peer):
    client, _ = peer.connect(patience=Patience(0.1))
    before = Patience.ran_out
    for _ in range(2):
        with pytest.raises(Failure, match="nothing came back for 0.1 s"):
            client.expect_frame(b"x")
    assert Patience.ran_out == before + 2
    assert Patience().seconds == 8


def test_a_deadline_that_is_over_does_not_change():
    deadline = Deadline(Patience(0.02))
    while deadline.left():
        pass
    before = Patience.ran_out
    assert not deadline.left()
    assert (deadline.seconds, Patience.ran_out) == (0.02, before)


# Closed and reset


def test_closed_while_we_send(peer, fails):
    """What the server had answered before it went is told."""
    client, end = peer.connect()
    end.sendall(b"bye")
    end.close()
    client.send(b"x")  # is answered by a RST
    wait_for_hang_up(client)
    pattern = 'closed by the server when 0 of 1 bytes.*before that came 3 bytes.*"bye"'
    raised = fails("closed-early", pattern, client.send, b"y")
    assert raised.received == b"bye"


def test_reset_while_we_send(peer, fails):
    client, end = peer.connect()
    reset(end)
    wait_for_hang_up(client)
    fails("reset-early", "reset", client.send, b"y")


@pytest.mark.parametrize(
    "came, hints", [(7, "reset-early|closed-in-reply"), (len(HELLO), "reset-early|closed-early")]
)
def test_closed_in_the_middle_of_an_exchange(peer, fails, came, hints):
    """The part of a reply that came before counts; with all of it, the rest was not taken."""
    client, end = peer.connect()

    def answer_and_close():
        end.recv(10)
        end.sendall(HELLO[:came])
        end.close()

    peer.run(answer_and_close)
    pattern = "of 16,777,216 bytes had been sent"
    raised = fails(hints, pattern, client.exchange, bytes(16 * MIB), [b"hello"])
    assert came == len(HELLO) or raised.received == HELLO[:came]


# Wrong bytes


def test_a_wrong_header_is_shown_whole_though_it_comes_in_pieces(peer, fails, monkeypatch):
    monkeypatch.setattr(stream, "REMAINDER_SECONDS", 10)
    client, end = peer.connect()
    end.sendall(b"\0")

    def dribble():
        time.sleep(0.05)
        end.sendall(b"\0\0\5hello")

    peer.run(dribble)
    raised = fails("wrong-header", "says 83,886,080 instead of 5", client.expect_frame, b"hello")
    assert raised.received == b"\0\0\0\5hello"


@pytest.mark.parametrize("at", [0, 5_000_000, 8 * MIB - 1])
def test_a_wrong_byte_in_a_big_body(peer, fails, at):
    client, end = peer.connect()
    body = os.urandom(8 * MIB)
    wrong = bytearray(length_framing.encode(body))
    wrong[length_framing.HEADER + at] ^= 1

    def send():
        try:
            end.sendall(wrong)
        except OSError:
            pass

    peer.run(send)
    pattern = f"byte {at:,} of the body"
    raised = fails("wrong-body", pattern, client.expect_frame, body)
    assert first_difference(raised.expected, raised.received) == length_framing.HEADER + at
    client.abandon()


def test_send_some_stops_where_the_server_does(peer):
    client, end = peer.connect(rcvbuf=16384)
    sent = client.send_some(bytes(64 * MIB), quiet=0.1)
    assert 0 < sent < 64 * MIB
    assert f": {sent:,}" in peer.talk.render()
    assert client.send_some(b"x" * MIB, quiet=0.1) < MIB
    end.recv(1)
