"""Which isolation a grade runs in: the one that the caller wants, or the best one that works."""

from __future__ import annotations

from pathlib import Path

from harness.course.isolation import bubblewrap, landlocked
from harness.course.isolation.isolation import SYSTEM, Isolation, Nothing
from harness.submission.target import WrongUsage

AUTO = "auto"
# The best one first. Each returns the isolation, or why it does not work here.
KINDS = {"bubblewrap": bubblewrap.find, "landlock": landlocked.find, "none": Nothing}


def choose(wish: str = AUTO, *hidden: Path) -> Isolation:
    """The isolation of that name; "auto" is the best one that works here. `hidden`: directories
    that it has to hide. Raises WrongUsage."""
    if wish not in (AUTO, *KINDS):
        known = ", ".join([AUTO, *KINDS])
        raise WrongUsage(f"ISOLATE={wish}: it can be one of {known}")
    for name, find in KINDS.items():
        found = find() if wish in (AUTO, name) else ""
        if isinstance(found, Isolation):
            _check(found, hidden)
            return found
        if wish == name:
            raise WrongUsage(f"ISOLATE={wish} does not work here: {found}; try ISOLATE=auto")
    raise AssertionError("the last kind always works")


def _check(found: Isolation, hidden: tuple[Path, ...]) -> None:
    """Raises WrongUsage if one of these is in a directory of the system, which a grade can read."""
    for path in hidden:
        above = [place for place in SYSTEM if path.resolve().is_relative_to(place)]
        if above and found.name != "none":
            raise WrongUsage(f"{path}: each submission can read what is in {above[0]}; move it")
