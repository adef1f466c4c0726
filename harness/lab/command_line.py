"""How every command ends that cannot do what it was told to, or is stopped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from harness.lab.chapters import UnknownChapter
from harness.lab.target import WrongUsage


def run(name: str, body: Callable[[], int], *wrong: type[Exception], stopped: int = 2) -> int:
    """Calls `body` and returns its exit status; or 2, with a line on stderr that says why.

    That line is the message of WrongUsage, UnknownChapter and what else is `wrong`. `stopped`: the
    status after Ctrl-C, and when the program that reads the output has had enough (`| head`). Where
    that is 0, Ctrl-C is how the command is meant to end, and stdout is told.
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return stopped
