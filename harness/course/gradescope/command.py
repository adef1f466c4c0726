"""Writes the zip of an autograder that is uploaded to Gradescope: one chapter, without solutions.

Exit status: 0 written, 2 wrong usage.
"""

from __future__ import annotations

import argparse

from harness.course.gradescope import bundle
from harness.course.handover import archive
from harness.lab import chapters, command_line
from harness.lab.target import WrongUsage, as_typed, setting


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
    archive.write_zip(path, bundle.members(chapter))
    size = path.stat().st_size / 1e6
    print(f"{as_typed(path)}: {size:.1f} MB, the autograder of {chapter.slug}")
    print("Gradescope: Configure Autograder, Select Autograder (.zip), Update Autograder.")
    return 0
