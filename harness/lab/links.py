"""The links of solutions/: a C file that is the same as in the chapter before is a symbolic link.

It leads to the file of the chapter that last changed it. So `ls -l` of a solution shows its lesson,
and an edit is made once. Nobody makes a link by hand: `make skeletons` first calls restore(). To
change a file from a chapter on, replace its link there by a copy, and edit that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from harness.lab import sources
from harness.lab.chapters import CHAPTERS, ROOT, Chapter

# What git writes in the place of a link, where it cannot make one.
WRITTEN = re.compile(rb"(\.\./)+[\w./-]+\.[ch]")
MOST_BYTES = 200
INCLUDE = re.compile(r'^#include "([^"\n]+)"', re.M)
INCLUDES = re.compile(r'(?:^#include ".*\n)+', re.M)


class LeadsNowhere(Exception):
    """A link says "as in the chapter before", and that chapter lacks the file. The message names
    both."""


def lost(chapter: Chapter) -> str:
    """The problem of a solution that was checked out without its links, and what to do; or ""."""
    for path in sources.files(chapter.solution_dir):
        if path.stat().st_size < MOST_BYTES and WRITTEN.fullmatch(path.read_bytes()):
            return (
                f"{path.relative_to(ROOT)} should be a symbolic link, and git has written a text "
                "in its place: clone the lab again with `git clone -c core.symlinks=true`, on "
                "Windows within WSL"
            )
    return ""


def restore() -> None:
    """Makes each file that is as in the chapter before a link, lets each link lead to the file that
    was changed last, and writes the files that have only moved. Raises LeadsNowhere."""
    for chapter in CHAPTERS[1:]:
        for name in chapter.moves.split():
            path = chapter.solution_dir / name
            if before := counterpart(path, chapter):
                sources.write(chapter.solution_dir, {name: moved(before.read_text(), chapter)})
        for path in files(chapter.solution_dir):
            before = counterpart(path, chapter)
            if path.is_symlink() and before is None:
                raise LeadsNowhere(
                    f"{path.relative_to(ROOT)} is a link, and the chapter before lacks this file: "
                    "put the file there instead"
                )
            if before and (path.is_symlink() or path.read_bytes() == before.read_bytes()):
                _link(path, before.resolve())


def files(solution: Path) -> list[Path]:
    """The C files and the links of a solution, including links that lead nowhere."""
    return sorted(
        path
        for folder in sources.folders(solution)
        for path in folder.glob("*.[ch]")
        if not sources.is_hidden(path.name)
    )


def counterpart(path: Path, chapter: Chapter) -> Path | None:
    """The same file in the chapter before, which may have it in another place."""
    before = chapter.previous.solution_dir
    same = before / sources.name_of(path, chapter.solution_dir)
    if same.is_file():
        return same
    return next((one for one in sources.files(before) if one.name == path.name), None)


def moved(text: str, chapter: Chapter) -> str:
    """The text of a file as the chapter has it if it only moves: includes have the new names of
    headers, and their order is that of clang-format."""
    names = {
        path.name: sources.name_of(path, chapter.solution_dir)
        for path in files(chapter.solution_dir)
    }
    text = INCLUDE.sub(lambda found: f'#include "{names.get(found[1], found[1])}"', text)
    return INCLUDES.sub(lambda block: "".join(sorted(block[0].splitlines(keepends=True))), text)


def _link(path: Path, target: Path) -> None:
    text = os.path.relpath(target, path.parent)
    if not path.is_symlink() or os.readlink(path) != text:
        path.unlink()
        path.symlink_to(text)
