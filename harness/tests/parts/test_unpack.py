"""Archives that students hand in: of every kind, odd ones and hostile ones."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from harness.course.classes import submissions, unpack
from harness.submission import chapters
from harness.submission.sizes import MIB
from harness.tests import golden

CHAPTER = chapters.find("01")
MAIN = ("main.c", b"int main(void) { return 0; }\n")
HARD, SOFT = tarfile.LNKTYPE, tarfile.SYMTYPE
MUCH = 100 * MIB  # more than an archive may have
MANY = submissions.MOST_FILES + 1


def tar(*members: tuple, mode: str = "w") -> bytes:
    """A tar: each member is a name, its bytes, and attributes of a TarInfo."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as opened:
        for name, data, *attributes in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for attribute, value in dict(*attributes).items():
                setattr(info, attribute, value)
            opened.addfile(info, io.BytesIO(data))
    return made.getvalue()


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members:
            opened.writestr(name, data)
    return made.getvalue()


def header(kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


ODD = (os.fsdecode(b"\xff.h"), "a b.h", "成.h", "new\nline.h", "-x.h", "x" * 120)
MAC = ("01-blocking/main.c", "__MACOSX/01-blocking/._main.c", "__MACOSX/._01-blocking")
LINKS = [("/etc/passwd", HARD), ("itself.c", HARD), ("main.c", HARD), ("/etc/passwd", SOFT)]
LINKS += [("", tarfile.FIFOTYPE), ("", tarfile.CHRTYPE)]


def cases(outside: Path) -> Iterator[tuple[str, bytes]]:
    """Hand-ins: what is odd about each, with the name of its file unless that is a.zip; its bytes.
    """
    yield "zip named a.tar.gz", zipped(("a b/main.c", MAIN[1]))
    for name, mode in {"a.rar": "w:xz", "a": "w:bz2", "a.tgz": "w"}.items():
        yield f"tar {mode} named {name}", tar(("a b/main.c", MAIN[1]), mode=mode)
    yield "tar in a zip", zipped(("x/main.tar", tar(MAIN)))
    yield "names of every kind", tar(MAIN, *((name, b"") for name in ODD))
    yield "zip of a Mac", zipped(MAIN, ("ö.h", b"")).replace(b"\x14\0\0\x08", b"\x14\0\0\0")
    yield "files that macOS adds", zipped(*((name, MAIN[1]) for name in MAC))
    yield "a newer directory first", tar(
        ("new/main.c", b"newer", {"mtime": 2000}), ("old/main.c", b"old", {"mtime": 1000})
    )
    for target, kind in LINKS:
        link = ("itself.c", b"", {"type": kind, "linkname": target})
        yield f"type {kind.decode()} to {target}", tar(MAIN, link, ("later.c", b"x"))
    link = zipfile.ZipInfo("net.c")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    yield "link in a zip", zipped(MAIN, (link, b"/etc/passwd"))
    for name in ("../out.c", f"{outside}/out.c", "a/../../out.c", "..\\out.c"):
        for kind in (zipped, tar):
            yield f"{kind.__name__} with {name}", kind(MAIN, (name, b""))
    yield "link to a directory, and a file in it", tar(
        MAIN, ("d", b"", {"type": SOFT, "linkname": ".."}), ("d/in.c", b"")
    )
    yield "too large", zipped(MAIN, ("big", bytes(submissions.MOST_BYTES)))
    yield "too many links", tar(*((f"{n}", b"", {"type": SOFT}) for n in range(MANY)))
    yield "long pax header", gzip.compress(header(tarfile.XHDTYPE, MUCH) + bytes(MUCH), 1)
    yield "encrypted", zipped(MAIN).replace(b"\x14\0\0\0", b"\x14\0\1\0")
    yield "cut off, gz", gzip.compress(tar(MAIN, ("r", os.urandom(9000))))[:2500]
    yield "archives within archives", tar(("3.tar", tar(("2.tar", tar(("1.tar", tar(MAIN)))))))
    for form in ("--format=7zip", "--format=gnutar --zstd", "--format=gnutar --lzip"):
        command = f"bsdtar {form} -cPf {outside}/packed @-".split()
        for members in ((MAIN,), (MAIN, ("../out.c", b""))):
            subprocess.run(command, input=tar(*members), check=True)
            yield f"{form} of {members[-1][0]}", (outside / "packed").read_bytes()
    for text in (f"#mtree\nmain.c type=file contents={__file__}\n", "Rar!\x1a\7\0...."):
        yield f"begins with {text[:6]!a}", text.encode()
    yield "empty", b""


def unpacked(name: str, data: bytes, place: Path) -> str:
    """What the files are, or why the hand-in is refused."""
    place.mkdir()
    (place / name).write_bytes(data)
    try:
        left_out = unpack.sources(place / name, place / "to", place / "scratch", CHAPTER.slug)
    except unpack.Unusable as error:
        assert str(error).endswith(unpack.HOW)
        # A library of Python says why, in words that differ between its versions.
        return re.sub(r"(cannot be unpacked: ).*", r"\1...", error.problem)
    found = [path for path in sorted((place / "to").rglob("*")) if not path.is_dir()]
    assert {path.lstat().st_mode for path in found} == {stat.S_IFREG | 0o644}
    names = [f"{str(path.relative_to(place / 'to'))!a} {path.stat().st_size}" for path in found]
    return f"{', '.join(names)}; {left_out}"


def test_what_comes_out_of_an_archive(tmp_path):
    """Nothing is written outside of the place for it, and everything else that is odd is told."""
    lines = []
    for number, (what, data) in enumerate(cases(tmp_path)):
        name = what.partition(" named ")[2] or "a.zip"
        lines.append(f"{what}:\n    {unpacked(name, data, tmp_path / str(number))}")
    golden.check("unpack", "\n".join(lines), tmp_path)
    assert not list(tmp_path.rglob("out.c"))
