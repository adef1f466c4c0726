"""What comments and documents say of the lab is true, where a test can tell."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from harness.authors.selftest.documents import tables
from harness.course.handover import handout
from harness.lab import chapters, sources
from harness.lab.chapters import ROOT

HARNESS = ROOT / "harness"
COLUMNS = 100

NAMES_A_FILE = re.compile(r"[\w./*-]*[\w*]\.(?:py|c|h|html|css|js|md|sh|dot)\b")
NAMES_A_PATH = re.compile(r"\bharness/[\w./*-]*\w(?![\w{])")  # as far as an f-string's {
NAMES_A_MODULE = re.compile(r"-m (harness[\w.]*\w)")
FUNCTION = re.compile(r"^\{$.*?^\}$", re.M | re.S)
FRAME = re.compile(r"#\d+ .*?(\w+) \([^\n]*\) at \S*?(\w+\.c):(\d+)")  # of gdb
COMMENT = re.compile(r"/\*.*?\*/", re.S)
MOVES_BYTES = re.compile(r"\b(?:read|readv|recv|recvmsg|write|writev|send|sendmsg)\(")
COMPARES_ERRNO = re.compile(r"\berrno\s*[=!]=|switch \(errno\)")
BROKEN_DECLARATION = re.compile(r"^\s+(?:const )?(?:struct|enum) \w+$")  # its name stands below

# Beside dotfiles, and nothing else.
TOP_LEVEL = {
    *("chapters", "solutions", "harness", "docs"),
    *("Makefile", "README.md", "LICENSE"),
}

# Heads of the tables that have a row for each chapter.
ONE_ROW_A_CHAPTER = ("chapter", "handout", "grade of")

each_chapter = pytest.mark.parametrize(
    "chapter", chapters.CHAPTERS, ids=lambda chapter: chapter.slug
)


def files(*places: str) -> list[Path]:
    found = [path for place in places for path in sorted(ROOT.glob(place))]
    return [path for path in found if "__pycache__" not in path.parts]


DOCUMENTS = files("README.md", "docs/*.md", "docs/toys/*.md", "chapters/*/*.md", "solutions/*/*.md")
C = files(*(f"{place}/**/*.[ch]" for place in ("chapters", "solutions", "harness", "docs")))
PYTHON = files("harness/**/*.py")
TEXTS = DOCUMENTS + C + PYTHON + files("Makefile", "harness/**/*.sh")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_there(pattern: str, where: Path) -> bool:
    """`pattern` may have a * in it, and NN for the number of a chapter, or that of the next one."""
    coming = f"{len(chapters.CHAPTERS) + 1:02}"
    return any(where.glob(re.sub(rf"NN|(?<!\d){coming}(?!\d)", "[0-9][0-9]", pattern)))


# What is said of files


@pytest.mark.parametrize("package", files("harness/**/__init__.py"), ids=name)
def test_a_package_names_files_that_are_there(package):
    said = ast.get_docstring(ast.parse(package.read_text())) or ""
    for file in NAMES_A_FILE.findall(said):
        where = ROOT if file.startswith(("harness/", "docs/")) else package.parent
        assert is_there(file, where), f"{name(package)} names {file}, which is not there"


def test_paths_of_the_harness_are_there():
    """In documents, comments and messages."""
    for path in TEXTS:
        for said in NAMES_A_PATH.findall(path.read_text()):
            assert is_there(said, ROOT), f"{name(path)} names {said}, which is not there"


def test_modules_that_are_called_are_there():
    for path in TEXTS:
        for said in NAMES_A_MODULE.findall(path.read_text()):
            assert importlib.util.find_spec(said), f"{name(path)} calls {said}, which is not there"


@each_chapter
def test_comments_of_a_solution_name_what_is_there(chapter):
    """Files, and functions and variables that have a _ in their names."""
    texts = sources.texts(chapter.solution_dir)
    names = {Path(file).name for file in texts}
    code = COMMENT.sub("", "".join(texts.values()))
    there = set(re.findall(r"\w+", code))
    for file, text in texts.items():
        for comment in COMMENT.findall(text):
            for said in re.findall(r"\b[a-z]\w*\.[ch]\b", comment):
                assert said in names, f"{chapter.slug}/{file} names {said}"
            for said in re.findall(r"\b[a-z]+_[a-z_]+\b", comment):
                assert said in there, f"{chapter.slug}/{file} names {said}"


def inside(path: Path, function: str) -> range:
    """The numbers of its lines, from its name to its end."""
    lines = path.read_text().splitlines()
    starts = [n for n, line in enumerate(lines) if re.match(rf"\w.*\b{function}\(", line)]
    for start in (n for n in starts if not lines[n].endswith(";")):
        return range(start + 1, lines.index("}", start) + 2)
    return range(0)


def test_frames_of_a_debugger_are_where_documents_show_them():
    """A line that has moved since: run gdb again, or correct the number."""
    found = 0
    for document in DOCUMENTS:
        for function, file, number in FRAME.findall(document.read_text()):
            found += 1
            places = files(f"solutions/**/{file}", f"chapters/**/{file}")
            told = f"{name(document)}: {function} at {file}:{number}"
            assert any(int(number) in inside(path, function) for path in places), told
    assert found


# What is said of errno


def judges_errno(path: Path) -> bool:
    """Whether a function of it finds out from errno how a read or a write has ended."""
    functions = (COMMENT.sub("", code) for code in FUNCTION.findall(path.read_text()))
    return any(MOVES_BYTES.search(code) and COMPARES_ERRNO.search(code) for code in functions)


@each_chapter
def test_errno_of_reads_and_writes_is_judged_in_io(chapter):
    """The contract is in io.h, and no other file judges errno."""
    files = sources.files(chapter.solution_dir)
    io, *others = sorted(files, key=lambda path: path.name != "io.c")
    assert io.name == "io.c" and COMPARES_ERRNO.search(io.read_text())
    assert [name(path) for path in others if path.suffix == ".c" and judges_errno(path)] == []
    for header in (path for path in files if path.suffix == ".h"):
        for comment in COMMENT.findall(header.read_text()):
            words = re.sub(r"[\s*]+", " ", comment)
            if "errno" in words and re.search(r"nowhere else|only here|here alone", words):
                promise = "What errno means after a read or a write is decided here and nowhere"
                assert header.name == "io.h" and promise in words, f"{name(header)}: {words}"


# What tables say


def test_tables_of_the_chapters_have_each_of_them_once():
    numbers = Counter(chapter.number for chapter in chapters.CHAPTERS)
    found = 0
    for document in DOCUMENTS:
        for head, *rows in tables(document.read_text()):
            if head[0] in ONE_ROW_A_CHAPTER:
                found += 1
                told = Counter(re.match(r"\[?(\d\d)\b", row[0])[1] for row in rows)
                where = f"{name(document)}, the table that begins with {head[0]!r}"
                lacks, more = sorted(numbers - told), sorted(told - numbers)
                assert not lacks, f"{where}: add a row for {', '.join(lacks)}"
                assert not more, f"{where}: a row too many for {', '.join(more)}: take it out"
    assert found >= 3


def test_shares_of_a_grade():
    """The table in reading-failures.md, by the same arithmetic as a grade."""
    document = ROOT / "docs" / "reading-failures.md"
    rows = next(rows for head, *rows in tables(document.read_text()) if head[0] == "grade of")
    for number, own, inherited in rows:
        share = chapters.find(number).inherited
        where = f"docs/reading-failures.md, the points of {number}"
        assert own == str(100 - share), f"{where}: its own claims have {100 - share}"
        earlier = [chapter.number for chapter in chapters.CHAPTERS if chapter.number < number]
        if earlier:
            each = Fraction(share, len(earlier))
            digits = 2 if each * 4 == int(each * 4) else 1
            worth = f"{float(each):.{digits}f}".rstrip("0").rstrip(".")
            said = f"{where}: {worth} each from {earlier[0]} to {earlier[-1]}"
            assert inherited.split()[0] == worth, said
            ends = re.findall(r"\d\d\b", inherited.split("from")[1])
            assert (ends[0], ends[-1]) == (earlier[0], earlier[-1]), said
        else:
            assert inherited == "-", f"{where}: nothing is inherited"


def test_the_map_has_nothing_that_was_decided_against():
    """The first column of a solution's table is how others do it: not in the lab."""
    of_map = (ROOT / "docs" / "map.md").read_text()
    ideas = {row[0] for _, *rows in tables(of_map) for row in rows}
    found = 0
    for solution in files("solutions/*/README.md"):
        for head, *rows in tables(solution.read_text()):
            if "here" in head:
                found += 1
                assert not ideas & {row[0] for row in rows}, name(solution)
    assert found >= 10  # 01 to 10 have one each


# How lines look


def test_the_top_level_holds_what_it_should():
    tracked = handout.tracked()
    if tracked is None:
        pytest.skip("git tracks no files here")
    top = {place.split("/")[0] for place in tracked}
    extra = {place for place in top if not place.startswith(".")} - TOP_LEVEL
    assert not extra, f"{sorted(extra)}: move them into a directory, or name them in TOP_LEVEL"


def test_lines_are_short():
    for path in C + PYTHON:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert len(line) <= COLUMNS and "\t" not in line, f"{name(path)}:{number}"
    for path in files("solutions/*/wrong.patch"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            is_code = line.startswith(("+", "-", " "))
            assert is_code or len(line) <= COLUMNS, f"{name(path)}:{number}"


def test_declarations_are_on_one_line():
    """A comment behind it that is too long has clang-format break `struct x *p` in the middle."""
    for path in C:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not BROKEN_DECLARATION.search(line), f"{name(path)}:{number}"
