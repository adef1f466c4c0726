"""The page of wrong servers, build/wrong-servers.md, made from the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from harness.maintain.wrong_servers.catalogue import CATALOGUE
from harness.maintain.wrong_servers.wrong_server import GROUPS, WrongServer
from harness.submission import chapters

PAGE = chapters.ROOT / "build" / "wrong_servers.md"

HEAD = """\
# Wrong servers, and the tests that catch them

How good is the grader? These are mistakes that it is known to find: {count} servers, each a
solution with one small change, such as a student makes. For each there is a test that must fail,
and a hint that the failure must come with. `make test FULL=1` builds and grades every one;
`make test` grades 120 of them, and others for each commit. A survivor fails the run, and so does a
claim that no wrong server is meant for.

    make wrong-servers                       # all of them, some minutes
    make wrong-servers CH=02                 # those of a chapter
    make wrong-servers T=short_write         # those with that in their name or in that of their test
    make wrong-servers CH=04 FULL=1          # every test of the chapter against each: for an idle hour

The sources are left in `build/wrong-servers`, a directory each. To see what a student would see:

    make wrong-servers T=no-reuseaddr
    make grade CH=01 DIR=build/wrong-servers/01-no-reuseaddr V=1

The wrong servers of a chapter are in `solutions/NN-name/wrong-servers.patch`: for each mistake the test,
the hint, and the lines that change. The hints have their texts in `harness/feedback/hints.md`. This
page is written by

    $(sh harness/find-python.sh) -m harness wrong-servers write

Not every mistake can be seen from outside. `memcpy` of the header into a `uint32_t` is right on
every little-endian machine. On Linux, `POLLHUP` and `POLLERR` come together with `POLLIN` or
`POLLOUT`, so a server that ignores them loses nothing. And the grader does not look for every
mistake: a server of 01 that closes a connection after a second of silence (`SO_RCVTIMEO`) passes,
as no test is silent for so long. Changes that a program makes by rule, and why some of them
survive, are in [sweep.md](../docs/sweep.md).
"""


def text(wrong_servers: Sequence[WrongServer] = CATALOGUE) -> str:
    """The whole page."""
    parts = [HEAD.format(count=len(wrong_servers))]
    for chapter in chapters.CHAPTERS:
        of_chapter = [wrong for wrong in wrong_servers if wrong.chapter == chapter]
        if of_chapter:
            parts.append(f"## {chapter.slug}\n")
        for group in GROUPS:
            rows = [wrong for wrong in of_chapter if wrong.group == group]
            if rows:
                parts.append(_table(group, rows))
    return "\n".join(parts)


def write() -> None:
    """Writes the page to build/wrong-servers.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text())


def _table(group: str, wrong_servers: Sequence[WrongServer]) -> str:
    lines = [f"### {group}\n", "| name | the mistake | found by | hint |", "|---|---|---|---|"]
    for wrong in wrong_servers:
        what = wrong.what.replace("|", "\\|")
        lines.append(f"| {wrong.name} | {what} | {wrong.test} | {wrong.hint} |")
    return "\n".join(lines) + "\n"
