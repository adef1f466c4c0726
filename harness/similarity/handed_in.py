"""What students handed in, as text: a directory, a zip or a tar.gz for each of them."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

from harness.lab.target import WrongUsage
from harness.similarity.fingerprints import SUFFIXES

MOST_FILE_BYTES = 1 << 20  # a source of the lab has at most 16 KiB
MOST_FILES = 400
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")

# RuntimeError: a zip with a password, or with a compression that Python does not know.
UNREADABLE = (
    *(OSError, EOFError, ValueError, RuntimeError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)

Files = dict[str, str]


def read(directory: Path) -> tuple[dict[str, Files], dict[str, str]]:
    """The submissions in a directory, by name; and why others were left out, by name.

    Raises WrongUsage if it is no directory.
    """
    if not directory.is_dir():
        raise WrongUsage(f"SUB={directory}: this directory does not exist")
    found: dict[str, Files] = {}
    left_out: dict[str, str] = {}
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or not (path.is_dir() or path.name.endswith(ARCHIVES)):
            continue
        try:
            files = dict(islice(_texts(path), MOST_FILES))
        except UNREADABLE as error:
            left_out[path.name] = f"it cannot be read: {error}"
            continue
        if files:
            found[path.name] = files
        else:
            left_out[path.name] = "there are no .c and .h files in it"
    return found, left_out


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each C file. A link is not followed: it could lead to somebody else's."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            status, name = file.lstat(), str(file.relative_to(path))
            if stat.S_ISREG(status.st_mode) and _is_source(name, status.st_size):
                yield name, _decoded(file.read_bytes())
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and _is_source(entry.filename, entry.file_size):
                    yield entry.filename, _decoded(archive.read(entry))
    else:
        with tarfile.open(path) as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isreg() else None
                if content and _is_source(entry.name, entry.size):
                    yield entry.name, _decoded(content.read())


def _is_source(name: str, size: int) -> bool:
    """Whether it is C that somebody wrote: not what an editor, git or macOS keeps beside it."""
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith(".") and part != "." or part == "__MACOSX" for part in parts)
    return parts[-1].endswith(SUFFIXES) and not hidden and size <= MOST_FILE_BYTES


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
