"""python3 -m harness: runs a command of commands.py."""

import sys

from harness.commands import main
from harness.submission import command_line

if __name__ == "__main__":
    sys.exit(command_line.program(main))
