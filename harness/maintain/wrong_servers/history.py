"""How the catalogue has changed since a commit: a smaller harness has to find the same mistakes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from harness.maintain.wrong_servers import catalogue
from harness.maintain.wrong_servers.wrong_server import WrongServer
from harness.submission.chapters import CHAPTERS, ROOT
from harness.submission.target import WrongUsage

OLD_FILE = "wrong.patch"  # the name of the file in earlier commits


def at(revision: str) -> list[WrongServer]:
    """The wrong servers of a commit. Raises WrongUsage if git knows no such commit."""
    if _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None:
        raise WrongUsage(f"git knows no commit {revision}")
    found = []
    for chapter in CHAPTERS:
        place = f"{revision}:solutions/{chapter.slug}"
        text = _git("show", f"{place}/{catalogue.FILE}") or _git("show", f"{place}/{OLD_FILE}")
        found += catalogue.read(chapter, text or "")
    return found


def differences(before: Sequence[WrongServer], now: Sequence[WrongServer]) -> str:
    """A line for each wrong server that is gone, or whose claim or hint is another one, and how
    many there were and are."""
    current = {one.id: one for one in now}
    lines = []
    for old in before:
        new = current.get(old.id)
        if new is None:
            lines.append(f"gone   {old.id}  {old.test} ({old.hint}): {old.what}")
        elif (new.test, new.hint) != (old.test, old.hint):
            lines.append(f"other  {old.id}  {old.test} ({old.hint}) -> {new.test} ({new.hint})")
    return "\n".join([*lines, f"{len(before)} wrong servers then, {len(now)} now"])


def _git(*words: str) -> str | None:
    """The output of git; None if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return None if done.returncode else done.stdout
