"""A class, with a stand-in for the grader: what is graded, resumed, published and left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.course.classes import records
from harness.submission.chapters import ROOT
from harness.tests import golden, submissions
from harness.tests.shell import SECONDS, environment, lab, script
from harness.tests.tree.documents import Page
from harness.waiting.wait import wait_until

FAKE = Path(__file__).with_name("class_grader.py")
WHEN = 1_000_000_000  # when everything was handed in
HOSTILE = '<script>&"Ümit\x1b[2J'
WORDS = {HOSTILE: "50", "ada": "100", "once": "once", "王小明": "unjudged"}


def hand_in(place: Path, word: str, when: int = WHEN) -> Path:
    """A directory with a main.c that has this word, and the name of who hands it in."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in {"main.c": word, "name": f"{place.name!r}\n"}.items():
        (place / name).write_text(text)
        os.utime(place / name, (when, when))
    return place


def left(place: Path) -> list[bytes]:
    """The commands of processes that name this place."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes())
    return [command for command in found if os.fsencode(place) in command]


class ClassRun:
    """`make class` with the stand-in, below a directory for tests."""

    def __init__(self, top: Path) -> None:
        self.sub, self.results, self.calls = top / "sub", top / "results", top / "calls"
        self.sub.mkdir()

    def start(self, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "harness", "class", "--chapter", "01", "--grader", FAKE]
        command += ["--submissions", self.sub, "--results", self.results, "--isolate", "none"]
        pipe, env = subprocess.PIPE, environment(EVENT_LOOP_LAB_CALLS=str(self.calls), TZ="UTC")
        how = {"cwd": ROOT, "env": env, "stdout": pipe, "stderr": pipe, "text": True}
        return subprocess.Popen([*command, *options], **how)

    def run(self, *options: str, status: int = 2) -> str:
        """What it prints, without seconds."""
        self.calls.unlink(missing_ok=True)
        process = self.start(*options)
        printed, errors = process.communicate(timeout=SECONDS)
        assert (process.returncode, errors) == (status, "")
        return re.sub(r" +\d+ s( +\d+ left, .*)?$", "", printed, flags=re.M)

    def called(self) -> str:
        """The submissions whose grade the last run began."""
        return ", ".join(self.calls.read_text().split("\n")[:-1])

    def scores(self, top: str = "01/sub") -> str:
        """scores.csv, without how long each grade took."""
        text = (self.results / top / "scores.csv").read_text()
        return re.sub(r"^(.*judged|.*failed|.*passed),(\d*),[\d.]+,", r"\1,\2,#,", text, flags=re.M)


@pytest.fixture
def a_class(tmp_path):
    return ClassRun(tmp_path)


def test_a_class_is_graded_and_then_what_has_changed(a_class, tmp_path):
    for name, word in WORDS.items():
        hand_in(a_class.sub / name, word)
    hand_in(a_class.sub / "twice" / "1", "1")
    hand_in(a_class.sub / "twice" / "2", "2", WHEN + 60)
    shutil.make_archive(a_class.sub / "by zip", "zip", hand_in(tmp_path / "zip", "85"))
    (a_class.sub / "ada.pdf").touch()
    (a_class.sub / "empty").mkdir()
    (a_class.sub / "work_101_998877_x.rar").write_bytes(b"Rar!\x1a\7\1\0")
    (tmp_path / "roster.csv").write_text("file,student\nempty,Ada B\n")
    for path in (*a_class.sub.glob("*.zip"), *a_class.sub.glob("*.rar")):
        os.utime(path, (WHEN, WHEN))
    how = ["--jobs", "1", "--roster", str(tmp_path / "roster.csv")]
    seen = [a_class.run(*how), a_class.called(), a_class.scores()]
    check_page(a_class.results / "01/sub")
    place = a_class.results / "01/sub" / HOSTILE
    seen += [(place / name).read_text() for name in ("output.txt", "trace.txt")]

    hand_in(a_class.sub / "twice" / "1", "3", WHEN + 120)  # an older hand-in is changed
    (a_class.sub / "ada" / "main.c").rename(a_class.sub / "ada" / "other.c")
    hand_in(a_class.sub / "ada", "90")
    (a_class.results / "01/sub" / "by zip" / "record.json").write_text("{")
    seen += [a_class.run(*how), a_class.called(), a_class.scores()]
    golden.check("class", "\n----\n".join(seen), tmp_path)


def check_page(top: Path) -> None:
    """Its text is the recorded one, its links are alive, and names of students are no HTML."""
    text = (top / "class.html").read_text()
    found = Page(text)
    assert found.tags.count("script") == 1 and not found.loaded and "://" not in text
    assert {link[1:] for link in found.links if link[0] == "#"} <= found.ids
    for link in found.links:
        assert link[0] == "#" or (top / unquote(link)).exists(), link
    body = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.S)
    body = re.sub(r"Made on [^.]*|(; |)graded in [\d.]+ s", "", body)  # one of 0.0 s is left out
    golden.check("class-page", body)


def test_a_grade_that_hangs_is_stopped_and_leaves_no_process(a_class):
    hand_in(a_class.sub / "hangs", "hang")
    hand_in(a_class.sub / "kills", "kills-unit")  # the process that graded it
    a_class.run("--limit", "1")
    assert not left(a_class.sub.parent)
    assert a_class.scores().count(",,not judged,") == 2
    assert "was stopped after 1 s" in a_class.scores()


def test_a_run_that_is_stopped_loses_nothing_and_leaves_no_process(a_class, tmp_path):
    for name, word in {"1": "100", "2": f"wait {tmp_path / 'go'}", "3": "100"}.items():
        hand_in(a_class.sub / name, word)
    process, calls = a_class.start("--jobs", "1"), a_class.calls
    assert wait_until(lambda: calls.exists() and "2" in calls.read_text(), 60, 0.02)
    with a_class.start() as second:
        assert "another run grades this class already" in second.communicate()[1]
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=SECONDS)
    assert not left(tmp_path) and not errors
    assert process.returncode == 2 and "the same command goes on from here" in printed
    assert a_class.scores().count(",100,") == 1
    (tmp_path / "go").touch()
    assert "3 submissions, 1 of them graded before" in a_class.run("--jobs", "1", status=0)
    assert a_class.called() == "'2', '3'"


def test_other_programs_run_the_list(a_class, tmp_path):
    """As docs/instructors.md says, with stand-ins for GNU parallel and Slurm."""
    for name in ("it's", "two  blanks", "王小明"):
        hand_in(a_class.sub / name, "100")
    script(tmp_path / "bin/parallel", 'while read -r line; do sh -c "$line" || exit; done')
    each = 'SLURM_ARRAY_TASK_ID=$number sh -c "${last#--wrap=}" || exit'
    script(tmp_path / "bin/sbatch", f"for last; do :; done; for number in 1 2 3; do {each}; done")
    env = environment(PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    env |= {"EVENT_LOOP_LAB_CALLS": str(a_class.calls)}
    page = (ROOT / "docs" / "instructors.md").read_text()
    recipes = re.findall(r"^    (?:parallel|sbatch) (?:.*\\\n)*.*$", page, re.M)
    assert len(recipes) == 2
    for recipe in recipes:
        shutil.rmtree(a_class.results, ignore_errors=True)
        listed, told = a_class.start("--list").communicate(timeout=SECONDS)
        assert "3 commands" in told and not (a_class.results / "01/sub/scores.csv").exists()
        (tmp_path / "grades.txt").write_text(listed)
        for _ in range(2):  # what stands is not graded again
            subprocess.run(recipe, shell=True, cwd=tmp_path, env=env, check=True)
        assert a_class.called() == "\"it's\", 'two  blanks', '王小明'"
        assert "3 submissions, 3 of them graded before" in a_class.run(status=0)
        assert not a_class.calls.exists() and a_class.scores().count(",100,,passed,") == 3


def test_a_real_grade(tmp_path):
    """The texts do not name the place of the files, and the timeline of the first failure is
    there."""
    wrong = submissions.right(submissions.WRONG_BYTE)
    submissions.submission(tmp_path / "sub" / "ada", wrong)
    words = ["--submissions", tmp_path / "sub", "--results", tmp_path, "--one", "ada"]
    assert lab("class", "--chapter", "01", *words).stderr == ""
    place = tmp_path / "01/sub/ada"
    record, result = records.load(place), json.loads((place / "result.json").read_text())
    assert record.verdict == "failed" and 0 < record.score == result["score"] < 100
    assert "</html>" in (place / "trace.html").read_text()
    assert str(tmp_path) not in (place / "output.txt").read_text() + json.dumps(result)
