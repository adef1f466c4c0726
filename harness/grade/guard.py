"""How the grader detects a server that attacks the grader itself.

Where servers are confined (see linux/landlock.py) they cannot reach it, and none of this matters.
Elsewhere an attack is at least noticed, and costs no more than a test.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from harness.submission import parts
from harness.submission.chapters import ROOT

KILLED = (
    "the grader's own process was killed while this test ran; "
    "a server that signals other processes cannot be judged"
)
RESTORE = "git checkout -- harness Makefile"


def leave_group() -> None:
    """A server that kills the process group of its parent then kills this process alone."""
    os.setpgid(0, 0)


def digests(more: Iterable[Path]) -> dict[Path, bytes]:
    """A digest of each file that decides a grade: those of the lab, and `more`."""
    files = {path for top in more for path in (top, *top.rglob("*")) if path.is_file()}
    return {path: _digest(path) for path in {*parts.deciding(), *files}}


def _digest(path: Path) -> bytes:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:  # it is gone, or locked: no digest is like this one
        return b""


def changed(before: dict[Path, bytes], after: dict[Path, bytes]) -> list[str]:
    """The names of the files that differ, are new or have been removed."""
    names = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return sorted(os.path.relpath(path, ROOT) for path in names)


def complaint(names: list[str]) -> str:
    """The message for a grade during which these files changed."""
    few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"files of the lab changed while the server was graded: {few}; if you did not change them, "
        f"the server did: {RESTORE}, or a fresh copy of the lab, brings them back"
    )
