"""Every way to cut a stream of frames, and how to say one of them. No I/O."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness import wire
from harness.shim import Group, Plan, Step, fail, piece
from harness.shim.layout import STEPS_MAX

MOST_NAMED = 3  # more cuts than this are told by the sizes of the pieces
MOST_DISTURBED = 3  # more cuts than this are tried without disturbance only
BETWEEN = (errno.EAGAIN, errno.EINTR)  # what calls meet between two pieces


@dataclass(frozen=True)
class Cut:
    """One way in which frames with these bodies pass through the kernel.

    at: offsets into the stream, rising, where one piece ends and the next begins. way: INPUT, the
    server reads the stream so; OUTPUT, the kernel takes the replies so. disturbed: between two
    pieces the call fails with EAGAIN (if the socket is non-blocking) and again with EINTR.
    """

    bodies: tuple[bytes, ...]
    at: tuple[int, ...]
    way: Group
    disturbed: bool = False

    @property
    def stream(self) -> bytes:
        return b"".join(map(wire.encode, self.bodies))

    def plan(self, connection: int) -> Plan:
        """The schedule that cuts the stream of this connection so. What is left comes in one."""
        steps: list[Step] = []
        for start, end in zip((0, *self.at), self.at):
            steps.append(piece(end - start))
            steps += map(fail, BETWEEN if self.disturbed else ())
        return Plan(self.way, steps, connection=connection)

    def __str__(self) -> str:
        """As the end of a sentence: "when byte 3 of the length arrives alone"."""
        if not self.disturbed:
            return f"when {self._how()}"
        return f"when {self._how()}, and calls between meet EAGAIN or EINTR"

    def _how(self) -> str:
        is_input = self.way == Group.INPUT
        if len(self.at) == 2 and self.at[1] - self.at[0] == 1:
            return f"{self._before(self.at[1])} {'arrives' if is_input else 'is sent'} alone"
        what = "the input" if is_input else "the output"
        if len(self.at) > MOST_NAMED:
            edges = (0, *self.at, len(self.stream))
            sizes = [str(end - start) for start, end in zip(edges, edges[1:])]
            return f"{what} is cut into pieces of {' + '.join(sizes)} bytes"
        *firsts, last = map(self._before, self.at)
        places = f"{', '.join(firsts)} and {last}" if firsts else last
        return f"{what} is cut after {places}"

    def _before(self, offset: int) -> str:
        """What ends at this offset of the stream: "byte 3 of the length", "frame 1"."""
        start = 0
        for number, body in enumerate(self.bodies, 1):
            end = start + wire.HEADER + len(body)
            if offset == end:
                return f"frame {number}"
            if offset < end:
                place = offset - start
                in_length = place <= wire.HEADER
                part = f"byte {place if in_length else place - wire.HEADER} of the "
                part += "length" if in_length else "body"
                return part + (f" of frame {number}" if len(self.bodies) > 1 else "")
            start = end
        raise ValueError(f"the stream has no byte {offset}")


def every_cut(bodies: Sequence[bytes], way: Group) -> Iterator[Cut]:
    """All ways to cut these frames, fewest cuts first; with few cuts, each with disturbance too.

    A stream of n bytes can be cut in 2^(n-1) - 1 ways.
    """
    bodies = tuple(bodies)
    size = sum(wire.HEADER + len(body) for body in bodies)
    if (size - 1) * (1 + len(BETWEEN)) > STEPS_MAX:
        raise ValueError(f"a stream of {size} bytes is too long to be cut everywhere")
    for count in range(1, size):
        for at in combinations(range(1, size), count):
            yield Cut(bodies, at, way)
            if count <= MOST_DISTURBED:
                yield Cut(bodies, at, way, disturbed=True)


def of_several(streams: Iterable[Sequence[bytes]]) -> list[Cut]:
    """All ways to cut these streams, in both directions, those with the fewest cuts first."""
    ways = (Group.INPUT, Group.OUTPUT)
    cuts = [cut for stream in streams for way in ways for cut in every_cut(stream, way)]
    return sorted(cuts, key=lambda cut: len(cut.at))


def random_plan(way: Group, rng: random.Random, connection: int, most: int) -> Plan:
    """Pieces of 1 to `most` bytes for ever, with EAGAIN and EINTR between some of them."""
    steps = [piece(most)] * 4 + [piece(1)] + [fail(error) for error in BETWEEN]
    return Plan(way, steps, connection=connection, seed=rng.getrandbits(63) | 1)
