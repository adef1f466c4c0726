"""Unpacks one archive: `python3 -m harness.course.classes.extract ARCHIVE DIRECTORY`.

The libraries read the headers of an archive whole, and an archive of a few megabytes may hold
gigabytes of them. So this runs in a process of its own, with limits on memory, time, files and
bytes. Only regular files are written, each below DIRECTORY. A hard link becomes a file of its own.

Exit status: 0 unpacked, and each line of the output names something that was left out; 3 the
archive is refused, and the output says why; 1 a fault of the machine.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import resource
import stat
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from harness.course.classes import submissions
from harness.course.classes.submissions import MOST_BYTES, MOST_FILES
from harness.failures.printable import harmless
from harness.lab.units import KIB, MIB
from harness.server.linux import prctl

REFUSED = 3  # exit status
CPU_SECONDS = 20  # the largest archive that is taken needs a few
MEMORY = 512 * MIB  # of address space; xz -9 needs 65 MiB
DEEPEST = 32  # directories within each other
HEADERS = 16 * MIB  # of a tar, beside its files
PIECE = 256 * KIB
HOW = "Hand in the .c and .h files in one directory, or pack them as a .zip or a .tar.gz."
# By how the file begins, since many are renamed.
PACKED: dict[bytes, Callable[..., IO[bytes]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x5d\0\0": lzma.open,
}
ZIP = (b"PK\3\4", b"PK\5\6")
ENCRYPTED, UTF_8 = 1, 0x800  # flags of a file in a zip
FOREIGN = {
    b"Rar!": "RAR",
    b"7z\xbc\xaf": "7z",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"LZIP": "lzip",
    b"\x1f\x9d": "compress",
}
FOREIGN_NAMES = (".rar", ".7z", ".zst", ".tzst", ".lz", ".z")
# Errors of a file system that names in an archive can cause. Any other is a fault of the machine.
OF_NAMES = {
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST, errno.EISDIR, errno.ENOTDIR),
    None,  # a damaged .gz
}


class Unusable(Exception):
    """The hand-in cannot be graded. The message says why, and what to hand in."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem} {HOW}")
        self.problem = problem


@dataclass(frozen=True)
class Member:
    """A file in an archive. `opener`: None for a directory. `linked`: the name of the member before
    it that a hard link is another name of. `odd`: what it is, if it is left out."""

    name: str
    size: int = 0
    changed: float = 0.0
    opener: Callable[[], IO[bytes]] | None = None
    linked: str = ""
    odd: str = ""


class Allowance:
    """How much one hand-in may still write. All functions raise Unusable."""

    def __init__(self) -> None:
        self._bytes = MOST_BYTES
        self._files = MOST_FILES

    def check(self, size: int) -> None:
        """Whether that many bytes may follow."""
        if size > self._bytes:
            raise Unusable(f"The submission is larger than {MOST_BYTES // MIB} MiB.")

    def count(self) -> None:
        """Counts one more file or directory."""
        self._files -= 1
        if self._files < 0:
            raise Unusable(f"The submission has more than {MOST_FILES:,} files.")

    def directory(self, place: Path) -> None:
        """A directory, and those that it is in."""
        if not place.is_dir():
            self.directory(place.parent)
            self.count()
            place.mkdir()

    def write(self, place: Path, opened: IO[bytes]) -> None:
        """A file with what `opened` holds."""
        self.count()
        self.directory(place.parent)
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "wb") as file:
            while data := opened.read(PIECE):
                self.check(len(data))
                self._bytes -= len(data)
                file.write(data)


def extract(archive: Path, target: Path) -> list[str]:
    """Unpacks it. Returns what was left out, as text. Raises Unusable; OSError if the machine is at
    fault."""
    reader, allowance, left_out = _reader(archive), Allowance(), []
    for member in _damage_is_told(reader(archive)):
        with _damage_told(member.name):
            if said := _take(member, target, allowance):
                left_out.append(f"{harmless(member.name)} ({said})".replace("\n", "."))
    return left_out


def _reader(archive: Path) -> Callable[[Path], Iterator[Member]]:
    """What reads this file, by how it begins, else by its name. Raises Unusable; OSError if the
    machine is at fault."""
    with archive.open("rb") as file:
        begin = file.read(tarfile.BLOCKSIZE)
    name = archive.name.lower()
    if not begin:
        raise Unusable("The file is empty.")
    for magic, kind in FOREIGN.items():
        if begin.startswith(magic):
            raise Unusable(f"The file is a {kind} archive, which cannot be unpacked here.")
    if begin.startswith(ZIP):
        return _zip
    if begin.startswith((*PACKED,)) or _begins_a_tar(begin):
        return _tar
    if name.endswith(FOREIGN_NAMES):
        raise Unusable(f"A {archive.suffix} cannot be unpacked here.")
    if not submissions.is_archive(archive):
        raise Unusable("The file is not an archive.")
    return _zip if name.endswith(".zip") else _tar


