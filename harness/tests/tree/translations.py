"""A Chinese page beside its English source: whether it is up to date, and what differs."""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from harness.tests.tree.documents import (
    ANCHOR,
    CODE_LINE,
    CODE_SPAN,
    HEADING,
    LINK,
    TABLE,
    anchors,
    is_elsewhere,
    slugs,
    target,
)
from harness.lab.chapters import ROOT

DOCS = ("before-you-start", "protocol", "reading-failures", "debugging", "glossary")
NOT_SEARCHED = {"build", ".git"}

MARK = re.compile(r"<!-- 译自 (\S+)，版本 ([0-9a-f]{40}) -->\n")
NOTE = re.compile(r"^> 译注.*\n(?:>.*\n)*", re.M)  # an addition: what readers of Chinese ask
BLOCK = re.compile(r"(?:^(?: {4}|\t).*\n(?:[ \t]*\n(?= {4}|\t))*)+", re.M)  # of code
FENCE = re.compile(r"^( *)```.*?^ *```$", re.M | re.S)
TAG = re.compile(r"<!--.*?-->|</?[a-z][^>\n]*>", re.S)
HINT = re.compile("<summary>")
TARGET = re.compile(r"(?<=\])\([^)\s]+\)")
NUMBER = re.compile(r"(?:(?<![\w-])-)?(?<![A-Za-z_\d])(?:0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*)")
UNIT = re.compile(r"(?<=\d)\s*([KMG]iB|[kMG]B|[mnµ]s|%)(?![A-Za-z])")
PICTURE = re.compile("!" + LINK.pattern)
TEXT_LINK = re.compile("(?<!!)" + LINK.pattern)
BORDER = re.compile(r"(?<!\\)\|")  # of a cell


# Which pages there are


def translation(source: Path) -> Path:
    """Where the Chinese page of an English one belongs."""
    if source.parent in (ROOT, ROOT / "docs"):
        return ROOT / "docs" / "zh" / source.name
    return source.with_suffix(".zh.md")


def source_of(page: Path) -> Path:
    if page == ROOT / "docs" / "zh" / "README.md":
        return ROOT / "README.md"
    if page.parent == ROOT / "docs" / "zh":
        return ROOT / "docs" / page.name
    return page.with_name(page.name.replace(".zh.md", ".md"))


def wanted() -> list[Path]:
    """The English pages that need a Chinese one."""
    docs = [ROOT / "docs" / f"{stem}.md" for stem in DOCS]
    return [ROOT / "README.md", *docs, *sorted(ROOT.glob("chapters/*/README.md"))]


def pages() -> list[Path]:
    """The Chinese pages that are there."""
    places = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in NOT_SEARCHED]
    below = [page for place in places for page in place.rglob("*.zh.md")]
    return sorted([*below, *ROOT.glob("docs/zh/*.md")])


def name(path: Path) -> str:
    return os.path.relpath(path, ROOT)


# Whether one is up to date


def blob_hash(data: bytes) -> str:
    """What `git hash-object` prints for a file with this content."""
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest()


def right_mark(page: Path, source: bytes) -> str:
    """The first line of a Chinese page that is up to date."""
    return f"<!-- 译自 {name(source_of(page))}，版本 {blob_hash(source)} -->"


def fault_of_mark(page: Path, text: str, source: bytes) -> str | None:
    """What is wrong with the first line of `page`, and what to do; None if it names a version."""
    mark = MARK.match(text)
    if mark is None or mark[1] != name(source_of(page)):
        return f"{name(page)}: its first line has to be {right_mark(page, source)}"
    return None


def behind(page: Path, text: str, source: bytes) -> str | None:
    """What to do if `page` translates an older version of its source; None if it does not."""
    mark, english = MARK.match(text), name(source_of(page))
    if mark is None or mark[2] == blob_hash(source):
        return None
    return (
        f"{name(page)} is the translation of an older {english}. Translate what this shows:\n"
        f"    git diff {mark[2]} {english}\n"
        "  Then let its first line be\n"
        f"    {right_mark(page, source)}"
    )


