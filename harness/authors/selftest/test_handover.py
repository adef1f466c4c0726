"""What students get and hand in: the handout, and the hand-in of a chapter."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from harness.authors.selftest import translations
from harness.course.handover import handin, handout
from harness.lab import seed, skeleton, sources
from harness.lab.chapters import CHAPTERS, ROOT, find

LEAST = 20  # characters of a line that says something of a solution
# Lines that other code has for reasons of its own.
EVERYWHERE = {"struct coroutine *co;", "while (result == IO_AGAIN)"}
# A handout shows these lines of its TODO, on purpose, and so does its Chinese page.
SHOWN = {"lab/chapters/10-coroutines/README.md": 4}

SHARED = 3  # lines that a file may have in common with later chapters


def unpacked(archive: Path, into: Path) -> Path:
    """The one directory at the top of the archive."""
    with tarfile.open(archive) as tar:
        tar.extractall(into)
    (top,) = into.iterdir()
    return top


def make(lab: Path, *words: str) -> subprocess.CompletedProcess[str]:
    theirs = ("MAKE", "MFLAGS", "LAB_", "PYTEST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    command = ["make", "-C", str(lab), *words, f"PYTHON={sys.executable}"]
    return subprocess.run(command, env=kept, capture_output=True, text=True)


def run_handout(capsys, *words: str) -> tuple[int, str, str]:
    status = handout.main(list(words))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def run_handin(capsys, *words: str) -> tuple[int, str, str]:
    status = handin.main(list(words))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


# The handout


def secrets_of(chapters) -> set[str]:
    """Lines within TODO regions that no skeleton of these chapters has."""
    public = {
        line.strip()
        for chapter in chapters
        for path in sources.files(chapter.chapter_dir)
        for line in path.read_text().splitlines()
    }
    regions = [
        match["code"]
        for chapter in CHAPTERS
        for path in sources.files(chapter.solution_dir)
        for match in skeleton.REGION.finditer(path.read_text())
    ]
    lines = {line.strip() for text in regions for line in text.splitlines()}
    return {line for line in lines - public - EVERYWHERE if len(line) >= LEAST}


def of_solutions(until: str) -> dict[str, set[str]]:
    """For each file of a handout, its lines that are secret. Whole lines are compared."""
    secret = secrets_of(CHAPTERS[: int(until)])
    assert len(secret) > 100, "nothing is looked for"
    found = {}
    for one in handout.members(find(until)):
        lines = {line.strip() for line in one.data.decode(errors="replace").splitlines()}
        found[one.name] = secret & lines
    return {name: lines for name, lines in found.items() if lines}


def test_a_handout_has_no_line_of_a_solution():
    found = of_solutions("10")
    shown = {name.replace(".zh.md", ".md"): len(lines) for name, lines in found.items()}
    assert shown == SHOWN, found


@pytest.mark.parametrize("until", ["01", "04"])
def test_a_handout_of_the_first_chapters_does_not_have_later_ones(until):
    """Later skeletons have earlier chapters solved. Programs of the grader share a few lines with
    them, such as the head of a loop."""
    for name, lines in of_solutions(until).items():
        assert name.startswith("lab/harness/") and len(lines) <= SHARED, f"{name} has {lines}"


def test_the_search_for_lines_of_solutions_finds_them():
    secret = secrets_of(CHAPTERS)
    text = (CHAPTERS[-1].solution_dir / "wrong.patch").read_text()
    assert secret & {line.strip(" +-") for line in text.splitlines()}


@pytest.mark.full("whole grades")
def test_a_handout_is_graded_where_it_is_unpacked(tmp_path):
    """With the first chapter only: what it leaves out is not needed."""
    assert handout.main(["--chapter", "01", "--out", f"{tmp_path}/a b.tar.gz"]) == 0
    lab = unpacked(tmp_path / "a b.tar.gz", tmp_path / "student")
    assert sorted(path.name for path in (lab / "chapters").iterdir()) == ["01-blocking"]
    done = make(lab, "grade", "CH=01", "T=01_empty_frames")
    assert "points selected" in done.stdout, done.stdout + done.stderr
    results = json.loads((lab / "build/results/01-selected.json").read_text())
    assert results["extra_data"]["verdict"] == "failed"
    assert results["extra_data"]["not_judged"] == 0
    for words, message in {
        ("grade", "CH=02"): "chapters/02-nonblocking is not here; a handout can come without",
        ("grade", "CH=01", "FROM=solutions"): "this copy of the lab came without solutions",
        ("diff", "CH=01"): "solutions/01-blocking is not here",
        ("test",): "harness/authors/selftest is not here: this copy of the lab is a handout",
        ("mutants",): "harness/authors is not here: this copy of the lab is a handout",
    }.items():
        done = make(lab, *words)
        assert done.returncode == 2
        assert message in done.stderr


def test_the_board_of_a_handout_ends_with_its_last_chapter(monkeypatch, tmp_path):
    from harness.grading import grade

    for chapter in CHAPTERS[:3]:
        (tmp_path / "chapters" / chapter.slug).mkdir(parents=True)
    monkeypatch.setattr("harness.lab.chapters.ROOT", tmp_path)
    assert [one.number for one in grade._to_be_graded(None)] == ["01", "02", "03"]
    assert len(grade._to_be_graded("solutions")) == len(CHAPTERS)
    shutil.rmtree(tmp_path / "chapters" / CHAPTERS[0].slug)  # by mistake: that is told
    assert [one.number for one in grade._to_be_graded(None)] == ["01", "02", "03"]


def test_a_handout_made_twice_is_the_same(tmp_path, capsys):
    first, second = tmp_path / "1.tar.gz", tmp_path / "2.tgz"
    assert run_handout(capsys, "--chapter", "02", "--out", str(first))[0] == 0
    os.utime(ROOT / "README.md")
    assert run_handout(capsys, "--chapter", "02", "--out", str(second))[0] == 0
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        found = tar.getmembers()
    assert [one.name for one in found] == sorted(one.name for one in found)
    assert {(one.uid, one.gid, one.uname, one.gname, one.mtime) for one in found} == {
        (0, 0, "", "", 315532800)
    }


def test_without_git_the_same_files_are_handed_out(monkeypatch):
    """In a copy of the lab that somebody has unpacked."""
    with_git = {one.name for one in handout.members(find("02"))}
    monkeypatch.setattr(handout, "tracked", lambda: None)
    without = {one.name for one in handout.members(find("02"))}
    assert with_git <= without
    assert not [name for name in without if "solutions/" in name or "__pycache__" in name]
    assert "lab/docs/answers.md" not in without


def test_a_handout_has_the_chinese_pages(monkeypatch):
    """Chinese pages that git does not track yet are there, too."""
    monkeypatch.setattr(handout, "tracked", lambda: None)
    found = {one.name for one in handout.members(find("02"))}
    pages = {name for name in found if name.endswith(".zh.md") or "/docs/zh/" in name}
    chapters = [f"chapters/{chapter.slug}/README.zh.md" for chapter in CHAPTERS[:2]]
    docs = [f"docs/zh/{name}.md" for name in ("README", *translations.DOCS)]
    assert pages == {f"lab/{name}" for name in (*chapters, *docs)}


def test_work_in_chapters_is_not_handed_out(monkeypatch, capsys, tmp_path):
    """An instructor who has solved a chapter there would hand out the solution."""
    right = skeleton.cut
    monkeypatch.setattr(skeleton, "cut", lambda text, todos: right(text, todos) + "// changed\n")
    out = tmp_path / "x.tar.gz"
    status, _, said = run_handout(capsys, "--chapter", "01", "--out", str(out))
    assert status == 2
    assert "chapters/01-blocking/conn.c" in said
    assert "`make skeletons` writes chapters/ again" in said
    assert not out.exists()


def test_a_handout_says_what_it_is():
    (note,) = [one for one in handout.members(find("04")) if one.name == "lab/HANDOUT.md"]
    text = note.data.decode()
    assert "It has chapters 01 to 04 of the lab" in text
    assert re.search(r"^Version: [0-9a-f]{12}\.", text, re.M)
    assert "docs/answers.md" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_command_of_a_handout_keeps_the_work_of_a_student(tmp_path, capsys):
    """HANDOUT.md names it."""
    for number in ("01", "02"):
        run_handout(capsys, "--chapter", number, "--out", f"{tmp_path}/{number}.tar.gz")
    lab = unpacked(tmp_path / "01.tar.gz", tmp_path / "student")
    work = lab / "chapters/01-blocking/conn.c"
    work.write_text("my work\n")
    command = re.search(r"^    (tar .*) lab.tar.gz$", (lab / "HANDOUT.md").read_text(), re.M)[1]
    subprocess.run([*command.split(), f"{tmp_path}/02.tar.gz"], cwd=lab.parent, check=True)
    assert work.read_text() == "my work\n"
    assert (lab / "chapters/02-nonblocking/conn.c").is_file()


@pytest.mark.parametrize("out", ["x.zip", "/no/where/x.tar.gz", "."])
def test_a_handout_that_cannot_be_written(out, capsys):
    if out.startswith("/no") and os.geteuid() == 0:
        out = "/proc/x.tar.gz"
    status, _, said = run_handout(capsys, "--chapter", "01", "--out", out)
    assert status == 2
    assert re.fullmatch(r"handout: .*(has to end with .tar.gz|cannot be written: .*)\n", said)


# The hand-in


@pytest.fixture
def work(tmp_path) -> Path:
    """A student's chapter 01."""
    return Path(shutil.copytree(find("01").chapter_dir, tmp_path / "my work"))


