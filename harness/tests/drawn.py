"""What is tried instead of everything: drawn by SEED of make test, which is else another for each
commit; and what is about the chapters that have changed."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence

import pytest

from harness.feedback.hints import HINTS
from harness.grade import scoring
from harness.maintain.wrong_servers.wrong_server import WrongServer
from harness.submission.chapters import CHAPTERS, ROOT, Chapter
from harness.submission.target import setting


def slug(chapter: Chapter) -> str:
    return chapter.slug


def _git(*words: str) -> str:
    """The output of git, or "" if git is missing or fails."""
    command = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


def _seed() -> str:
    given = setting("SEED")
    if given and not given.isdigit():
        raise pytest.UsageError(f"SEED={given}: that is not a whole number")
    return given or str(int(_git("rev-parse", "HEAD")[:8] or "1", 16))


each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=slug)

SEED = _seed()
FULL = setting("FULL") not in (None, "0")
# Words for a grade of right servers: other tests run beside it, so it need not be quick.
NO_WORKERS = ("--jobs", "0")

FIXED, ROTATING, OF_CHANGED = 40, 80, 60  # wrong servers, of .7 s of CPU each
STEPS_OF_CHANGED = 12
_OF_CLAIMS = ("harness/claims/", "harness/modules/")
_CHAPTER = re.compile(
    rf"^(?:chapters|solutions)/(\d\d)-|^(?:{'|'.join(_OF_CLAIMS)})(?:.*/)?(?:test_)?(\d\d)_"
)

_FILES = _git("diff", "--name-only", "main", "--").splitlines()  # that have changed


def _changed() -> list[Chapter]:
    """The chapters with a changed file."""
    found = {match[1] or match[2] for match in map(_CHAPTER.match, _FILES) if match}
    return [chapter for chapter in CHAPTERS if chapter.number in found]


CHANGED = _changed()


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


def drawn_claims(chapter, part: int = 1, native: bool = True) -> list[str]:
    """The words that select what slow grades of a chapter try: of what it adds one claim in `part`.
    `native`: also claims that are not for valgrind. FULL=2 tries all, with what it inherits."""
    if setting("FULL") == "2":
        return []
    own = [claim for claim in scoring.load() if claim.chapter == chapter]
    names = [c.name for c in own if c in scoring.holding(own, chapter) and (native or not c.native)]
    drawn = random.Random(f"{SEED} {chapter.slug}").sample(names, len(names) // part)
    return ["--only", ",".join(drawn)]


def wrong_servers(catalogue: Sequence[WrongServer]) -> set[str]:
    """The ids of those that are judged without FULL=1: FIXED, which are always the same, ROTATING,
    and OF_CHANGED of the chapters that a change touches."""
    fixed = _of_each_heading(catalogue)[:FIXED]
    left = [one for one in catalogue if one not in fixed]
    draw = random.Random(f"{SEED} wrong servers").sample
    rotating = draw(left, min(ROTATING, len(left)))
    others = [one for one in left if one not in rotating]
    changed = [one for one in others if one.chapter in CHANGED]
    random.Random(SEED).shuffle(changed)
    return {one.id for one in (*fixed, *rotating, *changed[:OF_CHANGED])}


def _of_each_heading(catalogue: Iterable[WrongServer]) -> list[WrongServer]:
    """For each heading of hints, the first wrong server and the last one."""
    headings: dict[str, list[WrongServer]] = {}
    for one in catalogue:
        if one.hint in HINTS:
            headings.setdefault(HINTS[one.hint].anchor, []).append(one)
    firsts = [those[0] for those in headings.values()]
    return [*firsts, *(those[-1] for those in headings.values() if len(those) > 1)]
