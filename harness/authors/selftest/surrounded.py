"""Prints what surrounds a command of the lab, and what surrounds a server of it: two lines of JSON.

To be run as the commands are: `sh harness/find-python.sh -m harness.authors.selftest.surrounded`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from harness.lab import command_line
from harness.server.patience import PATIENCE
from harness.server.process import ServerProcess

TOLD = str(Path(__file__).with_name("servers") / "surroundings.py")


def main() -> int:
    runpy.run_path(TOLD)
    server = ServerProcess()
    status = server.run([sys.executable, "-I", "-S", TOLD], PATIENCE)
    print(server.stdout.text(), server.stderr.text(), sep="", end="")
    return 0 if status and status.code == 0 else 1


if __name__ == "__main__":
    sys.exit(command_line.program(main))
