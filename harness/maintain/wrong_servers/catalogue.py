"""All wrong servers, and whether they are fit to be used.

Those of a chapter are in solutions/NN-name/wrong-servers.patch, below the name of their group:

    # framing

    ## empty-frame-no-reply
    A frame with no body is ignored.
    fails: 01_empty_frames (empty-body)
    --- a/conn.c
    +++ b/conn.c
    @@ -41 +41,3 @@
             return "frame too long";
    +    if (length == 0)
    +        return NULL;

That is: its name, the mistake, the claim that must fail, its hint, and the change of the solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.feedback.hints import HINTS
from harness.grade import scoring
from harness.grade.scoring import Claim
from harness.maintain.wrong_servers import patch
from harness.maintain.wrong_servers.wrong_server import GROUPS, WrongServer, solution
from harness.submission.chapters import CHAPTERS, ROOT, Chapter

FILE = "wrong-servers.patch"
HEADING = re.compile(r"^(##?) (.*)\n", re.M)
HEAD = re.compile(r"(?P<what>[^\n]+)\nfails: (?P<claim>\w+) \((?P<hint>[\w-]+)\)\n")
NO_DIFF = re.compile(r"^(?!diff |[-+ @\\]).+", re.M)

NAME_WIDTH = 24  # so that a row of the matrix fits


def path(chapter: Chapter) -> Path:
    """The file of a chapter's wrong servers."""
    return chapter.solution_dir / FILE


def read(chapter: Chapter, text: str) -> Iterator[WrongServer]:
    """The wrong servers of a file. If the head of one is not complete, `test` and `hint` are ""."""
    group = ""
    _, *parts = HEADING.split(text)
    for level, title, body in zip(parts[::3], parts[1::3], parts[2::3]):
        if level == "#":
            group = title
            continue
        head = HEAD.match(body)
        what, claim, hint = head.groups() if head else ("", "", "")
        diff = body[head.end() :] if head else body
        test = f"test_{claim}" if claim else ""
        yield WrongServer(chapter, title, group, what, test, hint, diff.rstrip("\n") + "\n")


CATALOGUE = tuple(
    wrong
    for chapter in CHAPTERS
    if path(chapter).exists()
    for wrong in read(chapter, path(chapter).read_text())
)


def select(chapter: Chapter | None = None, text: str | None = None) -> list[WrongServer]:
    """The wrong servers of a chapter, or with `text` in their name or in that of their
    test."""
    return [
        wrong
        for wrong in CATALOGUE
        if chapter in (None, wrong.chapter) and (text or "") in f"{wrong.id} {wrong.test}"
    ]


def faults(
    wrong_servers: Iterable[WrongServer], claims: Iterable[Claim], diffs: bool = True
) -> list[str]:
    """What is wrong with the data and what to do, a text for each fault, with its place. With
    `diffs` git also applies each change."""
    found: list[str] = []
    ids: set[str] = set()
    claims = list(claims)
    of_chapter = {
        one: {claim.name for claim in scoring.holding(claims, one)} for one in CHAPTERS
    }
    for wrong in wrong_servers:
        where = f"{path(wrong.chapter).relative_to(ROOT)}: {wrong.name}"
        names = of_chapter[wrong.chapter]
        if wrong.id in ids:
            found.append(f"{where}: there are two of this name: rename one")
        ids.add(wrong.id)
        of_diff = _of_diff(wrong) if diffs else ()
        found += [f"{where}: {fault}" for fault in (*_of_head(wrong, names), *of_diff)]
    return found


def _of_head(wrong: WrongServer, names: set[str]) -> Iterator[str]:
    """Faults of the text before the diff. `names`: the tests of its chapter."""
    if len(wrong.name) > NAME_WIDTH:
        yield f"the name is longer than {NAME_WIDTH} characters: shorten it"
    if wrong.group not in GROUPS:
        known = "GROUPS in harness/maintain/wrong_servers/wrong.py"
        yield f"there is no group {wrong.group!r}: take one of {known}, or add it there"
    if not wrong.test:
        head = "the mistake in a line, and then a line `fails: CLAIM (HINT)`"
        yield f"its head is not complete: after `## {wrong.name}` write {head}"
        return
    if wrong.test not in names:
        name = "name a claim of harness/claims that holds for this chapter"
        yield f"chapter {wrong.chapter.number} has no test {wrong.test}: {name}"
    if wrong.hint not in HINTS:
        add = "take a key of harness/feedback/hints.md, or add it there, below its heading"
        yield f"there is no hint {wrong.hint!r}: {add}"


def _of_diff(wrong: WrongServer) -> Iterator[str]:
    if not wrong.test:
        return
    if stray := NO_DIFF.search(wrong.diff):
        head = "a wrong server begins with `## NAME`, a line of a diff with a blank, + or -"
        yield f"this line belongs to no diff: {stray[0]!r}: {head}"
        return
    place = f"solutions/{wrong.chapter.slug}"
    try:
        for file in patch.ambiguous(solution(wrong.chapter), wrong.diff):
            more = "add a line before or after them to each change that needs it"
            yield f"{place}/{file} has the lines of a change at several places: {more}"
    except patch.Refused as error:
        quote = f"quote lines as they are in {place} without the marks // BEGIN and // END"
        yield f"the diff does not fit: {quote}. {error}"


def unused(wrong_servers: Iterable[WrongServer], claims: Iterable[Claim]) -> list[str]:
    """The names of the claims that no wrong is meant for."""
    used = {wrong.test for wrong in wrong_servers}
    return [claim.name for claim in claims if claim.name not in used]
