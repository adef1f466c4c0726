"""Isolation by bwrap(1), the program of the package bubblewrap.

Namespaces hide what a grade does not need: the network but a loopback of its own, other processes,
System V memory, and every file that is not named here. They need no privileges, but a machine may
refuse them. So whether it works is tried, not guessed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from harness.course.isolation.isolation import (
    SETTINGS,
    SYSTEM,
    Isolation,
    Places,
    environment,
    of_python,
)
from harness.server.linux import landlock
from harness.submission import parts, programs
from harness.submission.chapters import CHAPTERS, ROOT
from harness.submission.sizes import MIB

PROGRAM = "bwrap"
MISSING = "the program bwrap is missing; the package bubblewrap has it"
PROBE_SECONDS = 20
TEMPORARY = Path("/tmp")
TEMPORARY_BYTES = 1536 * MIB  # the limits on the files of three servers, and as much again
RESULTS = "This kernel lacks Landlock: a submission can overwrite its own result."

ALWAYS = (
    "--unshare-user --unshare-net --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try "
    "--die-with-parent --new-session --cap-drop ALL --hostname lab --clearenv"
).split()


# Gives bwrap the variables of the grade only: its own can be read in /proc/1.
CLEARED = (sys.executable, "-m", "harness.course.isolation", "--")


class Bubblewrap(Isolation):
    """`words`: the options that this bwrap knows, of those that older ones lack."""

    name = "bubblewrap"

    def __init__(self, program: str, words: frozenset[str]) -> None:
        self._program = program
        self._words = words
        self.open = () if landlock.version() else (RESULTS,)

    def command(self, argv: list[str], places: Places) -> list[str]:
        given = (places.lab, places.submission, places.output)
        lab, submission, output = (path.resolve() for path in given)
        shared = [places.libraries.resolve()] if places.libraries else []
        return [
            *CLEARED,
            self._program,
            *ALWAYS,
            *(["--disable-userns"] if "--disable-userns" in self._words else []),
            *_variables(*shared),
            *_system(),
            *self._empty(TEMPORARY, TEMPORARY_BYTES),
            *("--tmpfs", str(lab)),  # nothing can be added to it, even below TEMPORARY
            *_shown(of_python(lab, submission, output)),
            *_shown(parts.of_a_timeline(lab, places.chapter)),
            *_shown(shared),
            *_shown([path.resolve() for path in places.more]),
            *_given(submission, output),
            *("--remount-ro", str(lab), "--remount-ro", "/"),
            *("--chdir", str(lab), "--", *argv),
        ]

    def _empty(self, directory: Path, most: int) -> list[str]:
        """An empty directory in memory, of at most so many bytes."""
        size = ["--size", str(most)] if "--size" in self._words else []
        return [*size, "--tmpfs", str(directory)]


def find() -> Bubblewrap | str:
    """The isolation if it works here, else why it does not."""
    program = shutil.which(PROGRAM)
    if program is None:
        return MISSING
    said = programs.answer([program, "--help"], PROBE_SECONDS).stdout
    found = Bubblewrap(program, frozenset(said.split()))
    with tempfile.TemporaryDirectory(prefix="event-loop-lab-") as directory:
        place = Path(directory)
        command = found.command(["true"], Places(ROOT, CHAPTERS[0], place, place))
        tried = programs.answer(command, PROBE_SECONDS)
    if tried.returncode == 0:
        return found
    return " ".join(tried.stderr.split()) or f"bwrap ended with status {tried.returncode}"


def _variables(libraries: Path | None = None) -> list[str]:
    variables = {**environment(TEMPORARY, libraries), "LAB_BUILD": str(TEMPORARY / "build")}
    return [word for pair in variables.items() for word in ("--setenv", *pair)]


def _system() -> list[str]:
    """Programs and libraries, and a /proc and a /dev of its own."""
    words = []
    for place in SYSTEM:
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            words += _shown([place])
    return [*words, *_shown(SETTINGS), "--proc", "/proc", "--dev", "/dev"]


def _shown(places: list[Path] | tuple[Path, ...]) -> list[str]:
    """Can be read inside, if it exists."""
    return [word for place in places for word in ("--ro-bind-try", str(place), str(place))]


def _given(submission: Path, output: Path) -> list[str]:
    """The outer one of the two comes first, or it would hide the other."""
    mounts = [("--ro-bind", str(submission)), ("--bind", str(output))]
    mounts.sort(key=lambda mount: len(Path(mount[1]).parts))
    return [word for how, path in mounts for word in (how, path, path)]
