"""Writes the zip of an autograder that is uploaded to Gradescope: one chapter, without solutions.

Its top has the two programs that Gradescope calls:
https://gradescope-autograders.readthedocs.io/en/latest/specs/

Exit status: 0 written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from harness.course.handover import archive, handout
from harness.course.handover.archive import Member
from harness.submission import chapters, command_line, parts
from harness.submission.chapters import ROOT, Chapter
from harness.submission.target import WrongUsage, as_typed, setting


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="gradescope", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    add("--out", metavar="FILE", default=setting("OUT"), help="default: build/gradescope-NN.zip")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("gradescope", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Writes the zip. Raises WrongUsage, UnknownChapter."""
    if not options.chapter:
        raise WrongUsage("which chapter? For instance: make gradescope CH=03")
    chapter = chapters.find(options.chapter)
    default = command_line.BUILD / f"gradescope-{chapter.number}.zip"
    path = archive.named(options.out, default, (".zip",))
    archive.write_zip(path, members(chapter))
    size = path.stat().st_size / 1e6
    print(f"{as_typed(path)}: {size:.1f} MB, the autograder of {chapter.slug}")
    print("Gradescope: Configure Autograder, Select Autograder (.zip), Update Autograder.")
    return 0


HERE = Path(__file__).parent
# What run_autograder and setup.sh need, besides what the grade itself reads.
TAKEN = (
    *("LICENSE", "Makefile", "harness/find-python.sh", "harness/course/__init__.py"),
    *(f"harness/course/{name}" for name in ("classes", "handover", "isolation")),
)


def members(chapter: Chapter) -> list[Member]:
    """The files of the zip for this chapter. Raises WrongUsage if its skeleton has been changed: a
    submission can read it."""
    handout.check_skeletons((chapter,))
    return [
        Member("setup.sh", (HERE / "setup.sh").read_bytes(), program=True),
        Member("run_autograder", (HERE / "run_autograder.py").read_bytes(), program=True),
        Member("chapter", f"{chapter.slug}\n".encode()),
        *(
            Member(f"lab/{path.relative_to(ROOT).as_posix()}", path.read_bytes())
            for path in files(chapter)
        ),
    ]


def files(chapter: Chapter) -> Iterator[Path]:
    """The files of the lab that a grade needs: no solution, and nothing of a later chapter. Raises
    WrongUsage if git does not say which files are the lab's."""
    tops = {*(ROOT / name for name in TAKEN), *parts.of_a_grade(ROOT, chapter)}
    for name in sorted(handout.names()):
        path = ROOT / name
        if tops & {path, *path.parents}:
            yield path
