"""Some of the wrong servers in place of all, drawn by chance: PARTS samples try every claim and
hint."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from harness.authors.mutants.mutant import Mutant
from harness.lab.chapters import Chapter

PARTS = 3


def sample(mutants: Iterable[Mutant], seed: int) -> list[Mutant]:
    """A part of the wrong servers. Those of the seeds 0 to PARTS - 1 together fail each claim and
    show each hint of a chapter that all of them fail and show; so do those of the next PARTS seeds,
    which are others."""
    drawing, part = divmod(seed, PARTS)
    drawn = list(mutants)
    random.Random(drawing).shuffle(drawn)
    left = set().union(*map(_tries, drawn))
    chosen = []
    for worth in (2, 1):  # those that try two new things first: so there are fewer
        for mutant in drawn:
            new = _tries(mutant) & left
            if len(new) >= worth:
                chosen.append(mutant)
                left -= new
    return _needed(chosen)[part::PARTS]


def _needed(chosen: list[Mutant]) -> list[Mutant]:
    """Leaves out each wrong server whose claim and hint others try as well: two that were drawn
    later may try all that an earlier one does."""
    tried = Counter(one for mutant in chosen for one in _tries(mutant))
    needed = []
    for mutant in chosen:
        if min(tried[one] for one in _tries(mutant)) > 1:
            tried.subtract(_tries(mutant))
        else:
            needed.append(mutant)
    return needed


def _tries(mutant: Mutant) -> set[tuple[str | Chapter, str]]:
    """The claim that it is to fail, and the hint that it is to show in its chapter."""
    return {("claim", mutant.test), (mutant.chapter, mutant.hint)}
