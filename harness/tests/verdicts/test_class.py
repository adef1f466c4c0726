"""A class: what was handed in, units that end in every way, resume, names, the page."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.tests.tree import test_packages
from harness.tests.tree.documents import Page
from harness.tests.shell import SECONDS, check_refused, environment, lab
from harness.tests.verdicts.test_grade import below
from harness.course.classes import command as grade_class
from harness.course.classes import labels, page, progress, records, submissions, unit, unpack
from harness.course.classes.records import Graded, Record
from harness.course.handover import handout
from harness.course.isolation.choice import choose
from harness.course.isolation.isolation import Isolation
from harness.lab import chapters, parts
from harness.lab.chapters import ROOT
from harness.lab.target import WrongUsage
from harness.server import shim
from harness.server.waiting.wait import wait_until

CHAPTER = chapters.find("01")
FAKE = Path(__file__).with_name("class_grader.py")


def handed_in(directory: Path, word: str = "100", when: float | None = None, **files: str) -> Path:
    """A directory with a main.c, and other files."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in {"main.c": word, "name": directory.name, **files}.items():
        (directory / name).write_text(text)
        if when is not None:
            os.utime(directory / name, (when, when))
    return directory


class ClassRun:
    """`make class` with the fake grader, below a directory for tests."""

    def __init__(self, top: Path) -> None:
        self.sub, self.results, self.calls = top / "sub", top / "results", top / "calls"
        self.sub.mkdir()

    def start(self, *options: str, sub: Path | None = None) -> subprocess.Popen:
        command = [sys.executable, "-m", "harness", "class", "--chapter", "01", "--grader", FAKE]
        command += ["--submissions", sub or self.sub, "--results", self.results]
        command += ["--isolate", "none", *options]
        pipe, env = subprocess.PIPE, environment(EVENT_LOOP_LAB_CALLS=str(self.calls))
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True)

    def run(self, *options: str) -> tuple[int, str]:
        ended = self.ended(*options)
        assert not ended.stderr
        return ended.returncode, ended.stdout

    def ended(self, *options: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*options)
        told = process.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess(process.args, process.returncode, *told)

    def called(self) -> list[str]:
        """The submissions whose grade was begun since the last call, by name."""
        found = sorted(self.calls.read_text().splitlines()) if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return found

    def rows(self, top: str = "01") -> dict[str, dict[str, str]]:
        text = (self.results / top / "scores.csv").read_text()
        return {row["name"]: row for row in csv.DictReader(io.StringIO(text))}


@pytest.fixture
def a_class(tmp_path):
    return ClassRun(tmp_path)


# What was handed in


def test_everything_of_one_name_is_one_submission(tmp_path):
    handed_in(tmp_path / "ada")
    handed_in(tmp_path / "王 小明")
    for name in ("ada.zip", "ben.tar.gz", "ada.pdf", "dan", "eve.txz.1", "J. Doe", ".hidden"):
        (tmp_path / name).touch()
    found, others = submissions.find(tmp_path)
    counted = {one.name: len(one.places) for one in found}
    assert counted == {"J. Doe": 1, "ada": 2, "ben": 1, "dan": 1, "eve.txz": 1, "王 小明": 1}
    assert others == ["ada.pdf"]
    assert submissions.latest((tmp_path / "dan",), CHAPTER.slug) == tmp_path / "dan"


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_directory_without_submissions_is_wrong_usage(tmp_path, name):
    with pytest.raises(WrongUsage, match="SUB="):
        submissions.find(tmp_path / name)


def test_the_latest_hand_in_counts(tmp_path):
    late = handed_in(tmp_path / "ada" / "1", when=2000)
    handed_in(tmp_path / "ada" / "2", when=1000)
    assert submissions.latest((tmp_path / "ada",), CHAPTER.slug) == late
    archive = tmp_path / "ada" / "later.zip"
    archive.touch()
    assert submissions.latest((tmp_path / "ada",), CHAPTER.slug) == archive


