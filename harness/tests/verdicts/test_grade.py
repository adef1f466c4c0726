"""Whole grades of small submissions.

What a grade prints and saves is asked of a process that grades many (mutants/grader.py); signals
and terminals are tried with `python3 -m harness grade` itself.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.authors.mutants.grader import Graded
from harness.tests import submissions
from harness.tests.drawn import NO_WORKERS, some
from harness.tests.shell import check_refused, lab
from harness.claims.stage.stage import Run, Stage, uncounted
from harness.failures.failure import Failure, TooBusy
from harness.grading import plugin, request, runner
from harness.lab.chapters import ROOT
from harness.lab.seed import SEEDS, of_files
from harness.lab.units import KIB
from harness.server.linux import procfs
from harness.server.waiting.wait import wait_until

GRADE = [sys.executable, "-m", "harness", "grade"]
WORKERS = ("--jobs", "2")  # as a student's grade has them


class Outcome(Graded):
    """What one grade left behind."""

    def verdicts(self) -> dict:
        return {t["extra_data"]["test"]: t.get("status", "none") for t in self.results["tests"]}


@pytest.fixture
def grade(tmp_path, patient):
    """grade(source, *options, claims=..., chapter="01", by=another Grader) -> Outcome

    Without workers, unless the options say --jobs.
    """

    def run(source, *options, chapter="01", claims=None, by=patient):
        results = tmp_path / "out" / "results.json"
        results.unlink(missing_ok=True)
        words = ["--chapter", chapter, "--claims", str(claims or both(tmp_path)), *NO_WORKERS]
        if source is not None:
            words += ["--dir", str(submissions.submission(tmp_path / "submission", source))]
        graded = by.grade([*words, *options], results=results)
        assert "Traceback" not in graded.stdout + graded.stderr
        return Outcome(**vars(graded))

    return run


def both(tmp_path: Path) -> Path:
    return submissions.claims(
        tmp_path / "claims", test_01_x=submissions.CLAIMS_01, test_02_x=submissions.CLAIMS_02
    )


def one(tmp_path: Path, text: str) -> Path:
    return submissions.claims(tmp_path / "claims", test_01_x=text)


# What a submission can be


def test_a_right_server_gets_full_marks(grade):
    outcome = grade(submissions.right(), *WORKERS)
    assert outcome.status == 0
    assert outcome.results["score"] == 100
    assert set(outcome.verdicts().values()) == {"passed"}


@pytest.mark.parametrize("options", [(), WORKERS], ids=["alone", "workers"])
def test_a_conftest_above_the_claims_is_not_read(grade, tmp_path, options):
    """A course may have a conftest.py in the directory that its students clone the lab into."""
    (tmp_path / "conftest.py").write_text("raise ImportError('of the course')\n")
    assert grade(submissions.right(), *options).results["score"] == 100


def test_a_wrong_byte_is_shown_with_its_todo(grade):
    outcome = grade(submissions.right(submissions.WRONG_BYTE))
    assert outcome.status == 1
    assert outcome.results["score"] == 60
    assert outcome.verdicts()["test_01_echoes"] == "failed"
    assert "(TODO 2, frame.c)" in outcome.stdout
    assert "^^ first difference at byte 8" in outcome.stdout
    seed = outcome.results["extra_data"]["seed"]
    assert f"make replay ID=01-01_echoes-{seed} " in outcome.stdout
    assert "next: TODO 2 (frame.c): make grade CH=01 DIR=" in outcome.stdout


def test_a_crash_is_told_by_its_signal(grade):
    outcome = grade(submissions.right(submissions.CRASH))
    assert outcome.status == 1
    assert "server     killed by SIGABRT" in outcome.stdout
    assert "| about to fall" in outcome.stdout
    told = outcome.results["tests"][1]["extra_data"]
    assert told["hint"] == "crashed"
    place = r"main\.c:\d+, serve\(\), called from main\(\) at main\.c:\d+"
    assert re.fullmatch(place, told["crashed"])
    assert f"  crashed    {told['crashed']}" in outcome.stdout
    assert outcome.results["tests"][0]["extra_data"]["crashed"] == ""


def test_an_end_before_listening(grade):
    outcome = grade(submissions.EXITS)
    assert (outcome.status, outcome.results["score"]) == (1, 0)
    assert "exited with status 3" in outcome.stdout
    assert "| no luck" in outcome.stdout
    assert outcome.stdout.count("what happened") == 1  # the others failed just like it


def test_a_server_that_never_listens(grade):
    outcome = grade(submissions.NEVER_LISTENS, "--only", "test_01_connects")
    assert (outcome.status, outcome.results["score"]) == (1, 0)
    assert "neither listened" in outcome.stdout


def test_what_does_not_compile_gets_zero(grade):
    outcome = grade(submissions.BROKEN)
    assert (outcome.status, outcome.results["score"]) == (1, 0)
    assert "main.c:1:25: error" in outcome.stdout
    assert "main.c:1:25: error" in outcome.results["tests"][0]["output"]


def test_a_warning_is_shown_and_costs_nothing(grade):
    outcome = grade(submissions.right(submissions.WARNING))
    assert (outcome.status, outcome.results["score"]) == (0, 100)
    assert "nobody_uses_this" in outcome.stdout
    assert "nobody_uses_this" in outcome.results["output"]


def test_a_foreign_server_is_not_asked_for_the_command_line(grade):
    program = f"{sys.executable} harness/tests/verdicts/servers/odd.py forgets_to_say {{port}}"
    outcome = grade(None, "--server", program)
    assert (outcome.status, outcome.results["score"]) == (0, 100)
    assert "test_01_ends" not in outcome.verdicts()


# What is run, and what it is worth


def test_a_later_chapter_inherits(grade):
    outcome = grade(submissions.right(), chapter="02")
    assert outcome.status == 0
    assert "inherited from 01: 3 claims passed" in outcome.stdout
    assert [test["max_score"] for test in outcome.results["tests"]] == [8, 8, 4, 48, 32]


def test_one_todo(grade):
    outcome = grade(submissions.right(), "--only", "1.2")
    assert list(outcome.verdicts()) == ["test_01_echoes", "test_01_ends"]
    assert "60 of 60 points selected" in outcome.stdout
    assert outcome.status == 0


def test_verbose_says_what_took_long(grade):
    outcome = grade(submissions.right(), "--verbose")
    assert "slowest" in outcome.stdout
    assert all(test["extra_data"]["seconds"] > 0 for test in outcome.results["tests"])


def test_the_seed_decides_what_is_random(grade):
    def steps(*options):
        claims = grade(submissions.right("head[0] ^= 255;"), *options, "--verbose", chapter="02")
        return claims.stdout[claims.stdout.index("02.1") :].split("server  ")[0]

    assert steps() == steps()
    assert steps() != steps("--seed", "2")


def test_the_seed_follows_from_the_submission(grade):
    def seed(change, *options):
        return grade(submissions.right(change), *options).results["extra_data"]["seed"]

    own = seed("")
    assert own in SEEDS
    assert seed("") == own
    assert seed("/* nothing */") != own
    assert seed("/* nothing */", "--seed", str(own)) == own


def test_the_seed_of_another_server_is_drawn(grade):
    program = f"{sys.executable} harness/tests/verdicts/servers/odd.py forgets_to_say {{port}}"
    drawn = [grade(None, "--server", program).results["extra_data"]["seed"] for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert set(drawn) <= set(SEEDS)


def test_the_seed_follows_from_what_is_included_too(tmp_path):
    source = submissions.submission(tmp_path, submissions.right())
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "answers.inc").write_text("1")
    before = of_files(source)
    (tmp_path / "more" / "answers.inc").write_text("2")
    assert of_files(source) != before
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("3")
    assert of_files(source) == of_files(source)


# Faults that are not the student's


def test_faults_of_the_harness_are_not_judged(grade, tmp_path):
    claims = one(tmp_path, submissions.CLAIMS_FAULTY)
    outcome = grade(submissions.right(), *WORKERS, claims=claims)
    assert outcome.status == 2
    assert list(outcome.verdicts().values()) == ["none", "none", "none", "passed"]
    assert outcome.results["score"] == 40
    assert outcome.results["extra_data"]["verdict"] == "not judged"
    assert "KeyError: 'oops'" in outcome.stdout
    assert "the grader's own process was killed" in outcome.stdout
    log = tmp_path / "out" / "results.log"
    assert str(log) in outcome.stdout
    assert "KeyError" in log.read_text()


def test_what_the_machine_was_too_busy_for_is_tried_once_more(grade, tmp_path):
    claims = one(tmp_path, submissions.CLAIMS_BUSY)
    outcome = grade(submissions.right(), claims=claims)
    assert outcome.verdicts() == {
        "test_01_quiet_the_second_time": "passed",
        "test_01_never_quiet": "none",
    }
    assert (outcome.status, outcome.results["score"]) == (2, 60)
    assert "this machine is too busy: each time" in outcome.stdout
    assert next(claims.glob("*.never")).read_text() == ".."


def test_claims_that_cannot_be_loaded(grade, tmp_path):
    outcome = grade(submissions.right(), claims=one(tmp_path, "1 / 0\n"))
    assert outcome.status == 2
    assert "not judged, the lab itself failed" in outcome.stderr


def test_the_whole_grade_has_a_limit(grade, tmp_path):
    claims = one(tmp_path, submissions.CLAIMS_SLOW)
    outcome = grade(submissions.right(), *WORKERS, "--limit", "12", claims=claims)
    assert outcome.status == 2
    assert outcome.verdicts() == {"test_01_sleeps": "none", "test_01_connects": "passed"}
    assert re.search(r"stopped after 1\d s", outcome.stdout)
    assert still_running(tmp_path) == []


@pytest.mark.parametrize(
    "program, cpu_seconds, held_up",
    [("while True: pass", 1e6, True), ("while True: pass", 0, False), ("input()", 1e6, False)],
    ids=["computes", "has had its time", "sleeps"],
)
def test_a_grade_that_is_held_up_goes_on(program, cpu_seconds, held_up):
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        try:
            assert wait_until(lambda: procfs.cpu_seconds(process.pid) > 0, 60)
            assert wait_until(lambda: runner.is_held_up(cpu_seconds) is held_up, 60)
        finally:
            process.kill()


def test_a_slow_test_is_a_failure(tmp_path, monkeypatch):
    from harness.grading.scoring import load
    from harness.server.build import cached_server

    monkeypatch.setattr(runner, "TEST_SECONDS", 1)
    binary = cached_server(submissions.submission(tmp_path / "submission", submissions.right()))
    found = {}
    problem = runner.run_claims(
        load(one(tmp_path, submissions.CLAIMS_SLOW)),
        Run([str(binary.binary), "-p", "0"]),
        jobs=0,
        log=tmp_path / "log",
        found=lambda name, _, why: found.update({name: why and (why.failed, why.hint)}),
    )
    assert problem == ""
    assert found == {"test_01_sleeps": (True, "too-long"), "test_01_connects": None}


@pytest.mark.parametrize("processors, due", [(1, 3), (2, 5), (64, 6)])
def test_a_grade_has_more_workers_than_processors(monkeypatch, processors, due):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(processors)))
    assert request.workers() == due


@pytest.mark.parametrize("seconds, kind", [(0.0, Failure), (100.0, TooBusy)])
def test_a_test_that_other_programs_made_slow_is_not_judged(monkeypatch, seconds, kind):
    """The grader itself stood in line for so long; what its servers did does not count."""
    stage = Stage(Run([], sources=["main.c"]))
    later = {thread: s + seconds for thread, s in procfs.seconds_in_line(os.getpid()).items()}
    monkeypatch.setattr(procfs, "seconds_in_line", lambda pid: later)
    assert type(plugin._in_time(pytest.fail.Exception("Timeout >120.0s"), stage)) is kind


@pytest.mark.parametrize("held_up, kind", [(False, Failure), (True, TooBusy)])
def test_a_test_whose_servers_stand_in_line_is_not_judged(monkeypatch, held_up, kind):
    monkeypatch.setattr(runner, "is_held_up", lambda cpu_seconds: held_up)
    stage = Stage(Run([], sources=["main.c"]))
    assert type(plugin._in_time(pytest.fail.Exception("Timeout >120.0s"), stage)) is kind


@pytest.mark.parametrize("held_up, looks", [(False, 1), (True, runner.BUSY_TIMES - 1)])
def test_a_test_that_is_held_up_may_take_longer(monkeypatch, held_up, looks):
    asked, ended = [], []
    monkeypatch.setattr(runner, "is_held_up", lambda seconds: asked.append(seconds) or held_up)
    before = signal.signal(signal.SIGALRM, lambda number, frame: ended.append(number))
    try:
        plugin._put_off_the_alarm(Stage(Run([], sources=["main.c"])), 0.001)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        assert wait_until(lambda: ended, 60)
        assert len(asked) == looks
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_compiler_does_not_take_the_time_of_a_test():
    before = signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        with uncounted():
            assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)


# Ending


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", some(SIGNALS, 1, "signals that end a grade", str))
def test_a_signal_ends_everything(tmp_path, number):
    submission = submissions.submission(tmp_path / "submission", submissions.right())
    claims = one(tmp_path, submissions.CLAIMS_SLOW)
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
    assert wait_until(lambda: len(below(process.pid)) >= processes, 60, 0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.strip() == "grade: stopped; nothing is left running"
    assert still_running(tmp_path) == []


def below(pid: int) -> list:
    return procfs.tree([pid], procfs.table())[1:]


def still_running(tmp_path: Path) -> list:
    """Command lines that name this test's directory, or come from it."""
    found = []
    for pid in procfs.table():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(tmp_path) in line:
            found.append(line)
    return found


