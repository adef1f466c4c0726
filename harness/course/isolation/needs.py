"""Which files of the machine a grade needs: it may read these, and so can the compiler and the
server in it. For those of the lab see lab/parts.py.

All lists name what is allowed. So a file that somebody adds to the machine stays invisible until it
is named here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
