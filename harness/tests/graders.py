"""The graders of a process that runs tests: started when a test asks for one, kept for the next."""

from __future__ import annotations

from harness.maintain.wrong_servers.grader import Grader
from harness.maintain.wrong_servers.judge import ENVIRONMENT

_kept: dict[str, Grader] = {}


def hasty() -> Grader:
    """One with little patience, for servers that hang."""
    return _grader("hasty", ENVIRONMENT)


def patient() -> Grader:
    """One as patient as `make grade`."""
    return _grader("patient", {})


def _grader(name: str, environment: dict[str, str]) -> Grader:
    if name not in _kept:
        _kept[name] = Grader(environment)
    return _kept[name]


def close() -> None:
    """Ends them."""
    for grader in _kept.values():
        grader.close()
    _kept.clear()
