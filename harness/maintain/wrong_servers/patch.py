"""Changes the C files of a solution by a unified diff. git does it; nothing here reads the diff.

The place of a change is found by its lines. Numbers after `@@` may be old or wrong: a solution
changes, and its wrong servers stay as they are.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.submission import sources

GIT = ("git", "apply", "--recount", "--unidiff-zero", "-v")
# Settings of a user do not count, and messages are in English.
ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
FILE = re.compile(r"^--- a/(\S+)", re.M)
NUMBERS = re.compile(r"^@@ .*", re.M)
PAST_THE_END = 1_000_000  # no file has as many lines


class Refused(Exception):
    """The diff cannot be applied; the message says why."""


def changed(files: dict[str, str], diff: str) -> dict[str, str]:
    """The files that `diff` changes, by name, with the change. Raises Refused."""
    names = FILE.findall(diff)
    for name in names:
        if name not in files:
            raise Refused(f"the solution has no {name}: correct the line `--- a/{name}`")
    with TemporaryDirectory(prefix="lab-wrong-") as scratch:
        sources.write(Path(scratch), {name: files[name] for name in names})
        _apply(Path(scratch), diff)
        return {name: Path(scratch, name).read_text() for name in names}


def ambiguous(files: dict[str, str], diff: str) -> list[str]:
    """The files in which the lines of a change stand at several places. Raises Refused.

    git takes the place nearest to a change's number. With other numbers it must take the same one.
    """
    first, last = (
        changed(files, NUMBERS.sub(f"@@ -{line} +{line} @@", diff)) for line in (1, PAST_THE_END)
    )
    return [name for name in first if first[name] != last[name]]


def _apply(directory: Path, diff: str) -> None:
    # With --recount a hunk ends at the next `@@` or `diff`, not at the next `---`.
    diff = FILE.sub(r"diff -u\n\g<0>", diff)
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(
        GIT, cwd=directory, env=environment, input=diff, capture_output=True, text=True
    )
    if done.returncode:
        # "patch failed: conn.c:1" has the number after @@.
        noise = ("Checking patch ", "error: patch failed: ")
        lines = [line for line in done.stderr.splitlines() if not line.startswith(noise)]
        raise Refused("git apply says:\n" + "\n".join(lines))