@pytest.mark.parametrize(
    "chosen, other",
    [
        ("x/y", "README"),  # a directory inside is found
        (f"chapters/{CHAPTER.slug}", "chapters/02-nonblocking/main.c"),
        ("server", "tests/try.c"),  # has no main.c
    ],
)
def test_the_directory_that_looks_like_the_chapter_is_preferred(tmp_path, chosen, other):
    mine = handed_in(tmp_path / "ada" / chosen, when=1000)
    (tmp_path / "ada" / other).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "ada" / other).touch()
    assert submissions.latest((tmp_path / "ada",), CHAPTER.slug) == mine


def test_no_link_is_followed(tmp_path):
    handed_in(tmp_path / "solutions")
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "link").symlink_to(tmp_path / "solutions")
    assert submissions.latest((tmp_path / "ada",), CHAPTER.slug) is None
    (tmp_path / "ada" / "main.c").touch()
    (tmp_path / "ada" / "conn.c").symlink_to(tmp_path / "solutions" / "main.c")
    unpack.sources(tmp_path / "ada", tmp_path / "copy", tmp_path / "scratch", CHAPTER.slug)
    assert os.listdir(tmp_path / "copy") == ["main.c"]


def test_the_digest_is_of_names_and_contents(tmp_path):
    ada = handed_in(tmp_path / "ada")
    first = submissions.digest(ada)
    assert first == submissions.digest(ada)
    os.utime(ada / "main.c", (1, 1))
    assert first == submissions.digest(ada)
    (ada / "main.c").rename(ada / "main2.c")
    assert first != submissions.digest(ada)


# Grading


PACKED = {  # the name of a file with the hand-in, and what packs it
    "xz.txz": "w:xz",
    "renamed.zip": "w",
    "renamed2.rar": "w",
    "no suffix": "w:gz",
    "twice.tar.gz.1": "w:gz",
}
UNREADABLE = {  # the name of a file, how it begins, and what is said of it
    "a.tar.zst": (b"\x28\xb5\x2f\xfd....", "is a Zstandard archive"),
    "b.rar": (b"Rar!\x1a\7\1\0", "is a RAR archive"),
    "c.7z": (b"7z\xbc\xaf\x27\x1c", "is a 7z archive"),
    "d.tar.Z": (b"\x1f\x9d\x90", "is a compress archive"),
    "e.zip": (b"", "is empty"),
    "f": (b"", "is empty"),
    "g.docx": (b"PK\3\4", "cannot be unpacked"),
    "h.pdf": (b"%PDF-1.7", "is not an archive"),
    "main.c": (b"int main(void) { return 0; }\n", "is not an archive"),
    "i.zip": (b"this is no zip", "cannot be unpacked"),
}


def test_each_thing_that_is_handed_in_has_a_row(a_class):
    """It is graded, or has no points and a reason that says what to hand in."""
    handed_in(a_class.sub / "deep" / "1" / "2" / "3")
    handed_in(a_class.sub / "too deep" / "1/2/3/4/5/6/7")
    (a_class.sub / "nothing").mkdir()
    (a_class.sub / "broken link").symlink_to("nowhere")
    (a_class.sub / "rar inside").mkdir()
    (a_class.sub / "rar inside" / "work.rar").write_bytes(b"Rar!\x1a\7\1\0")
    os.mkfifo(a_class.sub / "fifo")
    for name, mode in PACKED.items():
        with tarfile.open(a_class.sub / name, mode) as made:
            made.add(handed_in(a_class.sub.parent / "files"), "files")
    for name, (data, _) in UNREADABLE.items():
        (a_class.sub / name).write_bytes(data)
    status, printed = a_class.run()
    assert status == 0 and "does not count" not in printed
    rows = a_class.rows()
    graded = {"deep", "xz", "renamed", "renamed2", "no suffix", "twice.tar.gz"}
    assert {name for name, row in rows.items() if row["score"] == "100"} == graded
    refused = {name: row["problem"] for name, row in rows.items() if row["score"] == "0"}
    assert len(graded) + len(refused) == len(rows) == len(os.listdir(a_class.sub))
    assert all("pack them as a .zip or a .tar.gz" in said for said in refused.values())
    for name, (_, said) in UNREADABLE.items():
        assert said in refused[name.split(".")[0]]
    for name in ("too deep", "nothing", "broken link", "fifo"):
        assert "There are no .c files" in refused[name]
    assert "is a RAR archive" in refused["rar inside"]


