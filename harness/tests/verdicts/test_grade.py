"""Whole grades of small submissions by small claims: what they print, the points, the status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.claims.context.stage import Run, Stage
from harness.feedback.failure import Failure, TooBusy
from harness.grade import judge, plugin, runner
from harness.grade.grade import main
from harness.submission.chapters import ROOT
from harness.tests import golden, submissions
from harness.tests.drawn import NO_WORKERS, some
from harness.waiting import procfs
from harness.waiting.wait import wait_until

GRADE = [sys.executable, "-m", "harness", "grade"]
WORKERS = ("--jobs", "2")  # as a student's grade has them

RIGHT = submissions.right()
OTHERS = f"{sys.executable} harness/tests/verdicts/servers/odd.py forgets_to_say {{port}}"
# What is graded: the source, or None for a server of somebody else; more options; the claims.
GRADED = {
    "right": (RIGHT, WORKERS, submissions.CLAIMS_01),
    "wrong-byte": (submissions.right(submissions.WRONG_BYTE), (), submissions.CLAIMS_01),
    "crash": (submissions.right(submissions.CRASH), (), submissions.CLAIMS_01),
    "ends-at-once": (submissions.EXITS, (), submissions.CLAIMS_01),
    "never-listens": (
        *(submissions.NEVER_LISTENS, ("--only", "test_01_connects")),
        submissions.CLAIMS_01,
    ),
    "does-not-compile": (submissions.BROKEN, (), submissions.CLAIMS_01),
    "warning": (submissions.right(submissions.WARNING), (), submissions.CLAIMS_01),
    "of-others": (None, ("--server", OTHERS), submissions.CLAIMS_01),
    "one-todo": (RIGHT, ("--only", "1.2"), submissions.CLAIMS_01),
    "later-chapter": (RIGHT, (), submissions.CLAIMS_01),
    "no-such-todo": (RIGHT, ("--only", "01.7"), submissions.CLAIMS_01),
    "faults-of-the-lab": (RIGHT, WORKERS, submissions.CLAIMS_FAULTY),
    "claims-cannot-be-loaded": (RIGHT, (), "1 / 0\n"),
    "takes-too-long": (RIGHT, (*WORKERS, "--limit", "6"), submissions.CLAIMS_SLOW),
}


@pytest.fixture
def grade(tmp_path, patient):
    """grade(source, *options, claims="of 01", chapter="01", by=another Grader) -> Graded

    Without workers, unless the options say --jobs.
    """

    def run(source, *options, chapter="01", claims=submissions.CLAIMS_01, by=patient):
        results = tmp_path / "out" / "results.json"
        results.unlink(missing_ok=True)
        files = {"test_01_x": claims, "test_02_x": submissions.CLAIMS_02}
        where = submissions.claims(tmp_path / "claims", **files)
        words = ["--chapter", chapter, "--claims", str(where), *NO_WORKERS]
        if source is not None:
            words += ["--dir", str(submissions.submission(tmp_path / "submission", source))]
        return by.grade([*words, *options], results=results)

    return run


def verdicts(graded) -> dict[str, str]:
    return {t["extra_data"]["test"]: t.get("status", "none") for t in graded.results["tests"]}


@pytest.mark.parametrize("what", GRADED)
def test_grade(what, grade, tmp_path):
    source, options, claims = GRADED[what]
    chapter = "02" if what == "later-chapter" else "01"
    graded = grade(source, *options, chapter=chapter, claims=claims)
    assert "Traceback" not in graded.stdout + graded.stderr
    results = graded.results or {"tests": [], "score": None}
    rows = [
        f"{test['extra_data']['test']} {test.get('status')} {test['score']}/{test['max_score']} "
        f"{test['extra_data']['hint']}".rstrip()
        for test in results["tests"]
        if "test" in test.get("extra_data", {})
    ]
    text = "\n".join([graded.stdout, graded.stderr, *rows, f"score {results['score']}"])
    golden.check(f"grade/{what}", f"{text}\nstatus {graded.status}", tmp_path)
    assert still_running(tmp_path) == []


def test_what_the_machine_was_too_busy_for_is_tried_once_more(grade, tmp_path):
    graded = grade(RIGHT, claims=submissions.CLAIMS_BUSY)
    assert verdicts(graded) == {
        "test_01_quiet_the_second_time": "passed",
        "test_01_never_quiet": "none",
    }
    assert graded.status == 2 and 0 < graded.results["score"] < 100
    assert "this machine is too busy: each time" in graded.stdout
    assert next((tmp_path / "claims").glob("*.never")).read_text() == ".."


def test_a_grade_of_one_todo_does_not_take_the_place_of_a_whole_one(tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "RESULTS", tmp_path / "kept")
    source = submissions.submission(tmp_path / "submission", RIGHT)
    claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_01)
    words = ["--chapter", "01", "--dir", str(source), "--claims", str(claims), *NO_WORKERS]
    for more in ([], ["--only", "1.2"]):
        assert main([*words, *more]) == 0
    kept = (tmp_path / "kept").glob("*.json")
    scores = {path.name: json.loads(path.read_text()).get("score") for path in kept}
    assert scores.pop("01.json") == 100 and 0 < scores.pop("01-selected.json") < 100 and not scores


def test_the_seed_follows_from_the_submission(grade):
    """So that a grade is the same every time, and cannot be known before."""

    def seed(change, *options):
        return grade(submissions.right(change), *options).results["extra_data"]["seed"]

    own = seed("")
    assert seed("") == own != seed("/* nothing */")
    assert seed("/* nothing */", "--seed", str(own)) == own


@pytest.mark.parametrize("busy_seconds, kind", [(0.0, Failure), (100.0, TooBusy)])
def test_a_test_that_other_programs_made_slow_is_not_judged(monkeypatch, busy_seconds, kind):
    """The grader itself stood in line for so long; what its servers did does not count."""
    stage = Stage(Run([], sources=["main.c"]))
    waited = procfs.seconds_in_line(os.getpid())
    later = {thread: seconds + busy_seconds for thread, seconds in waited.items()}
    monkeypatch.setattr(procfs, "seconds_in_line", lambda pid: later)
    monkeypatch.setattr(runner, "is_held_up", lambda cpu_seconds: False)
    assert type(plugin._in_time(pytest.fail.Exception("Timeout >120.0s"), stage)) is kind


def test_a_test_that_takes_too_long_fails(tmp_path, monkeypatch):
    from harness.grade.scoring import load
    from harness.server.build import cached_server

    monkeypatch.setattr(runner, "TEST_SECONDS", 1)
    binary = cached_server(submissions.submission(tmp_path / "submission", RIGHT))
    found = {}
    problem = runner.run_claims(
        load(submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_SLOW)),
        Run([str(binary.binary), "-p", "0"]),
        jobs=0,
        log=tmp_path / "log",
        found=lambda name, _, why: found.update({name: why and (why.failed, why.hint)}),
    )
    assert problem == ""
    assert found == {"test_01_sleeps": (True, "too-long"), "test_01_connects": None}


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", some(SIGNALS, 1, "signals that end a grade", str))
def test_a_signal_ends_everything(tmp_path, number):
    submission = submissions.submission(tmp_path / "submission", RIGHT)
    claims = submissions.claims(tmp_path / "claims", test_01_x=submissions.CLAIMS_SLOW)
    command = [*GRADE, "--chapter", "01", "--dir", str(submission), "--claims", str(claims)]
    process = subprocess.Popen(
        [*command, "--results", str(tmp_path / "r.json")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup(1) has it ignored
    )
    processes = 4  # pytest, two workers and a server
    below = wait_until(
        lambda: len(procfs.tree([process.pid], procfs.table())) > processes, 60, 0.02
    )
    assert below
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.strip() == "grade: stopped; nothing is left running"
    assert still_running(tmp_path) == []


def still_running(tmp_path: Path) -> list[str]:
    """Command lines that name this test's directory, or come from it."""
    lines = [procfs.read(f"/proc/{pid}/cmdline").decode(errors="replace") for pid in procfs.table()]
    return [line for line in lines if str(tmp_path) in line]
