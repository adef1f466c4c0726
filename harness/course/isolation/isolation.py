"""What every isolation can do, and the one that does nothing; and which files of the machine a
grade needs.

All lists name what is allowed. So a file that somebody adds to the machine stays invisible until it
is named here. For the files of the lab see submission/parts.py.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.server.preload import READY
from harness.submission.chapters import Chapter

# Everything else of the caller's environment stays outside. LAB_PATIENCE is for the lab's tests.
KEPT = ("PATH", "LANG", "LC_ALL", "CC", "LAB_PATIENCE")


@dataclass(frozen=True)
class Places:
    """Where a grade of the `chapter` finds its files: inside, they have the same names.

    Of the `lab` only what this grade reads can be read. `output` is a directory that exists: the
    only place where the grade can leave results. `libraries`: shim.build_into() has filled it, and
    the grade can read it. `more`: files and directories that it can read as well.
    """

    lab: Path
    chapter: Chapter
    submission: Path
    output: Path
    libraries: Path | None = None
    more: tuple[Path, ...] = ()


class Isolation:
    """Wraps the command that grades one submission. `name` is the value of ISOLATE=, and `open`
    has a sentence for each thing that a submission can still reach."""

    name: str
    open: tuple[str, ...] = ()
    has_own_build = True  # build/ of the grade is empty at its begin, and gone at its end

    def command(self, argv: list[str], places: Places) -> list[str]:
        """The command that runs `argv` in isolation. To be run in the directory of the lab. To end
        everything, kill the command itself."""
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

    def command(self, argv: list[str], places: Places) -> list[str]:
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


# Programs, libraries, and the few settings that they read. No passwords and no keys.
SYSTEM = tuple(
    Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
)
SETTINGS = tuple(
    Path("/etc", name)
    for name in (
        "alternatives",
        "group",
        "hosts",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
        "localtime",
        "nsswitch.conf",
        "passwd",
    )
)


def of_python(lab: Path, *others: Path) -> list[Path]:
    """Where Python and its packages are, if not in the system's directories.

    A directory that contains the lab, a submission or a result is left out, and so is the lab
    itself: it would show everything. So are those of PYTHONPATH, which is not set inside.
    """
    theirs = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    places = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent}
    places |= {Path(entry) for entry in sys.path if entry not in theirs and Path(entry).is_dir()}
    found = []
    for place in sorted(place.absolute() for place in places):
        known = place.is_relative_to(lab) or any(map(place.is_relative_to, (*SYSTEM, *found)))
        if not known and not any(one.is_relative_to(place) for one in (lab, *others)):
            found.append(place)
    return found
