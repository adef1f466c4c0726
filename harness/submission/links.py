"""The links of solutions/: what is the same as in the chapter before is a symbolic link: a C file,
or a whole layer.

It leads to the chapter that last changed something in it. So `ls -l` of a solution shows its
lesson, and an edit is made once. Nobody makes a link by hand: `make skeletons` first calls
restore(). `python3 -m harness own FILE` makes a file that is a link one of the chapter itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from harness.submission import sources
from harness.submission.chapters import CHAPTERS, ROOT, Chapter

# What git writes in the place of a link, where it cannot make one.
WRITTEN = re.compile(rb"(\.\./)+[\w./-]+")
MOST_BYTES = 200
INCLUDE = re.compile(r'^#include "([^"\n]+)"', re.M)
INCLUDES = re.compile(r'(?:^#include ".*\n)+', re.M)


class LeadsNowhere(Exception):
    """A link says "as in the chapter before", and that chapter lacks it. The message names both."""


class NoLink(Exception):
    """A file should become one of the chapter itself, and it is one, or none. The message names
    it."""


def lost(chapter: Chapter) -> str:
    """The problem of a solution that was checked out without its links, and what to do; or ""."""
    solution = chapter.solution_dir
    layers = (solution / name for name in sources.LAYERS)
    for path in [*sources.files(solution), *(path for path in layers if path.is_file())]:
        if path.stat().st_size < MOST_BYTES and WRITTEN.fullmatch(path.read_bytes()):
            return (
                f"{path.relative_to(ROOT)} should be a symbolic link, and git has written a text "
                "in its place: clone the lab again with `git clone -c core.symlinks=true`, on "
                "Windows within WSL"
            )
    return ""


def restore() -> None:
    """Makes each file and each layer that is as in the chapter before a link, lets each link lead
    to the chapter that changed something last, and writes the files that have only moved. Raises
    LeadsNowhere."""
    for chapter in CHAPTERS[1:]:
        for name in chapter.moves.split():
            path = chapter.solution_dir / name
            if before := counterpart(path, chapter):
                sources.write(chapter.solution_dir, {name: moved(before.read_text(), chapter)})
        for path in files(chapter.solution_dir):
            before = counterpart(path, chapter)
            _check(path, before)
            if before and not path.parent.is_symlink():
                if path.is_symlink() or path.read_bytes() == before.read_bytes():
                    _link(path, before)
        for path in layers(chapter.solution_dir):
            before = chapter.previous.solution_dir / path.name
            _check(path, before if before.is_dir() else None)
            if path.is_symlink() or _is_as(path, before):
                _link(path, before)


def files(solution: Path) -> list[Path]:
    """The C files and the links of a solution, including links that lead nowhere, and those in
    layers that are links."""
    return sorted(
        path
        for folder in sources.folders(solution)
        for path in folder.glob("*.[ch]")
        if not sources.is_hidden(path.name)
    )


def layers(solution: Path) -> list[Path]:
    """The layers of a solution, including links that lead nowhere."""
    paths = (solution / name for name in sources.LAYERS)
    return [path for path in paths if path.is_dir() or path.is_symlink()]


def is_linked(path: Path) -> bool:
    """Whether a file of a solution is a link, or in a layer that is one."""
    return path.is_symlink() or path.parent.is_symlink()


def counterpart(path: Path, chapter: Chapter) -> Path | None:
    """The same file in the chapter before, which may have it in another place."""
    before = chapter.previous.solution_dir
    same = before / sources.name_of(path, chapter.solution_dir)
    if same.is_file():
        return same
    return next((one for one in sources.files(before) if one.name == path.name), None)


def moved(text: str, chapter: Chapter) -> str:
    """The text of a file as the chapter has it if it only moves."""
    names = {
        path.name: sources.name_of(path, chapter.solution_dir)
        for path in files(chapter.solution_dir)
    }
    return with_headers(text, names)


def with_headers(text: str, names: dict[str, str]) -> str:
    """The text with new names of headers in its includes, in the order of clang-format."""
    text = INCLUDE.sub(lambda found: f'#include "{names.get(found[1], found[1])}"', text)
    return INCLUDES.sub(lambda block: "".join(sorted(block[0].splitlines(keepends=True))), text)


def own(path: Path) -> None:
    """Puts a copy in the place of the link to a file, also in a layer that is a link. Raises
    NoLink."""
    known = any(path in files(chapter.solution_dir) for chapter in CHAPTERS)
    if not known or not is_linked(path):
        raise NoLink(f"{path} is no link to a file, and in no layer that is a link")
    content = path.read_bytes()
    if path.parent.is_symlink():
        sources.open_folder(path.parent)
    path.unlink()
    path.write_bytes(content)


def _check(path: Path, before: Path | None) -> None:
    if path.is_symlink() and before is None:
        kind = "file" if path.suffix else "directory"
        raise LeadsNowhere(
            f"{path.relative_to(ROOT)} is a link, and the chapter before lacks this {kind}: "
            f"put the {kind} there instead"
        )


def _is_as(layer: Path, before: Path) -> bool:
    """Whether the layer has only links, and to the same files as in the chapter before."""
    paths = list(layer.iterdir())
    if not before.is_dir() or not all(path.is_symlink() for path in paths):
        return False
    return {path.name: path.resolve() for path in paths} == {
        path.name: path.resolve() for path in before.iterdir()
    }


def _link(path: Path, before: Path) -> None:
    """Makes it a link to what the chapter before has, or has as a link."""
    text = os.path.relpath(before.resolve(), path.parent)
    if path.is_symlink() and os.readlink(path) == text:
        return
    if path.is_dir() and not path.is_symlink():
        for link in path.iterdir():
            link.unlink()
        path.rmdir()
    else:
        path.unlink()
    path.symlink_to(text)
