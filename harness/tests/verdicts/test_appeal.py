"""The file of an appeal: what is in it, and that it shows the same failure elsewhere."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from harness.authors.mutants.catalogue import CATALOGUE
from harness.course.handover import appeal
from harness.lab import command_line, seed
from harness.student import replay

WRONG = "01-big-endian-length"
TEST = "01_empty_frames"


@pytest.fixture
def wrong(tmp_path) -> Path:
    mutant = next(one for one in CATALOGUE if one.id == WRONG)
    mutant.write(tmp_path / "handed in")
    return tmp_path / "handed in"


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """Where results of grades are searched."""
    monkeypatch.setattr(command_line, "BUILD", tmp_path / "build")
    place = tmp_path / "build/results"
    place.mkdir(parents=True)
    return place


def run(main, capsys, *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def first_difference(text: str) -> str:
    """What happened, with every byte that is shown."""
    return text.split("  what happened\n")[1].split("  server ")[0]


def test_an_appeal_shows_the_same_failure_elsewhere(wrong, results, tmp_path, capsys, monkeypatch):
    number = seed.of_files(wrong)
    identity = f"01-{TEST}-{number}"
    extra = {"chapter": "01-blocking", "seed": number}
    failed = {"status": "failed", "extra_data": {"test": f"test_{TEST}"}}
    graded = json.dumps({"score": 7, "extra_data": extra, "tests": [failed]})
    (results / "01.json").write_text(graded)
    out = tmp_path / "appeal.zip"
    monkeypatch.setenv("LAB_OUT", str(out))
    status, said, problem = run(appeal.main, capsys, "--id", identity, "--dir", str(wrong))
    assert (status, problem) == (0, "")
    assert "the test ran again and failed" in said
    assert max(map(len, said.splitlines()[1:])) <= 80

    with zipfile.ZipFile(out) as file:
        file.extractall(tmp_path / "elsewhere")
    (top,) = (tmp_path / "elsewhere").iterdir()
    assert top.name == identity
    assert {path.name for path in top.iterdir()} == {
        "README.md",
        *(name.rstrip("/") for name in appeal.FILES),
    }
    assert (top / "result.json").read_text() == graded
    assert json.loads((top / "again.json").read_text())["extra_data"]["seed"] == number
    assert "<html" in (top / "trace.html").read_text()
    versions = json.loads((top / "versions.json").read_text())
    assert all(versions[name] for name in ("lab", "compiler", "kernel", "python", "cores"))
    assert seed.of_files(top / "sources") == number

    text = (top / "README.md").read_text()
    command = re.search(r"^    make replay ID=(\S+) DIR=path/to/(\S+)$", text, re.M)
    assert command[2] == f"{identity}/sources"
    words = ["--id", command[1], "--dir", str(top / "sources")]
    status, again, _ = run(replay.main, capsys, *words)
    assert status == 1
    assert first_difference(again) == first_difference((top / "failure.txt").read_text())


def test_sources_that_have_changed_are_refused(wrong, results, tmp_path, capsys, monkeypatch):
    identity = f"01-{TEST}-{seed.of_files(wrong)}"
    (wrong / "conn.c").write_text((wrong / "conn.c").read_text() + "\n")
    monkeypatch.setenv("LAB_OUT", str(tmp_path / "x.zip"))
    status, _, said = run(appeal.main, capsys, "--id", identity, "--dir", str(wrong))
    assert status == 2
    assert "they have changed since that grade, or it had SEED=" in said
    assert not (tmp_path / "x.zip").exists()


def test_the_files_of_a_class_are_named(wrong, results, capsys, monkeypatch):
    """Without DIR=, the message says where the files are that have the seed of the ID."""
    number = seed.of_files(wrong)
    place = results.parent / "class/01/Dan O'Neill"
    place.mkdir(parents=True)
    wrong.rename(place / "submission")
    failed = {"status": "failed", "extra_data": {"test": f"test_{TEST}"}}
    extra = {"chapter": "01-blocking", "seed": number}
    (place / "result.json").write_text(json.dumps({"extra_data": extra, "tests": [failed]}))
    monkeypatch.setenv("LAB_OUT", "")
    status, _, said = run(appeal.main, capsys, "--id", f"01-{TEST}-{number}")
    assert status == 2
    (typed,) = shlex.split(said.split("add DIR=")[1])
    assert Path(typed) == place / "submission"


@pytest.mark.parametrize(
    "words, out, message",
    [
        ([], "", "which failure?"),
        (["--id", "nonsense"], "", "ID=nonsense: a failure prints one"),
        (["--id", "01-01_empty_frames-5"], "x.tar", "the name has to end with .zip"),
        (["--id", "01-01_none-5"], "", "T=test_01_none: chapter 01 has no test of that name"),
        (["--id", "01-01_empty_frames-5", "--server", "cat {port}"], "", "no source files"),
    ],
)
def test_wrong_usage(words, out, message, capsys, monkeypatch):
    monkeypatch.setenv("LAB_OUT", out)
    status, _, said = run(appeal.main, capsys, *words)
    assert status == 2
    assert message in said


def test_a_result_of_another_grade_is_not_taken(tmp_path):
    """Other seed, other chapter, the test passed, or no result at all."""
    right = {"chapter": "01-blocking", "seed": 5}
    failed = {"status": "failed", "extra_data": {"test": "test_x"}}
    contents = [
        {"extra_data": {**right, "seed": 6}, "tests": [failed]},
        {"extra_data": {**right, "chapter": "02-nonblocking"}, "tests": [failed]},
        {"extra_data": right, "tests": [{**failed, "status": "passed"}]},
        ["nonsense"],
    ]
    paths = []
    for content in contents:
        paths.append(tmp_path / f"{len(paths)}.json")
        paths[-1].write_text(json.dumps(content))
    paths.append(tmp_path / "missing.json")
    assert appeal.find_result(paths, "01", 5, "test_x") is None
    paths[0].write_text(json.dumps({"extra_data": right, "tests": [failed]}))
    assert appeal.find_result(paths, "01", 5, "test_x") == paths[0]
