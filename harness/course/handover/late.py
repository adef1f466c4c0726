"""The points that are left when a hand-in is late: a program of the instructor decides.

It gets one JSON object on its stdin:

    {"name": "ada", "chapter": "04", "points": 87.5, "time": 1770000000}

`time`: of the hand-in, in seconds since 1970. It prints the points that count: a number, with a
decimal point if it has decimals.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess

from harness.lab import numbers
from harness.lab.target import WrongUsage

SECONDS = 30  # far more than it needs


def points(
    program: str, name: str, chapter: str, graded: float | None, time: float
) -> float | None:
    """The points that count of those that were `graded`. None for a grade that was not judged: the
    program is not called. `program`: its command line. Raises WrongUsage if the program fails."""
    started = command(program)
    if graded is None:
        return None
    told = json.dumps({"name": name, "chapter": chapter, "points": graded, "time": time})
    try:
        done = subprocess.run(
            started, input=told, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise WrongUsage(f"LATE={program} did not end within {SECONDS} s for {name}") from None
    except OSError as error:
        raise WrongUsage(f"LATE={program} cannot be started: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise WrongUsage(f"LATE={program} fails for {name}: {said}")
    return _number(done.stdout, program, name)


def command(program: str) -> list[str]:
    """The words of a command line. Raises WrongUsage if there is no such program."""
    try:
        words = shlex.split(program)
    except ValueError as error:
        raise WrongUsage(f"LATE={program}: {str(error).lower()}") from None
    if not words or not shutil.which(words[0]):
        raise WrongUsage(f"LATE={program}: there is no such program")
    return words


def _number(printed: str, program: str, name: str) -> float:
    try:
        return numbers.printed(printed)
    except ValueError:
        said = printed.strip()[:40] or "nothing"
    raise WrongUsage(
        f"LATE={program} has to print the points of {name}, such as 87.5; it printed: {said}"
    )
