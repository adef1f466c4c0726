#!/usr/bin/env python3
"""Grades /autograder/submission and writes /autograder/results/results.json. Gradescope starts it
as root.

It is a class of one: `make class` unpacks, grades and tries again. That runs as a user that has no
account and no rights, and so does the submission in it. That user can read the lab and the
submission. It cannot open the results, or the file with the names and earlier scores. If a claim
was not judged, there is no results.json, and the exit status is 1: Gradescope then shows an error
of the autograder, and no score.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path("/autograder")
LAB = TOP / "source" / "lab"
RESULTS = TOP / "results" / "results.json"
USER = 60617  # of no account: no package and no person uses this number
CLASS_SECONDS = 2400  # far more than two grades allow themselves
LAST_SECONDS = 30  # for a grade that was told to stop
MOST_BYTES = 16 << 20  # of a result
NAME = "submission"


def main() -> int:
    if os.geteuid() != 0:
        print("run_autograder: has to be started by root, who can start it as another user")
        return 1
    slug = (TOP / "source" / "chapter").read_text().strip()
    close_doors()
    with tempfile.TemporaryDirectory(prefix="lab-") as made:
        place = Path(made)
        place.chmod(0o755)
        theirs = place / "all" / NAME
        shutil.copytree(TOP / NAME, theirs, symlinks=True, copy_function=copied)
        opened(place / "all")
        (place / "class").mkdir()
        os.chown(place / "class", USER, USER)
        status = graded(slug[:2], place)
        graded_in = place / "class" / slug[:2] / "all" / NAME
        if status == 0:
            record = json.loads(read(graded_in / "record.json"))
            found = json.loads(read(graded_in / "result.json"))
            said = found.get("output", "")
            if record["problem"] not in said:  # also what was left out
                found["output"] = f"{record['problem']}\n\n{said}".strip()
            write(found)
            return 0
        print(read(graded_in / "output.txt"))
    print("run_autograder: not everything was judged, so results.json was not written")
    return 1


def close_doors() -> None:
    """Leaves the other user the way to the lab, and nothing else in TOP."""
    RESULTS.unlink(missing_ok=True)
    for path in TOP.iterdir():
        if not path.is_symlink() and not read_only(path):
            path.chmod(path.stat().st_mode & 0o700)
    for path in (TOP, LAB.parent, LAB):
        path.chmod(0o755)
    build = LAB / "build"
    build.mkdir(exist_ok=True)
    os.chown(build, USER, USER)


def read_only(path: Path) -> bool:
    """Whether it is on a file system that nobody can write to: a submission may be."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def copied(source: str, target: str) -> None:
    """Copies files and links; sockets and pipes are no part of a submission."""
    mode = os.lstat(source).st_mode
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        shutil.copy2(source, target, follow_symlinks=False)


def opened(top: Path) -> None:
    """Lets everybody read the copy; links stay as they are."""
    for directory, _, files in os.walk(top):
        os.chmod(directory, 0o755)
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                os.chmod(path, 0o644)


def as_user(*command: str) -> list[str]:
    """The command, as USER."""
    limits = ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", *limits, *command]


def graded(number: str, place: Path) -> int | None:
    """Leaves the result in place/class. Returns the exit status, None if it took too long."""
    words = ["-m", "harness", "class", "--one", NAME, "--chapter", number, "--no-trace"]
    words += ["--submissions", str(place / "all"), "--results", str(place / "class")]
    command = as_user(find_python(), *words, "--isolate", "none")
    process = subprocess.Popen(command, cwd=LAB, env=environment(), start_new_session=True)
    try:
        return process.wait(CLASS_SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        return None
    finally:
        end_all()
        process.wait()


def find_python() -> str:
    found = ["sh", "harness/find-python.sh"]
    return subprocess.run(found, cwd=LAB, stdout=subprocess.PIPE, text=True).stdout.strip()


def environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "CC") if name in os.environ}
    return {"LANG": "C.UTF-8", **kept, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}


def end_all() -> None:
    """Kills every process of USER, until there is none: nothing can change a result any more."""
    deadline = time.monotonic() + LAST_SECONDS
    while time.monotonic() < deadline:
        mine = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_theirs(pid)]
        if not mine:
            return
        for pid in mine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
    raise SystemExit("run_autograder: processes of the submission cannot be ended")


def is_theirs(pid: int) -> bool:
    """Whether it is a process of USER that still runs."""
    try:
        text = Path("/proc", str(pid), "status").read_text()
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return str(USER) in fields["Uid"].split() and fields["State"].strip()[0] not in "ZX"


def read(path: Path) -> str:
    """The text of a file that USER has left, which may be a link: so USER reads it, whose processes
    have all ended."""
    command = as_user("head", "-c", str(MOST_BYTES), str(path))
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LAST_SECONDS)
    return done.stdout.decode("utf-8", "replace")


def write(result: dict) -> None:
    scratch = RESULTS.with_name(".results.json")
    scratch.write_text(json.dumps(result, indent=2) + "\n")
    os.replace(scratch, RESULTS)


if __name__ == "__main__":
    sys.exit(main())
