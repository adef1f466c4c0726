"""Output that was found good by reading it, and is compared as a whole: golden/NAME.txt.

    make test RECORD=1 TESTARGS='-k name'    writes what these tests see now, to be read in a diff

What changes from run to run is replaced first: see plain().
"""

from __future__ import annotations

import difflib
import re
import sys
from pathlib import Path

import pytest

from harness.lab.chapters import ROOT

DIRECTORY = Path(__file__).with_name("golden")
RECORD = False  # set by conftest.py


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
        DIRECTORY.mkdir(exist_ok=True)
        file.write_text(now)
        return
    kept = file.read_text() if file.exists() else ""
    if kept != now:
        lines = difflib.unified_diff(
            kept.splitlines(), now.splitlines(), f"golden/{name}.txt", "now", lineterm=""
        )
        again = f"make test RECORD=1 TESTARGS='-k {_test()}'"
        pytest.fail("\n".join([*lines, f"if that is better: {again}"]), pytrace=False)


def _test() -> str:
    """The test that asks."""
    frame = sys._getframe()
    while frame.f_back and not frame.f_code.co_name.startswith("test_"):
        frame = frame.f_back
    return frame.f_code.co_name


def plain(text: str, *places: Path) -> str:
    """The text without what differs from one run, machine or checkout to another: the place of the
    lab is LAB, this Python is PYTHON, seconds are #, and a seed in an ID is SEED."""
    for number, place in enumerate(places, 1):
        text = text.replace(str(place), f"PLACE{number if number > 1 else ''}")
    text = text.replace(str(ROOT), "LAB").replace(sys.executable, "PYTHON")
    text = re.sub(r"\b\d+\.\d+ (s|seconds)\b", r"# \1", text)
    text = re.sub(r"(ID=[\w-]+-)\d+\b", r"\1SEED", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
