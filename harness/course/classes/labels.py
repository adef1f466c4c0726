"""Where the results of a class are, and what each submission is called in them: its name, or with
ANON=1 a number.

Everything that people see uses the label. The numbers are drawn, so that their order says nothing;
a file beside the results, which only its owner can read, has the names.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import random
from collections.abc import Iterator
from contextlib import contextmanager
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
    """The class of a chapter, with its places below `results`."""
    if not anonymous:
        return Class(chapter, results / chapter.number)
    top = results / f"{chapter.number}-anonymous"
    key = results / f"{chapter.number}-key.csv"
    return Class(chapter, top, key, draw(key, names))


def shown(label: str) -> str:
    """The label as text that can be printed, whatever bytes the file system has."""
    return (
        harmless(os.fsencode(label).decode("utf-8", "replace"))
        .replace("\n", ".")
        .replace("\t", ".")
    )


def draw(key: Path, names: list[str]) -> dict[str, str]:
    """The number of each name. Names that have none get one; numbers that were given stay."""
    key.parent.mkdir(parents=True, exist_ok=True)
    with locked(key.with_name(f".{key.name}.lock")):
        numbers = read(key)
        missing = [name for name in names if name not in numbers]
        random.SystemRandom().shuffle(missing)
        width = max(3, len(str(len(numbers) + len(missing))))
        for number, name in enumerate(missing, len(numbers) + 1):
            numbers[name] = f"{number:0{width}}"
        if missing:
            _write(key, numbers)
    return numbers


def _write(key: Path, numbers: dict[str, str]) -> None:
    """Writes the file in one step, readable by its owner only."""
    text = sheets.write([KEY_HEAD, *((number, name) for name, number in numbers.items())])
    files.write(key, text.encode("utf-8", "surrogateescape"), 0o600)


def read(key: Path) -> dict[str, str]:
    """The number of each name, which may have bytes that are no UTF-8. Raises WrongUsage."""
    if not key.exists():
        return {}
    try:
        rows = sheets.records(key.read_bytes().decode("utf-8", "surrogateescape"), KEY_HEAD)
    except sheets.Unreadable as error:
        raise WrongUsage(f"{as_typed(key)} cannot be read: {error}") from None
    return {row["name"]: row["number"] for row in rows}


@contextmanager
def locked(file: Path, wait: bool = True) -> Iterator[None]:
    """Keeps other processes out while the block runs. Raises BlockingIOError unless `wait`. The
    lock ends with the process, however that ends."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
