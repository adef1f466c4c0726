"""Grading a right server many times: what is reported, and that it ends as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from harness.authors import steady
from harness.authors.selftest import submissions
from harness.authors.selftest.shell import check_refused, environment, lab
from harness.authors.selftest.test_grade import below
from harness.lab.chapters import ROOT
from harness.server.waiting.wait import wait_until

STEADY = [sys.executable, "-m", "harness", "steady"]
BUSY = 1  # process beside the grades, where it matters: other tests want the cores, too


@pytest.fixture
def start(tmp_path):
    """start(source, *options) -> the process, grading this submission with small claims."""

    def begin(source, *options, busy=0):
        submission = submissions.submission(tmp_path / "submission", source)
        claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_01)
        words = ["--dir", str(submission), "--claims", str(claims)]
        words += ["--kept", str(tmp_path / "kept"), "--busy", str(busy)]
        return subprocess.Popen(
            [*STEADY, "--chapter", "01", *words, *options],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def finish(process):
    printed, errors = process.communicate(timeout=120)
    assert "Traceback" not in printed + errors
    return printed, errors


def test_a_right_server_loses_nothing(start, tmp_path):
    process = start(submissions.right(), "--times", "2", "--only", "test_01_echoes")
    printed, errors = finish(process)
    assert (process.returncode, errors) == (0, "")
    lines = printed.splitlines()
    assert lines[0].startswith("   1 of 2   01 ") and lines[0].endswith(" s   40 of 40")
    assert "  grades       2" in lines and "  points lost  0, in 0 grades" in lines
    assert list((tmp_path / "kept").glob("*.txt")) == []


def test_lost_points_are_reported(start, tmp_path):
    process = start(submissions.right(submissions.WRONG_BYTE), "--times", "2")
    printed, _ = finish(process)
    assert process.returncode == 1
    said = "failed  test_01_echoes: byte 4 of the body of the reply is 61 instead of 6f"
    assert printed.count(said) == 2
    assert "  points lost  80, in 2 grades" in printed
    assert "    2 times  test_01_echoes" in printed
    texts = sorted((tmp_path / "kept").glob("*.txt"))
    assert [text.name for text in texts] == ["01-001.txt", "01-002.txt"]
    assert "first difference at byte 8" in texts[0].read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_summary(start, number):
    process = start(submissions.right(submissions.HANG), "--times", "1000", busy=BUSY)
    processes = BUSY + 4  # a grade, pytest, its workers
    assert wait_until(lambda: len(below(process.pid)) >= processes, 60, 0.02)
    started = {child.pid for child in below(process.pid)}
    process.send_signal(number)
    printed, errors = finish(process)
    assert (process.returncode, errors) == (2, "")
    assert "stopped" in printed and "  grades       0" in printed
    assert not started & {child.pid for child in below(os.getpid())}


def test_the_busy_processes_end_with_their_parent():
    code = "import os; from harness.authors.steady import busy_cores\n"
    code += "busy_cores(2).__enter__(); os._exit(0)"
    parent = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, timeout=60
    )
    assert parent.returncode == 0  # and its pipe is closed: nobody holds it any more


def test_every_core_is_busy():
    others = {child.pid for child in below(os.getpid())}  # of tests before this one
    with steady.busy_cores(2):
        mine = {child.pid for child in below(os.getpid())} - others
        assert wait_until(lambda: sum(map(busy, mine)) > 0.1, 60)
    assert not mine & {child.pid for child in below(os.getpid())}


def busy(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)


@pytest.mark.parametrize(
    "options, said",
    [
        (["--times", "0"], "N=0: a number from 1 to 1000"),
        (["--times", "x"], "N=x: a number from 1 to 1000"),
        (["--chapter", "99"], "there is no chapter '99'"),
        (["--dir", "/no/where"], "DIR=/no/where: this directory does not exist"),
        (["--only", "nothing"], "has no TODO and no test of that name"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path, options, said):
    words = ["--chapter", "01", "--kept", tmp_path, *options]
    check_refused(lab("steady", *words), said)
