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

from harness.tests.tree import translations
from harness.tests.shell import run
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


def hand_out(chapter: str, out: Path) -> int:
    return handout.main(["--chapter", chapter, "--out", str(out)])


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
    assert hand_out("01", tmp_path / "a b.tar.gz") == 0
    lab = unpacked(tmp_path / "a b.tar.gz", tmp_path / "student")
    assert sorted(path.name for path in (lab / "chapters").iterdir()) == ["01-blocking"]
    make = ("make", "-C", str(lab), f"PYTHON={sys.executable}")
    done = run(*make, "grade", "CH=01", "T=01_empty_frames")
    assert "points selected" in done.stdout, done.stdout + done.stderr
    results = json.loads((lab / "build/results/01-selected.json").read_text())
    assert results["extra_data"]["verdict"] == "failed"
    assert results["extra_data"]["not_judged"] == 0
    for words, message in {
        ("grade", "CH=02"): "chapters/02-nonblocking is not here; a handout can come without",
        ("grade", "CH=01", "FROM=solutions"): "this copy of the lab came without solutions",
        ("diff", "CH=01"): "solutions/01-blocking is not here",
        ("test",): "harness/tests is not here: this copy of the lab is a handout",
        ("mutants",): "harness/authors is not here: this copy of the lab is a handout",
    }.items():
        done = run(*make, *words)
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


def test_a_handout_does_not_offer_the_solutions():
    """The Chinese page still is the translation of the English one."""
    pages = {one.name: one.data for one in handout.members(find("02"))}
    page, chinese = pages["lab/README.md"], pages["lab/docs/zh/README.md"]
    assert b"Where to go next" in page and b"FROM=solutions" not in page + chinese
    number = subprocess.run(["git", "hash-object", "--stdin"], input=page, capture_output=True)
    assert number.stdout.strip() in chinese.splitlines()[0]


def test_a_handout_made_twice_is_the_same(tmp_path):
    first, second = tmp_path / "1.tar.gz", tmp_path / "2.tgz"
    assert hand_out("02", first) == 0
    os.utime(ROOT / "README.md")
    assert hand_out("02", second) == 0
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
    assert hand_out("01", out) == 2
    said = capsys.readouterr().err
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


def test_the_command_of_a_handout_keeps_the_work_of_a_student(tmp_path):
    """HANDOUT.md names it."""
    for number in ("01", "02"):
        hand_out(number, tmp_path / f"{number}.tar.gz")
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
    assert hand_out("01", out) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"handout: .*(has to end with .tar.gz|cannot be written: .*)\n", said)


# The hand-in


@pytest.fixture
def work(tmp_path) -> Path:
    """A student's chapter 01."""
    return Path(shutil.copytree(find("01").chapter_dir, tmp_path / "my work"))


@pytest.fixture
def packed(tmp_path) -> Path:
    return tmp_path / "x.tar.gz"


@pytest.fixture
def hand_in(work, packed, capsys):
    """hand_in() -> (status, all that was printed) of handing in that work."""

    def run_it(*words: str, chapter=("--chapter", "01")) -> tuple[int, str]:
        given = [*chapter, "--dir", str(work), "--out", str(packed), *words]
        status = handin.main(given)
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run_it


def test_a_handin_is_the_same_twice_and_has_the_same_seed(work, hand_in, packed, tmp_path):
    (work / "WRITEUP.md").write_text("About my server.\n")
    status, out = hand_in()
    assert status == 0
    os.utime(work / "main.c")
    hand_in("--out", f"{tmp_path}/2.tar.gz")
    assert packed.read_bytes() == (tmp_path / "2.tar.gz").read_bytes()
    again = unpacked(packed, tmp_path / "collected")
    assert again.name == "01-blocking"
    assert (again / "WRITEUP.md").is_file()
    assert seed.of_files(again) == seed.of_files(work)
    assert f"seed    {seed.of_files(work)}\n" in out
    assert re.search(r"^  sha256  [0-9a-f]{64}$", out, re.M)
    assert "warning" not in out and "left out" not in out