def _begins_a_tar(block: bytes) -> bool:
    """Whether the sum in it says that this is the header of a member of a tar."""
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _take(member: Member, target: Path, allowance: Allowance) -> str:
    """Writes one member. Returns why it is left out, "" if it is not."""
    place = target / _inside(member.name)
    if member.odd:
        allowance.count()
        return member.odd
    if member.linked:
        source = _linked(member.linked, target)
        if source is None or source == place:
            allowance.count()
            return "a link to a file that is not in the archive before it"
        with source.open("rb") as opened:
            allowance.write(place, opened)
    elif member.opener is None:
        allowance.count()
        allowance.directory(place)
        return ""
    else:
        allowance.check(member.size)
        with member.opener() as opened:
            allowance.write(place, opened)
    with contextlib.suppress(OSError, OverflowError, ValueError):
        os.utime(place, (member.changed, member.changed))
    return ""


def _linked(name: str, target: Path) -> Path | None:
    """The file of that member. None if it was not written."""
    try:
        source = target / _inside(name)
        return source if source.is_file() else None
    except (Unusable, OSError):
        return None


def _inside(name: str) -> Path:
    """The name as a path below the target. Raises Unusable if it leads out."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise Unusable(
            f"The archive is refused: a file in it, {harmless(name)}, would be outside of it."
        )
    if len(path.parts) > DEEPEST:
        raise Unusable(f"The archive has directories that are more than {DEEPEST} deep.")
    return Path(*path.parts)


@contextlib.contextmanager
def _damage_told(name: str = "") -> Iterator[None]:
    """Raises Unusable for what the libraries raise at a damaged archive, which is nearly every
    exception there is, and for names that a file system refuses."""
    where = f"{harmless(name)}: " if name else ""
    try:
        yield
    except Unusable:
        raise
    except MemoryError:
        problem = f"it needs more than {MEMORY // MIB} MiB of memory"
    except OSError as error:
        if error.errno not in OF_NAMES:
            raise
        problem = where + (error.strerror or harmless(str(error)))
    except Exception as error:
        problem = where + (harmless(str(error)) or type(error).__name__)
    else:
        return
    raise Unusable(f"The archive cannot be unpacked: {problem}.")


def _damage_is_told(members: Iterator[Member]) -> Iterator[Member]:
    """The members, where each step of the library may meet damage."""
    while True:
        with _damage_told():
            member = next(members, None)
        if member is None:
            return
        yield member


def _zip(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if info.flag_bits & ENCRYPTED:
                raise Unusable("The archive is encrypted, and needs a password.")
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                yield Member(_zip_name(info), odd="a link" if stat.S_ISLNK(kind) else "not a file")
            elif info.is_dir():
                yield Member(_zip_name(info))
            else:
                opener = partial(opened.open, info)
                yield Member(_zip_name(info), info.file_size, _zip_time(info), opener)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """macOS writes names in UTF-8, and does not say so; the library then takes them for cp437."""
    if info.flag_bits & UTF_8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _zip_time(info: zipfile.ZipInfo) -> float:
    """When the file was changed, in seconds since 1970; 0 if that is no date."""
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (OverflowError, ValueError):
        return 0.0


def _tar(archive: Path) -> Iterator[Member]:
    with _unpacked(archive) as stream, tarfile.open(fileobj=Bounded(stream), mode="r|") as opened:
        for info in opened:
            if info.islnk():
                yield Member(info.name, changed=info.mtime, linked=info.linkname)
            elif info.isdir():
                yield Member(info.name)
            elif info.isfile():
                opener = partial(opened.extractfile, info)
                yield Member(info.name, info.size, info.mtime, opener)
            else:
                yield Member(info.name, odd="a link" if info.issym() else "not a file")


def _unpacked(archive: Path) -> IO[bytes]:
    """The tar within, whatever it is packed with."""
    with archive.open("rb") as file:
        begin = file.read(8)
    openers = [one for magic, one in PACKED.items() if begin.startswith(magic)]
    return openers[0](archive) if openers else archive.open("rb")


class Bounded:
    """What tarfile reads from. It reads the headers, and what it passes over, as well."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, MOST_BYTES + HEADERS

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise Unusable(f"The archive is larger than {MOST_BYTES // MIB} MiB when unpacked.")
        return data


def main(archive: str, target: str) -> int:
    prctl.die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    try:
        print("\n".join(extract(Path(archive), Path(target))))
    except Unusable as error:
        print(error.problem)
        return REFUSED
    except OSError as error:
        print(f"{error.strerror}: {error.filename or archive}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
