"""What to think of first, for each way of failing. A Failure names a key; the docs say more.

Each module here has the hints of one heading of docs/reading-failures.md, and is called like its
anchor: no_reply.py has those of #no-reply. TEXTS has one to three sentences to act on for each key.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from importlib import import_module

PAGE = "docs/reading-failures.md"


@dataclass(frozen=True)
class Hint:
    """`text` is one to three sentences to act on; `anchor` is a heading of PAGE."""

    text: str
    anchor: str

    @property
    def place(self) -> str:
        return f"{PAGE}#{self.anchor}"


def _all() -> dict[str, Hint]:
    """The hints of all modules here. Raises ValueError when two of them have the same key."""
    found: dict[str, Hint] = {}
    for module in pkgutil.iter_modules(__path__):
        for key, text in import_module(f"{__name__}.{module.name}").TEXTS.items():
            if key in found:
                raise ValueError(f"{module.name}.py: another heading has a hint {key!r}, too")
            found[key] = Hint(text, module.name.replace("_", "-"))
    return found


HINTS = _all()  # of failure.HINT_KEYS, of the plugin and of valgrind, and of the claims
