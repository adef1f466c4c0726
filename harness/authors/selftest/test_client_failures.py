"""The client against peers that do exactly one thing wrong."""

import os
import socket
import time

import pytest

from harness.authors.selftest.peer import (  # noqa: F401: fixtures
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
from harness.server.patience import Deadline, Patience

# Silence


def test_silence(peer, fails):
    client, _ = peer.connect(patience=short())
    raised = fails("silence", "nothing came back for 0.2 s", client.expect_frame, b"hello")
    assert (raised.expected, raised.received) == (HELLO, b"")


def test_a_peer_that_is_still_reading_is_waited_for(peer):
    """It takes longer than our patience before it answers, and reads all the time."""
    client, end = peer.connect(patience=Patience(((0, 2.0),)))
    body = bytes(MIB)
    frame = length_framing.encode(body)

    def reads_and_answers():
        left = len(frame)
        for part in range(50):
            time.sleep(0.1)  # two and a half times the patience, all together
            left -= len(end.recv(left // (50 - part), socket.MSG_WAITALL))
        end.sendall(frame)

    peer.run(reads_and_answers)
    client.send_frame(body)
    client.expect_frame(body)


def test_a_peer_that_reads_no_more_is_not(peer, fails):
    client, end = peer.connect(patience=short())
    client.send(bytes(100_000))
    end.recv(1000)
    fails("silence", "nothing came back for 0.2 s", client.expect_frame, b"hello")


@pytest.mark.parametrize("came", range(1, len(HELLO)))
def test_a_stalled_reply(peer, fails, came):
    client, end = peer.connect(patience=short())
    end.sendall(HELLO[:came])
    pattern = f"only {came} of 9 bytes of the reply came, then nothing for 0.2 s"
    raised = fails("stalled-reply", pattern, client.expect_frame, b"hello")
    assert (raised.expected, raised.received) == (HELLO, HELLO[:came])


def test_missing_replies(peer, fails):
    client, end = peer.connect(patience=short())
    end.sendall(HELLO)
    bodies = [b"hello", b"second", b"third"]
    raised = fails("replies-missing", "nothing of reply 2 of 3", client.expect_frames, bodies)
    assert (raised.expected, raised.received) == (length_framing.encode(b"second"), b"")


def test_silence_in_an_exchange(peer, fails):
    client, end = peer.connect(patience=short())
    fails("silence", "nothing came back", client.exchange, HELLO, [b"hello"])
    assert end.recv(100) == HELLO


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
    """The whole reply takes three times as long as the longest wait for a byte."""
    arguments = {"expect_frame": [b"hello"], "exchange": [HELLO, [b"hello"]]}[method]
    client, end = peer.connect(patience=Patience(((0, 1.0),)))
    begun = time.monotonic()

    def trickle():
        for byte in HELLO:
            time.sleep(0.35)
            end.sendall(bytes([byte]))

    peer.run(trickle)
    getattr(client, method)(*arguments)
    assert time.monotonic() - begun > 3


def test_patience_shrinks_as_waits_run_out(peer):
    patience = Patience(((0, 0.3), (2, 0.1)))
    client, _ = peer.connect(patience=patience)
    seconds = []
    for _ in range(3):
        seconds.append(patience.seconds)
        with pytest.raises(Failure):
            client.expect_frame(b"x")
    assert seconds == [0.3, 0.3, 0.1]
    assert Patience().seconds == 8


def test_a_wait_ends_when_others_have_made_the_patience_less(peer):
    client, _ = peer.connect(patience=Shrinking())
    with pytest.raises(Failure, match=r"nothing came back for 0\.\d+ s") as found:
        client.expect_frame(b"x")
    assert found.value.hint == "silence"


class Shrinking(Patience):
    """A minute at first; next to nothing once a wait has begun."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    @property
    def seconds(self):
        self.asked += 1
        return 60 if self.asked < 3 else 0.01


def test_a_deadline_that_is_over_does_not_change():
    patience = Patience(((0, 0.02), (1, 0.01)))
    deadline = Deadline(patience)
    while deadline.left():
        pass
    patience.expired()
    assert not deadline.left()
    assert deadline.seconds == 0.02


def test_a_deadline_restarts():
    deadline = Deadline(10)
    assert 9 < deadline.left() <= 10
    deadline = Deadline(0)
    assert deadline.left() == 0


# Closed and reset


@pytest.mark.parametrize("came", range(len(HELLO)))
def test_closed_in_the_reply(peer, fails, came):
    client, end = peer.connect()
    end.sendall(HELLO[:came])
    end.close()
    hint = "closed-in-reply" if came else "closed-early"
    pattern = f"closed after {came} of 9 bytes of the reply"
    raised = fails(hint, pattern, client.expect_frame, b"hello")
    assert raised.received == HELLO[:came]


def test_closed_between_replies(peer, fails):
    client, end = peer.connect()
    end.sendall(HELLO)
    end.close()
    pattern = "closed after 0 of 10 bytes of reply 2 of 2"
    fails("closed-early", pattern, client.expect_frames, [b"hello", b"second"])


@pytest.mark.parametrize("came", [0, 3])
def test_reset_in_the_reply(peer, fails, came):
    client, end = peer.connect()
    end.sendall(HELLO[:came])
    reset(end)
    pattern = f"reset after {came} of 9 bytes of the reply"
    fails("reset-early", pattern, client.expect_frame, b"hello")


def test_closed_before_a_raw_read(peer, fails):
    client, end = peer.connect()
    end.close()
    fails("closed-early", "closed before anything came back", client.read_some, 10)


def test_closed_when_nothing_was_to_happen(peer, fails):
    client, end = peer.connect()
    end.close()
    fails("closed-early", "closed before anything", client.expect_nothing, 5)


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


def test_closed_in_the_middle_of_an_exchange(peer, fails):
    """The reply that came before counts: what is told is what is missing in it."""
    client, end = peer.connect()

    def answer_and_close():
        end.recv(10)
        end.sendall(HELLO[:7])
        end.close()

    peer.run(answer_and_close)
    data = bytes(16 * MIB)
    hints, pattern = "reset-early|closed-in-reply", "of 16,777,216 bytes had been sent"
    raised = fails(hints, pattern, client.exchange, data, [b"hello"])
    assert raised.received == HELLO[:7]


def test_all_replies_came_but_not_all_was_taken(peer, fails):
    client, end = peer.connect()

    def answer_and_close():
        end.recv(10)
        end.sendall(HELLO)
        end.close()

    peer.run(answer_and_close)
    hints, pattern = "reset-early|closed-early", "of 16,777,216 bytes had been sent"
    fails(hints, pattern, client.exchange, bytes(16 * MIB), [b"hello"])


# Wrong bytes


@pytest.mark.parametrize("at", range(len(HELLO)))
def test_a_wrong_byte_anywhere(peer, fails, at):
    client, end = peer.connect()
    wrong = bytearray(HELLO)
    wrong[at] ^= 0xFF
    end.sendall(wrong)
    if at < length_framing.HEADER:
        hint, pattern = "wrong-header", "the length header of the reply says [0-9,]+ instead of 5"
    else:
        hint, pattern = "wrong-body", f"byte {at - 4} of the body of the reply is .. instead of .."
    raised = fails(hint, pattern, client.expect_frame, b"hello")
    assert raised.expected == HELLO
    assert raised.received == wrong


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


def test_a_piece_of_a_wrong_header(peer, fails):
    client, end = peer.connect()
    end.sendall(b"\6")
    pattern = "byte 0 of the length header of the reply is 06 instead of 05"
    assert fails("wrong-header", pattern, client.expect_frame, b"hello").received == b"\6"


def test_a_wrong_frame_among_many(peer, fails):
    client, end = peer.connect()
    end.sendall(HELLO + length_framing.encode(b"sEcond") + HELLO)
    bodies = [b"hello", b"second", b"hello"]
    pattern = "byte 1 of the body of reply 2 of 3 is 45 instead of 65"
    raised = fails("wrong-body", pattern, client.expect_frames, bodies)
    assert raised.expected == length_framing.encode(b"second")
    assert raised.received == length_framing.encode(b"sEcond")


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


def test_a_declared_length_over_the_maximum(peer, fails):
    client, end = peer.connect()
    end.sendall(length_framing.header(length_framing.MAX_FRAME + 1))
    fails("wrong-header", "over the maximum", client.read_frame)


@pytest.mark.parametrize("method", ["expect_eof", "expect_nothing", "expect_closed_after"])
def test_extra_bytes(peer, fails, method):
    client, end = peer.connect()
    end.sendall(b"more")
    arguments = {"expect_eof": [], "expect_nothing": [5], "expect_closed_after": [[]]}[method]
    raised = fails("extra-bytes", '4 bytes.*"more" came', getattr(client, method), *arguments)
    assert (raised.expected, raised.received) == (b"", b"more")


def test_a_late_extra_byte_is_found_by_the_next_call(peer, fails):
    client, end = peer.connect()
    end.sendall(HELLO + b"!")
    client.expect_frame(b"hello")
    fails("extra-bytes", "came without a request", client.expect_eof)


def test_not_closed(peer, fails):
    client, _ = peer.connect(patience=short())
    fails("not-closed", "still open after 0.2 s", client.expect_eof)


# Nobody reads


def test_a_server_that_takes_no_more(peer, fails):
    client, end = peer.connect(patience=short())
    raised = fails("not-taken", "then no more for 0.2 s", client.send, bytes(64 * MIB))
    assert raised.expected is None


def test_send_some_stops_where_the_server_does(peer):
    client, end = peer.connect(rcvbuf=16384)
    sent = client.send_some(bytes(64 * MIB), quiet=0.1)
    assert 0 < sent < 64 * MIB
    assert f": {sent:,}" in peer.talk.render()
    assert client.send_some(b"x" * MIB, quiet=0.1) < MIB
    end.recv(1)


def test_an_exchange_with_a_server_that_reads_nothing(peer, fails):
    client, _ = peer.connect(patience=short())
    bodies = [bytes(MIB)]
    pattern = r"nothing came back for 0.2 s \([0-9,]+ of 67,108,864 bytes had been sent\)"
    fails("not-taken", pattern, client.exchange, bytes(64 * MIB), bodies)


def test_an_exchange_whose_end_is_not_taken(peer, fails):
    client, end = peer.connect(patience=short())
    end.sendall(HELLO)
    fails("not-taken", "then no more", client.exchange, bytes(64 * MIB), [b"hello"])