def test_a_file_beside_a_hand_in_of_its_name_is_told(a_class):
    handed_in(a_class.sub / "ada")
    (a_class.sub / "ada.pdf").write_text("%PDF")
    assert "does not count: ada.pdf, since there is a hand-in of this name" in a_class.run()[1]
    assert [row["score"] for row in a_class.rows().values()] == ["100"]


def test_one_hang_and_one_fault_do_not_end_the_batch(a_class):
    words = {"ada": "100", "ben 2": "85", "王小明": "unjudged", "dora": "hang", "eve": "dies"}
    words |= {"once": "once", "fay": "kills-unit"}
    for name, word in words.items():
        handed_in(a_class.sub / name, word)
    (a_class.sub / "empty").mkdir()
    # On a busy machine Python takes seconds to start, and a hang is called only after that.
    status, printed = a_class.run("--jobs", "3", "--limit", "8")
    assert status == 2
    scored = {name: row["score"] for name, row in a_class.rows().items()}
    judged = {"ada": "100", "ben 2": "85", "once": "80", "empty": "0"}
    assert scored == {**dict.fromkeys(words, ""), **judged}
    assert "4 of 8 have a score, 4 are blank" in printed
    called = a_class.called()
    twice = {name for name in called if called.count(name) == 2}
    assert twice == set(words) - {"ada", "ben 2"} and len(called) == 2 + 2 * len(twice)
    lines = [line for line in printed.splitlines() if "/" not in line]  # no path
    assert len(lines) > 12 and max(map(progress.columns_of, lines)) <= 80
    text = (a_class.results / "01" / "ben 2" / "output.txt").read_text()
    assert "graded: your submission\nagain make grade CH=01 T=x" in text
    trace = (a_class.results / "01" / "ben 2" / "trace.txt").read_text()
    assert trace == "what happened, call by call\n"


def test_a_second_run_grades_what_is_missing_or_changed(a_class):
    for name in ("ada", "ben", "cleo", "dora", "eve"):
        handed_in(a_class.sub / name, "90" if name != "eve" else "unjudged")
    a_class.run()
    a_class.called()
    handed_in(a_class.sub / "ben", "70")
    shutil.rmtree(a_class.results / "01" / "cleo")
    (a_class.results / "01" / "dora" / "unit.json").write_text("{")
    handed_in(a_class.sub / "new")
    _, printed = a_class.run()
    assert "6 submissions, 1 of them graded before" in printed
    assert a_class.called() == ["ben", "cleo", "dora", "eve", "eve", "new"]
    assert a_class.rows()["ben"]["score"] == "70"


def test_a_change_of_the_lab_makes_results_old(monkeypatch):
    before = records.key("x", CHAPTER)
    assert before != records.key("y", CHAPTER)
    assert before != records.key("x", chapters.find("02"))
    monkeypatch.setattr(records, "lab_digest", lambda: "another")
    assert before != records.key("x", CHAPTER)


def test_the_digest_of_the_lab_is_of_everything_that_grades():
    needed = imported_by("grading", "claims")
    listed = {Path(name).stem for name in (*parts.GRADE, *parts.OF_CHAPTERS)}
    assert needed == listed - {"__init__", "__main__"}


def imported_by(*names: str) -> set[str]:
    """These packages of harness/, and all that they import."""
    needed, left = set(), set(names)
    while left:
        name = left.pop()
        needed.add(name)
        left |= test_packages.imported(name) - needed
    return needed


def stopped_halfway(a_class: ClassRun, tmp_path: Path, number: int) -> subprocess.Popen:
    """A run that was sent the signal when one submission was graded and another one is at it."""
    handed_in(a_class.sub / "1")
    handed_in(a_class.sub / "2", f"wait {tmp_path / 'go'}")
    handed_in(a_class.sub / "3")
    process = a_class.start("--jobs", "1")
    assert wait_until(lambda: a_class.calls.exists() and "2" in a_class.calls.read_text(), 60, 0.02)
    process.started = {child.pid for child in below(process.pid)}
    process.send_signal(number)
    return process


