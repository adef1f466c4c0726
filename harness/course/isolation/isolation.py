"""What every isolation can do, and the one that does nothing."""

from __future__ import annotations

import os
from pathlib import Path

from harness.lab.chapters import Chapter
from harness.server.shim import READY

# Everything else of the caller's environment stays outside. LAB_PATIENCE is for the lab's tests.
KEPT = ("PATH", "LANG", "LC_ALL", "CC", "LAB_PATIENCE")


class Isolation:
    """Wraps the command that grades one submission. `name` is the value of ISOLATE=, and `open`
    has a sentence for each thing that a submission can still reach."""

    name: str
    open: tuple[str, ...] = ()
    has_own_build = True  # build/ of the grade is empty at its begin, and gone at its end

    def command(
        self,
        argv: list[str],
        lab: Path,
        chapter: Chapter,
        submission: Path,
        output: Path,
        libraries: Path | None = None,
    ) -> list[str]:
        """The command that runs `argv` in isolation. To be run in the directory `lab`.

        Paths have the same names inside. Of the `lab` only what a grade of the `chapter` reads can
        be read, see needs.py. `output` is a directory that exists: the only place where
        the grade can leave results. `libraries`: shim.build_into() has filled it, and the grade can
        read it. To end everything, kill the command itself.
        """
        raise NotImplementedError


class Nothing(Isolation):
    """Runs the command as it is: only what a grade does by itself protects anything."""

    name = "none"
    open = (
        "A submission can use the network.",
        "A submission can read every file that you can read: solutions, other submissions.",
        "A submission can leave System V shared memory behind.",
    )
    has_own_build = False

    def command(
        self,
        argv: list[str],
        lab: Path,
        chapter: Chapter,
        submission: Path,
        output: Path,
        libraries: Path | None = None,
    ) -> list[str]:
        return list(argv)


def environment(temporary: Path, libraries: Path | None = None) -> dict[str, str]:
    """The environment of an isolated grade; `temporary` is the directory that it may fill."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        "PATH": os.defpath,
        **kept,
        **({READY: str(libraries)} if libraries else {}),
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TERM": "dumb",
    }