def test_leftovers_stay_at_home_and_change_the_seed(work, hand_in, packed, tmp_path):
    """The student reads both."""
    for name in ("a.out", "server"):
        (work / name).write_bytes(b"\x7fELF...")
    (work / "conn.c~").write_text("old\n")
    (work / ".vscode").mkdir()
    (work / ".vscode/tasks.json").write_text("{}\n")
    status, said = hand_in()
    assert status == 0
    for name in (".vscode/", "a.out", "conn.c~", "server"):
        assert f"  left out: {name}\n" in said
    assert "has another\n  seed than yours" in said
    again = unpacked(packed, tmp_path / "collected")
    assert {path.name for path in again.iterdir()} == {
        path.name for path in find("01").chapter_dir.iterdir()
    }
    assert seed.of_files(again) != seed.of_files(work)


def test_links_within_the_directory_are_files(work, hand_in, packed, tmp_path):
    (work / "copy.h").symlink_to("conn.h")
    assert hand_in()[0] == 0
    again = unpacked(packed, tmp_path / "collected")
    assert (again / "copy.h").read_text() == (work / "conn.h").read_text()
    assert seed.of_files(again) == seed.of_files(work)


def link(name: str, target: str):
    return lambda work: (work / name).symlink_to(target)


def large(files: dict[str, int]):
    """Makes files with so many bytes."""

    def make(work: Path) -> None:
        for name, size in files.items():
            with (work / name).open("wb") as file:
                file.truncate(size)

    return make


MUCH = {f"{n}.bin": handin.FILE_BYTES for n in range(handin.BYTES // handin.FILE_BYTES + 1)}


@pytest.mark.parametrize(
    "spoil, message",
    [
        (link("out.h", "/etc/passwd"), "out.h is a link that leads out of the directory"),
        (link("gone.h", "nothing.h"), "gone.h is a link that leads nowhere"),
        (link("all", "/etc"), "all is a link to a directory"),
        (lambda work: os.mkfifo(work / "pipe"), "pipe is not a file"),
        (
            large({"a": handin.FILE_BYTES + 1}),
            "a has 4.0 MiB, and a file of a hand-in has at most 4",
        ),
        (large({f"{n}.txt": 0 for n in range(handin.FILES + 1)}), "has more than 500 files"),
        (large(MUCH), "has more than 16 MiB"),
    ],
    ids=["link out", "to nothing", "to directory", "pipe", "large", "many", "much"],
)
def test_what_cannot_be_handed_in(work, hand_in, packed, spoil, message):
    spoil(work)
    status, said = hand_in()
    assert status == 2
    assert message in said
    assert len(said.splitlines()) == 1
    assert not packed.exists()


def test_what_does_not_compile_is_handed_in_with_a_warning(work, hand_in, packed):
    (work / "conn.c").write_text("this is no C\n")
    status, said = hand_in()
    assert status == 0
    assert "warning: it does not compile, so a grade gives it 0 points" in said
    assert "  | conn.c:1" in said
    assert packed.exists()


def test_the_points_of_the_last_grade_are_those_of_the_same_files(
    work, hand_in, tmp_path, monkeypatch
):
    monkeypatch.setattr(handin, "RESULTS", tmp_path)
    assert "points  not graded since the last change: make grade" in hand_in()[1]
    results = {"score": 87.5, "extra_data": {"seed": seed.of_files(work)}}
    (tmp_path / "01.json").write_text(json.dumps(results))
    assert "points  87.5 in the last grade" in hand_in()[1]
    (work / "main.c").write_text((work / "main.c").read_text() + "\n")
    assert "points  not graded since the last change" in hand_in()[1]


def test_wrong_usage_of_handin(work, hand_in):
    assert "which chapter?" in hand_in(chapter=())[1]
    inside = hand_in("--out", str(work / "x.tar.gz"))
    assert "lies in the directory that is packed" in inside[1]
    assert "does not exist" in hand_in("--dir", "/no/where")[1]
