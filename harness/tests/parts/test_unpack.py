"""Archives that students hand in: of every kind, odd ones and hostile ones."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import struct
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.course.classes import extract, labels, records, submissions, unit, unpack
from harness.course.isolation.choice import choose
from harness.lab import chapters, sources
from harness.lab.units import MIB

CHAPTER = chapters.find("01")
MAIN = b"int main(void) { return 0; }\n"
ZERO = b"\0" * tarfile.BLOCKSIZE
HARD, SOFT, FIFO, DEVICE = tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE


@pytest.fixture
def own_process():
    """For tests that unpack in a process of its own, as a grade does."""


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    """The others unpack in this one, which is quicker."""
    if "own_process" not in request.fixturenames:
        monkeypatch.setattr(unpack, "_extracted", extract.extract)


def unpacked(archive: Path, tmp_path: Path) -> dict[str, bytes]:
    """The files, by name."""
    target = tmp_path / "target"
    unpack.sources(archive, target, tmp_path / "scratch", CHAPTER.slug)
    found = sorted(path for path in target.rglob("*") if path.is_file())
    return {str(path.relative_to(target)): path.read_bytes() for path in found}


def left_out(archive: Path, tmp_path: Path) -> str:
    return unpack.sources(archive, tmp_path / "target", tmp_path / "scratch", CHAPTER.slug)


def refusal(archive: Path, tmp_path: Path) -> str:
    """What the student reads."""
    with pytest.raises(extract.Unusable) as caught:
        unpacked(archive, tmp_path)
    assert str(caught.value).endswith(extract.HOW)
    return caught.value.problem


def tar(path: Path, *members: tuple, mode: str = "w") -> Path:
    """A tar: each member has bytes, or a TarInfo's attributes, or both."""
    with tarfile.open(path, mode) as made:
        for name, *has in members:
            info, data = tarfile.TarInfo(name), b""
            for what in has:
                if isinstance(what, bytes):
                    data = what
                    continue
                for attribute, value in what.items():
                    setattr(info, attribute, value)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data)
    return path


# What is taken


@pytest.mark.parametrize("kind", ["zip", "gztar", "bztar", "xztar", "tar"])
@pytest.mark.parametrize("name", [None, "ada.zip", "ada.tar.gz", "ada.rar"])
def test_an_archive_is_known_by_how_it_begins(tmp_path, kind, name):
    """Many are renamed."""
    (tmp_path / "in" / "a b").mkdir(parents=True)
    (tmp_path / "in" / "a b" / "main.c").write_bytes(MAIN)
    made = Path(shutil.make_archive(str(tmp_path / "made"), kind, tmp_path / "in"))
    made = made.rename(tmp_path / (name or made.name))
    assert unpacked(made, tmp_path) == {"main.c": MAIN}


def test_the_process_that_unpacks_says_what_it_has_left_out(tmp_path, own_process):
    members = [("main.c", MAIN), ("s\n.c", {"type": SOFT}), ("p", {"type": FIFO})]
    made = tar(tmp_path / "-a b.tar.gz", *members, mode="w:gz")
    assert left_out(made, tmp_path) == "Left out: s..c (a link), p (not a file)."
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["main.c"]


def test_an_archive_in_an_archive_is_unpacked(tmp_path):
    inner = tar(tmp_path / "main.tar.gz", ("main.c", MAIN), mode="w:gz").read_bytes()
    assert unpacked(zipped(tmp_path / "a.zip", ("x/main.tar.gz", inner)), tmp_path) == {
        "main.c": MAIN
    }


