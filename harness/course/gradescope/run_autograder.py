#!/usr/bin/env python3
"""Grades /autograder/submission and writes /autograder/results/results.json. Gradescope starts it
as root.

The grade runs as a user that has no account and no rights, and so does the submission in it. That
user can read the lab and the submission. It cannot open the results, or the file with the names and
earlier scores. If a claim was not judged, the submission is graded once more. If that does not help
there is no results.json, and the exit status is 1: Gradescope then shows an error of the
autograder, and no score.
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
sys.path.append(str(LAB))
sys.dont_write_bytecode = True

from harness.course.classes import submissions  # noqa: E402

RESULTS = TOP / "results" / "results.json"
USER = 60617  # of no account: no package and no person uses this number
TRIES = 2
GRADE_SECONDS = 1200  # far more than a grade allows itself
LAST_SECONDS = 30  # for a grade that was told to stop
MOST_BYTES = 16 << 20  # of a result
UNUSABLE = 3  # exit status of harness.course.classes.unpack


def main() -> int:
    if os.geteuid() != 0:
        print("run_autograder: has to be started by root, who can start it as another user")
        return 1
    slug = (TOP / "source" / "chapter").read_text().strip()
    close_doors()
    with tempfile.TemporaryDirectory(prefix="lab-") as made:
        place = Path(made)
        place.chmod(0o755)
        shutil.copytree(TOP / "submission", place / "all", symlinks=True, copy_function=copied)
        opened(place / "all")
        problem, left_out = unpacked(place, slug)
        if problem:
            write(nothing_to_grade(problem))
            return 0
        handed_in = place / "sources"
        for _ in range(TRIES):
            found = graded(slug[:2], handed_in, place)
            if found is not None:
                found["output"] = f"{left_out}\n\n{found.get('output', '')}".strip()
                write(found)
                return 0
            print("run_autograder: not everything was judged", flush=True)
    print("run_autograder: there is no score, so results.json was not written")
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


def find_sources(top: Path, slug: str) -> Path | None:
    """The hand-in that counts, as for `make class`: a directory with C files, or an archive."""
    return submissions.latest((top,), slug)


def unpacked(place: Path, slug: str) -> tuple[str, str]:
    """Leaves the files to be graded in place/sources. Returns why there are none, and what was left
    out. The other user reads and unpacks: a submission may attack the program that does so."""
    found = find_sources(place / "all", slug)
    if found is None:
        return f"There are no .c files here. Hand in the files of chapters/{slug}.", ""
    work = place / "work"
    work.mkdir()
    os.chown(work, USER, USER)
    words = ["-m", "harness.course.classes.unpack", str(found), str(work / "sources")]
    command = [*as_user(), *words, str(work / "scratch"), slug]
    done = subprocess.run(command, cwd=LAB, env=environment(), stdout=subprocess.PIPE, text=True)
    end_all()
    if done.returncode == UNUSABLE:
        return done.stdout.strip(), ""
    if done.returncode != 0:
        raise SystemExit("run_autograder: a fault of the machine, see above; there is no score")
    shutil.copytree(work / "sources", place / "sources", symlinks=True, copy_function=copied)
    opened(place / "sources")
    return "", done.stdout.strip()


def as_user() -> list[str]:
    """Begins a command that starts Python as USER."""
    command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    command += ["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
    return [*command, find_python()]


def graded(number: str, handed_in: Path, place: Path) -> dict | None:
    """The result of a grade, None if a claim was not judged."""
    results = LAB / "build" / "results" / "autograder.json"
    results.unlink(missing_ok=True)
    command = [*as_user(), "-m", "harness", "grade", "--verbose", "--chapter", number]
    command += ["--dir", str(handed_in), "--results", str(results)]
    process = subprocess.Popen(command, cwd=LAB, env=environment(), start_new_session=True)
    try:
        status = process.wait(GRADE_SECONDS)
    except subprocess.TimeoutExpired:
        status = None
        process.send_signal(signal.SIGINT)
        try:
            process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    finally:
        end_all()
        process.wait()
    return read(results, handed_in) if status in (0, 1) else None


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


def read(path: Path, handed_in: Path) -> dict | None:
    """The result in this file, None if it is none, or not everything was judged. The commands in it
    are those that the student can type, whose files are in chapters/."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            text = file.read(MOST_BYTES).decode()
        found = json.loads(text.replace(f" DIR={handed_in}", ""))
        return found if found["extra_data"]["verdict"] in ("passed", "failed") else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"run_autograder: {error}")
        return None


def nothing_to_grade(problem: str) -> dict:
    """A submission that cannot be graded has no points, as one that does not compile."""
    return {"score": 0, "output": problem, "output_format": "text", "tests": []}


def write(result: dict) -> None:
    scratch = RESULTS.with_name(".results.json")
    scratch.write_text(json.dumps(result, indent=2) + "\n")
    os.replace(scratch, RESULTS)


if __name__ == "__main__":
    sys.exit(main())