# Wrong usage: one line each, that says what to do


@pytest.mark.parametrize(
    "options, said",
    [
        (["--chapter", "99"], "there is no chapter '99'; the chapters are 01, 02"),
        (["--chapter", "01", "--dir", "/no/where"], "DIR=/no/where: this directory does not exist"),
        (["--chapter", "01", "--dir", "Makefile"], "is not a directory"),
        (["--chapter", "01", "--dir", "harness"], "there are no .c files in it"),
        (["--chapter", "01", "--from", "nowhere"], "it can be chapters or solutions"),
        (["--chapter", "01", "--server", "cat"], "SERVER='./server -p {port}'"),
        (["--chapter", "01", "--server", "nosuch {port}"], "no such command as 'nosuch'"),
        (["--chapter", "01", "--server", "cat '", "--port", "1"], "no closing quotation"),
        (["--chapter", "01", "--server", "cat", "--port", "x"], "a port is a number"),
        (["--chapter", "01", "--server", "cat", "--port", "0"], "a port is a number"),
        (["--chapter", "01", "--port", "80"], "PORT goes with SERVER"),
        (["--chapter", "01", "--dir", "x", "--server", "y"], "DIR and SERVER exclude each other"),
        (["--chapter", "01", "--seed", "x"], "SEED=x"),
        (["--dir", "harness"], "DIR needs a chapter as well"),
        (["--only", "01.1"], "T needs a chapter as well"),
    ],
)
def test_wrong_usage(options, said):
    check_refused(lab("grade", *options), said)


