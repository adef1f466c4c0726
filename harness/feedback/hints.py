"""The hints, which say what to do about each way of failing. A Failure names a key, and hints.md
has the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = "docs/reading-failures.md"
FILE = Path(__file__).with_name("hints.md")
_PART = re.compile(r"^(###?) (.*)\n\n((?:[^#\n].*\n)*)", re.M)


@dataclass(frozen=True)
class Hint:
    """`text` is one to three sentences to act on; `anchor` is a heading of PAGE."""

    text: str
    anchor: str

    @property
    def place(self) -> str:
        return f"{PAGE}#{self.anchor}"


def _all() -> dict[str, Hint]:
    """The hints of FILE by their keys. Raises ValueError if two hints have the same key."""
    found: dict[str, Hint] = {}
    anchor = ""
    for level, name, text in _PART.findall(FILE.read_text()):
        if level == "##":
            anchor = name.lower().replace(",", "").replace(" ", "-")
        elif name in found:
            raise ValueError(f"{FILE.name} has two hints {name!r}")
        else:
            found[name] = Hint(" ".join(text.split()), anchor)
    return found


HINTS = _all()  # of failure.HINT_KEYS, of the plugin and of valgrind, and of the claims
