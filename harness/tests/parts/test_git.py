"""What leaves the lab where git does not answer, answers for another place, or is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.course import site
from harness.course.gradescope import command as gradescope
from harness.course.handover import appeal, handout
from harness.lab import chapters, git
from harness.lab.target import WrongUsage

OWN = ("harness/grading/grade.py", "harness/lab/git.py", "docs/protocol.md", "README.md")
IN_HARNESS = str(Path(OWN[1]).with_name("token.txt"))
PRIVATE = ("docs/exams/final [1].md", IN_HARNESS, ".private/key", "notes.txt")
# No setting of this machine or of a process that started the tests.
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "2",
    **{"GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "ada"},
    **{"GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "ada@example.org"},
}


def call(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(place), *words], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
def at(monkeypatch, tmp_path):
    """Takes a directory for the lab, without settings of this machine."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, ENVIRONMENT[name])

    def become(place: Path) -> Path:
        for module in (git, handout, gradescope):
            monkeypatch.setattr(module, "ROOT", place)
        return place

    return become


def test_a_repository_names_the_files_of_the_lab(at, tmp_path):
    lab = write(at(repository(tmp_path / "a lab")), PRIVATE)
    assert sorted(git.tracked()) == sorted(OWN)
    assert sorted(handout.names()) == sorted(OWN)
    assert sorted(path.name for path in gradescope.files(chapters.find("01"))) == [
        "git.py",
        "grade.py",
    ]
    assert git.untracked("docs", "harness") == list(PRIVATE[:2])
    assert git.commit() == call(lab, "rev-parse", "HEAD").strip() == appeal._commit()


def test_a_file_that_a_merge_has_left_open_is_named_once(at, tmp_path):
    """The index has it three times."""
    lab = at(repository(tmp_path))
    base = call(lab, "rev-parse", "HEAD").strip()
    (lab / "README.md").write_text("here\n")
    call(lab, "commit", "-qam", "here")
    call(lab, "checkout", "-q", "-b", "other", base)
    (lab / "README.md").write_text("there\n")
    call(lab, "commit", "-qam", "there")
    call(lab, "read-tree", "-m", base, "HEAD", "@{-1}")
    assert len(call(lab, "ls-files", "--unmerged").splitlines()) == 3
    assert sorted(git.tracked()) == sorted(OWN)


def test_a_worktree_and_a_directory_of_a_larger_repository(at, tmp_path):
    repository(tmp_path / "lab")
    call(tmp_path / "lab", "worktree", "add", "-q", str(tmp_path / "tree"))
    write(at(tmp_path / "tree"), PRIVATE)
    assert sorted(git.tracked()) == sorted(OWN)
    repository(tmp_path / "course", tuple(f"lab/{name}" for name in OWN))
    write(at(tmp_path / "course" / "lab"), PRIVATE)
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
    assert git.tracked() is None and git.commit() == "" and git.untracked("docs") == []
    assert set(handout.names()) == set(OWN)


@pytest.mark.parametrize("names", [["GIT_DIR"], ["GIT_INDEX_FILE"], ["GIT_DIR", "GIT_WORK_TREE"]])
def test_variables_of_a_hook_name_no_other_repository(at, tmp_path, monkeypatch, names):
    """git sets them for a hook, and make may be called by one."""
    at(repository(tmp_path / "lab"))
    other = repository(tmp_path / "other", (*OWN, *PRIVATE))
    values = {"GIT_DIR": other / ".git", "GIT_INDEX_FILE": other / ".git" / "index"}
    for name in names:
        monkeypatch.setenv(name, str(values.get(name, other)))
    assert sorted(git.tracked()) == sorted(OWN)


def of_another_owner(lab: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give files away")
    for path in (lab, *lab.rglob("*")):
        os.chown(path, 54321, 54321)


def has(name: str, content: bytes | Path | None):
    """Puts this content, or a link to this path, in place of a file of the repository."""

    def spoil(lab: Path) -> None:
        path = lab / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if isinstance(content, Path):
            path.symlink_to(content)
        elif content is not None:
            path.write_bytes(content)

    return spoil


NO_HEAD, BROKEN_LINK = has(".git/HEAD", None), has(".git", Path("/no/where"))
WRONG = {
    "of another owner": (of_another_owner, "dubious ownership in repository"),
    "damaged index": (has(".git/index", b"DIRC"), "index file smaller than expected"),
    "nothing added": (has(".git/index", None), "does not track harness/grading/grade.py"),
    "no head": (NO_HEAD, "not a git repository"),
    "lost worktree": (has(".git", b"gitdir: /no/.git/worktrees/lab\n"), "not a git repository"),
    "broken link": (BROKEN_LINK, "not a git repository"),
    "unreadable settings": (has(".git/config", b"[core\n"), "bad config line 1"),
}


def check_that_nothing_is_packed(out: Path, capsys, reason: str) -> None:
    for command, name in ((handout, "x.tar.gz"), (gradescope, "x.zip")):
        assert command.main(["--chapter", "01", "--out", str(out / name)]) == 2
        said = capsys.readouterr().err
        assert "git does not say which files are the lab's, and others here may be private" in said
        assert reason in said and len(said.splitlines()) == 1
    assert not out.exists()
    assert appeal._commit().startswith("not known: git does not say")
    with pytest.raises(WrongUsage):
        site.settings(site.parse([]), None, [])


@pytest.mark.parametrize("spoil, reason", WRONG.values(), ids=WRONG)
def test_nothing_is_packed_where_git_does_not_answer(at, tmp_path, capsys, spoil, reason):
    spoil(write(at(repository(tmp_path / "lab")), PRIVATE))
    check_that_nothing_is_packed(tmp_path / "out", capsys, reason)


@pytest.mark.parametrize("spoil", [NO_HEAD, BROKEN_LINK], ids=["no head", "broken link"])
def test_nothing_is_packed_where_another_repository_answers(at, tmp_path, capsys, spoil):
    """The lab's own is damaged, and git goes on in the directories above."""
    repository(tmp_path, ("essay.txt",))
    spoil(write(at(repository(tmp_path / "lab")), PRIVATE))
    check_that_nothing_is_packed(tmp_path / "out", capsys, f"it takes {tmp_path} for the top")


def test_where_git_is_not_installed_a_repository_is_not_packed(at, tmp_path, monkeypatch):
    lab = at(repository(tmp_path / "lab"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WrongUsage, match="it cannot be started: .*; is it installed?"):
        git.tracked()
    shutil.rmtree(lab / ".git")
    assert git.tracked() is None


def test_the_site_leaves_out_what_git_does_not_track(at, tmp_path):
    at(write(repository(tmp_path / "lab"), PRIVATE))
    assert site.settings(site.parse([]), None, [])["private"] == [PRIVATE[0]]
