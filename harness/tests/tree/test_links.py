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
FROM_08 = ("08-flow-control", "09-threads")
later = pytest.mark.parametrize("chapter", LATER, ids=lambda chapter: chapter.slug)


# The tree


def test_no_two_files_are_equal():
    """An edit is made once."""
    found = defaultdict(list)
    for chapter in CHAPTERS:
        for path in links.files(chapter.solution_dir):
            if not links.is_linked(path):
                found[path.read_bytes()].append(str(path.relative_to(ROOT)))
    equal = [" and ".join(names) for names in found.values() if len(names) > 1]
    assert not equal, f"{'; '.join(equal)} are equal: let one of them differ, or be a link"


@later
def test_a_file_is_the_lesson(chapter):
    """It is new, or differs from the one before in more than its marks."""
    for path in links.files(chapter.solution_dir):
        before = links.counterpart(path, chapter)
        if before and not links.is_linked(path):
            name = path.relative_to(ROOT)
            same = skeleton.plain(path.read_text()) == skeleton.plain(before.read_text())
            assert not same, f"{name}: only marks differ from {before.relative_to(ROOT)}: undo that"


@later
def test_a_lesson_is_what_the_list_says(chapter):
    """The files of the chapter itself are those that harness/lab/chapters.py names."""
    own = [path for path in links.files(chapter.solution_dir) if not links.is_linked(path)]
    new = {path for path in own if links.counterpart(path, chapter) is None}
    names = {path: sources.name_of(path, chapter.solution_dir) for path in own}
    changed = {names[path] for path in own if path not in new} - set(chapter.moves.split())
    assert {names[path] for path in new} == chapters.named(chapter.adds)
    assert changed == chapters.named(chapter.changes)
    before = {path.name for path in links.files(chapter.previous.solution_dir)}
    after = {path.name for path in links.files(chapter.solution_dir)}
    assert before - after == set(chapter.drops.split())


@later
def test_a_file_that_only_moves_is_written_from_the_one_before(chapter):
    """Nobody edits it, and it is named in `moves`."""
    for path in links.files(chapter.solution_dir):
        before, name = links.counterpart(path, chapter), sources.name_of(path, chapter.solution_dir)
        if before and not links.is_linked(path):
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


def test_the_tree_is_as_make_skeletons_makes_it(lab):
    """A file or a layer that is as before is a link to the chapter that changed it last, and a file
    that only moves is as before."""
    there = ROOT / "solutions"
    copy = shutil.copytree(there, lab({}), symlinks=True, dirs_exist_ok=True)
    links.restore()
    was, made = contents(there), contents(copy)
    changed = sorted(name for name in was.keys() | made.keys() if was.get(name) != made.get(name))
    assert not changed, f"`make skeletons` would change {', '.join(changed)}"
    assert any(isinstance(one, str) for one in was.values()), "there are no links"


