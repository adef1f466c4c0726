"""A class: how much each pair of submissions shares that is not explained by what all have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from harness.course.similarity.fingerprints import fingerprints

# Fingerprints in more submissions than this are no evidence: many have come to them.
COMMON_AT_LEAST = 10
COMMON_SHARE = 0.1
# A pair is named from here on. Two solutions that were written independently have 0.03 to 0.07.
NAMED_SHARE = 0.25
NAMED_COUNT = 15


@dataclass(frozen=True)
class Pair:
    """Two submissions. `shared`: how many fingerprints both have and few others; `share`: the part
    that these are of those of the one that has fewer."""

    first: str
    second: str
    shared: int
    share: float

    @property
    def named(self) -> bool:
        return self.share >= NAMED_SHARE and self.shared >= NAMED_COUNT


@dataclass(frozen=True)
class Comparison:
    """A class, compared. `pairs`: those that share anything, the most alike first. `common`: the
    fingerprints that more than `limit` submissions have. `alike_to_many`: names of submissions that
    consist of these for the greater part. `own`: how many fingerprints each has, by name.
    """

    pairs: tuple[Pair, ...]
    common: frozenset[bytes]
    limit: int
    alike_to_many: tuple[str, ...]
    own: dict[str, int]

    @property
    def named(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.named)

    def share_at(self, part: float) -> float:
        """The share that this part of all pairs does not exceed; 0.5 is the median."""
        count = len(self.own) * (len(self.own) - 1) // 2
        shares = sorted((pair.share for pair in self.pairs), reverse=True)
        place = int((1 - part) * count)
        return shares[place] if place < len(shares) else 0.0


def compare(
    submissions: Mapping[str, Mapping[str, str]], known: frozenset[bytes] = frozenset()
) -> Comparison:
    """Compares submissions: name to files, file to text. `known`: k-grams that are no evidence."""
    marks = {name: fingerprints(files.values(), known) for name, files in submissions.items()}
    owners: dict[bytes, list[str]] = {}
    for name, found in marks.items():
        for mark in found:
            owners.setdefault(mark, []).append(name)
    limit = max(COMMON_AT_LEAST, int(COMMON_SHARE * len(submissions)))
    common = frozenset(mark for mark, names in owners.items() if len(names) > limit)
    shared: Counter[tuple[str, str]] = Counter()
    for mark, names in owners.items():
        if mark not in common:
            shared.update(combinations(names, 2))
    rare = {name: len(found - common) for name, found in marks.items()}
    pairs = [
        Pair(first, second, count, count / min(rare[first], rare[second]))
        for (first, second), count in shared.items()
    ]
    pairs.sort(
        key=lambda pair: (not pair.named, -pair.share, -pair.shared, pair.first, pair.second)
    )
    many = [name for name, found in marks.items() if 2 * rare[name] < len(found)]
    own = {name: len(found) for name, found in marks.items()}
    return Comparison(tuple(pairs), common, limit, tuple(many), own)
