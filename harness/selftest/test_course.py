"""What holds in the tree without a server: one source, the diff is the lesson, points."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from harness import skeleton
from harness.grading import scoring
from harness.lab import chapters
from harness.lab.chapters import CHAPTERS

FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
SMALLER = [chapter for chapter in CHAPTERS if chapter.previous]


def by_slug(chapters=CHAPTERS):
    return pytest.mark.parametrize("chapter", chapters, ids=lambda chapter: chapter.slug)


def variants():
    """Every chapter with 0, 1, ... all of its TODOs solved."""
    return [
        pytest.param(chapter, solved, id=f"{chapter.slug}-{solved}-solved")
        for chapter in CHAPTERS
        for solved in range(len(skeleton.todos(chapter)) + 1)
    ]


@by_slug()
def test_one_source(chapter, tmp_path):
    """The skeleton in chapters/ is what its solution gives, to the byte."""
    skeleton.write(chapter, tmp_path)
    written = {path.name: path.read_text() for path in skeleton.sources(tmp_path)}
    committed = {path.name: path.read_text() for path in skeleton.sources(chapter.chapter_dir)}
    assert committed == written, "run `make skeletons` and commit what it changes"


@by_slug()
def test_student_sees_no_marks(chapter):
    for path in skeleton.sources(chapter.chapter_dir):
        assert not re.search(r"// (BEGIN|END) |\bSTUB\b", path.read_text()), path


@by_slug()
def test_skeleton_shows_its_todos_in_their_files(chapter):
    text = "".join(path.read_text() for path in skeleton.sources(chapter.chapter_dir))
    shown = [int(number) for number in re.findall(r"/\* TODO (\d+):", text)]
    assert sorted(shown) == [todo.number for todo in skeleton.todos(chapter)]


@by_slug()
def test_every_todo_names_a_claim_that_grades_it(chapter):
    claims = {claim.name: claim for claim in scoring.load()}
    for todo in skeleton.todos(chapter):
        assert (
            todo.test in claims
        ), f"{chapter.slug}: TODO {todo.number} names no test that is there"
        assert claims[todo.test].number == f"{chapter.number}.{todo.number}"


@by_slug()
def test_a_todo_is_short(chapter):
    """A contract of one sentence, the test, and at most three lines of guidance."""
    for todo in skeleton.todos(chapter):
        for paragraph in todo.text.split("\n\n"):
            assert len(" ".join(paragraph.split())) <= 3 * skeleton.LINE_WIDTH, todo


@by_slug()
def test_own_points_add_up_to_100(chapter):
    own = [claim.points for claim in scoring.load() if claim.chapter == chapter.number]
    assert sum(own) == 100


@by_slug()
def test_points_of_a_grade_add_up_to_100(chapter):
    claims = scoring.holding(scoring.load(), chapter.number)
    assert sum(scoring.worths(claims, chapter.number).values()) == 100


@by_slug(SMALLER)
def test_the_diff_is_the_lesson(chapter):
    """A solution differs from the one before only in the files that its chapter may change."""
    before = skeleton.solution_without_marks(chapter.previous)
    after = skeleton.solution_without_marks(chapter)
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    assert changed == chapters.MAY_CHANGE[chapter.number]
    assert after.keys() - before.keys() == chapters.MAY_ADD[chapter.number]
    assert before.keys() - after.keys() == chapters.MAY_REMOVE.get(chapter.number, set())


@by_slug(SMALLER)
def test_marks_do_not_get_in_the_way_of_the_diff(chapter):
    """A file that the chapter leaves alone keeps its marks too: diff -r shows the lesson."""
    for path in skeleton.sources(chapter.previous.solution_dir):
        gone = chapters.MAY_REMOVE.get(chapter.number, set())
        if path.name not in chapters.MAY_CHANGE[chapter.number] | gone:
            assert (chapter.solution_dir / path.name).read_text() == path.read_text(), path.name


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("chapter, solved", variants())
def test_every_step_compiles_without_a_warning(chapter, solved, compiler, tmp_path):
    skeleton.write(chapter, tmp_path, solved)
    files = [str(path) for path in tmp_path.glob("*.c")]
    result = subprocess.run([compiler, *FLAGS, *files], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_sources_carry_no_chapter_numbers_dates_or_licences():
    for chapter in CHAPTERS:
        for name, text in skeleton.solution_without_marks(chapter).items():
            found = re.search(r"chapter \d|\b20\d\d\b|copyright|licen[cs]e", text, re.I)
            assert not found, f"{chapter.slug}/{name}: {found[0]}"


def test_functions_and_files_are_short():
    """STYLE: functions of about 40 lines, files under about 300."""
    for path in Path(chapters.ROOT / "solutions").glob("*/*.[ch]"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 300, path
        starts = [i for i, line in enumerate(lines) if line == "{"]
        ends = [i for i, line in enumerate(lines) if line == "}"]
        for start, end in zip(starts, ends):
            assert end - start <= 45, f"{path}:{start}"


def test_chapters_are_found_by_number_and_name():
    assert chapters.find("3") is chapters.find("03") is chapters.find("03-poll-loop")
    for wrong in ("99", "", "3-blocking", "poll", "../03"):
        with pytest.raises(chapters.UnknownChapter, match="01, 02, 03, 04"):
            chapters.find(wrong)
