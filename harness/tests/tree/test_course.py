"""The chapters: one source, the diff is the lesson, points; and the links that keep it so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from importlib import import_module
from pathlib import PurePath

import pytest

from harness.failures.hints import HINTS
from harness.grading import scoring
from harness.lab import chapters, links, skeleton, sources, target
from harness.lab.chapters import CHAPTERS, ROOT
from harness.server import build
from harness.tests import golden
from harness.tests.drawn import some

FLAGS = ["-iquote", ".", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
STEPS = [(chapter, compiler) for chapter in CHAPTERS for compiler in ("gcc", "clang")]
TOP_FILES = {"main.c", "options.c", "options.h"}
ORDER = [*sources.LAYERS, "."]

# The pieces of a chapter, and the beginning of each text. {number}, {slug}, {title} are its own.
PIECES = {
    "solutions/{slug}/main.c": "",
    "solutions/{slug}/todos.md": "# The TODOs of {slug}\n",
    "solutions/{slug}/wrong.patch": "Wrong servers of {slug}: ",
    "solutions/{slug}/README.md": "# Solution {number}: ",
    "chapters/{slug}/README.md": "# Chapter {number}: {title}\n",
    "harness/claims/test_{number}_*.py": "",
    "harness/student/demos/ch{number}.py": "",
    "docs/pictures/{number}-*.dot": "",
}
# In documents: how the head of a table begins, and how the chapter's row begins.
ROWS = {
    "README.md": ("| handout |", "| [{slug}](chapters/{slug}/README.md) | {title} |"),
    "docs/reading-failures.md": ("| grade of |", "| {number} |"),
    "docs/instructors.md": ("| chapter |", "| {number} |"),
}


def test_every_chapter_is_complete():
    missing = []
    for chapter in CHAPTERS:
        own = {"number": chapter.number, "slug": chapter.slug, "title": chapter.title}
        for pattern, head in PIECES.items():
            found = list(ROOT.glob(pattern.format(**own)))
            if not found or not found[0].read_text().startswith(head.format(**own)):
                missing.append(f"{pattern.format(**own)}, which begins {head.format(**own)!r}")
        for document, (head, row) in ROWS.items():
            table = (ROOT / document).read_text().partition(f"\n{head}")[2].partition("\n\n")[0]
            if f"\n{row.format(**own)}" not in table:
                missing.append(f"{document}: below {head} a row {row.format(**own)}")
    assert not missing, "\n".join(["add or change:", *missing])


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
        for solution in sources.texts(chapter.solution_dir).values():
            for region in skeleton.REGION.finditer(solution):
                assert region["code"] not in text, f"{chapter.slug}: {region['name']} is solved"


def test_points_add_up_and_every_todo_names_its_claim():
    """Programs that call a single module give at most a third of a chapter's own points, so that a
    student who builds the same server of other modules loses no more."""
    claims = scoring.load()
    for chapter in CHAPTERS:
        own = {claim.name: claim for claim in claims if claim.chapter == chapter}
        assert sum(claim.points for claim in own.values()) == 100, chapter.slug
        assert sum(scoring.worths(scoring.holding(claims, chapter), chapter).values()) == 100
        assert 3 * sum(claim.points for claim in own.values() if claim.module) <= 100, chapter.slug
        for todo in skeleton.todos(chapter):
            where = f"solutions/{chapter.slug}/todos.md: TODO {todo.number} names {todo.test!r}"
            number = f"{chapter.number}.{todo.number}"
            assert todo.test in own and own[todo.test].number == number, where
    for claim in claims:
        module = import_module(f"harness.claims.{claim.file.stem}")
        chosen = getattr(module, claim.name).claim.hints
        unknown = {*chosen, *chosen.values()} - HINTS.keys()
        assert not unknown, f"{claim.name} chooses the hints {unknown}, which are not there"


def test_a_chapter_changes_only_what_it_teaches():
    """Its own files are those of harness/lab/chapters.py; all others are links."""
    found = defaultdict(list)
    for chapter in CHAPTERS:
        own = [path for path in links.files(chapter.solution_dir) if not links.is_linked(path)]
        new, changed = set(), set()
        for path in own:
            name, text = sources.name_of(path, chapter.solution_dir), path.read_text()
            where = f"solutions/{chapter.slug}/{name}"
            found[text].append(where)
            noise = re.search(r"chapter \d|\b20\d\d\b|copyright|licen[cs]e", text, re.I)
            assert not noise, f"{where}: the next chapter would have to change {noise[0]!r}"
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
    assert not [places for places in found.values() if len(places) > 1]


def test_includes_run_one_way():
    """A header is named as from main.c, and no layer includes one above it."""
    for chapter in CHAPTERS:
        texts = sources.texts(chapter.solution_dir)
        names = [PurePath(name).name for name in texts]
        assert len(names) == len(set(names)), f"{chapter.slug}: a debugger names only the file"
        for name, text in texts.items():
            where, layer = f"solutions/{chapter.slug}/{name}", str(PurePath(name).parent)
            flat = chapter.number < "06" or name in TOP_FILES
            assert (layer == ".") == flat and layer in ORDER, f"{where} is in the wrong layer"
            for header in links.INCLUDE.findall(text):
                assert header in texts, f"{where}: there is no {header}"
                backwards = ORDER.index(str(PurePath(header).parent)) > ORDER.index(layer)
                assert not backwards, f"{where} includes {header}, which is in a layer above it"


def step_id(step):
    return "-".join([step[0].slug, step[1]])


@pytest.mark.parametrize(
    "chapter, compiler", some(STEPS, 1, "chapters whose steps are compiled", step_id)
)
def test_every_step_compiles_without_a_warning(chapter, compiler, tmp_path):
    """With 0, 1, ... all TODOs solved. From one step to the next only changed files are compiled,
    and all of them if a header changes."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    before: dict[str, str] = {}
    for solved in range(len(skeleton.todos(chapter)) + 1):
        directory = tmp_path / str(solved)
        skeleton.write(chapter, directory, solved)
        texts = sources.texts(directory)
        changed = {name for name, text in texts.items() if before.get(name) != text}
        everything = any(name.endswith(".h") for name in changed)
        files = [name for name in build.sources(directory) if everything or name in changed]
        before, words = texts, [compiler, *FLAGS, *files]
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True)
        assert done.returncode == 0, f"the first {solved} TODOs solved:\n{done.stderr}"


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
    assert [(solutions / slug / "net/b.h").read_text() for slug in list_of(layer)] == list("233")
    own.write_text("2")
    links.restore()
    assert os.readlink(solutions / "08-flow-control/net") == "../06-epoll/net"
    with pytest.raises(links.NoLink):
        links.own(solutions / "05-framing/a.h")
    (solutions / "05-framing/a.h").unlink()
    with pytest.raises(links.LeadsNowhere):
        links.restore()


