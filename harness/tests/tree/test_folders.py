"""The layers of a chapter: directories with a part of its C, see harness/lab/sources.py."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path, PurePath

import pytest

from harness.tests.tree.documents import tables
from harness.tests.drawn import slug, some
from harness.claims.stage import linking
from harness.course.classes import submissions, unpack
from harness.grading import history
from harness.lab import chapters, skeleton, sources
from harness.lab.chapters import CHAPTERS, ROOT
from harness.server import build
from harness.student import watch

FIRST = chapters.find("06")  # with layers
WITH_LAYERS = CHAPTERS[CHAPTERS.index(FIRST) :]
TOP = "."
ORDER = [*sources.LAYERS, TOP]
TOP_FILES = {"main.c", "options.c", "options.h"}
INCLUDE = re.compile(r'^#include "(.*)"', re.M)
HEADER = "number value(void);\n"
SERVER = {
    "main.c": '#include "net/value.h"\n\nint main(void)\n{\n    return value() - 7;\n}\n',
    "net/value.h": '#include "net/type.h"\n\n' + HEADER,
    "net/type.h": "typedef int number;\n",
    "net/value.c": '#include "net/value.h"\n\nint value(void)\n{\n    return 7;\n}\n',
}
FLAT = {name.removeprefix("net/"): text.replace("net/", "") for name, text in SERVER.items()}
with_layers = pytest.mark.parametrize("chapter", WITH_LAYERS, ids=slug)


def layer(name: str) -> str:
    return str(PurePath(name).parent)


# The chapters


def test_chapters_before_are_flat():
    for chapter in CHAPTERS[: CHAPTERS.index(FIRST)]:
        assert sources.folders(chapter.solution_dir) == [chapter.solution_dir], chapter.slug


@with_layers
def test_every_file_is_in_a_layer(chapter):
    for name in sources.texts(chapter.solution_dir):
        assert name in TOP_FILES or layer(name) in sources.LAYERS, f"{chapter.slug}/{name}"


@with_layers
def test_includes_name_the_layer_and_run_one_way(chapter):
    texts = sources.texts(chapter.solution_dir)
    for name, text in texts.items():
        for header in INCLUDE.findall(text):
            where = f"solutions/{chapter.slug}/{name}"
            assert header in texts, f"{where}: #include {header!r}: name the file as from main.c"
            order = " < ".join(ORDER[:-1])
            backwards = ORDER.index(layer(header)) > ORDER.index(layer(name))
            assert not backwards, f"{where}: #include {header!r} runs against {order}"


@with_layers
def test_no_two_files_have_the_same_name(chapter):
    """A debugger, a program of the grader and a handout name them without the layer."""
    names = [path.name for path in sources.files(chapter.solution_dir)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("chapter", some(WITH_LAYERS, 2, "chapters by hand", str))
def test_one_command_builds_a_chapter(chapter, tmp_path):
    liburing = "-luring" if "net/ring.c" in sources.texts(chapter.solution_dir) else ""
    command = f"gcc -I. *.c */*.c -o {tmp_path}/server -pthread {liburing}"
    subprocess.run(command, shell=True, cwd=chapter.chapter_dir, check=True)


def test_the_handout_says_what_is_in_a_layer():
    """The rows of the table that begins with "directory"."""
    handout = (FIRST.chapter_dir / "README.md").read_text()
    (rows,) = (rows for head, *rows in tables(handout) if head[0] == "directory")
    assert {name.strip("`/"): what for name, what, *_ in rows} == sources.LAYERS


# Which files count


def test_without_a_layer_no_folder_counts(tmp_path):
    sources.write(tmp_path, {"main.c": "", "old/main.c": "", "old/x.h": ""})
    assert list(sources.texts(tmp_path)) == ["main.c"]


def test_with_a_layer_every_folder_counts_and_nothing_below_it(tmp_path):
    names = ["main.c", "mine/x.c", "net/io.c", "net/io.h"]
    sources.write(tmp_path, dict.fromkeys([*names, "net/old/io.c", ".git/x.c"], ""))
    assert list(sources.texts(tmp_path)) == names
    assert build.sources(tmp_path) == ["main.c", "mine/x.c", "net/io.c"]


# Builds


def test_a_message_names_the_layer(tmp_path):
    sources.write(tmp_path, {**SERVER, "net/value.c": "\nint value(void) { return }\n"})
    with pytest.raises(build.BuildFailed, match=r"\nnet/value.c:2:"):
        build.cached_server(tmp_path)


def test_a_changed_header_of_a_layer_is_noticed(tmp_path):
    sources.write(tmp_path, SERVER)
    build.cached_server(tmp_path)
    sources.write(tmp_path, {"net/value.h": "int value(void);\n#define value() 9\n"})
    sources.write(tmp_path, {"net/value.c": "int value(void) { return 8; }\n"})
    assert subprocess.run([build.cached_server(tmp_path).binary]).returncode == 2


@pytest.mark.parametrize("files", [SERVER, FLAT], ids=["in layers", "flat"])
def test_a_program_finds_a_module_in_any_layer(files, tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    text = '/* A program.\n * links: value.c */\n#include "value.h"\nint main(void)\n'
    sources.write(programs, {"06_value.c": f"{text}{{\n    return value() - 7;\n}}\n"})
    sources.write(tmp_path / "s", files)
    monkeypatch.setattr(linking, "PROGRAMS", programs)
    binary = linking.link(tmp_path / "s", "06_value", ())
    assert subprocess.run([binary]).returncode == 0


def test_history_and_watch_see_a_layer(tmp_path):
    sources.write(tmp_path, SERVER)
    assert history.state(tmp_path).keys() == watch.stamp(tmp_path).keys() == SERVER.keys()


# Skeletons and diffs


def test_a_skeleton_loses_what_the_solution_does_not_have(tmp_path):
    sources.write(tmp_path, {"base/gone.c": "", "co/gone.c": "", "co/old/kept.c": "", "io.c": ""})
    sources.write(tmp_path, {"notes.md": "", "net/gone.h": ""})
    sources.write(tmp_path, {"redis/gone.c": ""})
    skeleton.write(FIRST, tmp_path)
    assert sources.texts(tmp_path) == sources.texts(FIRST.chapter_dir)
    assert (tmp_path / "co/old/kept.c").exists() and (tmp_path / "notes.md").exists()
    assert not (tmp_path / "redis").exists()


def test_a_file_that_has_only_moved_is_no_difference():
    """The order of the includes depends on the names."""
    old = {
        "a.c": '#include "b.h"\n#include "z.h"\n\nint a;\n',
        "b.h": "int b;\n",
        "z.h": "int z;\n",
    }
    new = {
        "net/a.c": '#include "base/z.h"\n#include "wire/b.h"\n\nint a;\n',
        "wire/b.h": "int b;\n",
        "base/z.h": "int z;\n",
    }
    assert skeleton.difference(old, new, "x", "y") == ""


def test_a_file_that_has_moved_and_changed_is_shown_without_noise():
    old = {"a.c": '#include "b.h"\n\nint a;\n', "b.h": "int b;\n", "gone.c": "int c;\n"}
    new = {"net/a.c": '#include "net/b.h"\n\nlong a;\n', "net/b.h": "int b;\n"}
    lines = skeleton.difference(old, new, "x", "y").splitlines()
    assert [line for line in lines if line[0] in "+-"] == [
        *("--- x/gone.c", "+++ /dev/null", "-int c;"),
        *("--- x/a.c", "+++ y/net/a.c", "-int a;", "+long a;"),
    ]


# Hand-ins


@pytest.mark.parametrize("top", ["", FIRST.slug, f"ada/chapters/{FIRST.slug}"])
@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_an_archive_keeps_its_layers(kind, top, tmp_path):
    sources.write(tmp_path / "files" / top, SERVER)
    packed = Path(shutil.make_archive(str(tmp_path / "ada"), kind, tmp_path / "files"))
    chosen = submissions.latest((packed,), FIRST.slug)
    unpack.sources(chosen, tmp_path / "out", tmp_path / "scratch", FIRST.slug)
    assert sources.texts(tmp_path / "out") == SERVER


def test_a_directory_of_layers_is_one_hand_in(tmp_path):
    shutil.copytree(FIRST.chapter_dir, tmp_path / "ada" / "work")
    assert submissions.latest((tmp_path / "ada",), FIRST.slug) == Path(tmp_path / "ada" / "work")


def test_the_editor_finds_headers_of_layers():
    """.clangd is for all chapters; a path in it is seen from the directory of the file."""
    assert "-iquote, ., -iquote, .." in (ROOT / ".clangd").read_text()