def gone(pids: set[int]) -> bool:
    return not any(map(is_running, pids))


def is_running(pid: int) -> bool:
    try:
        return b"harness" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def check_that_it_goes_on(a_class: ClassRun, tmp_path: Path, number: int, seconds: float) -> None:
    """A run that this signal ends has left no process after these seconds, and lost nothing."""
    process = stopped_halfway(a_class, tmp_path, number)
    printed, errors = process.communicate(timeout=SECONDS)
    assert not errors
    assert wait_until(lambda: gone(process.started), seconds, 0.02)
    if number == signal.SIGINT:
        assert process.returncode == 2 and "the same command goes on from here" in printed
        assert [row["score"] for row in a_class.rows().values()] == ["100", "", ""]
    a_class.called()
    (tmp_path / "go").touch()
    status, printed = a_class.run()
    assert status == 0 and "3 submissions, 1 of them graded before" in printed
    assert a_class.called() == ["2", "3"]


@pytest.mark.parametrize("number, seconds", [(signal.SIGINT, 0), (signal.SIGKILL, 60)])
def test_a_signal_loses_nothing_and_leaves_no_process(a_class, tmp_path, number, seconds):
    check_that_it_goes_on(a_class, tmp_path, number, seconds)


def test_two_runs_of_one_class_are_kept_apart(a_class, tmp_path):
    handed_in(a_class.sub / "1", f"wait {tmp_path / 'go'}")
    first = a_class.start()
    assert wait_until(a_class.calls.exists, 60, 0.02)
    second = a_class.ended()
    assert second.returncode == 2 and "another run grades this class already" in second.stderr
    (tmp_path / "go").touch()
    first.communicate(timeout=SECONDS)
    assert first.returncode == 0


def test_one_unit_can_be_run_alone(a_class):
    handed_in(a_class.sub / "ada b")
    handed_in(a_class.sub / "ben", "unjudged")
    assert a_class.run("--one", "ada b") == (0, "")
    assert a_class.run("--one=ben") == (2, "")
    assert records.load(a_class.results / "01" / "ada b").score == 100
    assert "2 submissions, 1 of them graded before" in a_class.run()[1]


@pytest.mark.parametrize(
    "options, said",
    [
        (["--jobs", "0"], "JOBS=0: a number from 1 to 256"),
        (["--one", "nobody"], "there is no submission 'nobody'"),
        (["--chapter", "99"], "there is no chapter '99'"),
        (["--isolate", "magic"], "ISOLATE=magic"),
        (["--submissions", ""], "make class CH=04 SUB=dir"),
    ],
)
def test_wrong_usage_is_one_line(a_class, options, said):
    handed_in(a_class.sub / "ada")
    check_refused(a_class.ended(*options), said)


def test_a_chapter_that_was_worked_on_is_not_shown(monkeypatch, capsys, tmp_path):
    """A submission could read it, and the work may be an answer."""
    handed_in(tmp_path / "sub" / "ada")
    monkeypatch.setattr(handout, "_changed", lambda chapter: [f"chapters/{chapter.slug}/conn.c"])
    words = ["--chapter", "01", "--submissions", str(tmp_path / "sub")]
    assert grade_class.main([*words, "--results", str(tmp_path)]) == 2
    assert "chapters/01-blocking/conn.c: not what students begin with" in capsys.readouterr().err


# Names


def test_numbers_stand_for_names_everywhere(a_class):
    names = ["ada lovelace", "ben", "王小明"]
    for name in names:
        handed_in(a_class.sub / name, "50")
    _, printed = a_class.run("--anonymous")
    top = a_class.results / "01-anonymous"
    rows = a_class.rows("01-anonymous")
    assert sorted(rows) == ["001", "002", "003"]
    assert all((top / number / "unit.json").exists() for number in rows)
    shown = [printed, (top / "class.html").read_text(), (top / "scores.csv").read_text()]
    shown += [file.read_text() for file in top.glob("*/*.*")]
    places = [str(path.relative_to(top)) for path in top.rglob("*")]
    assert not [name for name in names for text in [*shown, *places] if name in text]
    key = a_class.results / "01-key.csv"
    assert key.stat().st_mode & 0o077 == 0
    before = labels.read(key)
    assert set(before) == set(names)
    handed_in(a_class.sub / "dora")
    a_class.run("--anonymous")
    assert labels.read(key) == {**before, "dora": "004"}


