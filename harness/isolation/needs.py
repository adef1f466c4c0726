"""Which files a grade needs besides the submission.

Both lists name what is allowed. So a file that somebody adds to the lab, or to the machine, stays
invisible until it is named here.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Without chapters/NN-name/README.md and the like a grade of FROM=chapters would find nothing.
LAB = ("harness", "chapters", "Makefile")
HIDDEN = Path("harness", "selftest")  # has servers that are right
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


def of_the_lab(lab: Path) -> list[Path]:
    """The files and directories of the lab that a grade reads: none that has an answer."""
    return [lab / name for name in LAB if (lab / name).exists()]


def of_python(lab: Path, *others: Path) -> list[Path]:
    """Where Python and its packages are, if not in the system's directories.

    A directory that contains the lab, a submission or a result is left out, and so is the lab
    itself: it would show everything.
    """
    places = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent}
    places |= {Path(entry) for entry in sys.path if entry and Path(entry).is_dir()}
    found = []
    for place in sorted(place.absolute() for place in places):
        known = place.is_relative_to(lab) or any(map(place.is_relative_to, (*SYSTEM, *found)))
        if not known and not any(one.is_relative_to(place) for one in (lab, *others)):
            found.append(place)
    return found
