"""The formats by name: what `make export FORMAT=` knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.course.exports import platforms, tables
from harness.course.exports.junit import junit
from harness.course.exports.result import Result, read
from harness.lab import numbers


@dataclass(frozen=True)
class Context:
    """What some formats need beside the grade: the name of a problem, the environment, and the time
    in UTC as 2026-01-31T23:59:59Z."""

    problem: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    now: str = "1970-01-01T00:00:00Z"


def gradescope(result: object) -> str:
    """results.json of a Gradescope autograder: build/results/NN.json has this format already.

    Raises NoScore, since the format has no word for a test that was not judged.

    https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
    """
    read(result).judged()
    return json.dumps(result, indent=2) + "\n"


def _autolab(result: Result, context: Context) -> str:
    return platforms.autolab(result, context.problem or result.chapter)


def _vpl(result: Result, context: Context) -> str:
    """Moodle's server sets the highest grade of the activity in the environment."""
    highest = context.environment.get("VPL_GRADEMAX", "")
    try:
        return platforms.vpl(result, numbers.printed(highest or "100"))
    except ValueError as error:
        raise platforms.BadName(f"VPL_GRADEMAX: {error}") from None


FORMATS: dict[str, Callable[[Result, Context], str]] = {
    "autolab": _autolab,
    "classroom50": lambda result, context: platforms.classroom50(
        result, context.environment, context.now
    ),
    "csv": lambda result, _: tables.table(result),
    "junit": lambda result, _: junit(result),
    "prairielearn": lambda result, _: platforms.prairielearn(result),
    "vpl": _vpl,
}
# Of one grade; "gradescope" is the object itself, and "canvas" needs the grades of a class.
NAMES = (*sorted([*FORMATS, "gradescope"]), "canvas")


def export(result: object, name: str, context: Context) -> str:
    """The grade in the format of this name: the text of a file. Raises NoResult, NoScore, BadName,
    NoIdentity; KeyError for a name that is not in NAMES."""
    if name == "gradescope":
        return gradescope(result)
    return FORMATS[name](read(result), context)
