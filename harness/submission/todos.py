"""What a grade knows of a chapter's TODOs: their points, the claim that grades each first, the
untouched skeleton, and the guards that fail until a TODO is done. All of it stands in todos.json,
which `make skeletons` writes from todos.md of the solutions: a handout comes without these."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from harness.submission import sources
from harness.submission.chapters import Chapter

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Worth:
    """The name of a TODO's basic claim, and the TODO's points of the 100 of its chapter."""

    basic: str
    points: int


@functools.cache
def _read() -> dict:
    return json.loads(FILE.read_text())


@functools.cache
def worths(chapter: Chapter) -> dict[int, Worth]:
    """The TODOs of a chapter by their numbers."""
    found = _read()[chapter.number]["todos"]
    return {number: Worth(*one) for number, one in enumerate(found.items(), 1)}


def needs(chapter: Chapter) -> dict[str, int]:
    """The guards that fail until a TODO of this chapter is done, by name, with its number.
    harness/tests/verdicts/test_steps.py measures them."""
    return _read().get(chapter.number, {}).get("needs", {})


def is_untouched(chapter: Chapter, source: Path) -> bool:
    """Returns true if these are the C files that a student begins with."""
    with contextlib.suppress(OSError):  # of a file that cannot be read
        return digest(source) == _read()[chapter.number]["untouched"]
    return False


def digest(source: Path) -> str:
    """A short hash of the names and contents of the C files. Raises OSError."""
    made = hashlib.sha256()
    for path in sources.files(source):
        data = path.read_bytes()
        made.update(f"{sources.name_of(path, source)}\0{len(data)}\0".encode("utf-8", "replace"))
        made.update(data)
    return made.hexdigest()[:16]