def is_behind(page: Path) -> bool:
    return behind(page, page.read_text("utf-8"), source_of(page).read_bytes()) is not None


# What is compared


class Piece(NamedTuple):
    line: int
    text: str


@dataclass(frozen=True)
class Page:
    place: Path
    text: str

    @classmethod
    def read(cls, place: Path) -> Page:
        return cls(place, place.read_text(encoding="utf-8"))

    @cached_property
    def kept(self) -> str:
        """The text without the mark and notes."""
        return NOTE.sub(_blanks, MARK.sub(_blanks, self.text, count=1))

    @cached_property
    def outside(self) -> str:
        """The text without code blocks."""
        return CODE_LINE.sub(_blanks, FENCE.sub(_blanks, self.kept))

    @cached_property
    def words(self) -> str:
        """The text without any code."""
        return CODE_SPAN.sub(_blanks, self.outside)

    @cached_property
    def prose(self) -> str:
        """The text without code, tags and the targets of links."""
        return TARGET.sub(_blanks, TAG.sub(_blanks, self.words))

    def code(self) -> list[Piece]:
        """The lines of the page's code blocks."""
        indented = FENCE.sub(_blanks, self.kept)
        blocks = [*_pieces(FENCE, self.kept), *_pieces(BLOCK, indented)]
        return [
            Piece(first + number, line)
            for first, block in sorted(blocks)
            for number, line in enumerate(block.splitlines())
        ]

    def spans(self) -> list[Piece]:
        found = _pieces(CODE_SPAN, self.outside, 1)
        return [Piece(line, " ".join(code.split())) for line, code in found]

    def headings(self) -> list[Piece]:
        """The levels of the headings."""
        return [Piece(line, text.split()[0]) for line, text in _pieces(HEADING, self.outside)]

    def rows(self) -> list[Piece]:
        """The rows of its tables: how many cells."""
        found = []
        for first, table in _pieces(TABLE, self.outside):
            for number, row in enumerate(table.splitlines()):
                what = "row" if number else "head"
                cells = len(BORDER.findall(row)) - 1
                found.append(Piece(first + number, f"a {what} of {cells} cells"))
        return found

    def links(self, pattern: re.Pattern[str] = TEXT_LINK) -> list[Piece]:
        return [Piece(line, self._lab(link)) for line, link in _pieces(pattern, self.words, 1)]

    def broken_links(self) -> Iterator[str]:
        for line, link in _pieces(LINK, self.words, 1):
            path, anchor = target(link, self.place)
            if is_elsewhere(link):
                continue
            if not (path.exists() and path.is_relative_to(ROOT)):
                yield f"{name(self.place)}:{line}: the link {link} leads to no file of the lab"
            elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
                yield (
                    f"{name(self.place)}:{line}: {name(path)} has no anchor for the link {link}: "
                    f'before its heading, write <a id="{anchor}"></a> and an empty line'
                )

    def _lab(self, link: str) -> str:
        """A link as from the directory of the lab."""
        if is_elsewhere(link):
            return link
        path, anchor = target(link, self.place)
        return f"{name(path)}#{anchor}" if anchor else name(path)


def _blanks(found: re.Match[str]) -> str:
    """Blank lines in place of a text, so that the pieces after it keep their line numbers."""
    return "\n" * found[0].count("\n") or " "


def _pieces(pattern: re.Pattern[str], text: str, group: int = 0) -> list[Piece]:
    found = pattern.finditer(text)
    return [Piece(text.count("\n", 0, one.start()) + 1, one[group]) for one in found]


# What differs

Pieces = Callable[[Page], list[Piece]]
IN_ORDER: dict[str, Pieces] = {
    "line of a code block": Page.code,
    "heading": Page.headings,
    "picture": lambda page: page.links(PICTURE),
    "hint": lambda page: _pieces(HINT, page.words),
    "row of a table": Page.rows,
}
BY_SECTION: dict[str, Pieces] = {
    "inline code": Page.spans,
    "number": lambda page: _pieces(NUMBER, page.prose),
    "unit": lambda page: _pieces(UNIT, page.prose, 1),
}
COUNTED_ONCE = {"unit"}  # in a section