def test_a_handin_is_the_same_twice_and_has_the_same_seed(work, tmp_path, capsys):
    (work / "WRITEUP.md").write_text("About my server.\n")
    first, second = tmp_path / "1.tar.gz", tmp_path / "2.tar.gz"
    words = ["--chapter", "01", "--dir", str(work)]
    status, out, _ = run_handin(capsys, *words, "--out", str(first))
    assert status == 0
    os.utime(work / "main.c")
    run_handin(capsys, *words, "--out", str(second))
    assert first.read_bytes() == second.read_bytes()
    again = unpacked(first, tmp_path / "collected")
    assert again.name == "01-blocking"
    assert (again / "WRITEUP.md").is_file()
    assert seed.of_files(again) == seed.of_files(work)
    assert f"seed    {seed.of_files(work)}\n" in out
    assert re.search(r"^  sha256  [0-9a-f]{64}$", out, re.M)
    assert "warning" not in out and "left out" not in out


def test_leftovers_stay_at_home_and_change_the_seed(work, tmp_path, capsys):
    """The student reads both."""
    for name in ("a.out", "server"):
        (work / name).write_bytes(b"\x7fELF...")
    (work / "conn.c~").write_text("old\n")
    (work / ".vscode").mkdir()
    (work / ".vscode/tasks.json").write_text("{}\n")
    out = tmp_path / "x.tar.gz"
    status, said, _ = run_handin(capsys, "--chapter", "01", "--dir", str(work), "--out", str(out))
    assert status == 0
    for name in (".vscode/", "a.out", "conn.c~", "server"):
        assert f"  left out: {name}\n" in said
    assert "has another\n  seed than yours" in said
    again = unpacked(out, tmp_path / "collected")
    assert {path.name for path in again.iterdir()} == {
        path.name for path in find("01").chapter_dir.iterdir()
    }
    assert seed.of_files(again) != seed.of_files(work)


