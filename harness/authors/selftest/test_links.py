"""The links of solutions/: they show the lesson of a chapter, and everything follows them."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from harness.course.handover import handin
from harness.lab import chapters, links, seed, skeleton, sources, target
from harness.lab.chapters import CHAPTERS, ROOT

LATER = [chapter for chapter in CHAPTERS if chapter.previous]
RESTORE = "`make skeletons` makes the links"
later = pytest.mark.parametrize("chapter", LATER, ids=lambda chapter: chapter.slug)


def linked(chapter) -> list[Path]:
    return [path for path in links.files(chapter.solution_dir) if path.is_symlink()]


# The tree


def test_no_two_files_are_equal():
    """An edit is made once."""
    found = defaultdict(list)
    for chapter in CHAPTERS:
        for path in links.files(chapter.solution_dir):
            if not path.is_symlink():
                found[path.read_bytes()].append(str(path.relative_to(ROOT)))
    equal = [" and ".join(names) for names in found.values() if len(names) > 1]
    assert not equal, f"{'; '.join(equal)} are equal: {RESTORE}"


@later
def test_a_link_leads_to_the_file_that_was_changed_last(chapter):
    for path in linked(chapter):
        name, text = path.relative_to(ROOT), os.readlink(path)
        end = path.parent / text
        assert not os.path.isabs(text), f"{name}: {RESTORE}"
        assert end.is_file() and not end.is_symlink(), f"{name} leads to {text}: {RESTORE}"
        before = links.counterpart(path, chapter)
        assert before and end.resolve() == before.resolve(), f"{name}: {RESTORE}"


@later
def test_a_file_is_the_lesson(chapter):
    """It is new, or differs from the one before in more than its marks."""
    for path in links.files(chapter.solution_dir):
        before = links.counterpart(path, chapter)
        if before and not path.is_symlink():
            name = path.relative_to(ROOT)
            same = skeleton.plain(path.read_text()) == skeleton.plain(before.read_text())
            assert not same, f"{name}: only marks differ from {before.relative_to(ROOT)}: undo that"


@later
def test_a_lesson_is_what_the_list_says(chapter):
    """The files of the chapter itself are those that harness/lab/chapters.py names."""
    own = [path for path in links.files(chapter.solution_dir) if not path.is_symlink()]
    new = {path for path in own if links.counterpart(path, chapter) is None}
    names = {path: sources.name_of(path, chapter.solution_dir) for path in own}
    changed = {names[path] for path in own if path not in new} - set(chapter.moves.split())
    assert {names[path] for path in new} == chapters.named(chapter.adds)
    assert changed == chapters.named(chapter.changes)
    before = {path.name for path in links.files(chapter.previous.solution_dir)}
    assert before <= {path.name for path in links.files(chapter.solution_dir)}, "none is removed"


@later
def test_a_file_that_only_moves_is_written_from_the_one_before(chapter):
    """Nobody edits it, and it is named in `moves`."""
    for path in links.files(chapter.solution_dir):
        before, name = links.counterpart(path, chapter), sources.name_of(path, chapter.solution_dir)
        if before and not path.is_symlink():
            only_moves = links.moved(before.read_text(), chapter) == path.read_text()
            assert only_moves == (name in chapter.moves.split()), f"{path}: `make skeletons`"


def test_texts_are_no_links():
    for chapter in CHAPTERS:
        for name in ("README.md", "todos.md", "wrong.patch"):
            assert not (chapter.solution_dir / name).is_symlink(), f"{chapter.slug}/{name}"


# What makes them


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """lab({"01-blocking/io.c": "text", ...}): another lab, with these files in solutions/."""

    def make(files: dict[str, str]) -> Path:
        solutions = tmp_path / "solutions"
        for chapter in CHAPTERS:
            (solutions / chapter.slug).mkdir(parents=True)
        sources.write(solutions, files)
        return solutions

    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    monkeypatch.setattr(links, "ROOT", tmp_path)
    return make


def test_what_is_as_before_becomes_a_link(lab):
    top = lab({"01-blocking/a.c": "1", "02-nonblocking/a.c": "1", "03-poll-loop/a.c": "3"})
    sources.write(top, {"04-pipelining/a.c": "3", "05-framing/a.c": "3"})
    links.restore()
    assert not (top / "01-blocking/a.c").is_symlink()
    assert os.readlink(top / "02-nonblocking/a.c") == "../01-blocking/a.c"
    assert not (top / "03-poll-loop/a.c").is_symlink()
    for slug in ("04-pipelining", "05-framing"):  # no link to a link
        assert os.readlink(top / slug / "a.c") == "../03-poll-loop/a.c"


def test_a_link_follows_a_later_change(lab):
    """It says "as in the chapter before", which has a file of its own now."""
    top = lab({f"{number}/a.c": "1" for number in ("01-blocking", "02-nonblocking")})
    (top / "03-poll-loop/a.c").symlink_to("../01-blocking/a.c")
    links.restore()
    (top / "02-nonblocking/a.c").unlink()
    (top / "02-nonblocking/a.c").write_text("2")
    links.restore()
    assert os.readlink(top / "03-poll-loop/a.c") == "../02-nonblocking/a.c"


def test_a_file_that_has_moved_becomes_a_link(lab):
    top = lab({"05-framing/a.h": "1", "06-epoll/net/a.h": "1", "07-timers/net/a.h": "1"})
    links.restore()
    for slug in ("06-epoll", "07-timers"):
        assert os.readlink(top / slug / "net/a.h") == "../../05-framing/a.h"


def test_a_link_without_a_file_before_it_is_an_error(lab):
    top = lab({"01-blocking/a.c": "1"})
    (top / "03-poll-loop/a.c").symlink_to("../01-blocking/a.c")
    with pytest.raises(links.LeadsNowhere, match="solutions/03-poll-loop/a.c is a link"):
        links.restore()


def test_a_checkout_without_links_says_what_to_do(lab):
    """Git writes the text of a link where it can make none."""
    top = lab({"01-blocking/a.c": "1", "02-nonblocking/a.c": "../01-blocking/a.c"})
    for slug in ("01-blocking", "02-nonblocking"):
        (top / slug / "todos.md").write_text("")
    second = chapters.find("02")
    for command in (
        lambda: target.resolve(second, "solutions"),
        lambda: skeleton.lesson(second),
        lambda: skeleton.todos(second),
    ):
        with pytest.raises(target.WrongUsage, match="core.symlinks=true"):
            command()


# What reads them


@pytest.fixture
def copy(tmp_path):
    """A solution as files."""
    return Path(shutil.copytree(CHAPTERS[8].solution_dir, tmp_path / "copy"))


def test_a_grade_has_the_same_seed_for_links(copy):
    assert linked(CHAPTERS[8])
    assert seed.of_files(copy) == seed.of_files(CHAPTERS[8].solution_dir)


def test_a_solution_can_be_handed_in(copy):
    found = handin.collect(CHAPTERS[8].solution_dir, "s")
    assert found.same_seed and found.members == handin.collect(copy, "s").members


def test_what_is_written_over_a_link_leaves_its_end_alone(tmp_path):
    sources.write(tmp_path, {"a/x.c": "old"})
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x.c").symlink_to("../a/x.c")
    sources.write(tmp_path / "b", {"x.c": "new"})
    assert sources.texts(tmp_path / "a") == {"x.c": "old"}
    assert sources.texts(tmp_path / "b") == {"x.c": "new"}


def test_a_skeleton_has_no_links():
    for chapter in CHAPTERS:
        assert not [path for path in sources.files(chapter.chapter_dir) if path.is_symlink()]
