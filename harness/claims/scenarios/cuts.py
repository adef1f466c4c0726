"""Every way to cut a stream of frames, and how to say one of them. No I/O."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from harness.client.framing import LENGTH, Framing
from harness.server.preload import Group, Plan, Step, fail, piece
from harness.waiting.shared import STEPS_MAX

MOST_NAMED = 3  # more cuts than this are told by the sizes of the pieces
MOST_DISTURBED = 3  # more cuts than this are tried without disturbance only
BETWEEN = (errno.EAGAIN, errno.EINTR)  # what calls meet between two pieces


@dataclass(frozen=True)
class Cut:
    """One way in which frames with these bodies pass through the kernel.

    at: offsets into the stream, rising, where one piece ends and the next begins. way: INPUT, the
    server reads the stream so; OUTPUT, the kernel takes the replies so. disturbed: between two
    pieces the call fails with EAGAIN (if the socket is non-blocking) and again with EINTR.
    framing: of both streams. answers: the bodies of the replies, if they are not the same.
    """

    bodies: tuple[bytes, ...]
    at: tuple[int, ...]
    way: Group
    disturbed: bool = False
    framing: Framing = LENGTH
    answers: tuple[bytes, ...] | None = None

    @property
    def stream(self) -> bytes:
        """The bytes that the client sends."""
        return b"".join(map(self.framing.encode, self.bodies))

    @property
    def replies(self) -> tuple[bytes, ...]:
        """The bodies of what comes back."""
        return self.bodies if self.answers is None else self.answers

    @property
    def due(self) -> bytes:
        """The bytes that come back."""
        return b"".join(map(self.framing.encode, self.replies))

    def plan(self, connection: int) -> Plan:
        """The schedule that cuts the stream of this connection so. The remainder comes in one."""
        steps: list[Step] = []
        for start, end in zip((0, *self.at), self.at):
            steps.append(piece(end - start))
            steps += map(fail, BETWEEN if self.disturbed else ())
        return Plan(self.way, steps, connection=connection)

    def __str__(self) -> str:
        """The end of a sentence: "when byte 3 of the length arrives alone"."""
        if not self.disturbed:
            return f"when {self._how()}"
        return f"when {self._how()}, and calls between meet EAGAIN or EINTR"

    def _how(self) -> str:
        is_input = self.way == Group.INPUT
        if len(self.at) == 2 and self.at[1] - self.at[0] == 1:
            alone = self._place(self.at[1], to_the_byte=True)
            return f"{alone} {'arrives' if is_input else 'is sent'} alone"
        what = "the input" if is_input else "the output"
        if len(self.at) > MOST_NAMED:
            edges = (0, *self.at, len(self.stream if is_input else self.due))
            sizes = [str(end - start) for start, end in zip(edges, edges[1:])]
            return f"{what} is cut into pieces of {' + '.join(sizes)} bytes"
        *firsts, last = map(self._place, self.at)
        places = f"{', '.join(firsts)} and {last}" if firsts else last
        return f"{what} is cut after {places}"

    def _place(self, offset: int, to_the_byte: bool = False) -> str:
        """What ends at this offset of the stream: "byte 3 of the length", "frame 1".

        to_the_byte: where a frame ends, too, its last byte is told.
        """
        bodies = self.bodies if self.way == Group.INPUT else self.replies
        start = 0
        for number, frame in enumerate(map(self.framing.encode, bodies), 1):
            end = start + len(frame)
            named = f"{self.framing.noun} {number}"
            if offset == end and not to_the_byte:
                return named
            if offset <= end:
                byte = self.framing.byte(frame, offset - start)
                return byte if len(bodies) == 1 and self.framing.header else f"{byte} of {named}"
            start = end
        raise ValueError(f"the stream has no byte {offset}")


def every_cut(
    bodies: Sequence[bytes],
    way: Group,
    framing: Framing = LENGTH,
    answers: Sequence[bytes] | None = None,
) -> Iterator[Cut]:
    """All ways to cut these frames, fewest cuts first; with few cuts, each with disturbance too.

    A stream of n bytes can be cut in 2^(n-1) - 1 ways. answers: see Cut.
    """
    whole = Cut(tuple(bodies), (), way, False, framing, tuple(answers) if answers else None)
    size = len(whole.stream if way == Group.INPUT else whole.due)
    if (size - 1) * (1 + len(BETWEEN)) > STEPS_MAX:
        raise ValueError(f"a stream of {size} bytes is too long to be cut everywhere")
    for count in range(1, size):
        for at in combinations(range(1, size), count):
            yield replace(whole, at=at)
            if count <= MOST_DISTURBED:
                yield replace(whole, at=at, disturbed=True)


def of_several(streams: Iterable[Sequence[bytes]], framing: Framing = LENGTH) -> list[Cut]:
    """All ways to cut these streams, in both directions, those with the fewest cuts first."""
    ways = (Group.INPUT, Group.OUTPUT)
    cuts = [cut for stream in streams for way in ways for cut in every_cut(stream, way, framing)]
    return sorted(cuts, key=lambda cut: len(cut.at))


def random_plan(
    way: Group, rng: random.Random, connection: int, most: int, between: Sequence[int] = BETWEEN
) -> Plan:
    """Pieces of 1 to `most` bytes for ever, with these errors between some of them."""
    kinds = [most] * 4 + [1, *map(fail, between)]
    drawn = (rng.choice(kinds) for _ in range(STEPS_MAX))
    steps = [piece(rng.randint(1, one)) if isinstance(one, int) else one for one in drawn]
    return Plan(way, steps, connection=connection, cycles=True)
