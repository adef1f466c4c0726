"""The processes of a grade: which claim each runs, and what becomes of one that dies."""

from __future__ import annotations

import os
from pathlib import Path

from harness.tests import submissions
from harness.claims.stage.stage import Run
from harness.grading import guard, runner
from harness.grading.scoring import load

CLAIMS = '''
import os
import signal
import time
from pathlib import Path

from harness.claims.marker import claim


def note(name):
    with Path(__file__).with_name("ran").open("a") as file:
        file.write(f"{name} {os.getpid()} {os.getppid()}\\n")


@claim("01.1", points=25)
def test_01_first():
    """It takes as long as the others."""
    note("first")
    ran = Path(__file__).with_name("ran")
    while "fourth" not in ran.read_text():
        time.sleep(0.01)


@claim("01.1", points=25)
def test_01_second():
    """It is over at once."""
    note("second")


@claim("01.2", points=25)
def test_01_third():
    """Its process dies."""
    note("third")
    os.kill(os.getpid(), signal.SIGKILL)


@claim("01.3", points=25)
def test_01_fourth():
    """It is over at once."""
    note("fourth")
'''
NAMES = ["test_01_first", "test_01_second", "test_01_third", "test_01_fourth"]


def test_the_next_one_goes_to_the_process_that_is_free(tmp_path: Path):
    """A new process takes the place of one that has died."""
    file = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)
    begun: list[str] = []
    found: dict[str, str | None] = {}
    problem = runner.run_claims(
        load(file),
        Run(["none"]),
        jobs=2,
        log=tmp_path / "log",
        found=lambda name, _, why: found.update({name: why and why.message}),
        begun=begun.append,
        seconds=60,
    )
    assert problem == ""
    assert begun == NAMES
    assert found == {**dict.fromkeys(NAMES), "test_01_third": guard.KILLED}
    ran = [line.split() for line in (file / "ran").read_text().splitlines()]
    pids = {name: pid for name, pid, _ in ran}
    assert pids["second"] == pids["third"]
    assert len(set(pids.values())) == 3
    parents = {parent for _, _, parent in ran}
    assert len(parents) == 1 and str(os.getpid()) not in parents
