"""What became of wrong servers, as a table for a terminal; and the page about all of them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.grade.scoring import Claim
from harness.maintain.wrong_servers.catalogue import CATALOGUE, NAME_WIDTH
from harness.maintain.wrong_servers.judge import BROKEN, KILLED, OTHER_HINT, SURVIVED, Judgement
from harness.maintain.wrong_servers.wrong_server import GROUPS, WrongServer
from harness.submission import chapters

PAGE = chapters.ROOT / "build" / "wrong-servers.md"
WIDTH = 100
INDENT = " " * 13

HEAD = """\
# Wrong servers, and the tests that catch them

How good is the grader? These are mistakes that it is known to find: {count} servers, each a
solution with one small change, such as a student makes. For each there is a test that must fail,
and a hint that the failure must come with. `make test FULL=1` builds and grades every one;
`make test` grades 120 of them, and others for each commit. A survivor fails the run, and so does a
claim that no wrong server is meant for.

    make wrong-servers                 # all of them, some minutes
    make wrong-servers CH=02           # those of a chapter
    make wrong-servers T=short_write   # those with that in their name or in that of their test
    make wrong-servers CH=04 FULL=1    # every test of the chapter against each: for an idle hour

The sources are left in `build/wrong-servers`, a directory each. To see what a student would see:

    make wrong-servers T=no-reuseaddr
    make grade CH=01 DIR=build/wrong-servers/01-no-reuseaddr V=1

The wrong servers of a chapter are in `solutions/NN-name/wrong-servers.patch`: for each mistake the
test, the hint, and the lines that change. The hints have their texts in
`harness/feedback/hints.md`. This page is written by

    $(sh harness/find-python.sh) -m harness wrong-servers write

Not every mistake can be seen from outside. `memcpy` of the header into a `uint32_t` is right on
every little-endian machine. On Linux, `POLLHUP` and `POLLERR` come together with `POLLIN` or
`POLLOUT`, so a server that ignores them loses nothing. And the grader does not look for every
mistake: a server of 01 that closes a connection after a second of silence (`SO_RCVTIMEO`) passes,
as no test is silent for so long.
"""


def table(judgements: Sequence[Judgement]) -> str:
    """A line for each judgement, by chapter and group, and how many were killed."""
    lines = []
    for chapter in chapters.CHAPTERS:
        for group in GROUPS:
            place = chapter, group
            found = [one for one in judgements if (one.wrong.chapter, one.wrong.group) == place]
            if found:
                lines.append(f"{chapter.number}  {group}")
                lines += [row for one in found for row in _row(one)]
    killed = sum(one.verdict == KILLED for one in judgements)
    return "\n".join([*lines, f"{killed} of {len(judgements)} wrong servers are killed"])


def _row(judgement: Judgement) -> list[str]:
    """A line, and a second one for a verdict other than KILLED."""
    wrong, verdict = judgement.wrong, judgement.verdict
    test = wrong.test.removeprefix("test_")
    line = f"{verdict:<10} {wrong.name:<{NAME_WIDTH}} {test}  {wrong.hint}"
    if len(line) > WIDTH:
        line = f"{verdict:<10} {wrong.name} {test} {wrong.hint}"
    if verdict == OTHER_HINT:
        return [line, f"{INDENT}killed by another hint: {judgement.hint}"]
    if verdict == BROKEN:
        return [line, *(f"{INDENT}{text}"[:WIDTH] for text in judgement.hint.splitlines()[:5])]
    # The other tests that failed are known only when all of them were asked.
    others = [name for name in judgement.killers if name != wrong.test]
    more = [f"{INDENT}and {name.removeprefix('test_')}" for name in others]
    return [line, f"{INDENT}the test passes", *more] if verdict == SURVIVED else [line, *more]


def idle_claims(judgements: Sequence[Judgement], claims: Sequence[Claim]) -> str:
    """The claims that failed none of these, a line each; "" if there are none."""
    killers = {name for judgement in judgements for name in judgement.killers}
    idle = [claim.name for claim in claims if claim.name not in killers]
    return "\n".join(["these tests kill nothing:", *(f"  {name}" for name in idle)] if idle else [])


def page(wrong_servers: Sequence[WrongServer] = CATALOGUE) -> str:
    """The page of wrong servers: a table for each chapter and group."""
    parts = [HEAD.format(count=len(wrong_servers))]
    for chapter in chapters.CHAPTERS:
        of_chapter = [one for one in wrong_servers if one.chapter == chapter]
        if of_chapter:
            parts.append(f"## {chapter.slug}\n")
        for group in GROUPS:
            rows = [one for one in of_chapter if one.group == group]
            if rows:
                parts.append(_of_group(group, rows))
    return "\n".join(parts)


def write_page() -> None:
    """Writes the page to build/wrong-servers.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())


def _of_group(group: str, wrong_servers: Sequence[WrongServer]) -> str:
    lines = [f"### {group}\n", "| name | the mistake | found by | hint |", "|---|---|---|---|"]
    for one in wrong_servers:
        what = one.what.replace("|", "\\|")
        lines.append(f"| {one.name} | {what} | {one.test} | {one.hint} |")
    return "\n".join(lines) + "\n"
