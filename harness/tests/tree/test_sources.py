"""Which files count as C: one definition for everything that builds, grades, packs or compares."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

import pytest

from harness.tests.verdicts.test_verdicts import grade, lost
from harness.course.gradescope import run_autograder
from harness.course.handover import handin
from harness.lab import chapters, sources
from harness.lab.chapters import ROOT
from harness.server import build

CHAPTER = chapters.find("01")
APPLE_DOUBLE = b"\0\5\26\7\0\2\0\0Mac OS X        \0\2\0\0\0\11\0\0\0002"
# What stands beside main.c although nobody wrote it as C; and main.c in the upper case of gcc's C++
LEFT_OUT = (
    *("._main.c", "._io.h", ".main.c.swp", "#main.c#", "main.c~", "main.c.orig", ".hidden.c"),
    *("MAIN.C", "NET.H", "main.cpp", ".DS_Store", "main.o"),
)
UNUSUAL = (b"a b.c", b"line\nbreak.c", b"-W.c", b"caf\xe9.c", b"@x.c", b"$(HOME).c")
# These look for more than C, in the lab's own directories.
MAY_NAME_ENDINGS = {
    "harness/lab/sources.py": "the definition",
    "harness/lab/chapters.py": "names the files of a lesson",
    "harness/lab/links.py": "finds links that lead nowhere, too",
    "harness/authors/english.py": "looks at texts of all kinds",
    "harness/course/classes/records.py": "looks at all files that decide a grade",
}
ENDING = re.compile(r"(\*|^)(\.c|\.h|\.\[ch\])$")


def as_packed_by_a_mac(directory: Path) -> Path:
    """The solution of 01, as tar of macOS unpacks elsewhere."""
    shutil.copytree(CHAPTER.solution_dir, directory)
    for path in list(directory.iterdir()):
        directory.joinpath(f"._{path.name}").write_bytes(APPLE_DOUBLE)
    return directory


def test_what_counts_is_what_the_shell_names(tmp_path):
    for name in (*LEFT_OUT, "main.c", "io.h"):
        (tmp_path / name).write_text("")
    (tmp_path / "x.c").mkdir()
    (tmp_path / ".#main.c").symlink_to("ada@host.1234")
    (tmp_path / "gone.c").symlink_to("nowhere.c")
    (tmp_path / "linked.c").symlink_to("main.c")
    assert [path.name for path in sources.c_files(tmp_path)] == ["linked.c", "main.c"]
    assert [path.name for path in sources.files(tmp_path)] == ["io.h", "linked.c", "main.c"]
    assert build.sources(tmp_path) == ["linked.c", "main.c"]
    for name in ("__MACOSX", ".git", "inner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.c").write_text("")
    assert tmp_path / "inner" / "a.c" in sources.below(tmp_path)
    assert len(sources.below(tmp_path)) == 4


@pytest.mark.parametrize("name", UNUSUAL)
def test_any_name_is_compiled(name, tmp_path):
    (tmp_path / "main.c").write_text("int other(void);\nint main(void) { return other(); }\n")
    with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
        file.write("int other(void) { return 0; }\n")
    assert build.cached_server(tmp_path).binary.exists()


def test_the_directory_of_a_mac_gets_its_points(tmp_path, patient):
    words = ["--only", "01_empty_frames", "--jobs", "0"]
    directory = as_packed_by_a_mac(tmp_path / "01-blocking")
    results, status = grade(patient, "--chapter", "01", "--dir", str(directory), *words)
    assert (lost(results), status) == ([], 0)


def test_the_autograder_finds_the_sources_in_what_a_mac_has_packed(tmp_path):
    """test_unpack.py unpacks such archives."""
    shutil.copytree(CHAPTER.solution_dir, tmp_path / CHAPTER.slug)
    beside = tmp_path / "__MACOSX" / CHAPTER.slug
    beside.mkdir(parents=True)
    (beside / "._main.c").write_bytes(APPLE_DOUBLE)
    assert run_autograder.find_sources(tmp_path, CHAPTER.slug) == tmp_path / CHAPTER.slug


def test_a_hand_in_lacks_them(tmp_path):
    directory = as_packed_by_a_mac(tmp_path / "s")
    (directory / "#main.c#").write_text("")
    (directory / ".#main.c").symlink_to("ada@host.1234")
    names = {Path(one.name).name for one in handin.collect(directory, "s").members}
    assert names == {path.name for path in CHAPTER.solution_dir.iterdir()}


def constants(path: Path) -> list[ast.Constant]:
    """The constants of a file, without the pieces of f-strings, which make a name."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    pieces = {id(one) for node in nodes if isinstance(node, ast.JoinedStr) for one in node.values}
    return [one for one in nodes if isinstance(one, ast.Constant) and id(one) not in pieces]


def test_nobody_else_says_what_a_source_is():
    """A pattern such as *.c, or a comparison with .c, takes ._main.c as well."""
    for path in sorted((ROOT / "harness").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name.startswith("harness/tests/"):
            continue
        found = [node.lineno for node in constants(path) if ENDING.search(str(node.value))]
        assert bool(found) == (name in MAY_NAME_ENDINGS), (
            f"{name}:{found or ''}: take c_files() or files() of harness/lab/sources.py, or say "
            f"here why not"
        )
