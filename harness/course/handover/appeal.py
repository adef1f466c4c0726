"""What is in the file of an appeal besides the sources: the grade's result, the versions of what
graded, and a text that says how to look at it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path

from harness.course.handover import archive
from harness.lab import git, parts
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage
from harness.server import build

SECONDS = 10  # for a command that prints its version


def find_result(places: list[Path], chapter: str, number: int, test: str) -> Path | None:
    """The newest result of a grade of this chapter with this seed, in which the test failed."""
    found = [path for path in places if _is_of(path, chapter, number, test)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _is_of(path: Path, chapter: str, number: int, test: str) -> bool:
    try:
        result = json.loads(path.read_text())
        about = result["extra_data"]
        if (about["chapter"][:2], about["seed"]) != (chapter, number):
            return False
        tests = [one for one in result["tests"] if one.get("status") == "failed"]
        return any(one["extra_data"]["test"] == test for one in tests)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def versions() -> dict[str, str | int]:
    """The versions of the lab and of the machine that graded."""
    uname = os.uname()
    return {
        "lab": lab_version(),
        "commit": _commit(),
        "compiler": _compiler(),
        "kernel": f"{uname.sysname} {uname.release} {uname.version}",
        "machine": uname.machine,
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "valgrind": _first_line(["valgrind", "--version"]),
        "cores": len(os.sched_getaffinity(0)),
    }


def lab_version() -> str:
    """A hash of the files that decide a grade: equal for a clone, a handout and an unpacked
    copy."""
    kept = [archive.member(str(path.relative_to(ROOT)), path) for path in parts.deciding()]
    return archive.digest(kept)[:16]


def _commit() -> str:
    """The commit of the lab's own history, "" if this copy has none; or why git does not tell
    it."""
    try:
        return git.commit()
    except WrongUsage as error:
        return f"not known: {error}"


def _compiler() -> str:
    try:
        return _first_line([*build.find_compiler(), "--version"])
    except build.NoCompiler:
        return ""


def _first_line(command: list[str]) -> str:
    """What it prints first; "" if there is no such command, or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    return lines[0] if lines and done.returncode == 0 else ""


def note(identity: str, chapter: str, claim: str, files: dict[str, str], now: str) -> str:
    """README.md. `files`: what each file is. `now`: what happened when this file was made."""
    rows = "\n".join(f"| `{name}` | {what} |" for name, what in files.items())
    return f"""\
# Appeal {identity}

The claim: {claim}

{now}

| file | what it is |
|---|---|
{rows}

To see the failure again, unpack this file and call, in a copy of the lab:

    make replay ID={identity} DIR=path/to/{identity}/sources
    make trace ID={identity} DIR=path/to/{identity}/sources

The ID has the chapter, the test and the seed, so every byte that the clients send is the same.
Where the result differs, compare `versions.json` with what `make appeal` writes there. This grades
all of chapter {chapter}:

    make grade CH={chapter} DIR=path/to/{identity}/sources
"""
