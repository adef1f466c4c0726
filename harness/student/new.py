"""make new DIR=mine: an empty program of one's own, which is graded over TCP alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.submission import command_line, files
from harness.submission.chapters import ROOT
from harness.submission.target import WrongUsage, as_typed, quoted, setting

PROTOCOL = ROOT / "docs" / "protocol.md"
MAIN = b"""/* A server of your own. protocol.md says what it has to do in each chapter. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    fputs("this server does nothing yet\\n", stderr);
    return EXIT_FAILURE;
}
"""


def main(_: list[str]) -> int:
    """Returns the exit status."""
    return command_line.run("new", run)


def run() -> int:
    """Makes the program in DIR. Raises WrongUsage."""
    if not setting("DIR"):
        raise WrongUsage("where? For instance: make new DIR=mine")
    place = Path(setting("DIR")).expanduser()
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise WrongUsage(f"DIR={setting('DIR')} is there already; name a directory that is not")
    place.mkdir(parents=True, exist_ok=True)
    files.write(place / "main.c", MAIN)
    shutil.copy(PROTOCOL, place)
    print(f"{as_typed(place)}/main.c       an empty program")
    print(f"{as_typed(place)}/protocol.md  what it has to do, chapter by chapter")
    print(f"next: make grade CH=01 DIR={quoted(setting('DIR'))}")
    return 0
