"""How tests read Markdown, as far as the documents of the lab use it, and pages of HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

CODE_LINE = re.compile(r"^(?: {4}|\t)(.*)$", re.M)
CODE_SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"></a>')


def without_code(text: str) -> str:
    return CODE_SPAN.sub("", CODE_LINE.sub("", text))


def slugs(text: str) -> list[str]:
    """What a link can name of each heading, as GitHub makes it."""
    found: list[str] = []
    for heading in HEADING.findall(CODE_LINE.sub("", text)):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        again = found.count(plain)
        found.append(f"{plain}-{again}" if again else plain)
    return found


def anchors(text: str) -> set[str]:
    """What a link can name in it: its headings, and what is written as <a id="...">."""
    return {*slugs(text), *ANCHOR.findall(CODE_LINE.sub("", text))}


def tables(text: str) -> Iterator[list[list[str]]]:
    """The rows of each table, its head first."""
    for block in TABLE.findall(text):
        head, _, *rows = block.splitlines()
        yield [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]


def is_elsewhere(link: str) -> bool:
    """http: and the like."""
    return re.match(r"\w+:", link) is not None


def target(link: str, document: Path) -> tuple[Path, str]:
    """The file that a link in a document leads to, and the anchor there or ""."""
    path, _, anchor = link.partition("#")
    return (document.parent / path).resolve() if path else document, anchor


class Page(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.links, self.tags, self.loaded, self.data = set(), [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.ids |= {found["id"]} if "id" in found else set()
        self.links += [found["href"]] if tag == "a" and "href" in found else []
        self.loaded += [found[name] for name in ("src", "srcset") if name in found]
        self.loaded += [found["href"]] if tag == "link" else []

    def handle_data(self, data):
        self.data.append(data)
