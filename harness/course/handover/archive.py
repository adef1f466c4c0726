"""Archives that depend only on their files: made twice, they are equal byte by byte.

So no time, no user and no order of a directory goes into them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.submission import files
from harness.submission.target import WrongUsage

EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can hold
EARLIEST_SECONDS = 315_532_800  # the same; tar warns about files of 1970
LEVEL = 9  # of compression
TAR_NAMES = (".tar.gz", ".tgz")


@dataclass(frozen=True, order=True)
class Member:
    """A file within an archive. `name`: its path there. `program`: whether it may be executed."""

    name: str
    data: bytes
    program: bool = False

    @property
    def mode(self) -> int:
        return 0o755 if self.program else 0o644


def member(name: str, path: Path) -> Member:
    """The file, under this name."""
    return Member(name, path.read_bytes(), os.access(path, os.X_OK))


def digest(members: Iterable[Member]) -> str:
    """SHA-256 of names and contents, in hex."""
    found = hashlib.sha256()
    for one in sorted(members):
        head = f"{one.name}\0{len(one.data)}\0".encode("utf-8", "surrogateescape")
        found.update(head + one.data)
    return found.hexdigest()


def write_tar(path: Path, members: Iterable[Member]) -> str:
    """Writes a .tar.gz. Returns its SHA-256 in hex. Raises WrongUsage."""
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for one in sorted(members):
            about = tarfile.TarInfo(one.name)
            about.size, about.mode, about.mtime = len(one.data), one.mode, EARLIEST_SECONDS
            tar.addfile(about, io.BytesIO(one.data))
    zipped = io.BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, zipped, mtime=0) as file:
        file.write(tarred.getvalue())
    return _save(path, zipped.getvalue())


def write_zip(path: Path, members: Iterable[Member]) -> str:
    """Writes a .zip. Returns its SHA-256 in hex. Raises WrongUsage."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as file:
        for one in sorted(members):
            about = zipfile.ZipInfo(one.name, EARLIEST)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.create_system, about.external_attr = 3, (stat.S_IFREG | one.mode) << 16  # of Unix
            file.writestr(about, one.data)
    return _save(path, zipped.getvalue())


def named(out: str | None, default: Path, suffixes: tuple[str, ...] = TAR_NAMES) -> Path:
    """The file that OUT names. Raises WrongUsage."""
    if not out:
        return default
    path = Path(out).expanduser()
    if not path.name.endswith(suffixes):
        raise WrongUsage(f"OUT={out}: the name has to end with {suffixes[0]}")
    if path.is_dir():
        raise WrongUsage(f"OUT={out} is a directory; give the name of a file")
    return path


def _save(path: Path, data: bytes) -> str:
    files.write_out(path, data)
    return hashlib.sha256(data).hexdigest()
