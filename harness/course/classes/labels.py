"""Where the results of a class are, and what each submission is called in them: its name, or with
ANON=1 a number.

Everything that people see uses the label. The numbers are drawn, so that their order says nothing;
a file beside the results, which only its owner can read, has the names.
"""

from __future__ import annotations

import hashlib
import os
import platform
import random
import sys
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from harness.failures.printable import harmless
from harness.lab import command_line, files, sheets
from harness.lab.chapters import Chapter
from harness.lab.target import WrongUsage, as_typed

RESULTS = command_line.BUILD / "class"
KEY_HEAD = ("number", "name")


@dataclass(frozen=True)
class Class:
    """One class and chapter. `top`: the directory of its results. With ANON=1, `numbers` has that
    of each name, and `key` is the file with them."""

    chapter: Chapter
    top: Path
    key: Path | None = None
    numbers: dict[str, str] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """The name, or its number."""
        return self.numbers[name] if self.key else name

    def place(self, name: str) -> Path:
        """The directory of the result."""
        return self.top / self.label(name)

    @property
    def libraries(self) -> Path:
        """A directory for the libraries that the grades on this machine share. On another machine
        they could not be loaded."""
        return self.top / ".work" / f"libraries-{platform.node()}"

    def work(self, name: str) -> Path:
        """A directory for files that are needed only during the grade."""
        return self.top / ".work" / hashlib.sha256(os.fsencode(name)).hexdigest()[:12]


def of(chapter: Chapter, results: Path, names: list[str], anonymous: bool) -> Class:
    """The class of a chapter, with its places below `results`. Raises WrongUsage."""
    if not anonymous:
        return Class(chapter, results / chapter.number)
    key = results / f"{chapter.number}-key.csv"
    return Class(chapter, results / f"{chapter.number}-anonymous", key, _draw(key, names))


def _draw(key: Path, names: list[str]) -> dict[str, str]:
    """The number of each name, which may have bytes that are no UTF-8. Names that have none get
    one; numbers that were given stay. Raises WrongUsage."""
    with files.alone(key.with_name(f".{key.name}.lock")):
        numbers = _read(key)
        missing = [name for name in names if name not in numbers]
        random.SystemRandom().shuffle(missing)
        width = max(3, len(str(len(numbers) + len(missing))))
        for number, name in enumerate(missing, len(numbers) + 1):
            numbers[name] = f"{number:0{width}}"
        if missing:
            text = sheets.write([KEY_HEAD, *((number, name) for name, number in numbers.items())])
            files.write(key, text.encode("utf-8", "surrogateescape"), 0o600)
    return numbers


def _read(key: Path) -> dict[str, str]:
    if not key.exists():
        return {}
    try:
        rows = sheets.records(key.read_bytes().decode("utf-8", "surrogateescape"), KEY_HEAD)
    except sheets.Unreadable as error:
        raise WrongUsage(f"{as_typed(key)} cannot be read: {error}") from None
    return {row["name"]: row["number"] for row in rows}


def shown(label: str) -> str:
    """The label as text that can be printed, whatever bytes the file system has."""
    text = harmless(os.fsencode(label).decode("utf-8", "replace"))
    return text.replace("\n", ".").replace("\t", ".")


def fitted(label: str, columns: int) -> str:
    """The label in exactly that many columns of a terminal; Chinese characters need two each."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = shown(label).encode(encoding, "replace").decode(encoding)
    if _columns(text) > columns:
        while _columns(text) > columns - 3:
            text = text[:-1]
        text += "..."
    return text + " " * (columns - _columns(text))


def _columns(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
