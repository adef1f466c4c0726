"""Random numbers of a test, in which many bytes cost little."""

from __future__ import annotations

import hashlib
import random

from harness.lab.units import KIB, MIB

MANY = 64 * KIB  # bytes
PLACES = MIB  # where a piece of the supply can begin

_supply = b""  # has to be the same in each process: a test draws what it drew before


class Draws(random.Random):
    """Random numbers. To compute each of millions of bytes would take longer than to send them all;
    so many bytes at once are a piece of a supply, from a place that is drawn."""

    def randbytes(self, n: int) -> bytes:
        if n < MANY:
            return super().randbytes(n)
        start = self.randrange(PLACES)
        return _supplied(PLACES + n)[start : start + n]


def _supplied(size: int) -> bytes:
    """A supply of at least so many bytes: a longer one begins like a shorter one."""
    global _supply
    if len(_supply) < size:
        _supply = hashlib.shake_128().digest(max(size, 2 * len(_supply)))
    return _supply
