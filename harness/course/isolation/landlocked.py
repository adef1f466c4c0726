"""Isolation by Landlock and limits of processes: for machines on which bubblewrap does not work.

The whole grade is confined, and within it each server once more, as in every grade. `python -m
harness.course.isolation` does that, and removes the temporary directory afterwards.
"""

from __future__ import annotations

import sys
from pathlib import Path

from harness.course.isolation.isolation import SETTINGS, SYSTEM, Isolation, Places, of_python
from harness.server.linux import landlock, prctl
from harness.submission import parts

SIGNALS_SINCE = 6  # the version of Landlock that keeps signals in, too

NETWORK = "A submission can use the network, and Unix sockets of programs on this machine."
NAMES = "A submission can see which files exist, with their sizes and times; it cannot read them."
PROCESSES = "A submission can see the processes of this machine and their command lines."
SIGNALS = "This kernel is older than 6.12: a submission can kill your other processes."
MEMORY = "A submission can leave System V shared memory behind."


class Landlocked(Isolation):
    name = "landlock"

    def __init__(self) -> None:
        signals = landlock.version() >= SIGNALS_SINCE
        memory = prctl.can_refuse_calls()
        self.open = (
            NETWORK,
            NAMES,
            PROCESSES,
            *(() if signals else (SIGNALS,)),
            *(() if memory else (MEMORY,)),
        )

    def command(self, argv: list[str], places: Places) -> list[str]:
        words = [sys.executable, "-m", "harness.course.isolation"]
        words += ["--chapter", places.chapter.number]
        for name in ("lab", "submission", "output", "libraries"):
            path = getattr(places, name)
            words += [f"--{name}", str(path.resolve())] if path else []
        for path in places.more:
            words += ["--more", str(path.resolve())]
        return [*words, "--", *argv]


def find() -> Landlocked | str:
    """The isolation if it works here, else why it does not."""
    if landlock.works():
        return Landlocked()
    return "the kernel has no Landlock (5.13 is the first that has it), or it is switched off"


def ruleset(places: Places, private: Path) -> int | None:
    """What landlock.enter() takes: the files that the grade of one submission needs. `private`: a
    directory that it may fill, beside that of the results."""
    lab, submission, output = places.lab, places.submission, places.output
    readable = [
        *SYSTEM,
        *SETTINGS,
        *of_python(lab, submission, output),
        *parts.of_a_timeline(lab, places.chapter),
        submission,
        *([places.libraries] if places.libraries else []),
        *places.more,
        Path("/proc"),
        *landlock.DEVICES,
    ]
    # Python lists the directory that it imports a package from.
    return landlock.ruleset([private, output], readable, [lab])
