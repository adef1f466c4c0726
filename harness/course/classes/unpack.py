"""A hand-in as plain files in a directory of ours, whatever it was before.

bsdtar knows nearly every kind of archive. It turns each into a plain tar, in a process with limits
that can write no file, and read only the archive and its own libraries. That tar is read here, and
only regular files are written, each below the directory that they are meant for. Links are left
out, but a hard link becomes a file of its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from harness.course.classes import submissions
from harness.course.classes.submissions import MOST_BYTES, MOST_FILES
from harness.feedback.printable import harmless
from harness.server.linux import landlock, prctl
from harness.submission.sizes import KIB, MIB

HOW = "Hand in the .c and .h files in one directory, or pack them as a .zip or a .tar.gz."
NESTED = 2  # an archive in an archive, and no deeper
NAMED = 3  # files of those that were left out
DEEPEST = 32  # directories within each other
PIECE = 256 * KIB
CPU_SECONDS = 20  # of bsdtar; the largest archive that is taken needs a few
LIMITS = {
    resource.RLIMIT_CPU: CPU_SECONDS,
    resource.RLIMIT_AS: 512 * MIB,  # xz -9 needs 65 MiB
    resource.RLIMIT_FSIZE: MOST_BYTES + 16 * MIB,  # of the tar, with its headers
    resource.RLIMIT_CORE: 0,
}
# What an archive begins with, if it is no tar.
KINDS = (b"PK\3\4", b"PK\5\6", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\7")
CRASHED = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)
# Errors of a file system that names in an archive can cause. Any other is a fault of the machine.
OF_NAMES = {
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST, errno.EISDIR, errno.ENOTDIR),
}


class Unusable(Exception):
    """The hand-in cannot be graded. The message says why, and what to hand in."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem} {HOW}")
        self.problem = problem


def sources(found: Path | None, target: Path, scratch: Path, chapter: str) -> str:
    """Makes `target` a copy of the directory with the .c files. `scratch`: a directory that does
    not exist, for what an archive holds. Returns a sentence about what was left out, "" if nothing
    was. Raises Unusable; OSError if the machine is at fault.
    """
    left_out: list[str] = []
    for number in range(NESTED + 1):
        if found is None:
            raise Unusable("There are no .c files in the submission.")
        if found.is_dir():
            return _told(left_out + _copy(found, target))
        place = scratch / str(number)
        unpacked = place / "files"
        unpacked.mkdir(parents=True)
        left_out += _extracted(found, unpacked, place)
        found = submissions.latest((unpacked,), chapter)
    raise Unusable("There are too many archives within each other.")


def _told(left_out: list[str]) -> str:
    if not left_out:
        return ""
    more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
    return f"Left out: {', '.join(left_out[:NAMED])}{more}."


def _left_out(name: str, is_link: bool) -> str:
    return f"{harmless(name)} ({'a link' if is_link else 'not a file'})".replace("\n", ".")


class Writer:
    """Writes the files of one hand-in below a directory, up to the limits. All functions raise
    Unusable; OSError if the machine is at fault."""

    def __init__(self, top: Path) -> None:
        self._top, self._bytes, self._files = top, MOST_BYTES, MOST_FILES
        self.written: dict[str, Path] = {}  # by the name that it was given

    def count(self) -> None:
        """Counts one more file, directory or thing that is left out."""
        self._files -= 1
        if self._files < 0:
            raise Unusable(f"The submission has more than {MOST_FILES:,} files.")

    def write(self, name: str, opened: IO[bytes], size: int, changed: float) -> None:
        """A file with what `opened` holds, which should be `size` bytes. It replaces an earlier one
        of this name. `changed`: in seconds since 1970."""
        place = self.inside(name)
        self.count()
        if size > self._bytes:
            raise Unusable(f"The submission is larger than {MOST_BYTES // MIB} MiB.")
        self._bytes -= size
        try:
            self._directory(place.parent)
            with place.open("wb") as file:
                shutil.copyfileobj(opened, file, PIECE)
        except OSError as error:
            if error.errno not in OF_NAMES:
                raise
            raise Unusable(
                f"The archive cannot be unpacked: {harmless(name)}: {error.strerror}."
            ) from None
        self.written[name] = place
        place.chmod(0o644)
        with contextlib.suppress(OSError, OverflowError, ValueError):
            os.utime(place, (changed, changed))

    def _directory(self, place: Path) -> None:
        if not place.is_dir():
            self._directory(place.parent)
            self.count()
            place.mkdir()

    def inside(self, name: str) -> Path:
        """The place for a file of this name."""
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise Unusable(
                f"The archive is refused: a file in it, {harmless(name)}, would be outside of it."
            )
        if len(path.parts) > DEEPEST:
            raise Unusable(f"The archive has directories that are more than {DEEPEST} deep.")
        return self._top.joinpath(*path.parts)


