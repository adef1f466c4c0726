"""docs/map.md: every chapter, file, function and test that it names is there."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from harness.authors.selftest.documents import tables
from harness.grading import scoring
from harness.lab import chapters

MAP = chapters.ROOT / "docs" / "map.md"
CODE = re.compile(r"`([\w/]+\.[ch])` `(\w+)`")
CLAIMS = scoring.load()


class Row(NamedTuple):
    idea: str
    chapter: chapters.Chapter  # the last one, where several are named
    code: list[tuple[str, str]]  # file, name
    tests: list[str]


IDEAS = [row for head, *rows in tables(MAP.read_text()) if head[0] == "idea" for row in rows]
ROWS = [
    Row(
        cells[0],
        chapters.find(re.findall(r"\d\d", cells[1])[-1]),
        CODE.findall(cells[2]),
        re.findall(r"`(\w+)`", cells[3]),
    )
    for cells in IDEAS
    if len(cells) == 4 and re.match(r"\d\d", cells[1])
]
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.idea[:50])


@each_row
def test_its_code_is_there(row):
    assert row.code, f"docs/map.md, {row.idea!r}: name a file and a function: `conn.c` `conn_serve`"
    for file, name in row.code:
        path = row.chapter.chapter_dir / file
        found = path.exists() and re.search(rf"\b{name}\b", path.read_text())
        where = f"chapters/{row.chapter.slug}/{file}"
        assert found, f"docs/map.md, {row.idea!r}: {where} has no {name}: name where it is now"


@each_row
def test_a_grade_of_its_chapter_runs_its_tests(row):
    assert row.tests, f"docs/map.md, {row.idea!r}: name a test: `test_01_slow_reader`"
    holding = {claim.name for claim in scoring.holding(CLAIMS, row.chapter)}
    unknown = ", ".join(sorted(set(row.tests) - holding))
    where = f"a grade of {row.chapter.number} does not run {unknown}"
    assert (
        not unknown
    ), f"docs/map.md, {row.idea!r}: {where}: name a claim of harness/claims that it does"


def test_every_table_row_was_read():
    """A row with a cell too many, or a chapter that is none, would be passed over."""
    read = [row.idea for row in ROWS]
    passed_over = [cells for cells in IDEAS if cells[0] not in read]
    assert not passed_over, f"docs/map.md: four cells, the second a chapter's number: {passed_over}"
    twice = {idea for idea in read if read.count(idea) > 1}
    assert not twice, f"docs/map.md has an idea twice: rename one: {twice}"


def test_every_chapter_is_on_it():
    for chapter in chapters.CHAPTERS:
        named = any(row.chapter == chapter for row in ROWS)
        assert named, f"docs/map.md: add a row for chapter {chapter.number}: idea, code, claim"
