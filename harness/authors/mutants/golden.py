"""Failures as students see them, kept so that a change of their wording is seen in a review.

A file of golden/ is what one wrong server's failure says, without what changes from run to run:
numbers are #, bytes are dots, and what the server itself has printed is left out.
`python3 -m harness mutants golden` writes them again.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from harness.authors.mutants.mutant import Mutant

DIRECTORY = Path(__file__).with_name("golden")
HAPPENED = "  what happened"

_CHANGES = (
    (r"^  (expected|received)   .*", r"  \1   .."),
    (r"^ +\^\^", "             ^^"),
    (r"is [0-9a-f]{2} instead of [0-9a-f]{2}\b", "is .. instead of .."),
    # Bytes in hex, all or the first of them; perhaps as text, too; or cut short by the line's end.
    (r'(bytes?): [0-9a-f]{2}\b( [0-9a-f]{1,2}\b)*( \.\.)?( ".*?")?(\.\.\.)?', r"\1: .."),
    (r" DIR=\S+", " DIR=.."),
    (r", and busy: .*", ""),  # on a busy machine it may not be seen
    (r"\d+(,\d{3})*(\.\d+)?", "#"),
)


def plain(text: str) -> str:
    """A failure without what changes from run to run."""
    said_by_the_server = re.compile(r" +\| ")
    lines = [line for line in text.splitlines() if not said_by_the_server.match(line)]
    lines = _unwrapped(lines)
    for pattern, instead in _CHANGES:
        lines = [re.sub(pattern, instead, line) for line in lines]
    return "\n".join(lines) + "\n"


def _unwrapped(lines: list[str]) -> list[str]:
    """What happened on one line: where it is wrapped depends on its numbers."""
    found: list[str] = []
    inside = False
    for line in lines:
        if inside and line.startswith("     "):
            if found[-1] != HAPPENED:
                found[-1] += f" {line.strip()}"
                continue
        else:
            inside = line == HAPPENED
        found.append(line)
    return found


def path(mutant: Mutant) -> Path:
    return DIRECTORY / f"{mutant.id}.txt"


def complaint(mutant: Mutant, text: str) -> str:
    """How a failure differs from the one that is kept; "" if it does not, or none is kept."""
    if not path(mutant).exists():
        return ""
    kept, now = (
        [re.sub(" +#", " #", line) for line in said.splitlines()]  # as wide as the number was
        for said in (path(mutant).read_text(), plain(text))
    )
    return "\n".join(difflib.unified_diff(kept, now, str(path(mutant)), "now", lineterm=""))
