"""A hand-in as plain files in a directory of ours, whatever it was before.

Only regular files are taken. Links are left out, so nothing in the directory leads out of it.
"""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Optional

from harness.classroom import submissions
from harness.classroom.submissions import MOST_BYTES, MOST_FILES
from harness.evidence.printable import harmless
from harness.lab.units import KIB, MIB

NESTED = 2  # an archive in an archive, and no deeper
PIECE = 256 * KIB
# Errors of a file system that names in an archive can cause. Any other is a fault of the machine.
OF_NAMES = {
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST, errno.EISDIR, errno.ENOTDIR),
    None,  # a damaged .gz
}
DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError),
    *(RuntimeError, NotImplementedError),  # a password; a kind of compression
)

# Its name, its size as far as the archive says, and how it is opened; None for a directory
Member = tuple[str, int, Optional[Callable[[], IO[bytes]]]]


class Unusable(Exception):
    """The hand-in cannot be graded. The message is a sentence for the student."""


def sources(found: Path | None, target: Path, scratch: Path, chapter: str) -> None:
    """Makes `target` a copy of the directory with the .c files. `scratch`: a directory that does
    not exist, for what an archive holds. Raises Unusable.
    """
    for number in range(NESTED + 1):
        if found is None:
            raise Unusable("There are no .c files in the submission.")
        if found.is_dir():
            return _copy(found, target)
        unpacked = scratch / str(number)
        unpacked.mkdir(parents=True)
        _unpack(found, unpacked)
        found = submissions.latest((unpacked,), chapter)
    raise Unusable("There are too many archives within each other. Hand in the .c and .h files.")


def _copy(directory: Path, target: Path) -> None:
    left = _Room()
    target.mkdir(parents=True)
    for file in submissions.regular_files(directory):
        place = target / file.relative_to(directory)
        with file.open("rb") as opened:
            left.write(place, opened)
        shutil.copystat(file, place)
        place.chmod(0o644)


def _unpack(archive: Path, target: Path) -> None:
    """Raises Unusable, and OSError if the machine is at fault."""
    name = archive.name.lower()
    if name.endswith((".rar", ".7z")):
        raise Unusable(f"A {archive.suffix} cannot be unpacked here. Hand in a .zip or a .tar.gz.")
    left = _Room()
    try:
        for member, size, opener in _zip(archive) if name.endswith(".zip") else _tar(archive):
            place = target / _inside(member)
            left.check(size)
            if opener is None:
                left.count()
                place.mkdir(parents=True, exist_ok=True)
                continue
            with opener() as opened:
                left.write(place, opened)
    except DAMAGED as error:
        raise Unusable(f"The archive cannot be unpacked: {harmless(str(error))}.") from error
    except OSError as error:
        if error.errno not in OF_NAMES:
            raise
        why = error.strerror or harmless(str(error))
        raise Unusable(f"The archive cannot be unpacked: {why}.") from error


def _zip(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            kind = info.external_attr >> 16 & 0o170000
            if kind in (0, 0o100000, 0o040000):  # not known, a file, a directory
                opener = None if info.is_dir() else lambda info=info: opened.open(info)
                yield info.filename, info.file_size, opener


def _tar(archive: Path) -> Iterator[Member]:
    with tarfile.open(archive, "r:*") as opened:
        for info in opened:
            if info.isfile() or info.isdir():
                opener = None if info.isdir() else lambda info=info: opened.extractfile(info)
                yield info.name, info.size, opener


def _inside(name: str) -> Path:
    """The name as a path below the target. Raises Unusable if it leads out."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise Unusable(
            f"The archive is refused: a file in it, {harmless(name)}, would be outside of it."
        )
    return Path(*path.parts)


class _Room:
    """How much one hand-in may still write. All functions raise Unusable."""

    def __init__(self) -> None:
        self._bytes = MOST_BYTES
        self._files = MOST_FILES

    def check(self, size: int) -> None:
        """Whether that many bytes may follow."""
        if size > self._bytes:
            raise Unusable(f"The submission is larger than {MOST_BYTES // MIB} MiB.")

    def count(self) -> None:
        """One more file or directory."""
        self._files -= 1
        if self._files < 0:
            raise Unusable(f"The submission has more than {MOST_FILES:,} files.")

    def write(self, place: Path, opened: IO[bytes]) -> None:
        """A file with what `opened` holds."""
        self.count()
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "wb") as file:
            while data := opened.read(PIECE):
                self.check(len(data))
                self._bytes -= len(data)
                file.write(data)
