"""Commands as a user types them, and scripts that take the place of programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.lab.chapters import ROOT


def run(*command: str, path: str = "", **environment: str):
    """Runs a command without the variables that a make around these tests has set."""
    theirs = ("MAKE", "MFLAGS", "LAB_", "DEBIAN")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(theirs)}
    kept["PATH"] = path or kept["PATH"]
    return subprocess.run(
        command, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