def contents(top: Path) -> dict[str, str | bytes]:
    """What is below a directory: where a link leads, or the bytes of a file."""
    return {
        str(path.relative_to(top)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in top.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_what_is_as_before_becomes_a_link(lab):
    texts = {"01-blocking": "1", "02-nonblocking": "1", "03-poll-loop": "3"}
    texts |= {"04-pipelining": "3", "05-framing": "3"}
    top = lab({f"{slug}/a.c": text for slug, text in texts.items()})
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


def test_a_layer_that_is_as_before_becomes_a_link(lab):
    top = lab({"06-epoll/net/a.c": "1", "07-timers/net/a.c": "1", "07-timers/net/b.c": "1"})
    sources.write(top, {f"{slug}/net/a.c": "1" for slug in FROM_08})
    sources.write(top, {f"{slug}/net/b.c": "1" for slug in FROM_08})
    sources.write(top, {"09-threads/net/notes.txt": "nothing is lost"})
    links.restore()
    assert (top / "07-timers/net").is_dir() and not (top / "07-timers/net").is_symlink()
    assert os.readlink(top / "08-flow-control/net") == "../07-timers/net"
    assert (top / "09-threads/net/notes.txt").exists()
    (top / "09-threads/net/notes.txt").unlink()
    links.restore()
    for slug in FROM_08:  # no link to a link
        assert os.readlink(top / slug / "net") == "../07-timers/net"


@pytest.mark.parametrize("file", ["07-timers/net/a.c", "08-flow-control/net/a.c"])
def test_a_file_in_a_layer_that_is_a_link_becomes_one_of_the_chapter(file, lab):
    """What docs/working-on-the-lab.md says: own, edit, make skeletons."""
    top = lab({"06-epoll/net/a.c": "1", "06-epoll/net/b.c": "1"})
    for slug in ("07-timers", *FROM_08):
        (top / slug / "net").symlink_to("../06-epoll/net")
    links.restore()
    links.own(top / file)
    (top / file).write_text("2")
    for _ in range(2):
        links.restore()
        assert {path.name: path.is_symlink() for path in (top / file).parent.iterdir()} == {
            "a.c": False,
            "b.c": True,
        }
        assert (top / "06-epoll/net/a.c").read_text() == "1"
        for slug in FROM_08:
            assert (top / slug / "net/a.c").read_text() == "2"
            assert (top / slug / "net").is_symlink() == (slug != Path(file).parts[0])
    (top / file).write_text("1")  # back again
    links.restore()
    assert os.readlink(top / "09-threads/net") == "../06-epoll/net"


def test_a_file_becomes_one_of_the_chapter_only_once(lab):
    top = lab({"01-blocking/a.c": "1", "02-nonblocking/a.c": "1"})
    links.restore()
    links.own(top / "02-nonblocking/a.c")
    assert not (top / "02-nonblocking/a.c").is_symlink()
    for file in ("02-nonblocking/a.c", "02-nonblocking/b.c", "notes/a.c"):
        with pytest.raises(links.NoLink, match=file):
            links.own(top / file)


def test_a_layer_without_one_before_it_is_an_error(lab):
    top = lab({"06-epoll/net/a.c": "1"})
    (top / "08-flow-control/net").symlink_to("../06-epoll/net")
    with pytest.raises(links.LeadsNowhere, match="lacks this"):
        links.restore()


def test_a_link_without_a_file_before_it_is_an_error(lab):
    top = lab({"01-blocking/a.c": "1"})
    (top / "03-poll-loop/a.c").symlink_to("../01-blocking/a.c")
    with pytest.raises(links.LeadsNowhere, match="solutions/03-poll-loop/a.c is a link"):
        links.restore()


@pytest.mark.parametrize(
    ("name", "written"),
    [("a.c", "../01-blocking/a.c"), ("net", "../01-blocking/net")],
    ids=["file", "layer"],
)
def test_a_checkout_without_links_says_what_to_do(name, written, lab):
    """Git writes the text of a link where it can make none."""
    texts = {f"{slug}/todos.md": "" for slug in ("01-blocking", "02-nonblocking")}
    lab({"01-blocking/a.c": "1", f"02-nonblocking/{name}": written, **texts})
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
    assert {path.is_dir() for path in CHAPTERS[8].solution_dir.rglob("*") if path.is_symlink()} == {
        True,
        False,
    }
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


def test_what_is_written_into_a_linked_layer_leaves_its_end_alone(tmp_path):
    sources.write(tmp_path, {"a/net/x.c": "old", "a/net/y.c": "old"})
    (tmp_path / "b").mkdir()
    (tmp_path / "b/net").symlink_to("../a/net")
    sources.write(tmp_path / "b", {"net/x.c": "new"})
    assert sources.texts(tmp_path / "a") == {"net/x.c": "old", "net/y.c": "old"}
    assert sources.texts(tmp_path / "b") == {"net/x.c": "new", "net/y.c": "old"}


def test_a_skeleton_written_over_a_linked_layer_leaves_its_end_alone(tmp_path):
    sources.write(tmp_path, {"a/net/gone.c": "kept", "a/net/net.c": "kept"})
    (tmp_path / "b").mkdir()
    (tmp_path / "b/net").symlink_to("../a/net")
    skeleton.write(CHAPTERS[6], tmp_path / "b")
    assert sources.texts(tmp_path / "a") == {"net/gone.c": "kept", "net/net.c": "kept"}
    assert sources.texts(tmp_path / "b") == sources.texts(CHAPTERS[6].chapter_dir)


def test_a_link_to_a_layer_elsewhere_is_not_handed_in(copy, tmp_path):
    """In a seed it counts as it is compiled; other links to directories do not."""
    sources.write(tmp_path, {"elsewhere/x.c": ""})
    before = seed.of_files(copy)
    (copy / "events" / "more").symlink_to(tmp_path / "elsewhere")
    assert seed.of_files(copy) == before
    with pytest.raises(target.WrongUsage, match="is a link to a directory"):
        handin.collect(copy, "s")
    (copy / "events" / "more").unlink()
    (copy / "mine").symlink_to(tmp_path / "elsewhere")
    assert seed.of_files(copy) != before
    with pytest.raises(target.WrongUsage, match="leads out of the directory"):
        handin.collect(copy, "s")


def test_a_skeleton_has_no_links():
    for chapter in CHAPTERS:
        assert not [path for path in sources.files(chapter.chapter_dir) if path.is_symlink()]
