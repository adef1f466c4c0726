"""What students get and hand in: a handout, the autograder's zip, and the hand-in of a chapter."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from pathlib import Path

from harness.course.classes import command as grade_class
from harness.course.gradescope import command as gradescope
from harness.course.handover import handin, handout
from harness.course.handover.archive import Member
from harness.submission import skeleton, sources
from harness.submission.chapters import CHAPTERS, Chapter, find
from harness.tests import golden

LEAST = 20  # characters of a line that says something of a solution
# Lines that other code has for reasons of its own.
EVERYWHERE = {"struct coroutine *co;", "while (result == IO_AGAIN)"}
# A handout shows these lines of its TODO, on purpose, and so does its Chinese page.
SHOWN = {"lab/chapters/10-coroutines/README.md": 4, "lab/chapters/10-coroutines/README.zh.md": 4}
SHARED = 3  # lines that a program of the grader may have in common with later chapters


def secrets_of(chapters: tuple[Chapter, ...]) -> set[str]:
    """Lines within TODO regions that no skeleton of these chapters has."""
    texts = [path.read_text() for one in CHAPTERS for path in sources.files(one.solution_dir)]
    regions = [match["code"] for text in texts for match in skeleton.REGION.finditer(text)]
    given = [path.read_text() for one in chapters for path in sources.files(one.chapter_dir)]
    public = {line.strip() for text in given for line in text.splitlines()} | EVERYWHERE
    lines = {line.strip() for text in regions for line in text.splitlines()}
    return {line for line in lines - public if len(line) >= LEAST}


def leaks(members: list[Member], until: str, shared: int = SHARED) -> list[str]:
    """Files with more lines of solutions than they may have, and why."""
    secret, found = secrets_of(CHAPTERS[: int(until)]), []
    assert len(secret) > 100, "nothing is looked for"
    for one in members:
        lines = {line.strip() for line in one.data.decode(errors="replace").splitlines()}
        allowed = shared if one.name.startswith("lab/harness/") else SHOWN.get(one.name, 0)
        if len(secret & lines) > allowed:
            found.append(f"{one.name}: {secret & lines}")
    return found


def test_nothing_that_is_given_away_has_a_line_of_a_solution(monkeypatch):
    first, pack = handout.members(find("01")), gradescope.members(find("01"))
    assert not leaks(first, "01") and not leaks(pack, "01")
    assert not leaks(handout.members(find("04")), "04")
    assert not leaks(handout.members(find("10")), "10", shared=0)
    patch = (CHAPTERS[-1].solution_dir / "wrong-servers.patch").read_bytes().replace(b"+", b"")
    assert leaks([Member("lab/docs/x.md", patch)], "10"), "the search finds nothing"
    assert not [one for one in first if one.name[-9:] == "README.md" and b"FROM=" in one.data]
    assert not [one.name for one in pack if re.search(r"[/_](0[2-9]|1\d)[-_]", one.name)]
    golden.check("handout", f"{listed(first)}---- the zip for Gradescope\n{listed(pack)}")
    monkeypatch.setattr(handout, "tracked", lambda: None)
    without_git = {one.name for one in handout.members(find("01"))}
    assert {one.name for one in first} <= without_git
    assert not [name for name in without_git if re.search("solutions/|/answers.md|pycache", name)]


def listed(members: list[Member]) -> str:
    """All names; of the large directories only the kinds of files."""
    many = re.compile(r"(lab/(?:harness|docs/[pst]\w+)/(?:.*/)?)[^/]+(\.\w+)")
    short = {many.sub(r"\1*\2", one.name) for one in members}
    return "".join(f"{name}\n" for name in sorted(short))


def test_work_in_chapters_is_given_to_nobody(monkeypatch, capsys, tmp_path):
    """An instructor who has solved a chapter there would hand out the solution."""
    right = skeleton.cut
    monkeypatch.setattr(skeleton, "cut", lambda text, todos: right(text, todos) + "// changed\n")
    (tmp_path / "sub" / "ada").mkdir(parents=True)
    a_class = ["--submissions", f"{tmp_path}/sub", "--results", f"{tmp_path}/class"]
    commands = {handout: ["--out", f"{tmp_path}/x.tar.gz"]}
    commands[gradescope] = ["--out", f"{tmp_path}/x.zip"]
    for command, words in {**commands, grade_class: a_class}.items():
        assert command.main(["--chapter", "01", *words]) == 2
        assert "chapters/01-blocking/conn.c, " in capsys.readouterr().err
    assert not list(tmp_path.glob("x.*"))


def with_leftovers(work: Path) -> None:
    (work / "a.out").write_bytes(b"\x7fELF...")
    (work / ".vscode").mkdir()
    for name in ("conn.c~", ".vscode/tasks.json", "WRITEUP.md"):
        (work / name).write_text("text\n")
    (work / "copy.h").symlink_to("conn.h")
    (work / "conn.c").write_text("this is no C\n")


HAND_INS = {
    "leftovers, more files, and no C": with_leftovers,
    "link out": lambda work: (work / "out.h").symlink_to("/etc/passwd"),
    "link to nothing": lambda work: (work / "gone.h").symlink_to("nothing.h"),
    "pipe": lambda work: os.mkfifo(work / "pipe"),
    "large": lambda work: (work / "a").write_bytes(bytes(handin.BYTES + 1)),
}


def test_what_is_handed_in_and_what_the_student_reads(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("harness.grade.results.RESULTS", tmp_path)
    seen = []
    for what, change in HAND_INS.items():
        work = Path(shutil.copytree(find("01").chapter_dir, tmp_path / what))
        change(work)
        out = tmp_path / f"{what}.tar.gz"
        status = handin.main(["--chapter", "01", "--dir", str(work), "--out", str(out)])
        printed = "".join(capsys.readouterr())
        printed = re.sub(r"^(  sha256|  seed) +\w+$|\b\d+ kB", r"\1 #", printed, flags=re.M)
        printed = re.sub(r"(  \| .*\n)+", "  | ...\n", printed)
        assert not out.exists() or out.read_bytes()[4:8] == bytes(4)  # no time: see `sha256`
        names = sorted(tarfile.open(out).getnames()) if out.exists() else []
        seen.append(f"---- {what}: {status}\n{printed}{' '.join(names)}")
    golden.check("handin", "\n".join(seen), tmp_path)