def list_of(files):
    return [PurePath(name).parts[0] for name in files]


def test_a_file_written_over_a_link_leaves_its_end_alone(tmp_path):
    sources.write(tmp_path, {"a/net/gone.c": "kept", "a/net/net.c": "kept"})
    (tmp_path / "b").mkdir()
    (tmp_path / "b/net").symlink_to("../a/net")
    skeleton.write(CHAPTERS[6], tmp_path / "b")
    assert sources.texts(tmp_path / "a") == {"net/gone.c": "kept", "net/net.c": "kept"}
    assert sources.texts(tmp_path / "b") == sources.texts(CHAPTERS[6].chapter_dir)


@pytest.mark.parametrize("name, written", [("a.c", "../01-x/a.c"), ("net", "../01-x/net")])
def test_a_checkout_without_links_says_what_to_do(name, written, solutions):
    """Git writes the text of a link where it can make none."""
    sources.write(solutions, {f"02-nonblocking/{name}": written, "02-nonblocking/todos.md": ""})
    with pytest.raises(target.WrongUsage, match="core.symlinks=true"):
        target.resolve(chapters.find("02"), "solutions")


def test_make_lesson_shows_a_moved_file_without_noise():
    """A file that has only moved, and one that has moved and changed. The order of includes
    depends on the names."""
    old = {"a.c": '#include "b.h"\n#include "z.h"\n\nint a;\n', "b.h": "int b;\n", "z.h": "\n"}
    new = {"net/a.c": '#include "base/z.h"\n#include "wire/b.h"\n\nint a;\n'}
    new |= {"wire/b.h": "int b;\n", "base/z.h": "\n"}
    assert skeleton.difference(old, new, "x", "y") == ""
    new["net/a.c"] = new["net/a.c"].replace("int a", "long a")
    golden.check("moved", skeleton.difference({**old, "gone.c": "int c;\n"}, new, "x", "y"))
