"""make watch: grades a chapter again whenever a file of it is saved. Ctrl-C ends it, with exit
status 0."""

from __future__ import annotations

import argparse
import select
import sys
import time
from pathlib import Path
from typing import NoReturn

from harness.feedback.failure import NotJudged
from harness.grade import judge, report, results, terminal
from harness.grade.request import asked, parse
from harness.submission import chapters, command_line, sources
from harness.submission.target import WrongUsage, resolve

LOOK_SECONDS = 0.2  # between two checks of the files
CALM_SECONDS = 0.1  # an editor may save several files, or one in several steps
CLEAR = "\033[H\033[J"

Stamp = dict[str, tuple[int, int]]  # of a directory's C files: when each was changed, and its size


def main(arguments: list[str]) -> int:
    options = parse(arguments, __doc__.splitlines()[0])
    return command_line.run("watch", lambda: run(options), NotJudged, stopped=0)


def run(options: argparse.Namespace) -> NoReturn:
    """Grades and waits for the next save, until somebody interrupts it."""
    if options.chapter is None:
        raise WrongUsage("which chapter? For instance CH=02")
    target = resolve(chapters.find(options.chapter), options.origin, options.dir, options.server)
    if target.source is None:
        raise WrongUsage("SERVER= has no source files to watch; give DIR=")
    request, look = asked(options), terminal.look(options.verbose)
    while True:
        graded = stamp(target.source)
        found = judge.grade_target(target, request)
        print(end=CLEAR if command_line.knows_escapes(sys.stdout) else "")
        print(report.chapter(found, look))
        if options.errors:
            print("", *results.messages(found), sep="\n")
        print("\nwatching; Ctrl-C ends\n", flush=True)
        wait_for_a_save(target.source, graded)


def stamp(directory: Path) -> Stamp:
    """A value that changes when a C file is saved, made or removed."""
    found = {}
    for path in sources.files(directory):
        try:
            about = path.stat()
        except OSError:  # removed a moment ago
            continue
        found[sources.name_of(path, directory)] = (about.st_mtime_ns, about.st_size)
    return found


def wait_for_a_save(directory: Path, before: Stamp) -> None:
    """Returns once the files have changed and nothing more is being written.

    Raises BrokenPipeError when nobody can read our output any more.
    """
    while (now := stamp(directory)) == before or not now:
        if nobody_looks():
            raise BrokenPipeError
        time.sleep(LOOK_SECONDS)
    while True:
        time.sleep(CALM_SECONDS)
        if (later := stamp(directory)) == now:
            return
        now = later


def nobody_looks() -> bool:
    """The terminal or the reader of our output is gone. SIGHUP does not always come."""
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)  # errors and hang-ups are always reported
    return bool(poller.poll(0))
