"""The number that decides everything random in a grade: short enough to be typed.

It follows from the submission: the same submission always gets the same bytes, and others get
different ones. Answers that are written into a submission change the questions.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from harness.submission import sources
from harness.submission.sizes import MIB

SEEDS = range(100_000, 1_000_000)
FILES = 1000  # at most; the directory may be somebody's home
BYTES = 32 * MIB


def of_files(directory: Path) -> int:
    """The seed of the names and contents of all files in the directory; files at its top come
    first. A link to a layer is followed, since it is compiled; other links to directories are not.
    """
    digest = hashlib.sha256()
    left = BYTES
    for path in _files(directory):
        data = _beginning(path, left)
        digest.update(f"{path.relative_to(directory)}\0{len(data)}\0".encode("utf-8", "replace"))
        digest.update(data)
        left -= len(data)
    return SEEDS[int.from_bytes(digest.digest()[:8], "big") % len(SEEDS)]


def by_chance() -> int:
    """For a server whose files are not known."""
    return SEEDS[secrets.randbelow(len(SEEDS))]


def _files(directory: Path) -> Iterator[Path]:
    count = 0
    linked = sources.linked_folders(directory)
    for place, below, names in os.walk(directory, followlinks=True):
        paths = sorted(Path(place, name) for name in below if name != ".git")
        below[:] = [path.name for path in paths if not path.is_symlink() or path in linked]
        for name in sorted(names):
            path = Path(place, name)
            if count < FILES and path.is_file():
                count += 1
                yield path
        if count >= FILES:
            return


def _beginning(path: Path, size: int) -> bytes:
    """Empty for a file that cannot be read: the compiler will report it."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
