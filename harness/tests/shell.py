"""Commands as a user types them, and scripts that take the place of programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.submission.chapters import ROOT

SECONDS = 600  # at most, for a command that hangs


def environment(**given: str) -> dict[str, str]:
    """Without the variables that a make around these tests has set; with these."""
    theirs = ("MAKE", "MFLAGS", "LAB_", "DEBIAN")
    return {k: v for k, v in os.environ.items() if not k.startswith(theirs)} | given


def run(*command: object, path: str = "", **given: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the lab, with these variables and this PATH."""
    env = environment(**given, **({"PATH": path} if path else {}))
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS)


def lab(*words: object, **given: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the lab as make does."""
    return run(sys.executable, "-m", "harness", *words, **given)


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