def _copy(directory: Path, target: Path) -> list[str]:
    """Returns the links and other things that were left out."""
    writer = Writer(target)
    target.mkdir(parents=True)
    for file in submissions.regular_files(directory):
        found = file.stat()
        with file.open("rb") as opened:
            writer.write(str(file.relative_to(directory)), opened, found.st_size, found.st_mtime)
    left_out = []
    for place, below, names in os.walk(directory):
        below[:] = [name for name in below if name != ".git"]
        for path in (Path(place, name) for name in sorted(below + names)):
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                left_out.append(_left_out(str(path.relative_to(directory)), stat.S_ISLNK(mode)))
    return left_out


def _extracted(archive: Path, target: Path, scratch: Path) -> list[str]:
    """Unpacks it. Returns what was left out. Raises Unusable, OSError."""
    with archive.open("rb") as file:
        begin = file.read(tarfile.BLOCKSIZE)
    if not begin:
        raise Unusable("The file is empty.")
    if not begin.startswith(KINDS):
        archive = _plain_tar(archive, scratch / "plain")
    tar = scratch / "tar"
    _run(("bsdtar", "-cPf", "-", "--format=gnutar", f"@{archive}"), archive, tar)
    writer, left_out = Writer(target), []
    with tarfile.open(tar, "r:") as opened:
        for member in opened:
            left_out += _take(opened, member, writer)
    return left_out


def _plain_tar(archive: Path, plain: Path) -> Path:
    """Decompresses the archive to a tar behind a header of ours. Without that header bsdtar would
    also take a text that names files of this machine (mtree). Raises Unusable, OSError."""
    top = tarfile.TarInfo(".")
    top.type = tarfile.DIRTYPE
    plain.write_bytes(top.tobuf(tarfile.GNU_FORMAT))
    _run(("bsdcat", str(archive)), archive, plain)
    with plain.open("rb") as file:
        file.seek(tarfile.BLOCKSIZE)
        try:
            tarfile.TarInfo.frombuf(file.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            raise Unusable("The file is not an archive.") from None
    return plain


def _run(command: tuple[str, ...], archive: Path, output: Path) -> None:
    """Runs a program of libarchive on an archive, and appends its output to a file. Raises
    Unusable, OSError."""
    # Without a PATH libarchive starts no other program for kinds that it does not know itself, and
    # without a terminal it asks for no password.
    how = {"env": {"LC_ALL": "C.UTF-8", "PATH": "/dev/null"}, "start_new_session": True}
    program = shutil.which(command[0])
    if program is None:
        raise OSError(None, f"{command[0]} is not installed: make setup")
    with output.open("ab") as file, tempfile.TemporaryFile() as said, _confined(archive) as child:
        files = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": said}
        command_line = [program, *command[1:]]
        status = subprocess.run(command_line, preexec_fn=child, **files, **how).returncode
        said.seek(0)
        first = said.readline(PIECE).decode(errors="surrogateescape").rstrip(".\n")
    if status == -signal.SIGXCPU:
        raise Unusable(f"Unpacking the archive takes more than {CPU_SECONDS} s of processor time.")
    if status == -signal.SIGXFSZ:
        raise Unusable(f"The submission is larger than {MOST_BYTES // MIB} MiB.")
    if status < 0 and -status not in CRASHED:
        raise OSError(None, f"unpacking failed: {signal.Signals(-status).name} has ended {program}")
    if first.endswith("Write error"):
        raise OSError(None, "unpacking failed: the disk is full")
    if first.startswith("Enter passphrase"):
        raise Unusable("The archive is encrypted, and needs a password.")
    if status:
        first = first.removeprefix(f"{command[0]}: ").replace(str(archive), archive.name)
        why = harmless(first) if first and "(null)" not in first else "it is damaged"
        raise Unusable(f"The archive cannot be unpacked: {why}.")


@contextlib.contextmanager
def _confined(archive: Path) -> Iterator[Callable[[], None]]:
    """Yields what a child calls before exec, to be confined."""
    libraries = (Path(name) for name in ("/usr", "/lib", "/lib64"))
    ruleset = landlock.ruleset([], (*libraries, archive))

    def confine() -> None:
        prctl.die_with_parent()
        for limit, most in LIMITS.items():
            resource.setrlimit(limit, (most, most + 1))
        if ruleset is not None:
            landlock.enter(ruleset)

    try:
        yield confine
    finally:
        if ruleset is not None:
            os.close(ruleset)


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, writer: Writer) -> list[str]:
    """Writes one member. Returns what is left out."""
    place = writer.inside(member.name)
    if member.isfile():
        writer.write(member.name, tar.extractfile(member), member.size, member.mtime)
        return []
    if member.islnk():
        source = writer.written.get(member.linkname, place)
        if source != place:
            with source.open("rb") as opened:
                writer.write(member.name, opened, source.stat().st_size, member.mtime)
            return []
    writer.count()
    return [] if member.isdir() else [_left_out(member.name, member.issym() or member.islnk())]