def test_hard_links_are_files(tmp_path):
    """tar makes one of a file that has two names."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.h").write_bytes(b"one\n")
    os.link(tmp_path / "in" / "a.h", tmp_path / "in" / "b.h")
    (tmp_path / "in" / "main.c").write_bytes(MAIN)
    made = tmp_path / "ada.tar"
    subprocess.run(["tar", "-cf", made, "-C", tmp_path / "in", "."], check=True)
    with tarfile.open(made) as opened:
        assert [one.islnk() for one in opened].count(True) == 1
    assert unpacked(made, tmp_path) == {"a.h": b"one\n", "b.h": b"one\n", "main.c": MAIN}


@pytest.mark.parametrize(
    "name, attributes, said",
    [
        ("h.c", {"type": HARD, "linkname": "/etc/passwd"}, "h.c (a link to a file that is not in"),
        ("h.c", {"type": HARD, "linkname": "../../passwd"}, "h.c (a link to a file that is not"),
        ("h.c", {"type": HARD, "linkname": "h.c"}, "h.c (a link to a file that is not in"),
        ("h.c", {"type": HARD, "linkname": "later.c"}, "h.c (a link to a file that is not in"),
        ("main.c", {"type": HARD, "linkname": "main.c"}, "main.c (a link to a file that is not"),
        ("s.c", {"type": SOFT, "linkname": "/etc/passwd"}, "s.c (a link)"),
        ("d", {"type": SOFT, "linkname": ".."}, "d (a link)"),
        ("p.c", {"type": FIFO}, "p.c (not a file)"),
        ("dev.c", {"type": DEVICE}, "dev.c (not a file)"),
    ],
)
def test_what_is_no_file_is_left_out_and_named(tmp_path, name, attributes, said):
    made = tar(tmp_path / "a.tar", ("main.c", MAIN), (name, attributes), ("later.c", b"x"))
    assert left_out(made, tmp_path).startswith(f"Left out: {said}")
    found = {path.name: path.read_bytes() for path in (tmp_path / "target").iterdir()}
    assert found == {"main.c": MAIN, "later.c": b"x"}


def test_links_of_a_zip_and_of_a_directory_are_named(tmp_path):
    link = zipfile.ZipInfo("net.c")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    made = zipped(tmp_path / "a.zip", ("main.c", MAIN), (link, b"/etc/passwd"))
    assert left_out(made, tmp_path) == "Left out: net.c (a link)."
    directory = tmp_path / "dir"
    directory.mkdir()
    (directory / "main.c").write_bytes(MAIN)
    for name in ("a.c", "b.c", "c.c", "d.c"):
        (directory / name).symlink_to("main.c")
    said = unpack.sources(directory, tmp_path / "copy", tmp_path / "none", CHAPTER.slug)
    assert said == "Left out: a.c (a link), b.c (a link), c.c (a link) and 1 more."


def test_names_of_every_kind_are_kept(tmp_path):
    odd = [os.fsdecode(b"\xff.h"), "Main.c", "a b.h", "成.h", "new\nline.h", "-x.h", "x" * 200]
    made = tar(tmp_path / "a.tar", ("main.c", MAIN), *((name, b"") for name in odd))
    assert unpacked(made, tmp_path).keys() == {"main.c", *odd}


@pytest.mark.parametrize("flag", [0, 0x800])
def test_a_name_in_a_zip_is_utf_8(tmp_path, monkeypatch, flag):
    """macOS does not set the flag that says so."""
    encoded = lambda info: (info.filename.encode(), info.flag_bits | flag)  # noqa: E731
    monkeypatch.setattr(zipfile.ZipInfo, "_encodeFilenameFlags", encoded)
    made = zipped(tmp_path / "a.zip", ("main.c", MAIN), ("ö.h", b""))
    assert unpacked(made, tmp_path).keys() == {"main.c", "ö.h"}


def test_what_macos_adds_is_no_second_directory(tmp_path):
    names = ("01-blocking/main.c", "__MACOSX/01-blocking/._main.c", "__MACOSX/._01-blocking")
    beside = ("._01-blocking", "01-blocking/._main.c")
    made = tar(tmp_path / "a.tar", *((name, MAIN) for name in (*names, *beside)))
    unpacked(made, tmp_path)
    assert sources.texts(tmp_path / "target") == {"main.c": MAIN.decode()}
    made = zipped(tmp_path / "a.zip", *((name, MAIN) for name in names))
    shutil.rmtree(tmp_path / "target")
    shutil.rmtree(tmp_path / "scratch")
    assert unpacked(made, tmp_path) == {"main.c": MAIN}


def test_the_newest_directory_of_an_archive_counts(tmp_path):
    """As the archive has their times, whatever its order is."""
    members = ("new/main.c", b"new", {"mtime": 2000}), ("old/main.c", b"old", {"mtime": 1000})
    assert unpacked(tar(tmp_path / "a.tar", *members), tmp_path) == {"main.c": b"new"}


def test_rights_in_an_archive_do_not_count(tmp_path):
    members = ("d/main.c", {"mode": 0}), ("d/set.c", {"mode": 0o6777})
    made = tar(tmp_path / "a.tar", ("d", {"type": tarfile.DIRTYPE, "mode": 0}), *members)
    assert unpacked(made, tmp_path).keys() == {"main.c", "set.c"}
    assert {path.stat().st_mode & 0o7777 for path in (tmp_path / "target").iterdir()} == {0o644}


def test_the_last_of_two_members_of_one_name_counts(tmp_path):
    made = tar(tmp_path / "a.tar", ("main.c", b"old"), ("./main.c", b"new"))
    assert unpacked(made, tmp_path) == {"main.c": b"new"}


def test_a_sparse_file_has_its_zeros(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "main.c").write_bytes(MAIN)
    with (tmp_path / "in" / "big.h").open("wb") as file:
        file.truncate(MIB)
        file.seek(MIB)
        file.write(b"end")
    words = ["tar", "-S", "-cf", tmp_path / "a.tar", "-C", tmp_path / "in", "."]
    subprocess.run(words, check=True)
    assert unpacked(tmp_path / "a.tar", tmp_path)["big.h"] == b"\0" * MIB + b"end"


@pytest.mark.parametrize("garbage", [b"garbage" * 1000, ZERO * 50])
def test_what_follows_a_tar_does_not_count(tmp_path, garbage):
    made = tar(tmp_path / "a.tar", ("main.c", MAIN))
    made.write_bytes(made.read_bytes() + garbage)
    assert unpacked(made, tmp_path) == {"main.c": MAIN}


# What is refused


@pytest.mark.parametrize("member", ["../out.c", "/tmp/out.c", "a/../../out.c", "..\\out.c"])
@pytest.mark.parametrize("make", [zipped, tar])
def test_a_file_outside_is_refused(tmp_path, member, make):
    made = make(tmp_path / f"a.{'tar' if make is tar else 'zip'}", ("main.c", MAIN), (member, b""))
    assert "would be outside of it" in refusal(made, tmp_path)
    assert not list(tmp_path.rglob("out.c"))


def test_an_archive_that_is_too_large_is_refused(tmp_path):
    made = zipped(tmp_path / "a.zip", ("main.c", MAIN), ("big", bytes(submissions.MOST_BYTES)))
    assert refusal(made, tmp_path) == "The submission is larger than 64 MiB."


def test_sizes_that_are_not_true_are_refused(tmp_path):
    made = zipped(tmp_path / "a.zip", ("main.c", MAIN * 100))
    data = made.read_bytes().replace(struct.pack("<I", len(MAIN) * 100), struct.pack("<I", 10))
    made.write_bytes(data)
    assert "main.c: Bad CRC-32" in refusal(made, tmp_path)


@pytest.mark.parametrize("links", [False, True])
def test_too_many_files_are_refused(tmp_path, links):
    """Directories and links count."""
    most = submissions.MOST_FILES // 2
    what = {"type": SOFT, "linkname": "x"} if links else {"type": tarfile.DIRTYPE}
    members = [(f"{number}/x", what) for number in range(most + (links and most) + 1)]
    made = tar(tmp_path / "a.tar.gz", *members, mode="w:gz")
    assert refusal(made, tmp_path) == "The submission has more than 2,000 files."


@pytest.mark.parametrize(
    "data, said",
    [
        (b"Rar!\x1a\7\1\0", "The file is a RAR archive"),
        (b"7z\xbc\xaf\x27\x1c", "The file is a 7z archive"),
        (b"\x28\xb5\x2f\xfd....", "The file is a Zstandard archive"),
        (b"PK\3\4 this is no archive" * 100, "The archive cannot be unpacked: "),
        (b"this is no archive" * 100, "cannot be unpacked"),
        (b"\x1f\x9d\x90....", "The file is a compress archive"),
        (b"", "The file is empty."),
    ],
)
@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar.xz", "a.tar", "a.rar", "a.7z"])
def test_what_is_no_archive_of_ours_is_said_to_be_none(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    assert said in refusal(tmp_path / name, tmp_path)


def test_an_empty_archive_has_no_sources(tmp_path):
    for made in (zipped(tmp_path / "a.zip"), tar(tmp_path / "b.tar")):
        assert refusal(made, tmp_path) == "There are no .c files in the submission."
        shutil.rmtree(tmp_path / "scratch")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_a_truncated_archive_is_refused(tmp_path, pack):
    data = pack(tar(tmp_path / "whole", ("main.c", os.urandom(5000))).read_bytes())
    (tmp_path / "a.tar.gz").write_bytes(data[:2500])
    assert refusal(tmp_path / "a.tar.gz", tmp_path).startswith("The archive cannot be unpacked: ")


def test_an_encrypted_zip_is_said_to_be_one(tmp_path):
    made = zipped(tmp_path / "a.zip", ("main.c", MAIN))
    data = bytearray(made.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    made.write_bytes(data)
    assert refusal(made, tmp_path) == "The archive is encrypted, and needs a password."


@pytest.mark.parametrize(
    "names, said",
    [
        (("a/main.c", "a"), "a: Is a directory"),
        (("a", "a/main.c"), "a/main.c: "),
        (("x" * 300,), "File name too long"),
        (("d/" * 40 + "main.c",), "directories that are more than 32 deep"),
        (("d/" * 3000 + "main.c",), "directories that are more than 32 deep"),
    ],
)
def test_names_that_no_file_can_have_are_told(tmp_path, names, said):
    assert said in refusal(tar(tmp_path / "a.tar", *((one, MAIN) for one in names)), tmp_path)


def test_archives_within_archives_end(tmp_path):
    data = tar(tmp_path / "0.tar", ("main.c", MAIN)).read_bytes()
    for number in range(1, 4):
        data = tar(tmp_path / f"{number}.tar", (f"{number}.tar", data)).read_bytes()
    assert "too many archives within each other" in refusal(tmp_path / "3.tar", tmp_path)


# What costs much


def header(kind: bytes, size: int) -> bytes:
    """The header of a member whose contents follow: a long name, or settings of pax."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def long_header(kind: bytes) -> Iterator[bytes]:
    """Contents of 100 MiB, which tarfile reads whole."""
    yield header(kind, 100 * MIB)
    yield from [b"9" * MIB] * 100


