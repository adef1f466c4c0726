"""make handin: packs a chapter as a student hands it in, and says what is in it: every file of the
chapter's directory, so that its seed stays the same, without what a compiler or an editor has left
there.

Exit status: 0 it is written, also if it does not compile; 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

from harness.course.handover import archive
from harness.course.handover.archive import Member
from harness.feedback.failure import NotJudged
from harness.feedback.printable import harmless
from harness.grade import results
from harness.server import build
from harness.submission import chapters, command_line, seed, sources
from harness.submission.chapters import ROOT
from harness.submission.sizes import MIB
from harness.submission.target import Target, WrongUsage, as_typed, resolve, setting

PLACE = command_line.BUILD / "handin"
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
    found = collect(target.source, target.chapter.slug)
    digest = archive.write_tar(path, found.members)
    print("\n".join(_told(path, found, digest, target)))
    return 0


def _told(path: Path, found: HandIn, digest: str, target: Target) -> list[str]:
    number = seed.of_files(target.source)
    size = sum(len(one.data) for one in found.members) / 1000
    return [
        as_typed(path),
        f"  {len(found.members)} files, {size:,.0f} kB",
        f"  sha256  {digest}",
        f"  seed    {number}",
        f"  points  {_points(target)}",
        *_left_out(found),
        *_does_not_compile(target),
    ]


def _points(target: Target) -> str:
    """The points of the last grade, if it graded these files; otherwise the command that does."""
    score = results.last_score(target.chapter, target.source)
    if score is None:
        return f"not graded since the last change: make grade {target.words}"
    return f"{score:g} in the last grade, which had the same files"


def _left_out(found: HandIn) -> list[str]:
    lines = [f"  left out: {harmless(name)}" for name in sorted(found.left_out)]
    if {*found.left_out} - {".git/"}:
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


# What is handed in

BYTES = 16 * MIB  # all files together
FILES = 500
LEFTOVERS = re.compile(
    r"\..*|#.*#|.*(~|\.(o|a|so|d|swp|orig|rej|gch|tmp))|core(\.\d+)?|__pycache__|__MACOSX"
)
ELF = b"\x7fELF"  # begins a program


@dataclass(frozen=True)
class HandIn:
    """`left_out`: names of files that are not handed in."""

    members: list[Member]
    left_out: list[str]


def collect(source: Path, top: str) -> HandIn:
    """What is handed in from the directory; `top` is its name in the archive. Raises WrongUsage."""
    members: list[Member] = []
    left_out: list[str] = []
    size = 0
    for path in _paths(source, left_out):
        name = path.relative_to(source).as_posix()
        if LEFTOVERS.fullmatch(path.name):
            left_out.append(name)
            continue
        if path.is_symlink():
            _check_link(path, source)
        if not path.is_file():
            raise WrongUsage(f"{_named(path)} is not a file: remove it")
        size += path.stat().st_size
        if size > BYTES or len(members) == FILES:
            much = f"more than {FILES} files or {BYTES // MIB} MiB"
            raise WrongUsage(f"{_named(source)} has {much}: move out of it what is not your work")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise WrongUsage(f"{_named(path)} cannot be read: {error.strerror}") from None
        if data.startswith(ELF):
            left_out.append(name)
        else:
            members.append(Member(f"{top}/{name}", data))
    return HandIn(members, left_out)


def _paths(source: Path, left_out: list[str]) -> list[Path]:
    """The files below the directory. Directories that are leftovers go into `left_out`."""
    found = []
    linked = sources.linked_folders(source)
    for place, below, names in os.walk(source, followlinks=True):
        for name in list(below):
            path = Path(place, name)
            if path in linked:
                _check_link(path, source)
            elif path.is_symlink():
                raise WrongUsage(
                    f"{_named(path)} is a link to a directory: put files there instead"
                )
            if LEFTOVERS.fullmatch(name):
                below.remove(name)
                left_out.append(f"{path.relative_to(source)}/")
        found += [Path(place, name) for name in names]
    return sorted(found)


def _check_link(path: Path, source: Path) -> None:
    """A link may name a file or layer of the hand-in, or of the lab's solutions, in which what is
    unchanged is a link; its contents are handed in."""
    if not path.exists():
        raise WrongUsage(f"{_named(path)} is a link that leads nowhere: remove it")
    if not any(map(path.resolve().is_relative_to, (source.resolve(), ROOT / "solutions"))):
        raise WrongUsage(
            f"{_named(path)} is a link that leads out of the directory: put the file there instead"
        )


def _named(path: Path) -> str:
    return harmless(str(Path(as_typed(path.parent), path.name)))
