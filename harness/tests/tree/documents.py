"""How tests read Markdown, as far as the documents of the lab use it, and pages of HTML."""

from __future__ import annotations

import functools
import os
import re
from html.parser import HTMLParser
from pathlib import Path

from harness.submission.chapters import ROOT

CODE_LINE = re.compile(r"^(?: {4}|\t)(.*)$", re.M)
CODE_SPAN = re.compile(r"`([^`]+)`")
FENCE = re.compile(r"^( *)```.*?^ *```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)
ELSEWHERE = re.compile(r"\w+:")  # http: and the like
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"></a>')
PLACES = ("*.md", "docs/*.md", "docs/toys/*.md", "docs/zh/*.md", "harness/*.md")
PLACES += ("chapters/*/*.md", "solutions/*/README.md")


@functools.cache
def read(path: Path) -> str:
    return path.read_text("utf-8")


@functools.cache
def documents() -> list[Path]:
    """All documents in Markdown."""
    return sorted(path for place in PLACES for path in ROOT.glob(place))


def name(path: Path) -> str:
    return os.path.relpath(path, ROOT)


def without_code(text: str) -> str:
    return CODE_SPAN.sub("", CODE_LINE.sub("", FENCE.sub("", text)))


def slugs(text: str) -> list[str]:
    """The anchor that GitHub makes of each heading."""
    found: list[str] = []
    for heading in HEADING.findall(CODE_LINE.sub("", text)):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        again = found.count(plain)
        found.append(f"{plain}-{again}" if again else plain)
    return found


@functools.cache
def anchors(path: Path) -> set[str]:
    """The anchors of a document: its headings, and each <a id="..."></a>."""
    return {*slugs(read(path)), *ANCHOR.findall(CODE_LINE.sub("", read(path)))}


def target(link: str, document: Path) -> tuple[Path, str]:
    """The file that a link in a document leads to, and the anchor there or ""."""
    path, _, anchor = link.partition("#")
    return Path(os.path.normpath(document.parent / path)) if path else document, anchor


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