def test_the_numbers_are_drawn(tmp_path):
    names = [f"{n:02}" for n in range(50)]
    assert list(labels.draw(tmp_path / "key.csv", names).values()) == [
        f"{n:03}" for n in range(1, 51)
    ]
    assert list(labels.read(tmp_path / "key.csv")) != names


def test_names_fit_their_columns():
    assert progress.fitted("王小明", 8) == "王小明  "
    assert progress.fitted("王" * 20, 9) == "王王王..."
    assert progress.fitted("a\n\t", 5) == "a..  "
    assert progress.fitted("e\u0301", 3) == "e\u0301  "
    for name in ("ada", "王小明" * 20, "x" * 100, "e\u0301" * 50, os.fsdecode(b"\xff\n")):
        assert progress.columns_of(progress.fitted(name, 20)) == 20


# The files about all of them


def test_the_page_needs_nothing_else_and_escapes_everything(a_class):
    handed_in(a_class.sub / "<b>ada & co", "50")
    handed_in(a_class.sub / "ben", "100")
    handed_in(a_class.sub / "cleo", "unjudged")
    (a_class.sub / "none").mkdir()
    a_class.run()
    text = (a_class.results / "01" / "class.html").read_text()
    found = Page(text)
    assert found.tags.count("script") == 1 and "b" in found.tags and not found.loaded
    assert "<b>ada & co" in found.data
    assert not re.search(r"\{\{\w+\}\}", text) and "://" not in text
    inside = [link[1:] for link in found.links if link.startswith("#")]
    assert set(inside) <= found.ids and len(inside) == 8
    top = a_class.results / "01"
    outside = [link for link in found.links if not link.startswith("#")]
    assert len(outside) >= 8
    for link in outside:
        assert (top / unquote(link)).exists(), link
    assert "4 submissions, 1 with full marks, the median is 50 points, 1 without a score" in text


def graded(label: str, score: float | None, *verdicts: str) -> Graded:
    """A result with a claim for each verdict, that took its number in seconds."""
    tests = [
        {
            "name": f"Claim {n}",
            "number": f"01.{n}",
            "output": "",
            "extra_data": {"test": f"test_01_{n}", "hint": "", "verdict": word, "seconds": n},
        }
        for n, word in enumerate(verdicts, 1)
    ]
    verdict = "not judged" if score is None else "failed"
    return Graded(label, Path(label), Record("", verdict, score), {"score": 0, "tests": tests})


def test_shares_leave_out_what_was_not_judged():
    results = [
        graded("a", 50, "failed", "passed"),
        graded("b", None, "not judged", "passed"),
        graded("c", 100, "passed", "passed"),
    ]
    first, second = page.claims_of(CHAPTER, results)
    assert (first.share, first.judged, first.seconds) == (0.5, 2, [1, 1])
    assert (second.share, second.judged) == (0, 3)
    assert "50 %" in page.claims_table([first, second])


def test_the_bars_count_each_submission_once():
    results = [graded(str(n), score) for n, score in enumerate((0, 9.99, 10, 99.9, 100, None))]
    drawn = re.findall(r'title="(.*?) points: (\d)', page.bars(results))
    counts = {name: int(count) for name, count in drawn if count != "0"}
    assert counts == {"0–9": 2, "10–19": 1, "90–99": 1, "100": 1, "blank": 1}


def test_a_score_that_was_not_judged_is_blank():
    rows = list(csv.DictReader(io.StringIO(records.as_csv([graded("a,b", None), graded("c", 0)]))))
    assert [(row["name"], row["score"]) for row in rows] == [("a,b", ""), ("c", "0")]


