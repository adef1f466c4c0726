"""A client talks to a right peer, and to peers with one mistake each; its failures are recorded."""

import errno
import os
import re
import socket
from types import SimpleNamespace

import pytest

from harness.tests import golden
from harness.tests.parts.peer import HELLO, SHORT, arrives, reset, slowly
from harness.tests.parts.peer import peer  # noqa: F401: a fixture
from harness.claims.context.draws import Draws
from harness.client import length_framing, resp, stream
from harness.client.redis import client as redis
from harness.client.client import Client, Conversation
from harness.client.expected_replies import Replies
from harness.client.framing import LINE, Fixed
from harness.client.messages import MALFORMED, MESSAGES, OK, SUM, WHO, i32, i64, reply
from harness.client.resp import NO_ARRAY, RESP, Answers
from harness.feedback.compare import compare
from harness.feedback.failure import Failure, NotJudged
from harness.submission.sizes import MIB
from harness.waiting import wait

close = socket.socket.close
frame = length_framing.encode
SECOND = frame(b"second")
MANY = bytes(64 * MIB)


@pytest.mark.parametrize("arguments", [[b""], [b"", [b""]]])
def test_patience_starts_anew_with_every_byte(peer, monkeypatch, arguments):
    """The whole reply takes longer than the longest wait for a byte."""
    patience = slowly(monkeypatch, *[lambda: end.sendall(b"\0")] * 4)
    client, end = peer.connect(patience=patience)
    getattr(client, ["expect_frame", "exchange"][len(arguments) - 1])(*arguments)


