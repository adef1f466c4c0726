"""The answers to the questions of the handouts: a page, or one packed file for each chapter.

A handout has them packed, so that nobody reads an answer by a look at the tree or by a search. It
is no secret: to unpack one takes intent.
"""

from __future__ import annotations

import base64
import re
import zlib

from harness.submission import chapters
from harness.submission.chapters import ROOT, Chapter

PAGE = "docs/answers.md"  # with the solutions only
PACKED = "docs/answers/{}.packed"  # in a handout, for each chapter
_HEADING = re.compile(r"^## Chapter (\d\d)\n", re.M)
_COLUMNS = 76  # of base64, as MIME has them


def of_page(text: str) -> dict[Chapter, str]:
    """The answers of each chapter, from the text of PAGE."""
    _, *parts = _HEADING.split(text)
    return {chapters.find(one): text.strip() for one, text in zip(parts[::2], parts[1::2])}


def pack(text: str) -> bytes:
    """The content of a packed file."""
    word = base64.b64encode(zlib.compress(text.encode())).decode()
    lines = [word[start : start + _COLUMNS] for start in range(0, len(word), _COLUMNS)]
    return "".join(f"{line}\n" for line in lines).encode()


def unpack(packed: bytes) -> str:
    """The text of a packed file. Raises ValueError when it is damaged."""
    try:
        return zlib.decompress(base64.b64decode(packed)).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from None


def of(chapter: Chapter) -> str | None:
    """The answers of the chapter, as this copy of the lab has them; None if it came without.
    Raises ValueError when the packed file is damaged."""
    page, packed = ROOT / PAGE, ROOT / PACKED.format(chapter.number)
    if page.exists():
        return of_page(page.read_text()).get(chapter)
    return unpack(packed.read_bytes()) if packed.exists() else None
