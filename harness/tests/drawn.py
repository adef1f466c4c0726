"""What is tried instead of everything: drawn by SEED of make test, which is else another for each
commit; and what is about the chapters that have changed."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from harness.feedback.hints import HINTS
from harness.grade import scoring
from harness.maintain.wrong_servers.wrong_server import WrongServer
from harness.modules import linking
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
INHERITED_PART = 5  # of what a chapter inherits, one is tried in slow grades
# Words for a grade of right servers: other tests run beside it, so it need not be quick.
NO_WORKERS = ("--jobs", "0")

FIXED, ROTATING, OF_CHANGED = 40, 80, 60  # wrong servers, of .7 s of CPU each
STEPS_OF_CHANGED = 12
_CHAPTER = re.compile(r"^(?:chapters|solutions)/(\d\d)-|^harness/claims/(?:.*/)?(?:test_)?(\d\d)_")


_FILES = _git("diff", "--name-only", "main", "--").splitlines()  # that have changed


def _changed() -> list[Chapter]:
    """The chapters with a changed file."""
    found = {match[1] or match[2] for match in map(_CHAPTER.match, _FILES) if match}
    return [chapter for chapter in CHAPTERS if chapter.number in found]


CHANGED = _changed()


def _parts_of_claims() -> set[str]:
    """The names, without .c or .py, of changed files below harness/claims and of the programs that
    include one of them."""
    found = {Path(name).stem for name in _FILES if name.startswith("harness/claims/")}
    programs = {path.stem: path.read_text() for path in linking.PROGRAMS.glob("*.[ch]")}
    while found:
        using = re.compile(rf'^#include "({"|".join(found)})\.h"', re.M)
        more = {name for name, text in programs.items() if using.search(text)}
        if more <= found:
            break
        found |= more
    return found


PARTS = _parts_of_claims()


def _is_touched(claim: scoring.Claim) -> bool:
    """Whether a change touches the claim: the file of the claim, or a file that the claim uses."""
    text = claim.file.read_text()
    own = re.search(rf"^def {claim.name}\(.*?(?=^@|\Z)", text, re.M | re.S)[0]
    used = re.findall(r"^from harness\.claims\.[\w.]*?(\w+) import", text, re.M)
    return not PARTS.isdisjoint({claim.file.stem, *used, *re.findall(r'"(\w+)"', own)})


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


def wrong_servers(catalogue: Sequence[WrongServer]) -> set[str]:
    """The ids of those that are judged without FULL=1: FIXED, which are always the same, ROTATING,
    and OF_CHANGED, for the claims that a change touches and then for its chapters."""
    fixed = _of_each_heading(catalogue)[:FIXED]
    left = [one for one in catalogue if one not in fixed]
    draw = random.Random(f"{SEED} wrong servers").sample
    rotating = draw(left, min(ROTATING, len(left)))
    touched = {claim.name for claim in scoring.load() if PARTS and _is_touched(claim)}
    others = [one for one in left if one not in rotating]
    changed = [one for one in others if one.test in touched or one.chapter in CHANGED]
    random.Random(SEED).shuffle(changed)
    changed.sort(key=lambda one: one.test not in touched)
    return {one.id for one in (*fixed, *rotating, *changed[:OF_CHANGED])}


def _of_each_heading(catalogue: Iterable[WrongServer]) -> list[WrongServer]:
    """For each heading of hints, the first wrong server and the last one."""
    headings: dict[str, list[WrongServer]] = {}
    for one in catalogue:
        if one.hint in HINTS:
            headings.setdefault(HINTS[one.hint].anchor, []).append(one)
    firsts = [those[0] for those in headings.values()]
    return [*firsts, *(those[-1] for those in headings.values() if len(those) > 1)]
