"""The chapters: one source, the diff is the lesson, points; and the links that keep it so."""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from importlib import import_module
from pathlib import PurePath

import pytest

from harness.feedback.hints import HINTS
from harness.grade import scoring
from harness.modules import linking
from harness.student.demos.command import DEMOS
from harness.submission import chapters, links, skeleton, sources, todos
from harness.submission.chapters import CHAPTERS, ROOT

ORDER = [*sources.LAYERS, "."]

# The pieces of a chapter, which docs/working-on-the-lab.md explains.
PIECES = """solutions/{slug}/main.c solutions/{slug}/todos.md solutions/{slug}/wrong-servers.patch
    solutions/{slug}/README.md chapters/{slug}/main.c chapters/{slug}/README.md
    harness/claims/test_{number}_*.py docs/pictures/{number}-*.dot""".split()


def test_every_piece_is_there():
    for chapter in CHAPTERS:
        names = [one.format(number=chapter.number, slug=chapter.slug) for one in PIECES]
        missing = [f"add {name}" for name in names if not list(ROOT.glob(name))]
        show = f"show_{chapter.number}"
        missing += [] if show in DEMOS else [f"add {show}() in harness/student/demos"]
        assert not missing, "\n".join([f"chapter {chapter.slug} is not complete:", *missing])


def test_skeletons_are_what_the_solutions_give(tmp_path):
    for chapter in CHAPTERS:
        skeleton.write(chapter, tmp_path / chapter.slug)
        there = sources.texts(chapter.chapter_dir)
        assert sources.texts(tmp_path / chapter.slug) == there, f"{chapter.slug}: make skeletons"
        assert not [path for path in sources.files(chapter.chapter_dir) if path.is_symlink()]
        text = "".join(there.values())
        assert not re.search(r"// (BEGIN|END) |\bSTUB\b", text), f"{chapter.slug}: a mark is left"
        shown = sorted(int(number) for number in re.findall(r"/\* TODO (\d+):", text))
        assert shown == [todo.number for todo in skeleton.todos(chapter)], chapter.slug
        solution = "".join(sources.texts(chapter.solution_dir).values())
        code = {found["name"]: found["code"] for found in skeleton.REGION.finditer(solution)}
        for todo in skeleton.todos(chapter):
            assert code[todo.region] not in text, f"{chapter.slug}: {todo.region} is solved"


def test_points_are_those_of_the_todos():
    claims = scoring.load()
    assert todos.FILE.read_bytes() == skeleton.worths_as_json(), "make skeletons"
    for chapter in CHAPTERS:
        own = {claim.name: claim for claim in claims if claim.chapter == chapter}
        worth = scoring.worths(scoring.holding(claims, chapter), chapter)
        points = []
        for todo in skeleton.todos(chapter):
            where = f"solutions/{chapter.slug}/todos.md: TODO {todo.number} names {todo.test!r}"
            assert todo.test in own and own[todo.test].todo == todo.number, where
            assert not own[todo.test].guard, where
            of = [worth[claim.name] for claim in own.values() if claim.todo == todo.number]
            assert sum(of) == todo.points and 2 * worth[todo.test] >= todo.points, where
            points.append(str(todo.points))
        assert sum(worth.values()) == 100, chapter.slug
        said = f"TODOs 1 to {len(points)} give {', '.join(points[:-1])} and {points[-1]} points."
        assert said in " ".join((chapter.chapter_dir / "README.md").read_text().split())
        assert todos.is_untouched(chapter, chapter.chapter_dir)
        assert not todos.is_untouched(chapter, chapter.solution_dir)
        assert not linking.has_modules(chapter.number, CHAPTERS[3].solution_dir), "of other design"
        called = linking.has_modules(chapter.number, chapter.solution_dir)
        assert called == any(claim.module for claim in own.values())
    for claim in claims:
        module = import_module(f"harness.{claim.file.parent.name}.{claim.file.stem}")
        chosen = getattr(module, claim.name).claim.hints
        unknown = {*chosen, *chosen.values()} - HINTS.keys()
        assert not unknown, f"{claim.name} chooses the hints {unknown}, which are not there"


