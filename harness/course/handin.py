"""make handin: packs a chapter as a student hands it in, and says what is in it.

Exit status: 0 it is written, also if it does not compile; 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.course.handover import archive, handin
from harness.failures.failure import NotJudged
from harness.failures.printable import harmless
from harness.lab import chapters, command_line, seed
from harness.lab.target import Target, WrongUsage, as_typed, resolve, setting
from harness.server import build

PLACE = command_line.BUILD / "handin"
RESULTS = command_line.BUILD / "results"
MESSAGE_LINES = 10
COLUMNS = 80


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="handin", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="which one")
    add("--dir", metavar="PATH", default=setting("DIR"), help="default: chapters/NN-*")
    add("--out", metavar="FILE", default=setting("OUT"), help="default: build/handin/NN-*.tar.gz")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("handin", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    if not options.chapter:
        raise WrongUsage("which chapter? For instance CH=04")
    target = resolve(chapters.find(options.chapter), directory=options.dir)
    path = archive.named(options.out, PLACE / f"{target.chapter.slug}.tar.gz")
    if path.resolve().is_relative_to(target.source.resolve()):
        raise WrongUsage(f"OUT={options.out} lies in the directory that is packed: name another")
    found = handin.collect(target.source, target.chapter.slug)
    digest = archive.write_tar(path, found.members)
    print("\n".join(_told(path, found, digest, target)))
    return 0


def _told(path: Path, found: handin.HandIn, digest: str, target: Target) -> list[str]:
    number = seed.of_files(target.source)
    size = sum(len(one.data) for one in found.members) / 1000
    return [
        as_typed(path),
        f"  {len(found.members)} files, {size:,.0f} kB",
        f"  sha256  {digest}",
        f"  seed    {number}",
        f"  points  {_points(target, number)}",
        *_left_out(found),
        *_does_not_compile(target),
    ]


def _points(target: Target, number: int) -> str:
    """The points of the last grade, if it graded these files; otherwise the command that does."""
    try:
        results = json.loads((RESULTS / f"{target.chapter.number}.json").read_text())
        if results["extra_data"]["seed"] == number:
            return f"{results['score']:g} in the last grade, which had the same files"
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return f"not graded since the last change: make grade {target.words}"


def _left_out(found: handin.HandIn) -> list[str]:
    lines = [f"  left out: {name}" for name in found.left_out]
    if not found.same_seed:
        lines += [
            "  The seed of a grade comes from all files. So a grade of this hand-in has another",
            "  seed than yours. Remove the files that are left out, if you want the same one.",
        ]
    return lines


def _does_not_compile(target: Target) -> list[str]:
    try:
        build.server_of(target.chapter, target.source)
    except NotJudged as error:
        return [f"  not compiled: {error}"]
    except build.BuildFailed as error:
        said = build.shorten(harmless(str(error)), MESSAGE_LINES).splitlines()
        title = "  warning: it does not compile, so a grade gives it 0 points"
        return [title, *(f"  | {line}"[:COLUMNS] for line in said)]
    return []
