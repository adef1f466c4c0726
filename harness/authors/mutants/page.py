"""The page of wrong servers, build/mutants.md, made from the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from harness.authors.mutants.catalogue import CATALOGUE
from harness.authors.mutants.mutant import GROUPS, Mutant
from harness.lab import chapters

PAGE = chapters.ROOT / "build" / "mutants.md"

HEAD = """\
# Wrong servers, and the tests that catch them

How good is the grader? These are mistakes that it is known to find: {count} servers, each a
solution with one small change, such as a student makes. For each there is a test that must fail,
and a hint that the failure must come with. `make test FULL=1` builds and grades every one;
`make test` grades 120 of them, and others for each commit. A survivor fails the run, and so does a
claim that no wrong server is meant for.

    make mutants                       # all of them, some minutes
    make mutants CH=02                 # those of a chapter
    make mutants T=short_write         # those with that in their name or in that of their test
    make mutants CH=04 FULL=1          # every test of the chapter against each: for an idle hour

The sources are left in `build/mutants`, a directory each. To see what a student would see:

    make mutants T=no-reuseaddr
    make grade CH=01 DIR=build/mutants/01-no-reuseaddr V=1

The wrong servers of a chapter are in `solutions/NN-name/wrong.patch`: for each mistake the test,
the hint, and the lines that change. The hints have their texts in `harness/failures/hints.md`. This
page is written by

    $(sh harness/find-python.sh) -m harness mutants write

Not every mistake can be seen from outside. `memcpy` of the header into a `uint32_t` is right on
every little-endian machine. On Linux, `POLLHUP` and `POLLERR` come together with `POLLIN` or
`POLLOUT`, so a server that ignores them loses nothing. And the grader does not look for every
mistake: a server of 01 that closes a connection after a second of silence (`SO_RCVTIMEO`) passes,
as no test is silent for so long. Changes that a program makes by rule, and why some of them
survive, are in [sweep.md](../docs/sweep.md).
"""


def text(mutants: Sequence[Mutant] = CATALOGUE) -> str:
    """The whole page."""
    parts = [HEAD.format(count=len(mutants))]
    for chapter in chapters.CHAPTERS:
        of_chapter = [mutant for mutant in mutants if mutant.chapter == chapter]
        if of_chapter:
            parts.append(f"## {chapter.slug}\n")
        for group in GROUPS:
            rows = [mutant for mutant in of_chapter if mutant.group == group]
            if rows:
                parts.append(_table(group, rows))
    return "\n".join(parts)


def write() -> None:
    """Writes the page to build/mutants.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text())


def _table(group: str, mutants: Sequence[Mutant]) -> str:
    lines = [f"### {group}\n", "| name | the mistake | found by | hint |", "|---|---|---|---|"]
    for mutant in mutants:
        what = mutant.what.replace("|", "\\|")
        lines.append(f"| {mutant.name} | {what} | {mutant.test} | {mutant.hint} |")
    return "\n".join(lines) + "\n"
