"""Private files never leave the lab, whatever git says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.course import site
from harness.course.gradescope import command as gradescope
from harness.course.handover import handout
from harness.submission import chapters, git

OWN = ("harness/grade/grade.py", "harness/submission/git.py", "docs/protocol.md", "README.md")
PRIVATE = ("docs/exams/final [1].md", "harness/submission/token.txt", ".private/key", "notes.txt")
ADA = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")


def call(place: Path, *words: str) -> str:
    command = ["git", "-C", str(place), *ADA, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write(lab: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        (lab / name).parent.mkdir(parents=True, exist_ok=True)
        (lab / name).write_text(f"{name}\n")
    return lab


def repository(place: Path, names: tuple[str, ...] = OWN) -> Path:
    """A repository with a commit that has these files."""
    call(write(place, names), "init", "-q")
    call(place, "add", ".")
    call(place, "commit", "-qm", "all")
    return place


@pytest.fixture
def at(monkeypatch):
    """Takes a directory for the lab, without settings of this machine."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def become(place: Path) -> Path:
        for module in (git, handout, gradescope):
            monkeypatch.setattr(module, "ROOT", place)
        return place

    return become


def test_only_what_git_tracks_is_packed(at, tmp_path, monkeypatch):
    """Also with the variables that git sets for a hook of another repository."""
    write(at(repository(tmp_path / "a lab")), PRIVATE)
    packed = [path.name for path in gradescope.files(chapters.find("01"))]
    assert (sorted(handout.names()), sorted(packed)) == (sorted(OWN), ["git.py", "grade.py"])
    assert site.settings(site.parse([]), None, [])["private"] == [PRIVATE[0]]
    monkeypatch.setenv("GIT_DIR", str(repository(tmp_path / "other") / ".git"))
    assert sorted(git.tracked()) == sorted(OWN)


def test_nothing_is_packed_where_git_does_not_answer(at, tmp_path, capsys, monkeypatch):
    """The index is damaged, or git is not installed."""
    lab = write(at(repository(tmp_path / "lab")), PRIVATE)
    for name, path in (("index", os.environ["PATH"]), ("HEAD", str(tmp_path))):
        (lab / ".git" / name).write_bytes(b"DIRC")
        monkeypatch.setenv("PATH", path)
        for module, file in ((handout, "x.tar.gz"), (gradescope, "x.zip")):
            assert module.main(["--chapter", "01", "--out", str(tmp_path / "out" / file)]) == 2
        assert capsys.readouterr().err.count("git") >= 2
        assert not (tmp_path / "out").exists()
