"""How a command begins; and how it ends, also if it cannot do what it should, or is stopped."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from harness.submission import surroundings
from harness.submission.chapters import ROOT, UnknownChapter
from harness.submission.target import WrongUsage

# Everything that the commands write. Where the lab is read-only, a variable names another place.
BUILD = Path(os.environ.get("LAB_BUILD") or ROOT / "build")
ELSEWHERE = "LAB_BUILD=/var/tmp/lab make ..."
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def program(main: Callable[[], int | None]) -> int:
    """Runs a command as a program of its own, in the surroundings that the lab has chosen. Returns
    its exit status once everything that it has printed has arrived."""
    surroundings.choose()
    try:
        try:
            return main() or 0
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        print(_cannot_write(error), file=sys.stderr)
        _drop_output()
    return 2


def run(name: str, body: Callable[[], int], *wrong: type[Exception], stopped: int = 2) -> int:
    """Calls `body` and returns its exit status; or 2, with a line on stderr that says why.

    That line is the message of WrongUsage, UnknownChapter and the exceptions `wrong`; or it says
    that build/ cannot be written to, or that the disk is full. `stopped`: the status after
    Ctrl-C, and when the program that reads the output has ended (`| head`). If it is 0, Ctrl-C is
    the normal end of the command, and the message goes to stdout.
    """
    try:
        return body()
    except (WrongUsage, UnknownChapter, *wrong) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        where = sys.stderr if stopped else sys.stdout
        print(f"\n{name}: stopped; nothing is left running", file=where)
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        if not _is_below(error.filename, BUILD) and error.errno not in NO_SPACE:
            raise
        print(f"{name}: {_cannot_write(error)}", file=sys.stderr)
        return 2
    return stopped


def _drop_output() -> None:
    """Python writes its buffer once more when it ends. That must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_below(path: object, directory: Path) -> bool:
    return isinstance(path, str) and Path(path).is_relative_to(directory)


def _cannot_write(error: OSError) -> str:
    """What is wrong with build/, or with the disk, and what to do. The system does not tell which
    file had no space left if it was open already."""
    places = f"the output, or a file in {BUILD} or {tempfile.gettempdir()}"
    name = os.path.relpath(error.filename, ROOT) if error.filename else places
    text = f"{name} cannot be written: {error.strerror}"
    if error.errno in NO_SPACE:
        return f"{text}; free some space"
    if error.errno == errno.EROFS:
        return f"{text}; let LAB_BUILD name a directory elsewhere, {ELSEWHERE}"
    if not isinstance(error, PermissionError):
        return text
    return f"{text}; after a `sudo make` it belongs to root: sudo chown -R $(id -un) build"


def knows_escapes(stream: TextIO) -> bool:
    """Whether it is a terminal that can move its cursor and has colours."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
