"""The sample that is tried instead of everything: drawn at random, from SEED of make test."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from harness.grading import scoring
from harness.lab.chapters import CHAPTERS
from harness.lab.target import setting


def slug(chapter) -> str:
    return chapter.slug


each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=slug)

_given = setting("SEED") or "1"
if not _given.isdigit():
    raise pytest.UsageError(f"SEED={_given}: that is not a whole number")
SEED = int(_given)
FULL = setting("FULL") not in (None, "0")
INHERITED_PART = 5  # of what a chapter inherits, one is tried in slow grades
# Words for a grade of right servers. A worker of a grade is another Python, and costs as much as
# several claims; other tests run beside this grade, so it need not be quick.
NO_WORKERS = ("--jobs", "0")


def some(values: Sequence, count: int, what: str, ids: Callable[..., str]) -> list:
    """The values as parameters of a test. All but `count` of them, which are drawn, are tried with
    FULL=1 only; they are one of `what`.

    A value that is a tuple is several parameters.
    """
    drawn = random.Random(f"{SEED} {what}").sample(range(len(values)), count)
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            id=ids(value),
            marks=[] if place in drawn else [pytest.mark.full(what)],
        )
        for place, value in enumerate(values)
    ]


def drawn_claims(
    chapter, part: int = 1, inherited_part: int = INHERITED_PART, native: bool = True
) -> list[str]:
    """The words that select what slow grades of a chapter try: of what it adds one claim in `part`,
    and of what it inherits one in `inherited_part`; 0: none. `native`: also claims that are not for
    valgrind. FULL=2 tries all."""
    if setting("FULL") == "2":
        return []
    holding = scoring.holding(scoring.load(), chapter)
    claims = [claim for claim in holding if native or not claim.native]
    own = [claim.name for claim in claims if claim.chapter == chapter]
    inherited = [claim.name for claim in claims if claim.chapter != chapter]
    draw = random.Random(f"{SEED} {chapter.slug}").sample
    drawn = draw(own, len(own) // part)
    drawn += draw(inherited, len(inherited) // inherited_part) if inherited_part else []
    return ["--only", ",".join(drawn)]
