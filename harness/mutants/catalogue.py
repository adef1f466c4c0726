"""All wrong servers, and whether they are fit to be used."""

from __future__ import annotations

from collections.abc import Iterable

from harness.evidence.hints import HINTS
from harness.grading import scoring
from harness.grading.scoring import Claim
from harness.mutants import ch01, ch02, ch03, ch04, ch05, ch06, ch07, ch08, ch09, ch10
from harness.mutants.mutant import GROUPS, Mutant, Unsound

CATALOGUE: tuple[Mutant, ...] = (
    *(*ch01.MUTANTS, *ch02.MUTANTS, *ch03.MUTANTS, *ch04.MUTANTS),
    *(*ch05.MUTANTS, *ch05.MODULES),
    *ch06.MUTANTS,
    *ch07.MUTANTS,
    *ch08.MUTANTS,
    *ch09.MUTANTS,
    *ch10.MUTANTS,
)

NAME_WIDTH = 24  # so that a row of the matrix fits


def select(chapter: str | None = None, text: str | None = None) -> list[Mutant]:
    """Those of a chapter ("01"), and those with `text` in their name or that of their test."""
    return [
        mutant
        for mutant in CATALOGUE
        if chapter in (None, mutant.chapter) and (text or "") in f"{mutant.id} {mutant.test}"
    ]


def faults(mutants: Iterable[Mutant], claims: Iterable[Claim]) -> list[str]:
    """What is wrong with the data, a line each: names, groups, tests, hints, places to change."""
    found: list[str] = []
    ids: set[str] = set()
    claims = list(claims)
    for mutant in mutants:
        names = {claim.name for claim in scoring.holding(claims, mutant.chapter)}
        for wrong, says in (
            (mutant.id in ids, "there are two of this name"),
            (len(mutant.name) > NAME_WIDTH, f"the name is longer than {NAME_WIDTH} characters"),
            (mutant.group not in GROUPS, f"there is no group {mutant.group!r}"),
            (mutant.test not in names, f"chapter {mutant.chapter} has no test {mutant.test}"),
            (mutant.hint not in HINTS, f"there is no hint {mutant.hint!r}"),
        ):
            if wrong:
                found.append(f"{mutant.id}: {says}")
        ids.add(mutant.id)
        try:
            mutant.sources()
        except Unsound as error:
            found.append(str(error))
    return found


def unused(mutants: Iterable[Mutant], claims: Iterable[Claim]) -> list[str]:
    """The names of the claims that no mutant is meant for."""
    used = {mutant.test for mutant in mutants}
    return [claim.name for claim in claims if claim.name not in used]
