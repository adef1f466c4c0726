"""A Chinese page beside its English source: whether it is up to date, and what differs."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

from harness.submission.chapters import ROOT
from harness.tests.tree.documents import (
    ANCHOR,
    CODE_LINE,
    CODE_SPAN,
    ELSEWHERE,
    FENCE,
    LINK,
    name,
    slugs,
    target,
)

DOCS = ("before-you-start", "protocol", "reading-failures", "debugging", "glossary")
MARK = re.compile(r"<!-- 译自 (\S+)，版本 ([0-9a-f]{40}) -->\n")
NOTE = re.compile(r"^> 译注.*\n(?:>.*\n)*", re.M)  # an addition for readers of Chinese
TAG = re.compile(r"<!--.*?-->|</?[a-z][^>\n]*>", re.S)
NUMBER = re.compile(r"(?:(?<![\w-])-)?(?<![A-Za-z_\d])(?:0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*)")
UNIT = re.compile(r"(?<=\d)\s*([KMG]iB|[kMG]B|[mnµ]s|%)(?![A-Za-z])")
ROW = re.compile(r"^\|.*$", re.M)
BORDER = re.compile(r"(?<!\\)\|")  # of a cell


def translations() -> dict[Path, Path]:
    """The English pages that need a Chinese one, and where it belongs."""
    found = {ROOT / "docs" / f"{stem}.md": ROOT / "docs/zh" / f"{stem}.md" for stem in DOCS}
    handouts = sorted(ROOT.glob("chapters/*/README.md"))
    found |= {page: page.with_suffix(".zh.md") for page in handouts}
    return {ROOT / "README.md": ROOT / "docs/zh/README.md", **found}


def right_mark(source: Path, data: bytes) -> str:
    """The first line of a Chinese page that is up to date; the hash is of `git hash-object`."""
    version = hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest()
    return f"<!-- 译自 {name(source)}，版本 {version} -->\n"


def differences(english: str, chinese: str, source: Path, page: Path) -> list[str]:
    """What one of two pages has in a section, and the other has not, or less often."""
    known = {**translations(), page: source}
    there, here = sections(english), sections(chinese)
    levels = [[part.split(" ")[0] for part in parts[1:]] for parts in (there, here)]
    if levels[0] != levels[1]:
        return [f"{name(page)}: other headings than {name(source)}: {' '.join(levels[1])}"]
    found = []
    for number, (theirs, ours) in enumerate(zip(there, here)):
        where = f"{name(page)}, {ours.splitlines()[0]!r}" if ours else name(page)
        right, seen = counted(theirs, source, known), counted(ours, page, {})
        found += [f"{where}: lacks the {what} {text}" for what, text in sorted(right - seen)]
        found += [f"{where}: has the {what} {text}" for what, text in sorted(seen - right)]
        for anchor in ANCHOR.findall(ours):
            if anchor in slugs(english) and slugs(english)[number:][:1] != [anchor]:
                found.append(f"{where}: the anchor {anchor} stands before another heading")
    return found


def sections(text: str) -> list[str]:
    """The text before the first heading, then each heading with its text. Blocks of code are
    indented."""
    text = NOTE.sub("", MARK.sub("", text, count=1))
    text = FENCE.sub(lambda block: re.sub("^", "    ", block[0], flags=re.M), text)
    return re.split(r"^(?=#{1,6} )", text, flags=re.M)


def counted(section: str, place: Path, known: dict[Path, Path]) -> Counter[tuple[str, str]]:
    """How often a section has each number, link, line of code ... `known`: links to these pages
    count as links to those."""
    outside = CODE_LINE.sub("", section)
    words = CODE_SPAN.sub("", outside)
    prose = TAG.sub("", re.sub(r"(?<=\])\([^)\s]+\)", "", words))
    links = ((link, *target(link, place)) for link in LINK.findall(words))
    found = {
        "code": ["\n".join(CODE_LINE.findall(section))],
        "inline code": [" ".join(span.split()) for span in CODE_SPAN.findall(outside)],
        "number": NUMBER.findall(prose),
        "unit": set(UNIT.findall(prose)),
        "hint": re.findall("<summary>", words),
        "row of cells": [f"{len(BORDER.findall(row)) - 1}" for row in ROW.findall(outside)],
        "link": [
            link if ELSEWHERE.match(link) else f"{name(known.get(path, path))}#{anchor}"
            for link, path, anchor in links
        ],
    }
    return Counter((what, text) for what, texts in found.items() for text in texts)
