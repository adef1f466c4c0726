"""Private files never leave the lab, whatever git says; and a Mac's and an editor's files are no
sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.tests import golden
from harness.course import site
from harness.course.gradescope import command as gradescope
from harness.course.gradescope import run_autograder
from harness.course.handover import appeal, handin, handout
from harness.lab import chapters, git, sources
from harness.lab.target import WrongUsage

OWN = ("harness/grading/grade.py", "harness/lab/git.py", "docs/protocol.md", "README.md")
PRIVATE = ("docs/exams/final [1].md", "harness/lab/token.txt", ".private/key", "notes.txt")
SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
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
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)

    def become(place: Path) -> Path:
        for module in (git, handout, gradescope):
            monkeypatch.setattr(module, "ROOT", place)
        return place

    return become


def test_only_what_git_tracks_is_packed(at, tmp_path, monkeypatch):
    """In a repository of its own, in a worktree, as a directory of a larger repository, and with
    the variables that git sets for a hook of another one."""
    lab = write(at(repository(tmp_path / "a lab")), PRIVATE)
    assert sorted(handout.names()) == sorted(OWN)
    packed = [path.name for path in gradescope.files(chapters.find("01"))]
    assert sorted(packed) == ["git.py", "grade.py"]
    assert git.untracked("docs", "harness") == list(PRIVATE[:2])
    assert site.settings(site.parse([]), None, [])["private"] == [PRIVATE[0]]
    assert git.commit() == call(lab, "rev-parse", "HEAD").strip() == appeal._commit()
    call(lab, "worktree", "add", "-q", str(tmp_path / "tree"))
    write(at(tmp_path / "tree"), PRIVATE)
    assert sorted(git.tracked()) == sorted(OWN)
    repository(tmp_path / "course", tuple(f"lab/{name}" for name in OWN))
    write(at(tmp_path / "course" / "lab"), PRIVATE)
    assert sorted(git.tracked()) == sorted(OWN)
    other = repository(tmp_path / "other", (*OWN, *PRIVATE))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    at(lab)
    assert sorted(git.tracked()) == sorted(OWN)


@pytest.mark.parametrize("above", ["none", "other", "bare", "damaged"])
def test_another_repository_above_says_nothing(at, tmp_path, above):
    """A copy of the lab was unpacked in it."""
    if above == "other":
        repository(tmp_path, ("essay.txt",))
    if above == "bare":
        call(tmp_path, "init", "-q", "--bare", ".git")
    if above == "damaged":
        (tmp_path / ".git").mkdir()
    at(write(tmp_path / "lab", OWN))
    assert git.tracked() is None and git.commit() == "" and set(handout.names()) == set(OWN)


def test_nothing_is_packed_where_git_does_not_answer(at, tmp_path, capsys, monkeypatch):
    """The index or the settings are damaged, or the repository's directory is; then git asks the
    one above. Or git is not installed."""
    lab, said = write(at(repository(tmp_path / "lab")), PRIVATE), []

    def refused():
        for module in (handout, gradescope):
            out = tmp_path / "out" / ("x.zip" if module is gradescope else "x.tar.gz")
            assert module.main(["--chapter", "01", "--out", str(out)]) == 2
        said.extend(capsys.readouterr().err.splitlines())
        assert not (tmp_path / "out").exists()
        assert appeal._commit().startswith("not known: git does not say")
        with pytest.raises(WrongUsage):
            site.settings(site.parse([]), None, [])

    for name, content in (("index", b"DIRC"), ("config", b"[core\n"), ("index", None)):
        file = lab / ".git" / name
        kept = file.read_bytes()
        file.unlink() if content is None else file.write_bytes(content)
        refused()
        file.write_bytes(kept)
    (lab / ".git" / "HEAD").unlink()
    refused()
    repository(tmp_path, ("essay.txt",))
    refused()
    monkeypatch.setenv("PATH", str(tmp_path))
    refused()
    assert len(said) == 12
    text = re.sub("fatal: .*", "fatal: ...", "\n".join(said))  # is git's, and differs
    golden.check("git", text, tmp_path)


def test_what_a_mac_and_an_editor_leave_is_no_source(tmp_path):
    """tar of macOS packs ._main.c beside main.c; emacs makes a link that leads nowhere."""
    chapter = chapters.find("01")
    mine = Path(shutil.copytree(chapter.solution_dir, tmp_path / "in" / chapter.slug))
    own = {path.name for path in mine.iterdir()}
    beside = write(tmp_path / "in" / "__MACOSX" / chapter.slug, ("._main.c",))
    write(mine, ("._main.c", "._io.h", "#main.c#", "main.c~", ".hidden.c", "MAIN.C", "main.cpp"))
    (mine / ".#main.c").symlink_to("ada@host.1234")
    assert {path.name for path in sources.files(mine)} == {n for n in own if n[-2:] in (".c", ".h")}
    assert run_autograder.find_sources(tmp_path / "in", chapter.slug) == mine != beside
    for name in ("MAIN.C", "main.cpp"):
        (mine / name).unlink()
    assert {Path(one.name).name for one in handin.collect(mine, "s").members} == own
