"""docs/glossary.md: each term once, in order, and its chapter uses it."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from harness.lab import chapters, sources

GLOSSARY = chapters.ROOT / "docs" / "glossary.md"


class Entry(NamedTuple):
    line: str
    terms: list[str]  # the forms of one term: "EOF", "end of input"
    slugs: list[str]  # of the chapters that it links to


def entries() -> list[Entry]:
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| **")]
    return [
        Entry(line, re.findall(r"\*\*([^*]+)\*\*", line), re.findall(r"/chapters/([\w-]+)/", line))
        for line in lines
    ]


def words(text: str) -> str:
    """In lower case, with one blank for each hyphen and line break: "low-water\nmark"."""
    return re.sub(r"[-\s]+", " ", text.lower())


def used(chapter: chapters.Chapter) -> str:
    """What a student of the chapter reads: its handout and its sources."""
    files = [chapter.chapter_dir / "README.md", *sources.files(chapter.chapter_dir)]
    return words("\n".join(path.read_text() for path in files))


ENTRIES = entries()
USED = {chapter.slug: used(chapter) for chapter in chapters.CHAPTERS}


def test_every_row_is_one_sentence_with_three_cells():
    rows = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ")]
    assert len(ENTRIES) == len(rows) - 1, "docs/glossary.md: each row begins with a **term**"
    for entry in ENTRIES:
        cells = [cell.strip() for cell in entry.line.strip("|").split("|")]
        assert len(cells) == 3, f"docs/glossary.md has not three cells in {entry.line}"
        text = cells[1].rstrip(".")
        assert cells[1] != text and ". " not in text, f"docs/glossary.md: one sentence: {cells[1]}"


def test_terms_are_in_order_and_there_once():
    keys = [re.sub(r"[^a-z0-9]", "", "".join(entry.terms).lower()) for entry in ENTRIES]
    for before, after in zip(keys, keys[1:]):
        assert before < after, f"docs/glossary.md: move or join {before!r} and {after!r}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.terms[0])
def test_the_chapter_uses_the_term(entry):
    for slug in entry.slugs:
        assert slug in USED, f"docs/glossary.md, {entry.terms[0]}: there is no chapter {slug}"
        found = any(
            re.search(rf"(?<!\w){re.escape(words(term))}", USED[slug]) for term in entry.terms
        )
        assert found, (
            f"docs/glossary.md links {entry.terms[0]!r} to {slug}, whose handout and sources do "
            f"not have that word: use it there, or link to the chapter that does"
        )