def passed_over() -> Iterator[bytes]:
    """A member with contents of 100 MiB, which nobody takes."""
    info = tarfile.TarInfo("x")
    info.type, info.size = b"Z", 100 * MIB
    yield info.tobuf()
    yield from [b"9" * MIB] * 100


def nested_headers() -> Iterator[bytes]:
    """Each long name belongs to the member behind it, so the library calls itself."""
    yield from [header(tarfile.GNUTYPE_LONGNAME, 1) + b"x" + ZERO[1:]] * 5000


COSTLY: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "pax": (lambda: long_header(tarfile.XHDTYPE), "larger than 64 MiB when unpacked"),
    "global": (lambda: long_header(tarfile.XGLTYPE), "larger than 64 MiB when unpacked"),
    "name": (lambda: long_header(tarfile.GNUTYPE_LONGNAME), "larger than 64 MiB when unpacked"),
    "passed over": (passed_over, "larger than 64 MiB when unpacked"),
    "nested": (nested_headers, "maximum recursion depth"),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_small_archive_does_not_cost_gigabytes(tmp_path, name, own_process):
    """It would end this process, or take minutes."""
    made, said = COSTLY[name]
    with gzip.open(tmp_path / "a.tar.gz", "wb", 1) as file:
        for piece in made():
            file.write(piece)
    assert (tmp_path / "a.tar.gz").stat().st_size < 8 * MIB
    assert said in refusal(tmp_path / "a.tar.gz", tmp_path)


