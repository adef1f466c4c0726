"""Asks git which files of this copy are the lab's own.

Files that git does not track may be private: exams, notes, keys. So where there is a repository and
git does not answer, nothing is taken for the lab's own.
"""

from __future__ import annotations

import os
import subprocess

from harness.submission.chapters import ROOT
from harness.submission.target import WrongUsage

SECONDS = 60  # for one answer; a large repository on a network needs some
ALWAYS = "harness/grade/grade.py"  # each copy of the lab has it
# A hook of git sets variables that may name another repository. These settings do not.
HARMLESS = "GIT_CONFIG_"
NO_REPOSITORY = "not a git repository"


def tracked() -> list[str] | None:
    """The files that git tracks here, as from the lab's directory. None if no repository has them:
    this copy of the lab has no history of its own. Raises WrongUsage if git does not answer.

    The lab may have a repository of its own, or be a directory in a larger one. A larger one that
    does not track it says nothing about it.
    """
    own = os.path.lexists(ROOT / ".git")
    if not own and not any(os.path.lexists(place / ".git") for place in ROOT.parents):
        return None
    if own:
        top = _ask("rev-parse", "--show-toplevel").removesuffix("\n")
        if os.path.realpath(top) != os.path.realpath(ROOT):
            raise _refused(f"it takes {top} for the top of the repository, and not {ROOT}")
    elif not _is_inside():
        return None
    names = list(dict.fromkeys(filter(None, _ask("ls-files", "-z").split("\0"))))
    if ALWAYS in names:
        return names
    if own:
        raise _refused(f"it does not track {ALWAYS}; `git add` takes files into the repository")
    return None


def _is_inside() -> bool:
    """Whether the files here may be those of a larger repository. A bare one has none."""
    try:
        return _ask("rev-parse", "--is-inside-work-tree") == "true\n"
    except WrongUsage as error:
        if NO_REPOSITORY in str(error):
            return False
        raise


def untracked(*places: str) -> list[str]:
    """The files below these directories that git does not track; none if tracked() is None."""
    if tracked() is None:
        return []
    listed = _ask("ls-files", "--others", "-z", "--", *places)
    return [name for name in listed.split("\0") if name]


def _ask(*words: str) -> str:
    """What git prints. Raises WrongUsage with what git says is wrong."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(HARMLESS)
    }
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words],
            env={**kept, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
    except OSError as error:
        raise _refused(f"it cannot be started: {error.strerror}; is it installed?") from None
    except subprocess.TimeoutExpired:
        raise _refused(f"there was no answer for {SECONDS} s") from None
    if done.returncode:
        said = " ".join(os.fsdecode(done.stderr).split())
        raise _refused(said or f"it ended with status {done.returncode}")
    return os.fsdecode(done.stdout)


def _refused(why: str) -> WrongUsage:
    return WrongUsage(
        f"git does not say which files are the lab's, and others here may be private. git: {why}"
    )