def test_the_first_failure_is_one_of_the_chapter_itself():
    tests = [
        {"number": number, "status": status, "extra_data": {"test": name}}
        for number, status, name in (
            ("01.1", "failed", "inherited"),
            ("04.1", "passed", "right"),
            ("04.2", "failed", "own"),
        )
    ]
    found = {"extra_data": {"chapter": "04-pipelining"}, "tests": tests}
    assert unit.first_failure(found) == "own"
    assert unit.first_failure({"tests": []}) is None


class Noting(Isolation):
    """No isolation, but it has the libraries of each command."""

    name = "noting"

    def __init__(self) -> None:
        self.libraries: list[Path] = []

    def command(self, argv, places):
        self.libraries.append(places.libraries)
        return list(argv)


def test_the_grades_of_a_class_share_the_libraries_of_the_lab(tmp_path, monkeypatch):
    """The libraries are built before the first grade; otherwise each grade would build them."""
    monkeypatch.setenv("EVENT_LOOP_LAB_CALLS", str(tmp_path / "calls"))
    handed_in(tmp_path / "sub" / "ada")
    found, _ = submissions.find(tmp_path / "sub")
    of, grader = labels.of(CHAPTER, tmp_path, ["ada"], False), (sys.executable, str(FAKE))
    grade_class.share_libraries(unit.Unit(of, choose("none")), again=True)
    assert not of.libraries.exists()
    units = unit.Unit(of, Noting(), 60, grader, grader)
    grade_class.share_libraries(units, again=True)
    assert {path.name for path in of.libraries.iterdir()} == set(shim.NAMES)
    assert units.run(found[0]).score == 100
    assert units.isolation.libraries == [of.libraries]


@pytest.mark.full("whole grades")
def test_a_real_grade_is_that_of_make_grade(tmp_path):
    """The points are the same. The texts do not name the place of the files, and the timeline of
    the first failure is there."""
    sub = tmp_path / "sub"
    shutil.copytree(ROOT / "solutions" / CHAPTER.slug, sub / "ada")
    net = sub / "ada" / "net.c"
    net.write_text(net.read_text().replace("SOMAXCONN", "128"))
    where = ["--submissions", sub, "--results", tmp_path]
    graded = lab("class", "--chapter", "01", "--one", "ada", *where, "--isolate", "none")
    assert graded.returncode == 0, graded.stderr
    place = tmp_path / "01" / "ada"
    assert "</html>" in (place / "trace.html").read_text()
    record = records.load(place)
    result = json.loads((place / "result.json").read_text())
    assert record.verdict == "failed" and record.score == result["score"]
    assert str(tmp_path) not in (place / "output.txt").read_text() + json.dumps(result)


# Late hand-ins


LATE = ROOT / "docs" / "recipes" / "late-days.py"
LONG_AGO, FAR_AWAY = 1_000_000_000, 4_000_000_000  # before and after the deadlines in it


def test_late_hand_ins_lose_points(a_class):
    handed_in(a_class.sub / "ada", "80", LONG_AGO)
    handed_in(a_class.sub / "ben", "80", FAR_AWAY)
    handed_in(a_class.sub / "cleo", "unjudged", LONG_AGO)
    a_class.run("--late", f"{sys.executable} {LATE}")
    counts = {name: row["counts"] for name, row in a_class.rows().items()}
    assert counts == {"ada": "80", "ben": "0", "cleo": ""}
    assert a_class.rows()["ben"]["score"] == "80"


def test_scores_are_written_though_the_program_for_late_days_fails(a_class):
    handed_in(a_class.sub / "ada", "80")
    ended = a_class.ended("--late", "false")
    assert ended.returncode == 2 and "LATE=false fails for ada" in ended.stderr
    assert a_class.rows()["ada"]["score"] == "80" and "counts" not in a_class.rows()["ada"]


def test_a_program_for_late_days_that_is_not_there_is_told_first(a_class):
    handed_in(a_class.sub / "ada", "80")
    ended = a_class.ended("--late", "nowhere")
    assert ended.returncode == 2 and "there is no such program" in ended.stderr
    assert not a_class.called()
