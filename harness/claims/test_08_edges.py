"""Chapter 08, more work than one iteration may do, in both directions at once: none of it is left.

Each round stops the server for a moment. What a client takes and sends meanwhile is ready when the
server goes on: to read and to write in one iteration, or one of both.
"""

from __future__ import annotations

import time

from harness.claims.context.observe import held_bytes, unread_bytes, until_asleep
from harness.claims.marker import GONE, MUTE, claim
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.submission.sizes import KIB, MIB

FRAME_BYTES = 16 * KIB
READ_BYTES = 256 * KIB  # what one turn reads at most
SEND_BYTES = 2 * MIB  # what one call sends at most
MARKS = (("1", "0"), ("1000", "0"), ("65536", "65536"), ("1048576", "524288"), ("16777216", "1"))
DEFAULT, LARGE = MARKS[3:]
SIZES = (0, 1, READ_BYTES - 1, READ_BYTES, READ_BYTES)  # what comes while the server is stopped
STEP_BYTES = 4 * FRAME_BYTES
STREAM_BYTES = 64 * MIB
ROUNDS = 3
LOOKS = 3  # at a socket in which nothing arrives any more
LOOK_SECONDS = 0.001

# What a general hint means in a claim, see marker.claim.
STALLS = dict.fromkeys((*MUTE, *GONE), "one-turn")


# 08.4 turn


@claim("08.4", points=2, cli=True, native=True, hints=STALLS)
def test_08_more_than_a_turn_both_ways(launch, rng):
    """More to read and to send than a turn may do, with any marks: all replies come."""
    body = rng.randbytes(FRAME_BYTES - length_framing.HEADER)
    stream = length_framing.encode(body) * (STREAM_BYTES // FRAME_BYTES)
    for backend, marks, piece in (
        ("epoll", DEFAULT, READ_BYTES),
        ("epoll", LARGE, SEND_BYTES),
        *((backend, rng.choice(MARKS), READ_BYTES) for backend in ("epoll", "poll", "select")),
    ):
        high, low = marks
        server = launch(("--high-water", high, "--low-water", low, "--backend", backend))
        talk = _Talk(server.connect(), stream)
        for number in range(ROUNDS):
            talk.fill(server, rng.randrange(5 * piece // 2, 7 * piece // 2))
            with server.paused():
                if marks in (DEFAULT, LARGE) or rng.random() < 0.5:
                    talk.take()
                talk.send(rng.choice(SIZES) if number else READ_BYTES)
            talk.expect_all()


class _Talk:
    """A client of an echo server, with one long stream of frames, and how far it is with it."""

    def __init__(self, client: Client, stream: bytes) -> None:
        self._client = client
        self._stream = memoryview(stream)
        self._replies = Replies.echo_of(stream, client.framing)
        self._sent = 0

    def _owed(self) -> int:
        """Bytes of complete frames that have not come back."""
        came = len(self._stream) - self._replies.missing
        return self._sent // FRAME_BYTES * FRAME_BYTES - came

    def fill(self, server, goal: int) -> None:
        """Sends frames and takes nothing, until the server holds `goal` bytes or reads no more."""
        self._client.conversation.note(self._client.name, "sends frames and reads nothing")
        self.send(-self._sent % FRAME_BYTES)
        step = READ_BYTES
        while True:
            took = self.send(step)
            until_asleep(server)
            held = held_bytes(self._client, self._owed())
            if took < step or held is None or held >= goal or unread_bytes(self._client):
                return
            if held > STEP_BYTES:  # the kernel takes no more, or little
                step = STEP_BYTES

    def send(self, size: int) -> int:
        """Sends up to `size` bytes, as many as the kernel takes. Returns how many."""
        goal, before = self._sent + size, self._sent
        while (took := self._client.offer(self._stream[self._sent : goal])) > 0:
            self._sent += took
        return self._sent - before

    def take(self) -> None:
        """Takes everything that the kernel has for it, here and at the server."""
        self._client.conversation.note(self._client.name, "reads what is there")
        for _ in range(LOOKS):
            while self._client.take(self._replies, self._owed()):
                pass
            time.sleep(LOOK_SECONDS)

    def expect_all(self) -> None:
        """Everything that is owed comes, though nothing more is sent."""
        while owed := self._owed():
            self._client.expect_part(self._replies, owed)
