"""All C of the lab is right in the newest standard that a compiler knows, too: a grade says
-std=gnu11, but `gcc -I. *.c` takes the compiler's default, which is C23 from gcc 15 on."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from harness.authors.pictures import states
from harness.authors.selftest.drawn import slug, some
from harness.authors.selftest.test_program import PROGRAMS, with_solutions
from harness.lab import links, skeleton, sources
from harness.lab.chapters import CHAPTERS, ROOT
from harness.lab.sources import name_of
from harness.server import build

STANDARDS = ("gnu2y", "gnu23", "gnu2x")  # the newest first, under the names of gcc and clang
FLAGS = ("-Wall", "-Wextra", "-Werror", "-pthread", "-fsyntax-only")
# Beside chapters and programs. states.c includes the headers of a solution.
OTHERS = (
    "docs/toys",
    "harness/server/shim",
    "harness/student/demos",
    "harness/client/redis",
    "harness/student/bench/load",
)


@pytest.fixture(params=["gcc", "clang"])
def compile_in_the_newest(request):
    """Compiles files, named as from a directory."""
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")

    def compile_(directory: Path, files: list[Path], *more: str) -> None:
        command = [request.param, f"-std={newest(request.param)}", *FLAGS, *more, *files]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")

    return compile_


@functools.cache
def newest(compiler: str) -> str:
    for standard in STANDARDS:
        command = [compiler, f"-std={standard}", "-fsyntax-only", "-x", "c", os.devnull]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return standard
    raise AssertionError(f"{compiler} knows none of {', '.join(STANDARDS)}")


@pytest.mark.parametrize("chapter", some(CHAPTERS, 3, "chapters in the newest C", slug))
def test_chapters_and_solutions(chapter, compile_in_the_newest):
    """A link, or what a skeleton has from its solution, is compiled where it comes from."""
    solved = skeleton.solution_without_marks(chapter)
    own = [file for file in sources.c_files(chapter.solution_dir) if not links.is_linked(file)]
    with_todos = [
        file
        for file in sources.c_files(chapter.chapter_dir)
        if file.read_text() != solved[name_of(file, chapter.chapter_dir)]
    ]
    assert own and with_todos
    compile_in_the_newest(chapter.solution_dir, own, "-iquote", ".")
    compile_in_the_newest(chapter.chapter_dir, with_todos, "-iquote", ".")


def test_programs_of_the_grader(compile_in_the_newest):
    by_solution = defaultdict(list)
    for file, solution in with_solutions():
        by_solution[solution].append(PROGRAMS / file)
    for solution, files in by_solution.items():
        compile_in_the_newest(solution, files, *build.others(solution))


def test_everything_else(compile_in_the_newest):
    files = [path for place in OTHERS for path in sources.c_files(ROOT / place)]
    assert len(files) > 2 * len(OTHERS)
    compile_in_the_newest(ROOT, files)
    compile_in_the_newest(states.SOURCE, [states.HOOK], "-iquote", ".")
