"""All wrong servers, and whether they are fit to be used."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from harness.authors.mutants.mutant import GROUPS, Mutant, Unsound
from harness.failures.hints import HINTS
from harness.grading import scoring
from harness.grading.scoring import Claim
from harness.lab import chapters

NAME_WIDTH = 24  # so that a row of the matrix fits


def _all() -> tuple[Mutant, ...]:
    """MUTANTS of every chNN.py here, in the order of the chapters."""
    here = pkgutil.iter_modules([str(Path(__file__).parent)])
    names = sorted(module.name for module in here if re.fullmatch(r"ch\d\d", module.name))
    modules = [import_module(f"harness.authors.mutants.{name}") for name in names]
    return tuple(mutant for module in modules for mutant in module.MUTANTS)


CATALOGUE = _all()


def select(chapter: str | None = None, text: str | None = None) -> list[Mutant]:
    """Those of a chapter ("01"), and those with `text` in their name or that of their test."""
    return [
        mutant
        for mutant in CATALOGUE
        if chapter in (None, mutant.chapter) and (text or "") in f"{mutant.id} {mutant.test}"
    ]


def faults(mutants: Iterable[Mutant], claims: Iterable[Claim]) -> list[str]:
    """What is wrong with the data and what to do, a line each: names, groups, tests, hints, places.

    A change whose lines are not found is told with these lines.
    """
    found: list[str] = []
    ids: set[str] = set()
    claims = list(claims)
    for mutant in mutants:
        where = f"harness/authors/mutants/ch{mutant.chapter}.py: {mutant.id}"
        names = {claim.name for claim in scoring.holding(claims, mutant.chapter)}
        for wrong, says in (
            (mutant.id in ids, "there are two of this name: rename one"),
            (
                len(mutant.name) > NAME_WIDTH,
                f"the name is longer than {NAME_WIDTH} characters: shorten it",
            ),
            (
                mutant.group not in GROUPS,
                f"there is no group {mutant.group!r}: take one of GROUPS in "
                "harness/authors/mutants/mutant.py, or add it there",
            ),
            (
                mutant.test not in names,
                f"chapter {mutant.chapter} has no test {mutant.test}: name a claim of "
                "harness/claims that holds for this chapter",
            ),
            (
                mutant.hint not in HINTS,
                f"there is no hint {mutant.hint!r}: take a key of harness/failures/hints, or add "
                "it to the file of its heading there",
            ),
        ):
            if wrong:
                found.append(f"{where}: {says}")
        ids.add(mutant.id)
        try:
            mutant.sources()
        except Unsound as error:
            slug = chapters.find(mutant.chapter).slug
            does = f"quote lines of solutions/{slug}, without the marks, that stand there once"
            found.append(f"{where}: {does}\n{error}")
        except chapters.UnknownChapter as error:
            found.append(f"{where}: {error}: add it to harness/lab/chapters.py")
    return found


def unused(mutants: Iterable[Mutant], claims: Iterable[Claim]) -> list[str]:
    """The names of the claims that no mutant is meant for."""
    used = {mutant.test for mutant in mutants}
    return [claim.name for claim in claims if claim.name not in used]
