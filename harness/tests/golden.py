"""Output that was found good by reading it, and is compared as a whole: golden/NAME.txt.

    make test RECORD=1 TESTARGS='-k name'    writes what these tests see now, to be read in a diff

What changes from run to run is replaced first: see plain().
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from pathlib import Path

import pytest

from harness.submission.chapters import ROOT

DIRECTORY = Path(__file__).with_name("golden")
RECORD = False  # set by conftest.py
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
    (r" +#", " #"),  # right-aligned
)


def check(name: str, text: str, *places: Path, numbers: bool = True) -> None:
    """Fails if the text is not the recorded one; with --record, it is from now on.

    `places`: directories of the test, which are written as PLACE, PLACE2 ... `numbers`: they are
    the same in each run; else each is #.
    """
    now = plain(text, *places)
    if not numbers:
        now = re.sub(r"\d+(,\d{3})*(\.\d+)?", "#", now)
    file = DIRECTORY / f"{name}.txt"
    if RECORD:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(now)
        return
    kept = file.read_text() if file.exists() else ""
    if kept != now:
        lines = difflib.unified_diff(
            kept.splitlines(), now.splitlines(), f"golden/{name}.txt", "now", lineterm=""
        )
        asked = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split("[")[0].split()[0]
        again = f"make test RECORD=1 TESTARGS='-k {asked}'"
        pytest.fail("\n".join([*lines, f"if that is better: {again}"]), pytrace=False)


def plain(text: str, *places: Path) -> str:
    """The text, in which names replace everything that changes with the run, machine or checkout:
    LAB for the lab's directory, PYTHON for this Python, # for seconds, SEED for a seed in an ID."""
    for number, place in enumerate(places, 1):
        text = text.replace(str(place), f"PLACE{number if number > 1 else ''}")
    text = text.replace(str(ROOT), "LAB").replace(sys.executable, "PYTHON")
    text = re.sub(r"\b\d+\.\d+ (s|seconds|MB)\b", r"# \1", text)
    text = re.sub(r"stopped after \d+ s", "stopped after # s", text)
    text = re.sub(r"(ID=[\w-]+-)\d+\b", r"\1SEED", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def of_failure(text: str) -> str:
    """A failure without what changes from run to run: numbers are #, bytes are dots, and what the
    server itself has printed is left out. So is where a line is wrapped."""
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
