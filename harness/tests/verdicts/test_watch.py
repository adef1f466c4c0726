"""make watch: what it says after a save, and that it notices one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from harness.grading import report
from harness.grading.diagnosis import Diagnosis
from harness.grading.scoring import FAILED, PASSED, Grade, Outcome, holding, load, select
from harness.lab import skeleton
from harness.lab.chapters import ROOT, find
from harness.student import watch

CLAIMS = holding(load(), find("02"))[-3:]
SECONDS = 120  # for a grade on a busy machine


def graded(*verdicts, **how):
    found = {FAILED: Diagnosis(True, "no")}
    outcomes = [
        Outcome(claim, 10, verdict, found.get(verdict)) for claim, verdict in zip(CLAIMS, verdicts)
    ]
    return Grade(find("02"), "chapters/02-nonblocking", outcomes=outcomes, **how)


def said(found, before=None):
    return "\n".join(watch.screen(found, before, report.Look(80)))


def test_what_the_last_save_changed():
    text = said(graded(PASSED, FAILED, FAILED), graded(FAILED, PASSED, FAILED))
    assert f"fixed   {CLAIMS[0].number} {CLAIMS[0].text[:30]}" in text
    assert f"broken  {CLAIMS[1].number} {CLAIMS[1].text[:30]}" in text
    assert "FAILED  " + f"{CLAIMS[1].number}" in text  # what was just broken comes first
    assert "1 more fail:" in text
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_has_changed():
    text = said(graded(PASSED, FAILED, PASSED), graded(PASSED, FAILED, PASSED))
    assert "fixed nothing and broke nothing" in text
    assert "more fail" not in text


def test_all_is_well():
    text = said(graded(PASSED, PASSED, PASSED), graded(PASSED, PASSED, PASSED))
    assert "30 of 30" in text and "next:" in text


def test_a_todo_is_done_and_the_next_one_has_to_be_watched():
    """The step is still right after the student has taken it: no grade sees the next TODO."""
    claims = select(load(), "02.1")
    outcomes = [Outcome(claim, 10, PASSED) for claim in claims]
    found = Grade(find("02"), "chapters/02-nonblocking", outcomes=outcomes)
    found = replace(found, source=find("02").chapter_dir, selected="02.1", again="make grade CH=02")
    assert said(found).splitlines()[-2:] == [
        "T=02.1 passes, and nothing else is watched",
        "next: TODO 2 (conn.c): Ctrl-C, then make watch CH=02 T=02.2",
    ]


def test_it_does_not_compile():
    text = said(graded(built=False, problem="conn.c:3: error: no\nmore"), graded(PASSED))
    assert "the last save does not compile" in text
    assert "| conn.c:3: error: no" in text


def test_a_save_is_noticed(tmp_path, monkeypatch):
    """A save that leaves the size as it is counts, too; no other file counts."""
    file = tmp_path / "a.c"
    file.write_text("1")
    os.utime(file, (1, 1))
    before = watch.stamp(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert watch.stamp(tmp_path) == before
    monkeypatch.setattr(watch, "nobody_looks", lambda: False)  # stdout is pytest's
    thread = threading.Thread(target=watch.wait_for_a_save, args=(tmp_path, before), daemon=True)
    thread.start()
    file.write_text("2")
    thread.join(10)
    assert not thread.is_alive()
    assert watch.stamp(tmp_path) != before


class Watched:
    """make watch on a directory, and what it has printed."""

    def __init__(self, directory):
        words = ["--chapter", "02", "--dir", str(directory), "--only", "02.1"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness", "watch", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "LAB_PATIENCE": "1"},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def next_screen(self):
        """All that is printed until it waits for a save."""
        lines = []
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("watching"):
                break
        timer.cancel()
        return "".join(lines)


def test_a_chapter_is_watched(tmp_path):
    """The files go from the skeleton to a mistake to the solution; then Ctrl-C ends it."""
    source = tmp_path / "mine"
    skeleton.write(find("02"), source, 0)
    with Watched(source) as watched:
        assert "FAILED  02.1" in watched.next_screen()
        (source / "buffer.c").write_text("int main(void) { return }\n")
        assert "the last save does not compile" in watched.next_screen()
        shutil.copytree(find("02").solution_dir, source, dirs_exist_ok=True)
        text = watched.next_screen()
        assert "fixed   02.1" in text and "FAILED" not in text
        watched.process.send_signal(signal.SIGINT)
        rest, _ = watched.process.communicate(timeout=SECONDS)
        assert "nothing is left running" in rest
        assert watched.process.returncode == 0


def test_it_ends_when_nobody_looks(tmp_path):
    shutil.copytree(find("02").solution_dir, tmp_path, dirs_exist_ok=True)
    with Watched(tmp_path) as watched:
        assert "watching" in watched.next_screen()
        watched.process.stdout.close()
        assert watched.process.wait(SECONDS) == 0


def test_a_save_while_it_grades(tmp_path, monkeypatch):
    """The grade under way is given up, and another begins: what is shown is of the last save."""
    source = tmp_path / "mine"
    shutil.copytree(find("02").solution_dir, source)
    options = watch.parse(["--chapter", "02", "--dir", str(source), "--only", "02.1"])
    shown, rounds = [], []
    real = watch.judge.grade_target

    def grade_target(target, request):
        rounds.append(time.monotonic())
        if len(rounds) == 1:
            (source / "more.h").write_text("/* saved meanwhile */\n")
        return real(target, request)

    monkeypatch.setattr(watch.judge, "grade_target", grade_target)
    monkeypatch.setattr(watch, "show", shown.append)

    def no_more(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "wait_for_a_save", no_more)
    with pytest.raises(KeyboardInterrupt):
        watch.run(options)
    assert (len(rounds), len(shown)) == (2, 1)


@pytest.mark.parametrize(
    "words, says",
    [
        ([], "which chapter?"),
        (["--chapter", "02", "--server", "cat {port}"], "SERVER= has no source files"),
        (["--chapter", "02", "--dir", "/nonsense"], "this directory does not exist"),
    ],
)
def test_wrong_usage(words, says, capsys):
    assert watch.main(words) == 2
    assert says in capsys.readouterr().err