def graded_by(text: str, monkeypatch, tmp_path) -> tuple[records.Record, labels.Class]:
    """The record of an archive that this program unpacks, and where it is kept."""
    (tmp_path / "sub").mkdir()
    tar(tmp_path / "sub" / "ada.tar", ("main.c", MAIN))
    (tmp_path / "program.py").write_text(text)
    monkeypatch.setattr(unpack, "EXTRACT", (str(tmp_path / "program.py"),))
    (ada,), _ = submissions.find(tmp_path / "sub")
    of = labels.of(CHAPTER, tmp_path / "results", ["ada"], False)
    return unit.Unit(of, choose("none")).run(ada), of


LIMITED = "sys.path.insert(0, os.getcwd())\nfrom harness.course.classes import extract\n"


@pytest.mark.parametrize(
    "limit, said",
    [
        ("extract.Allowance.write = lambda *_: bytearray(2 * extract.MEMORY)", "512 MiB of memory"),
        ("extract.extract = lambda *_: os.kill(os.getpid(), 24)", "more than 20 s of"),
        ("extract.extract = lambda *_: os.abort()", "the library ends with SIGABRT"),
    ],
)
def test_a_limit_is_a_score_with_a_reason_and_is_kept(
    monkeypatch, tmp_path, own_process, limit, said
):
    """It is not tried again."""
    program = f"import os, sys\n{LIMITED}{limit}\nsys.exit(extract.main(*sys.argv[1:]))\n"
    record, of = graded_by(program, monkeypatch, tmp_path)
    assert (record.verdict, record.score) == ("failed", 0) and said in record.problem
    assert records.valid(records.load(of.place("ada")), record.key)


def test_a_fault_of_the_machine_is_no_score(monkeypatch, tmp_path, own_process):
    program = "print('No space left on device: x')\nraise SystemExit(1)\n"
    record, _ = graded_by(program, monkeypatch, tmp_path)
    assert (record.verdict, record.score) == ("not judged", None)
    assert "ada.tar: unpacking failed: No space left on device: x" in record.problem


def test_files_without_rights_are_no_score_and_stop_nobody(monkeypatch, tmp_path):
    (tmp_path / "sub" / "ada").mkdir(parents=True)
    (tmp_path / "sub" / "ada" / "main.c").write_bytes(MAIN)

    def closed(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", closed)
    (ada,), _ = submissions.find(tmp_path / "sub")
    assert len(submissions.digest(tmp_path / "sub" / "ada")) == 64
    with pytest.raises(PermissionError) as caught:
        unpack._copy(tmp_path / "sub" / "ada", tmp_path / "copy")
    said = unit._unreadable(caught.value, ada.places[0])
    assert said.startswith("it cannot be read, main.c: Permission denied; chmod -R u+rwX, and")
