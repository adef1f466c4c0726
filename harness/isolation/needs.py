"""Which files a grade needs besides the submission: what it may read, and so what the compiler and
the server in it can read.

All lists name what is allowed. So a file that somebody adds to the lab, or to the machine, stays
invisible until it is named here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.lab import sources
from harness.lab.chapters import Chapter

# What a grade reads of harness/, and why. None of it has a line that students write.
GRADE = {
    "__init__.py": "makes harness/ a package",
    "grade.py": "the command that grades",
    "client": "the clients of the claims",
    "evidence": "what a failure shows, and its hints",
    "grading": "loads and runs the claims, and reports",
    "instruments": "observes the server",
    "lab": "which chapters there are",
    "linux": "reads /proc, and confines the server",
    "others": "runs redis-server and the clients of others",
    "scenarios": "what claims do to a server",
    "server": "builds and starts the server",
    "shim": "the library in the server's process",
    "stage": "what one claim is given",
}
# Of these, what belongs to the chapter and to earlier ones: claims are inherited.
OF_CHAPTERS = {
    "claims": "the graded claims; students have them, too",
    "programs": "calls the modules of the submission, with stand-ins for what these modules call",
}
# What `make class` reads besides, for the timeline of a failure.
TRACE = {
    "replay.py": "runs the failed claim again",
    "trace": "draws the timeline",
}
HANDOUT = "README.md"  # of chapters/NN-name: says in which file a TODO is
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
_NUMBERED = re.compile(r"(?:test_)?(\d\d)_")


def of_a_grade(lab: Path, chapter: Chapter) -> list[Path]:
    """The files and directories of the lab that a grade of this chapter reads. Of the chapter these
    are the handout, and the C files that students begin with: they tell a fault of the lab from one
    of the submission."""
    harness, own = lab / "harness", lab / "chapters" / chapter.slug
    found = [harness / name for name in GRADE]
    for name in OF_CHAPTERS:
        found += [path for path in _files(harness / name) if not _is_later(path.name, chapter)]
    found += [own / HANDOUT, *sources.files(own)]
    return [path for path in found if path.exists()]


def of_the_lab(lab: Path, chapter: Chapter) -> list[Path]:
    """The same, and what the timeline of a failure reads."""
    more = [lab / "harness" / name for name in TRACE]
    return [*of_a_grade(lab, chapter), *(path for path in more if path.exists())]


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file())


def _is_later(name: str, chapter: Chapter) -> bool:
    """Whether the file belongs to a later chapter, as its name says."""
    numbered = _NUMBERED.match(name)
    return numbered is not None and numbered[1] > chapter.number


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