def differences(source: Page, page: Page, known: dict[Path, Path] | None = None) -> list[str]:
    """What differs between two pages: of each kind IN_ORDER the first difference, of others all.

    `known`: English pages, and where their Chinese ones are.
    """
    known = {one: translation(one) for one in wanted()} if known is None else known
    found: list[str] = []
    for what, pieces in IN_ORDER.items():
        found += _in_order(what, source, pieces(source), page, pieces(page))
    for what, pieces in BY_SECTION.items():
        found += _by_section(what, source, pieces(source), page, pieces(page))
    links = _mapped(source, page, known)
    found += _by_section("link to", source, links, page, page.links())
    return [*found, *_anchors(source, page)]


def _in_order(
    what: str, source: Page, theirs: list[Piece], page: Page, ours: list[Piece]
) -> Iterator[str]:
    """The first that differs."""
    for right, found in zip_longest(theirs, ours):
        if right is None:
            yield f"{_at(page, found)}: a {what} more than in {name(source.place)}: {found.text}"
        elif found is None:
            yield f"{name(page.place)} lacks the {what} of {_at(source, right)}: {right.text}"
        elif right.text != found.text:
            where = f"{_at(page, found)}: another {what} than in {_at(source, right)}"
            yield f"{where}:\n    has    {found.text}\n    needs  {right.text}"
        else:
            continue
        return


def _by_section(
    what: str, source: Page, theirs: list[Piece], page: Page, ours: list[Piece]
) -> Iterator[str]:
    """Between each two headings, all that one page has more often than the other; of what is
    COUNTED_ONCE, all that one has and the other has not."""
    collect = set if what in COUNTED_ONCE else Counter
    divide = len(source.headings()) == len(page.headings())
    right = _sections(source, theirs) if divide else {0: theirs}
    found = _sections(page, ours) if divide else {0: ours}
    starts = [1, *(heading.line for heading in page.headings())]
    for number in sorted({*right, *found}):
        there, here = right.get(number, []), found.get(number, [])
        needed, had = collect(one.text for one in there), collect(one.text for one in here)
        for text in sorted(needed - had):
            where = f"{name(page.place)}:{starts[number]}: this section lacks the {what} {text}"
            yield f"{where}, as in {name(source.place)}:{_lines(there, text)}"
        for text in sorted(had - needed):
            where = f"{name(page.place)}:{_lines(here, text)}: the {what} {text}"
            yield f"{where} is not, or not so often, in this section of {name(source.place)}"


def _sections(page: Page, pieces: list[Piece]) -> dict[int, list[Piece]]:
    """The pieces by the number of headings before them."""
    lines = [heading.line for heading in page.headings()]
    found: dict[int, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(bisect_right(lines, piece.line), []).append(piece)
    return found


def _lines(pieces: list[Piece], text: str) -> str:
    return ", ".join(str(piece.line) for piece in pieces if piece.text == text)


def _at(page: Page, piece: Piece) -> str:
    return f"{name(page.place)}:{piece.line}"


def _mapped(source: Page, page: Page, known: dict[Path, Path]) -> list[Piece]:
    """The links that the Chinese page should have. A link to it from its source leads back."""
    other = {name(english): name(chinese) for english, chinese in known.items()}
    other[name(page.place)] = name(source.place)
    found = []
    for line, link in source.links():
        path, _, anchor = link.partition("#")
        path = other.get(path, path)
        found.append(Piece(line, f"{path}#{anchor}" if anchor else path))
    return found


def _anchors(source: Page, page: Page) -> Iterator[str]:
    """Anchors that have the name of a heading of the source, but do not stand before that
    heading."""
    of_source = slugs(source.text)
    lines = [heading.line for heading in page.headings()]
    for line, anchor in _pieces(ANCHOR, page.words, 1):
        if anchor in of_source and of_source.index(anchor) != bisect_right(lines, line):
            heading = _at(source, source.headings()[of_source.index(anchor)])
            yield f"{name(page.place)}:{line}: #{anchor} belongs before the heading of {heading}"
