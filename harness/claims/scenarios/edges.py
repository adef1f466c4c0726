"""Readable and writable in any order: a client that sends and takes by chance, and then waits."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, product

from harness.claims.context.observe import bytes_within, until_asleep, until_read
from harness.claims.scenarios.exchanges import connect_narrow, ping
from harness.client import length_framing
from harness.client.expected_replies import Replies
from harness.submission.sizes import KIB, MIB

ROOMY_BYTES = 8 * MIB  # of a stream: more than the kernel holds
NARROW_BYTES = 3 * MIB  # the same, of a client for which it holds little
PIECE_BYTES = 60 * KIB  # less than most servers read at once
LOT = 256  # different frames, again and again
BODIES = (100, 1000, 4 * KIB)  # bytes; the frames of a stream are alike, or of all sizes
OFFERS = (1, 100, 5 * KIB, 300 * KIB, MIB)
LAST_OFFERS = OFFERS[:3]  # so that the output does not become full by them
TAKES = (0, 100, 20 * KIB)
ACTIONS = 4  # at most, before the last ones

# How much the server keeps for the client when that begins to read: less than the lab's servers
# keep, just as much, and all that they can (None), so that input waits in the kernel as well.
KEPT_BYTES = (500 * KIB, MIB, None)
QUIET = 0.05  # seconds, after which nothing more is taken; a claim does not depend on it

# Whether the kernel holds much of what the server sends, how much the server keeps, and whether the
# client only takes from then on.
KINDS = tuple(product((False, True), KEPT_BYTES, (False, True)))
NARROW_KINDS = tuple(kind for kind in KINDS if not kind[0])


def any_order(server, rng: random.Random, kinds: Sequence[tuple] = KINDS) -> None:
    """Frames whose replies the server has to keep, while its socket becomes readable and writable
    in any order, also both in one iteration. Then the client sends nothing more, and all replies
    that are owed have to come."""
    for roomy, kept, only_takes in kinds:
        talk = _Talk(server, rng, roomy)
        talk.fill(kept)
        talk.act(only_takes)
        talk.expect_all()


class _Talk:
    """One client with its stream of frames."""

    def __init__(self, server, rng: random.Random, roomy: bool) -> None:
        self._server = server
        self._rng = rng
        self._client = server.connect() if roomy else connect_narrow(server)
        frames = _frames(rng, ROOMY_BYTES if roomy else NARROW_BYTES)
        self._stream = b"".join(frames)
        self._ends = [0, *accumulate(map(len, frames))]
        self._replies = Replies.echo_of(self._stream)
        self._sent = 0

    def fill(self, kept: int | None) -> None:
        """Sends in small pieces until the server keeps so many bytes, or all that it can."""
        if kept is None:
            self._sent = self._client.send_some(self._stream, QUIET)
            return
        self._note(f"sends until the server keeps {kept:,} bytes, or reads no more")
        within: int | None = 0
        while within is not None and within < kept:
            if not self._offer(PIECE_BYTES) or not until_read(self._client):
                break
            until_asleep(self._server)
            within = bytes_within(self._client, self._sent)
        self._note(f"has sent {self._sent:,} bytes")

    def act(self, only_takes: bool) -> None:
        """Sends and takes a little, by chance. At last it sends a little and takes everything, both
        while the server is paused."""
        for _ in range(0 if only_takes else self._rng.randrange(ACTIONS)):
            if self._rng.random() < 0.5:
                self._offer_by_chance(OFFERS)
            self._take(self._rng.choice(TAKES))
            if self._rng.random() < 0.5:
                until_asleep(self._server)
        with self._server.paused():
            if not only_takes:
                self._offer_by_chance(LAST_OFFERS)
            self._take(len(self._stream))

    def expect_all(self) -> None:
        """Every complete frame comes back; then the client completes the one that it has begun."""
        number = bisect_right(self._ends, self._sent)
        complete = self._ends[number - 1]
        self._replies.end_at(complete)
        if self._replies.missing:
            self._client.expect_frames(self._replies)
        if self._sent > complete:
            begun = self._stream[complete : self._ends[number]]
            self._client.echo_all(begun, self._sent - complete)
        ping(self._client, self._rng)
        self._client.close()

    def _offer_by_chance(self, sizes: tuple[int, ...]) -> None:
        size = self._rng.choice(sizes)
        sent = self._offer(size)
        self._note(f"offers {size:,} bytes, of which {sent:,} are taken")

    def _offer(self, size: int) -> int:
        sent = max(0, self._client.offer(self._stream[self._sent : self._sent + size]))
        self._sent += sent
        return sent

    def _take(self, size: int) -> None:
        taken = self._client.take(self._replies, size)
        self._note(f"reads what is there, at most {size:,} bytes: {taken:,}")

    def _note(self, text: str) -> None:
        self._client.conversation.note(self._client.name, text)


def _frames(rng: random.Random, size: int) -> list[bytes]:
    """Frames, about `size` bytes together."""
    sizes = rng.choice((BODIES, *((size,) for size in BODIES)))
    lot = [length_framing.encode(rng.randbytes(rng.choice(sizes))) for _ in range(LOT)]
    return lot * (size // sum(map(len, lot)))
