"""What was handed in: the submissions in a directory, and of each the hand-in that counts.

Everything in the directory that has the same name belongs to one submission: `ada/`, `ada.zip` and
`ada.tar.gz` are three hand-ins of ada. Every other file is a submission as well, since a student
may have called an archive anything; but `ada.pdf` does not count if ada has another hand-in. A
directory without .c files is searched for directories with .c files and for archives: each of them
is a hand-in. The latest hand-in counts: that with the newest file, or the newest archive. A
directory that is named like the chapter is preferred to the others beside it, and so are
directories with a main.c.

A name as a download has it becomes shorter: lovelaceada_LATE_101_998877_x.tar.gz of Canvas is
lovelaceada_101, and the directory "Wendy W_103_assignsubmission_file_" of Moodle is Wendy W_103.
The number is the student's. A roster can name any of them otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.feedback.printable import harmless
from harness.submission import sheets, sources
from harness.submission.sizes import MIB
from harness.submission.target import WrongUsage

MOST_FILES = 2000  # in one submission
MOST_BYTES = 64 * MIB
DEEPEST = 6  # directories below a submission that are searched
ENTRIES = 1000  # of a directory that are looked at
ARCHIVES = (
    *(".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar.lzma"),
    *(".tar", ".zip"),
    *(".rar", ".7z", ".tar.zst", ".tzst", ".tar.lz", ".tar.z"),
)
_SUFFIX = re.compile(r"\.\w{1,5}$")  # of a file that is not named like an archive
_DOWNLOADED = re.compile(r"(.+?)(?:_LATE)?_(\d+)_(?:\d+_.+|assignsubmission_file_.*)")
RESERVED = ("class.html", "scores.csv")  # these stand beside the results


@dataclass(frozen=True)
class Submission:
    """`places`: the directories and archives of this name."""

    name: str
    places: tuple[Path, ...]


def find(
    directory: Path, roster: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[Submission], list[str]]:
    """The submissions by name, and the names of files that do not count, since the submission of
    this name is a directory or an archive. `roster`: other names, by those of the files. Raises
    WrongUsage."""
    if not directory.is_dir():
        raise WrongUsage(f"SUB={directory}: this directory does not exist")
    usual: dict[str, list[Path]] = {}
    odd: dict[str, list[Path]] = {}
    for path in _entries(directory, None):
        kind = usual if path.is_dir() or is_archive(path) else odd
        kind.setdefault(roster.get(path.name) or _name(path), []).append(path)
    others = [path.name for name, found in odd.items() if name in usual for path in found]
    places = odd | usual
    if not places:
        raise WrongUsage(
            f"SUB={directory}: there are no submissions in it; it needs a directory, a .zip or a "
            ".tar.gz for each student"
        )
    return [Submission(name, tuple(found)) for name, found in sorted(places.items())], others


def _name(path: Path) -> str:
    name = path.name
    if not path.is_dir():
        suffix = next((end for end in ARCHIVES if name.lower().endswith(end)), None)
        name = name[: -len(suffix)] if suffix else _SUFFIX.sub("", name)
    downloaded = _DOWNLOADED.fullmatch(name)
    name = f"{downloaded[1]}_{downloaded[2]}" if downloaded else name
    return f"{name} (submission)" if name in RESERVED else name


def read_roster(file: Path) -> dict[str, str]:
    """The names in a table of two columns: the file or directory in SUB, and the student. Raises
    WrongUsage."""
    try:
        rows, _ = sheets.read(file.read_bytes())
    except OSError as error:
        raise WrongUsage(f"ROSTER={file}: {error.strerror}") from None
    except ValueError as error:
        raise WrongUsage(f"ROSTER={file}: {error}") from None
    names = {row[0].strip(): " ".join(row[1].split()) for row in rows if len(row) > 1}
    wrong = [name for name in names.values() if not name or "/" in name or name.startswith(".")]
    if wrong or not names:
        raise WrongUsage(f"ROSTER={file}: each line needs a file in SUB and a student's name")
    return names


def is_archive(path: Path) -> bool:
    """Whether it is a file with the name of an archive, also of a kind that we cannot unpack."""
    return path.name.lower().endswith(ARCHIVES) and path.is_file()


def latest(places: tuple[Path, ...], chapter: str) -> Path | None:
    """The hand-in that counts: a directory with .c files in it, or a file, which should be an
    archive. None if there is none. `chapter`: its name, such as "04-pipelining".
    """
    found = [one for place in places for one in _hand_ins(place, chapter, DEEPEST)]
    found += [place for place in places if place.is_file() and place not in found]
    found = [one for one in found if one.is_file() or (one / "main.c").is_file()] or found
    return max(found, key=lambda one: (handed_in(one), str(one)), default=None)


def _hand_ins(place: Path, chapter: str, deeper: int) -> list[Path]:
    if is_archive(place):
        return [place]
    if not place.is_dir() or not deeper:
        return []
    below = [one for one in _entries(place) if not one.is_symlink()]
    if any(map(sources.is_c, below)):
        return [place]
    for named in (place / chapter, place / "chapters" / chapter):
        if not named.is_symlink() and named.is_dir():
            return _hand_ins(named, chapter, deeper - 1)
    return [found for one in below for found in _hand_ins(one, chapter, deeper - 1)]


def _entries(directory: Path, most: int | None = ENTRIES) -> list[Path]:
    """What is in it, without the hidden files and those that macOS adds to archives."""
    try:
        names = sorted(os.listdir(directory))[:most]
    except OSError:
        return []
    return [directory / name for name in names if not sources.is_hidden(name)]


def handed_in(path: Path) -> float:
    """When the hand-in was last changed, in seconds since 1970."""
    files = list(regular_files(path)) if path.is_dir() else [path]
    return max((os.stat(file).st_mtime for file in files), default=0.0)


def regular_files(directory: Path) -> Iterator[Path]:
    """The files below the directory in a fixed order, without .git and links: at most one more than
    MOST_FILES."""
    count = 0
    for place, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if name != ".git")
        for name in sorted(names):
            path = Path(place, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield path
                count += 1
            if count > MOST_FILES:
                return


def digest(path: Path | None) -> str:
    """A hash of the names and contents of a hand-in. Reads little more than MOST_BYTES at most."""
    made = hashlib.sha256()
    if path is None:
        return made.hexdigest()
    left = MOST_BYTES + 1
    for file in regular_files(path) if path.is_dir() else [path]:
        name = os.fsencode(file.relative_to(path)) if path.is_dir() else b""
        made.update(b"%d\0%s\0%d\0" % (len(name), name, os.stat(file).st_size))
        with contextlib.suppress(PermissionError):  # the grade of this hand-in will say so
            with file.open("rb") as opened:
                data = opened.read(left)
            made.update(data)
            left -= len(data)
    return made.hexdigest()


# Names as people read them


def shown(name: str) -> str:
    """The name as text that can be printed, whatever bytes the file system has."""
    text = harmless(os.fsencode(name).decode("utf-8", "replace"))
    return text.replace("\n", ".").replace("\t", ".")


def fitted(name: str, columns: int) -> str:
    """The name in exactly that many columns of a terminal; Chinese characters need two each."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = shown(name).encode(encoding, "replace").decode(encoding)
    if _columns(text) > columns:
        while _columns(text) > columns - 3:
            text = text[:-1]
        text += "..."
    return text + " " * (columns - _columns(text))


def _columns(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
