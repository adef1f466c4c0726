"""Random numbers of a test, in which many bytes cost little."""

from __future__ import annotations

import hashlib
import random

from harness.submission.sizes import KIB, MIB

MANY = 64 * KIB  # bytes

_SUPPLY = hashlib.shake_128().digest(2 * MIB)  # the same in each process
_ALPHABET = bytes(random.Random(1).sample(range(256), 256))


class Draws(random.Random):
    """Random numbers. To compute each of millions of bytes would take longer than to send them all.
    So many bytes at once are a MiB of a supply, from a place that is drawn, and the same in one
    alphabet after the other."""

    def randbytes(self, n: int) -> bytes:
        if n < MANY:
            return super().randbytes(n)
        start = self.randrange(MIB)
        parts = [_SUPPLY[start : start + min(n, MIB)]]
        while len(parts) * MIB < n:
            parts.append(parts[-1].translate(_ALPHABET))
        parts[-1] = parts[-1][: n - MIB * (len(parts) - 1)]
        return b"".join(parts)