def test_links_within_the_directory_are_files(work, tmp_path, capsys):
    (work / "copy.h").symlink_to("conn.h")
    out = tmp_path / "x.tar.gz"
    assert run_handin(capsys, "--chapter", "01", "--dir", str(work), "--out", str(out))[0] == 0
    again = unpacked(out, tmp_path / "collected")
    assert (again / "copy.h").read_text() == (work / "conn.h").read_text()
    assert seed.of_files(again) == seed.of_files(work)


def link_out(work: Path) -> None:
    (work / "secret.h").symlink_to("/etc/passwd")


def link_to_nothing(work: Path) -> None:
    (work / "gone.h").symlink_to("nothing.h")


def link_to_directory(work: Path) -> None:
    (work / "all").symlink_to("/etc")


def large_file(work: Path) -> None:
    with (work / "video.mp4").open("wb") as file:
        file.truncate(handin.FILE_BYTES + 1)


def pipe(work: Path) -> None:
    os.mkfifo(work / "pipe")


def many_files(work: Path) -> None:
    for number in range(handin.FILES + 1):
        (work / f"{number}.txt").write_text("")


def much(work: Path) -> None:
    for number in range(handin.BYTES // handin.FILE_BYTES + 1):
        with (work / f"{number}.bin").open("wb") as file:
            file.truncate(handin.FILE_BYTES)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (link_out, "secret.h is a link that leads out of the directory"),
        (link_to_nothing, "gone.h is a link that leads nowhere"),
        (link_to_directory, "all is a link to a directory"),
        (large_file, "video.mp4 has 4.0 MiB, and a file of a hand-in has at most 4"),
        (pipe, "pipe is not a file"),
        (many_files, "has more than 500 files"),
        (much, "has more than 16 MiB"),
    ],
)
def test_what_cannot_be_handed_in(work, tmp_path, capsys, spoil, message):
    spoil(work)
    out = tmp_path / "x.tar.gz"
    status, _, said = run_handin(capsys, "--chapter", "01", "--dir", str(work), "--out", str(out))
    assert status == 2
    assert message in said
    assert len(said.splitlines()) == 1
    assert not out.exists()


def test_what_does_not_compile_is_handed_in_with_a_warning(work, tmp_path, capsys):
    (work / "conn.c").write_text("this is no C\n")
    out = tmp_path / "x.tar.gz"
    status, said, _ = run_handin(capsys, "--chapter", "01", "--dir", str(work), "--out", str(out))
    assert status == 0
    assert "warning: it does not compile, so a grade gives it 0 points" in said
    assert "  | conn.c:1" in said
    assert out.exists()


def test_the_points_of_the_last_grade_are_those_of_the_same_files(
    work, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(handin, "RESULTS", tmp_path)
    words = ["--chapter", "01", "--dir", str(work), "--out", str(tmp_path / "x.tar.gz")]
    assert "points  not graded since the last change: make grade" in run_handin(capsys, *words)[1]
    results = {"score": 87.5, "extra_data": {"seed": seed.of_files(work)}}
    (tmp_path / "01.json").write_text(json.dumps(results))
    assert "points  87.5 in the last grade" in run_handin(capsys, *words)[1]
    (work / "main.c").write_text((work / "main.c").read_text() + "\n")
    assert "points  not graded since the last change" in run_handin(capsys, *words)[1]


def test_wrong_usage_of_handin(work, capsys):
    assert "which chapter?" in run_handin(capsys)[2]
    words = ["--chapter", "01", "--dir", str(work)]
    said = run_handin(capsys, *words, "--out", str(work / "x.tar.gz"))[2]
    assert "lies in the directory that is packed" in said
    assert "does not exist" in run_handin(capsys, "--chapter", "01", "--dir", "/no/where")[2]
