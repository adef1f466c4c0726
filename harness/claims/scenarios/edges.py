"""Readable and writable in any order: a client that sends and takes by chance, and then waits."""

from __future__ import annotations

import random
from bisect import bisect_right

from harness.claims.instruments.observe import until_asleep
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, ping
from harness.client import length_framing
from harness.client.expected_replies import Replies
from harness.lab.units import KIB, MIB

SIZES = (0, 100, 1000, 16 * KIB, 100 * KIB, 300 * KIB)  # of bodies, each up to twice as large
STREAM_BYTES = 5 * MIB
OWED_BYTES = (100 * KIB, 600 * KIB, 900 * KIB, 1500 * KIB, 3 * MIB)  # sent first, nothing is taken
ACTIONS = 6  # at most, before the last one
QUIET = 0.02  # seconds; what is not sent then is sent later


def any_order(server, rng: random.Random, rounds: int) -> None:
    """Frames whose replies the server has to keep, while its socket becomes readable and writable
    in any order, also both in one iteration. Then the client sends nothing more, and all replies
    that are owed have to come."""
    __tracebackhide__ = True
    for _ in range(rounds):
        _Talk(server, rng).run()


class _Talk:
    """One client with its stream of frames."""

    def __init__(self, server, rng: random.Random) -> None:
        self._server = server
        self._rng = rng
        self._client = server.connect(rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
        self._stream = _frames(rng)
        self._replies = Replies.echo_of(self._stream)
        self._sent = 0

    def run(self) -> None:
        __tracebackhide__ = True
        owed = min(self._rng.choice(OWED_BYTES), len(self._stream))
        self._sent = self._client.send_some(self._stream[:owed], QUIET)
        for _ in range(self._rng.randrange(ACTIONS)):
            self._act()
            if self._rng.random() < 0.5:
                until_asleep(self._server)
        with self._server.paused():
            self._act()
            self._act()
        self._expect_all()

    def _act(self) -> None:
        """Sends something or takes something, or both, perhaps while the server is paused."""
        __tracebackhide__ = True
        if self._rng.random() < 0.5:
            self._offer()
            self._take()
        else:
            self._take()
            self._offer()

    def _offer(self) -> None:
        size = self._rng.choice((0, 1, 100, 5 * KIB, 300 * KIB, MIB))
        taken = self._client.offer(self._stream[self._sent : self._sent + size])
        self._sent += max(0, taken)
        self._note(f"offers {size:,} bytes, of which {taken:,} are taken")

    def _take(self) -> None:
        __tracebackhide__ = True
        size = self._rng.choice((0, 100, 20 * KIB, STREAM_BYTES, STREAM_BYTES))
        taken = self._client.take(self._replies, size)
        self._note(f"reads what is there, at most {size:,} bytes: {taken:,}")

    def _note(self, text: str) -> None:
        self._client.conversation.note(self._client.name, text)

    def _expect_all(self) -> None:
        """Every complete frame comes back; then the client completes the one that it has begun."""
        __tracebackhide__ = True
        ends = [0, *length_framing.ends(self._stream)]
        complete = ends[bisect_right(ends, self._sent) - 1]
        self._replies.end_at(complete)
        if self._replies.missing:
            self._client.expect_frames(self._replies)
        end = ends[min(bisect_right(ends, self._sent), len(ends) - 1)]
        if self._sent > complete:
            self._client.echo_all(self._stream[complete:end], self._sent - complete)
        ping(self._client, self._rng)
        self._client.close()


def _frames(rng: random.Random) -> bytes:
    """Frames of all sizes, some STREAM_BYTES together; of most sizes several in a row."""
    stream = bytearray()
    while len(stream) < STREAM_BYTES:
        size = rng.choice(SIZES)
        for _ in range(rng.choice((1, 10, 100))):
            stream += length_framing.encode(rng.randbytes(rng.randint(size // 2, size)))
            if len(stream) > STREAM_BYTES:
                break
    return bytes(stream)
