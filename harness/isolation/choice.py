"""Which isolation a grade runs in: the one that the caller wants, or the best one that works."""

from __future__ import annotations

from harness.isolation import bubblewrap, landlocked
from harness.isolation.isolation import Isolation, Nothing
from harness.lab.target import WrongUsage

AUTO = "auto"
# The best one first. Each returns the isolation, or why it does not work here.
KINDS = {"bubblewrap": bubblewrap.find, "landlock": landlocked.find, "none": Nothing}


def choose(wish: str = AUTO) -> Isolation:
    """The isolation of that name; "auto" is the best one that works here. Raises WrongUsage."""
    if wish not in (AUTO, *KINDS):
        known = ", ".join([AUTO, *KINDS])
        raise WrongUsage(f"ISOLATE={wish}: it can be one of {known}")
    for name, find in KINDS.items():
        found = find() if wish in (AUTO, name) else ""
        if isinstance(found, Isolation):
            return found
        if wish == name:
            raise WrongUsage(f"ISOLATE={wish} does not work here: {found}; try ISOLATE=auto")
    raise AssertionError("the last kind always works")
