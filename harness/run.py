"""make run: builds the server that CH, FROM or DIR name, and becomes it, with ARGS as options."""

from __future__ import annotations

import os
import shlex
import sys
from typing import NoReturn

from harness.lab import command_line
from harness.lab.chapters import find
from harness.lab.target import WrongUsage, resolve, setting
from harness.server.build import BuildFailed, NoCompiler, cached_server


def main() -> int:
    """Returns the exit status if it does not become the server: 2, with the reason on stderr."""
    return command_line.run("run", run, NoCompiler, BuildFailed, ValueError)


def run() -> NoReturn:
    """Becomes the server."""
    if not setting("CH"):
        raise WrongUsage("which chapter? For instance: make run CH=03")
    target = resolve(find(setting("CH")), setting("FROM"), setting("DIR"))
    compiled = cached_server(target.source)
    options = shlex.split(setting("ARGS") or "")
    print(compiled.warnings, end="", file=sys.stderr, flush=True)
    os.execv(compiled.binary, ["server", *options])


if __name__ == "__main__":
    sys.exit(main())
