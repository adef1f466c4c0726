"""docs/map.md: every chapter, file, function and test that it names is there."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from harness.grading import scoring
from harness.lab import chapters

MAP = chapters.ROOT / "docs" / "map.md"
CODE = re.compile(r"`(\w+\.[ch])` `(\w+)`")
CLAIMS = scoring.load()


class Row(NamedTuple):
    idea: str
    chapter: chapters.Chapter  # the last one, where several are named
    code: list[tuple[str, str]]  # file, name
    tests: list[str]


def rows():
    """The rows with four cells, heads and lines left out."""
    for line in MAP.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and re.match(r"\d\d", cells[1]):
            chapter = chapters.find(re.findall(r"\d\d", cells[1])[-1])
            yield Row(cells[0], chapter, CODE.findall(cells[2]), re.findall(r"`(\w+)`", cells[3]))


ROWS = list(rows())
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.idea[:50])


@each_row
def test_its_code_is_there(row):
    assert row.code
    for file, name in row.code:
        text = (row.chapter.chapter_dir / file).read_text()
        assert re.search(rf"\b{name}\b", text), f"{row.chapter.slug}/{file}: {name}"


@each_row
def test_a_grade_of_its_chapter_runs_its_tests(row):
    assert row.tests
    holding = {claim.name for claim in scoring.holding(CLAIMS, row.chapter.number)}
    assert set(row.tests) <= holding


def test_every_table_row_was_read():
    """A row with a cell too many, or a chapter that is none, would be passed over."""
    before = MAP.read_text().split("## What was left out")[0]
    lines = [line for line in before.splitlines() if line.startswith("| ")]
    heads = [line for line in lines if line.startswith("| idea |")]
    assert len(ROWS) == len(lines) - len(heads)


def test_every_chapter_is_on_it():
    assert {row.chapter for row in ROWS} == set(chapters.CHAPTERS)
