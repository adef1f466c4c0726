"""A hand-in as plain files in a directory of ours, whatever it was before.

Only regular files are taken. Symbolic links are left out, so nothing in the directory leads out of
it. `python3 -m harness.course.classes.unpack HAND-IN TARGET SCRATCH CHAPTER` does the same for an
autograder; its exit status is that of extract.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

from harness.course.classes import submissions
from harness.course.classes.extract import CPU_SECONDS, REFUSED, Allowance, Unusable
from harness.failures.printable import harmless
from harness.lab.chapters import ROOT

EXTRACT = ("-m", "harness.course.classes.extract")
NESTED = 2  # an archive in an archive, and no deeper
WALL_SECONDS = 300  # for one archive, on any machine; then the machine is at fault
NAMED = 3  # files of those that were left out
# A process that one of these ended was told to stop, or the machine had no memory.
STOPPED = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


def sources(found: Path | None, target: Path, scratch: Path, chapter: str) -> str:
    """Makes `target` a copy of the directory with the .c files. `scratch`: a directory that does
    not exist, for what an archive holds. Returns a sentence about what was left out, "" if nothing
    was. Raises Unusable; OSError if the machine is at fault.
    """
    left_out: list[str] = []
    for number in range(NESTED + 1):
        if found is None:
            raise Unusable("There are no .c files in the submission.")
        if found.is_dir():
            return _told(left_out + _copy(found, target))
        unpacked = scratch / str(number)
        unpacked.mkdir(parents=True)
        left_out += _extracted(found, unpacked)
        found = submissions.latest((unpacked,), chapter)
    raise Unusable("There are too many archives within each other.")


def _told(left_out: list[str]) -> str:
    if not left_out:
        return ""
    more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
    return f"Left out: {', '.join(left_out[:NAMED])}{more}."


def _copy(directory: Path, target: Path) -> list[str]:
    """Returns the links and other things that were left out."""
    allowance = Allowance()
    target.mkdir(parents=True)
    for file in submissions.regular_files(directory):
        place = target / file.relative_to(directory)
        with file.open("rb") as opened:
            allowance.write(place, opened)
        shutil.copystat(file, place)
        place.chmod(0o644)
    return [
        f"{harmless(str(path.relative_to(directory)))} ({'a link' if is_link else 'not a file'})"
        for path, is_link in _odd(directory)
    ]


def _odd(directory: Path) -> list[tuple[Path, bool]]:
    """What is neither a file nor a directory, and whether it is a link."""
    found = []
    for place, below, names in os.walk(directory):
        below[:] = [name for name in below if name != ".git"]
        for name in sorted(below + names):
            mode = os.lstat(os.path.join(place, name)).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                found.append((Path(place, name), stat.S_ISLNK(mode)))
    return found


def _extracted(archive: Path, target: Path) -> list[str]:
    """Unpacks it in a process of its own. Returns what was left out."""
    command = [sys.executable, *EXTRACT, str(archive), str(target)]
    pipe = subprocess.PIPE
    how = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe}
    try:
        done = subprocess.run(command, **how, text=True, errors="replace", timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise OSError(None, f"unpacking did not end within {WALL_SECONDS} s") from None
    said = done.stdout.strip()
    if done.returncode == 0:
        return said.splitlines()
    if done.returncode == REFUSED:
        raise Unusable(said)
    if done.returncode == -signal.SIGXCPU:
        raise Unusable(f"Unpacking the archive takes more than {CPU_SECONDS} s of processor time.")
    if done.returncode < 0 and -done.returncode not in STOPPED:
        name = signal.Signals(-done.returncode).name
        raise Unusable(f"The archive cannot be unpacked: the library ends with {name}.")
    why = said or (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    raise OSError(None, f"unpacking failed: {why}")


def main(found: str, target: str, scratch: str, chapter: str) -> int:
    try:
        print(sources(Path(found), Path(target), Path(scratch), chapter))
    except Unusable as error:
        print(error)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
