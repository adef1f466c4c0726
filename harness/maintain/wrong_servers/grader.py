"""Many grades, each in a process that is forked from one which has imported all that it needs.

To start Python, pytest and the lab takes longer than most of the tests that a wrong server is
judged by. A Grader is such a process; it grades one submission after the other:

    with Grader({"LAB_PATIENCE": "1.5"}) as grader:
        graded = grader.grade(["--chapter", "03", "--dir", "path", "--results", "file"])

What a grade does is not changed by that: it is a process of its own, and so is its pytest.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from harness.server.objects import SHARED
from harness.submission import command_line
from harness.submission.chapters import ROOT

GRADE_SECONDS = 1800  # far more than a grade allows itself
LAST_SECONDS = 30  # for a grade that was told to stop


@dataclass(frozen=True)
class Graded:
    """How a grade ended, and what it printed. `results`: what it saved, None if it did not."""

    status: int
    stdout: str
    stderr: str
    results: dict | None


class Grader:
    """A process that grades; another one, if it was killed. One thread at a time may use it. To be
    closed."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        """`environment`: variables beside ours, but for LAB_*: a make around us chooses nothing."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("LAB_")}
        self._environment = {**own, SHARED: "1", **(environment or {})}
        self._process = self._start()

    def _start(self) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def grade(
        self, words: list[str], seconds: float = GRADE_SECONDS, results: Path | None = None
    ) -> Graded:
        """Grades as `python3 -m harness grade` does with these words.

        `results`: what --results names, if they are to be kept, and the log beside them. Raises
        subprocess.TimeoutExpired after `seconds`; then nothing of it is left.
        """
        if self._process.poll() is not None:  # a hostile server that is not confined may end it
            self.close()
            self._process = self._start()
        with tempfile.TemporaryDirectory(prefix="lab-grader-") as scratch:
            places = {name: str(Path(scratch, name)) for name in ("stdout", "stderr")}
            results = results or Path(scratch, "results")
            request = {"words": [*words, "--results", str(results)], **places}
            print(json.dumps({**request, "seconds": seconds}), file=self._process.stdin)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the process that grades has ended")
            status = json.loads(answer)
            if status is None:
                raise subprocess.TimeoutExpired(words, seconds)
            found = json.loads(results.read_text()) if results.exists() else None
            stdout, stderr = (
                Path(places[name]).read_text(errors="replace") for name in ("stdout", "stderr")
            )
            return Graded(status, stdout, stderr, found)

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# In the process that grades


class Forked:
    """What takes the place of subprocess.Popen for the pytest of a grade: a fork of this process.

    `command` is that of runner.py: an interpreter, -m, pytest, and its arguments.
    """

    def __init__(self, command, *, cwd, env, stdin, stdout, stderr, pass_fds, start_new_session):
        import pytest

        assert command[1:3] == ["-m", "pytest"]
        assert start_new_session and stdin == subprocess.DEVNULL
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid:
            return
        status = 70  # EX_SOFTWARE, unless it finishes
        try:
            os.setsid()
            _become(cwd, env, stdout.fileno(), stderr.fileno())
            status = int(pytest.main(command[3:]))
            sys.stdout.flush()
            atexit._run_exitfuncs()
        finally:
            os._exit(status)

    def wait(self, seconds: float) -> int:
        """The exit status of the child; below 0, the number of the signal that ended it. Raises
        TimeoutExpired."""
        end = time.monotonic() + seconds
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                raise subprocess.TimeoutExpired("pytest", seconds)
            else:
                time.sleep(0.002)
        return self._status


def _become(directory, environment, stdout: int, stderr: int) -> None:
    """What subprocess.Popen does to a child before it executes a program; without input."""
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    source = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((source, 0), (stdout, 1), (stderr, 2)):
        os.dup2(ours, theirs)
    os.close(source)


def _serve() -> None:
    """Grades each line of its input, until EOF."""
    # Imported before the first fork, so that no grade has to.
    import pytest_timeout  # noqa: F401
    from _pytest.config import get_config

    import harness.grade.grade
    import harness.grade.plugin  # noqa: F401
    from harness.grade import runner, scoring

    get_config()  # imports what pytest itself is made of
    runner.start = Forked
    scoring.load()
    gc.freeze()  # so that no grade looks through what has been imported, and copies its pages
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _grade(request)
        print(json.dumps(_wait(child, request["seconds"])), flush=True)


def _grade(request: dict) -> None:
    """Grades in the forked child, and ends it."""
    from harness.grade import grade
    from harness.server.linux import prctl

    status = 70
    try:
        os.setsid()
        prctl.die_with_parent()
        prctl.adopt_orphans()  # which is not inherited
        files = [open(request[name], "w") for name in ("stdout", "stderr")]
        _become(ROOT, dict(os.environ), *(file.fileno() for file in files))
        status = grade.main(request["words"])
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()
    finally:
        os._exit(status)


def _wait(child: int, seconds: float) -> int | None:
    """The exit status of a grade; None if it had to be stopped."""
    exited = os.pidfd_open(child)
    try:
        if select.select([exited], [], [], seconds)[0]:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.kill(child, signal.SIGTERM)  # it ends all that it has started
        if not select.select([exited], [], [], LAST_SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None
    finally:
        os.close(exited)


if __name__ == "__main__":
    command_line.program(_serve)


class Graders:
    """Several graders, each for one thread at a time. The user has to close them."""

    def __init__(self, count: int, environment: dict[str, str]) -> None:
        self._stack = ExitStack()
        self._free: SimpleQueue[Grader] = SimpleQueue()
        for _ in range(count):
            self._free.put(self._stack.enter_context(Grader(environment)))

    @contextmanager
    def one(self) -> Iterator[Grader]:
        grader = self._free.get()
        try:
            yield grader
        finally:
            self._free.put(grader)

    def __enter__(self) -> Graders:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