def test_a_peer_that_is_still_reading_is_waited_for(peer, monkeypatch):
    """It takes longer than the patience before it answers, and reads all the time."""
    data = frame(bytes(300_000))
    reads = [lambda: end.recv(len(data) // 4, socket.MSG_WAITALL)] * 4
    patience = slowly(monkeypatch, *reads, lambda: end.sendall(data))
    client, end = peer.connect(patience=patience)
    client.send(data)
    client.expect_frame(data[4:])


def test_a_wait_is_over_when_the_server_has_had_its_cpu_time(monkeypatch):
    """Other programs have the processors meanwhile. A wait in vain is counted."""
    now, cpu = 1000.0, 0.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(wait, "time", clock)
    computes = wait.Activity(runnable=True, threads=1)
    patience = wait.Patience(8)
    monkeypatch.setattr(patience, "activity", lambda: computes._replace(cpu=cpu))
    deadline, before = wait.Deadline(patience), wait.Patience.ran_out
    now += 9
    assert deadline.left() and deadline.left()
    cpu += 9
    assert not deadline.left() and not deadline.left()
    assert wait.Patience.ran_out == before + 1


# One wrong thing: what comes, then a FIN, a RST or nothing; and what the test does


def hello(client):
    client.expect_frame(b"hello")


def three(client):
    client.expect_frames([b"hello", b"second", b"hello"])


def exchanges(client):
    client.exchange(MANY, [b"hello"])


WRONG = {
    "reset before it is sent": (b"bye", reset, lambda a: a.send(b"x")),
    "nothing comes": (b"", None, hello),
    "nothing comes to an exchange": (b"", None, lambda a: a.exchange(HELLO, [b"hello"])),
    "a part of the header": (HELLO[:2], None, hello),
    "a part of the body": (HELLO[:7], None, hello),
    "closed at once": (b"", close, hello),
    "closed after a part": (HELLO[:6], close, hello),
    "reset at once": (b"", reset, hello),
    "reset after a part": (HELLO[:6], reset, hello),
    "the header begins wrong": (b"\6", None, hello),
    "the header has the other byte order": (b"\0\0\0\5hello", None, hello),
    "the body is wrong": (HELLO[:-1] + b"a", None, hello),
    "more than one reply is due, and one comes": (HELLO, None, three),
    "one of three, then closed": (HELLO, close, three),
    "the second of three is wrong": (HELLO + SECOND.replace(b"e", b"E"), None, three),
    "a byte too many": (HELLO + b"!", None, lambda a: (hello(a), a.expect_eof())),
    "bytes while the server should close": (b"more", None, lambda a: a.expect_closed_after([])),
    "bytes while it should be quiet": (b"more", None, lambda a: a.expect_nothing(5)),
    "closed while it should be quiet": (b"", close, lambda a: a.expect_nothing(5)),
    "it does not close": (b"", None, lambda a: a.expect_eof()),
    "raw bytes, and closed": (b"", close, lambda a: a.read_some(10)),
    "any frame, of which a part comes": (HELLO[:6], None, lambda a: a.read_frame()),
    "any frame, that is too long": (b"\1\0\0\2", None, lambda a: a.read_frame()),
    "what is sent is not taken": (b"", None, lambda a: a.send(MANY)),
    "what is sent is not taken, and nothing comes": (b"", None, exchanges),
    "what is sent is not taken, after the reply": (HELLO, None, exchanges),
}


def told(heading, talk, function, *arguments):
    """All that a failure holds. How much the kernel takes is different on each machine."""
    with pytest.raises(Failure) as raised:
        function(*arguments)
    failure = raised.value
    lines = [f"## {heading}", f"{failure.hint}: {failure.message}", talk.render()]
    if failure.expected is not None:
        lines.append(compare(failure.expected, failure.received))
    elif failure.received:
        lines.append(f"received {failure.received}")
    assert [step.failed for step in talk.steps].count(True) == 1
    text = re.sub(r"\b[\d,]{6,} of 67", "# of 67", "\n".join(lines))
    return re.sub(r"127.0.0.1:\d+", "127.0.0.1:PORT", text)


def test_what_a_failure_says(peer, monkeypatch):
    monkeypatch.setattr(stream, "REMAINDER_SECONDS", 0)  # everything has come
    found = []
    for heading, (came, then, does) in WRONG.items():
        peer.talk = Conversation()
        client, end = peer.connect(patience=SHORT)
        arrives(client, came, end, then)
        peer.talk.steps.clear()
        found.append(told(heading, peer.talk, does, client))
        client.abandon()
    address = peer.listener.getsockname()
    peer.listener.listen(0)
    peer.talk = Conversation()
    others = []

    def until_full():
        for _ in range(10):
            peer.talk.steps.clear()
            others.append(Client(address, peer.talk, patience=SHORT))

    found.append(told("the backlog is full", peer.talk, until_full))
    for other in others:
        other.abandon()
    peer.listener.close()
    peer.talk = Conversation()
    found.append(told("nobody listens", peer.talk, Client, address, peer.talk))
    golden.check("client-failures", "\n\n".join(found))


# Without a connection: framing, the replies that are due, and what comes instead of them

DUE = reply(SUM, 7, OK, i64(5))
WRONG_REPLIES = [
    (LINE, [b"one\r\n", b"two\r\n"], b"one\r\ntwo\n"),
    (Fixed(3), [b"abc"], b"aXc"),
    *(
        (MESSAGES, [DUE], frame(came))
        for came in (
            *(reply(SUM, 7, OK, i64(6)), reply(SUM, 7, MALFORMED), reply(SUM, 8, OK, i64(5))),
            *(reply(9, 7, MALFORMED), reply(SUM, 7, OK, i64(5), b"x"), reply(SUM, 7, OK), b""),
        )
    ),
    (MESSAGES, [reply(SUM, 7, MALFORMED)], frame(DUE) + b"more"),
    (MESSAGES, [DUE], frame(reply(SUM, 8, OK))[:10]),
    (MESSAGES, [reply(WHO, 9, OK, i32(3))], frame(reply(WHO, 9, OK, i32(0)))),
    (MESSAGES, [reply(-1, -1, MALFORMED)], b"\0\0\0\x0c" + i32(-1) + i32(-1) + i32(2 << 24)),
    (RESP, [resp.reply(b"a" * 100)], resp.reply(b"a" * 99 + b"b")),
    (RESP, [resp.reply([1, None])], resp.reply([1, NO_ARRAY])),
]
GET = [[b"SET", b"k", b"v"], [b"GET", b"k"]]


def test_what_is_said_of_wrong_replies():
    """The lines and messages above, and replies of Redis, which are named after their commands."""
    wrong = [(Replies(due, framing), came) for framing, due, came in WRONG_REPLIES]
    replies = [resp.reply(resp.OK), resp.reply(b"v")]
    wrong.append((Answers(GET, replies), b"+OK\r\n$1\r\nw\r\n"))
    wrong.append((Answers(GET[:1], replies[:1]), b"-ERR no such thing\r\n+more\r\n"))
    told = []
    for replies, came in wrong:
        first = came[: replies.missing]
        assert not replies.accept(first)
        replies.add_wrong(came[len(first) :][: replies.still_wanted()])
        failure = replies.wrong()
        told += [f"{failure.hint}: {failure.message}", f"   came: {failure.received.hex(' ')}"]
    golden.check("wrong-replies", "\n".join(told))


def test_each_mebibyte_of_a_long_body_is_another_one():
    body = Draws("seed").randbytes(4 * MIB)
    assert len({body[at : at + MIB] for at in range(0, len(body), MIB)}) == 4


def test_a_program_of_ours_tells_its_last_steps():
    talk, steps = Conversation(), map(str, range(2 * redis.MOST_STEPS))
    server = SimpleNamespace(address=("host", 1), conversation=talk, patience=SHORT)
    redis.run_ours(server, "redis-py", ["printf", f"{redis.STEP}%s\\n", *steps])
    last = [*map(str, range(redis.MOST_STEPS + 2, 2 * redis.MOST_STEPS)), "host", "1"]
    assert [step.text for step in talk.steps] == last


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EADDRNOTAVAIL])
def test_what_the_machine_has_no_more_of_is_not_the_servers_fault(monkeypatch, number):
    monkeypatch.setattr(socket.socket, "connect_ex", lambda *_: number)
    with pytest.raises(NotJudged, match=os.strerror(number)):
        Client(("127.0.0.1", 1), Conversation())
