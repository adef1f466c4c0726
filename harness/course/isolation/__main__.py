"""Runs a command with limits on what it and everything it starts can do:

    python -m harness.course.isolation \
        [--lab DIR --chapter NN --submission DIR --output DIR] [--more PATH] -- COMMAND

With these options it is confined by Landlock. When the command has ended, or this process has to
end, nothing is left that the command has started.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.course.isolation import landlocked
from harness.course.isolation.isolation import Places, environment
from harness.server import scratch
from harness.server.linux import landlock, prctl
from harness.server.process_tree import until_gone
from harness.submission import chapters, command_line
from harness.submission.sizes import MIB
from harness.submission.surroundings import within
from harness.waiting import procfs

THREADS = 16_384  # of all processes of a grade; a server may have 8,192
FILE_BYTES = 1024 * MIB
PRIVATE = ".private-"  # the temporary directory, in the directory for results
ENDING_SECONDS = 20
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    for number in _ENDING:
        signal.signal(number, _ended)
    prctl.adopt_orphans()
    with confinement(options) as (variables, confine):
        return run(options.command, variables, confine)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="isolation", description=__doc__.splitlines()[0])
    for name in ("lab", "submission", "output", "libraries"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--chapter", type=chapters.find)
    parser.add_argument("--more", type=Path, action="append", default=[])
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def _ended(number: int, _frame: object) -> None:
    """SystemExit runs what removes files and processes."""
    raise SystemExit(128 + number)


@contextmanager
def confinement(
    options: argparse.Namespace,
) -> Iterator[tuple[dict[str, str], Callable[[], None]]]:
    """The variables of the command, and what it calls before it is executed."""
    if options.lab is None:
        yield environment(Path(tempfile.gettempdir())), prctl.die_with_parent
        return
    for old in options.output.glob(f"{PRIVATE}*"):  # of one that was killed
        scratch.remove(old)
    private = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=options.output))
    given = (options.lab, options.chapter, options.submission, options.output, options.libraries)
    made = landlocked.ruleset(Places(*given, more=tuple(options.more)), private)
    try:
        if made is None:
            raise SystemExit("isolation: the kernel refuses Landlock; try ISOLATE=none")
        variables = environment(private, options.libraries)
        variables["LAB_BUILD"] = str(private / "build")
        yield variables, lambda: _confine(made)
    finally:
        if made is not None:
            os.close(made)
        scratch.remove(private)


def _confine(made: int) -> None:
    """Limits the child before it becomes the grade. A grade that gets SIGTERM ends everything that
    it has started."""
    prctl.die_with_parent(signal.SIGTERM)
    limits = {
        resource.RLIMIT_NPROC: THREADS,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for which, limit in limits.items():
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (within(limit, hard),) * 2)
    prctl.refuse_lasting_memory()
    if not (prctl.drop_capabilities() and landlock.enter(made)):
        raise OSError("not confined")


def run(command: list[str], variables: dict[str, str], confine: Callable[[], None]) -> int:
    """The status of the command; 128 and the number if a signal has ended it."""
    process = subprocess.Popen(command, env=variables, preexec_fn=confine, start_new_session=True)
    try:
        status = process.wait()
    finally:
        if process.poll() is None:
            _end(process)
        until_gone(procfs.below, ENDING_SECONDS)
    return status if status >= 0 else 128 - status


def _end(process: subprocess.Popen) -> None:
    """SIGTERM first, so that a grade ends what it has started."""
    process.terminate()
    try:
        process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(sys.argv[1:])))