def rank(name: str) -> int:
    """The place of a file's layer: each may include those before it."""
    return ORDER.index(str(PurePath(name).parent))


def test_a_chapter_changes_only_what_it_teaches():
    """Its own files are those of harness/submission/chapters.py, and all others are links. No two
    of them are equal, and includes run one way."""
    found = defaultdict(list)
    for chapter in CHAPTERS:
        own = [path for path in links.files(chapter.solution_dir) if not links.is_linked(path)]
        new, changed = set(), set()
        for path in own:
            name, text = sources.name_of(path, chapter.solution_dir), path.read_text()
            where = f"solutions/{chapter.slug}/{name}"
            found[text].append(where)
            above = {header for header in links.INCLUDE.findall(text) if rank(header) > rank(name)}
            assert not above, f"{where} includes {above}, which is in a layer above it"
            before = chapter.previous and links.counterpart(path, chapter)
            if not before:
                new.add(name)
            elif name in chapter.moves.split():
                assert links.moved(before.read_text(), chapter) == text, f"{where}: only moves"
            else:
                changed.add(name)
                marks = skeleton.plain(text) == skeleton.plain(before.read_text())
                assert not marks, f"{where}: only the marks differ from {before}"
        if before := chapter.previous:
            assert new == chapters.named(chapter.adds), chapter.slug
            assert changed == chapters.named(chapter.changes), chapter.slug
            names = [{one.name for one in links.files(at.solution_dir)} for at in (before, chapter)]
            assert names[0] - names[1] == set(chapter.drops.split()), chapter.slug
            lesson = skeleton.lesson(chapter)
            assert not [one for one in chapter.moves.split() if f"/{one}\n" in lesson]
            assert lesson.count("\n+++ /dev/null") == len(chapter.drops.split())
    assert not [places for places in found.values() if len(places) > 1]


# Links


def contents(top):
    """What is below a directory: where a link leads, or the bytes of a file."""
    return {
        str(path.relative_to(top)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in top.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def solutions(tmp_path, monkeypatch):
    """The directory solutions/ of another lab, with nothing in its chapters."""
    for chapter in CHAPTERS:
        (tmp_path / "solutions" / chapter.slug).mkdir(parents=True)
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    monkeypatch.setattr(links, "ROOT", tmp_path)
    return tmp_path / "solutions"


def test_the_tree_is_as_make_skeletons_makes_it(solutions):
    shutil.copytree(ROOT / "solutions", solutions, symlinks=True, dirs_exist_ok=True)
    links.restore()
    was, made = contents(ROOT / "solutions"), contents(solutions)
    assert was == made, [one for one in was.keys() | made.keys() if was.get(one) != made.get(one)]


def test_make_skeletons_makes_links_and_loses_no_edit(solutions):
    same = dict.fromkeys(["05-framing/a.h", "06-epoll/net/a.h", "07-timers/net/a.h"], "1")
    layer = {f"{slug}/net/b.h": "2" for slug in ("06-epoll", "07-timers", "08-flow-control")}
    sources.write(solutions, {**same, **layer, "08-flow-control/net/a.h": "1"})
    links.restore()
    assert contents(solutions) == {
        **{"05-framing/a.h": b"1", "06-epoll/net/a.h": "../../05-framing/a.h"},
        **{"06-epoll/net/b.h": b"2", "07-timers/net": "../06-epoll/net"},
        "08-flow-control/net": "../06-epoll/net",
    }
    own = solutions / "07-timers/net/b.h"
    links.own(own)
    own.write_text("3")
    links.restore()
    assert [(solutions / name).read_text() for name in layer] == ["2", "3", "3"]
    own.write_text("2")
    links.restore()
    assert os.readlink(solutions / "08-flow-control/net") == "../06-epoll/net"
    (solutions / "05-framing/a.h").unlink()
    with pytest.raises(links.LeadsNowhere):
        links.restore()
