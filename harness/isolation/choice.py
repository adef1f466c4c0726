"""Which isolation a grade runs in: the one that the caller wants, or the best one that works here."""

from __future__ import annotations

from harness.isolation.isolation import Isolation, Nothing
from harness.lab.target import WrongUsage

AUTO = "auto"
WISHES = (AUTO, "bubblewrap", "landlock", "none")


def choose(wish: str = AUTO) -> Isolation:
    """The isolation of that name; "auto" is the best one that works here. Raises WrongUsage."""
    if wish not in WISHES:
        raise WrongUsage(f"ISOLATE={wish}: it can be {', '.join(WISHES[:-1])} or {WISHES[-1]}")
    if wish in (AUTO, "none"):
        return Nothing()
    raise WrongUsage(f"ISOLATE={wish}: that does not work here; ISOLATE=auto takes what works")