def test_a_selection_that_matches_nothing_lists_the_todos(grade):
    outcome = grade(submissions.right(), "--only", "01.7", chapter="02")
    assert outcome.status == 2
    assert "the TODOs are 01.1, 01.2, 02.1, 02.2" in outcome.stderr


# The terminal


def test_progress_and_colour_only_on_a_terminal(tmp_path, grade):
    assert "\r" not in grade(submissions.right()).stdout
    text = on_terminal(tmp_path, {})
    assert "\r\033[K  3 of 3 tests" in text and "\033[32mpassed" in text
    assert "\r\033[K  0 of 3 tests; 0 s in test_01_" in text
    dumb = on_terminal(tmp_path, {"TERM": "dumb"})
    assert "\033" not in dumb and "passed" in dumb
    assert "\033[32m" not in on_terminal(tmp_path, {"NO_COLOR": "1"})


def on_terminal(tmp_path: Path, extra: dict) -> str:
    submission = submissions.submission(tmp_path / "submission", submissions.right())
    ours, theirs = pty.openpty()
    command = [*GRADE, "--chapter", "01", "--dir", submission, "--claims", both(tmp_path)]
    process = subprocess.Popen(
        [*command, "--results", tmp_path / "r.json"],
        cwd=ROOT,
        stdout=theirs,
        env={**os.environ, "NO_COLOR": "", "TERM": "xterm", **extra},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 64 * KIB)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    process.wait()
    return text.decode()
