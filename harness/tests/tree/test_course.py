"""What holds in the tree without a server: one source, the diff is the lesson, points."""

from __future__ import annotations

import re
import subprocess
from importlib import import_module

import pytest

from harness.tests.drawn import each_chapter, some
from harness.failures.hints import HINTS
from harness.grading import scoring
from harness.lab import chapters, links, skeleton, sources
from harness.lab.chapters import CHAPTERS
from harness.server import build

FLAGS = ["-iquote", ".", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
ENTRY = "harness/lab/chapters.py"

# What a chapter consists of, and what each piece is. {number}, {slug} and {title} are its own.
FILES = {
    "solutions/{slug}/main.c": "the solution, with // BEGIN and // END round what students write",
    "solutions/{slug}/todos.md": "the TODOs: text, the test that grades it, and the stub",
    "solutions/{slug}/wrong.patch": "its wrong servers",
    "solutions/{slug}/README.md": "why it is right, mistakes and ways to go further",
    "chapters/{slug}/main.c": "the skeleton: `make skeletons` writes it",
    "chapters/{slug}/README.md": "the handout",
    "harness/claims/test_{number}_*.py": "the claims that grade it",
    "harness/student/demos/ch{number}.py": "its demo, show()",
    "docs/pictures/{number}-*.dot": "a picture; `make pictures` draws it",
}
# What begins with the name of its chapter: a copy of the one before does not.
HEADS = {
    "solutions/{slug}/todos.md": "# The TODOs of {slug}\n",
    "solutions/{slug}/wrong.patch": "Wrong servers of {slug}: ",
    "solutions/{slug}/README.md": "# Solution {number}: ",
    "chapters/{slug}/README.md": "# Chapter {number}: {title}\n",
}
# In documents: how the head of a table begins, and what a row of it begins with.
ROWS = {
    "README.md": ("| handout |", "| [{slug}](chapters/{slug}/README.md) | {title} |"),
    "docs/protocol.md": ("| from | duty |", "| {number} |"),  # of the first, all that is above it
    "docs/reading-failures.md": ("| grade of |", "| {number} |"),
    "docs/instructors.md": ("| chapter |", "| {number} |"),
}

GIVEN = re.compile(r"^Given are (\d+) files with about ([\d,]+) lines ", re.M)


def variants():
    """Every chapter that has a todos.md, for each compiler."""
    return [
        (chapter, compiler)
        for chapter in CHAPTERS
        if (chapter.solution_dir / "todos.md").exists()
        for compiler in ("gcc", "clang")
    ]


def variant_id(variant):
    chapter, compiler = variant
    return f"{chapter.slug}-{compiler}"


def told(text, chapter):
    """`text` with what is the chapter's own."""
    return text.format(number=chapter.number, slug=chapter.slug, title=chapter.title)


def rows(document, head):
    """The table whose head begins like this."""
    _, found, rest = (chapters.ROOT / document).read_text().partition(f"\n{head}")
    assert found, f"{document} has no table {head} ...: put it back, or correct ROWS here"
    return rest.split("\n\n")[0]


@each_chapter
def test_every_piece_is_there(chapter):
    """Look at this one first: without a piece others fail too, and say less."""
    missing = [
        f"add {told(pattern, chapter)}: {what}"
        for pattern, what in FILES.items()
        if not list(chapters.ROOT.glob(told(pattern, chapter)))
    ]
    for document, (head, row) in ROWS.items():
        if f"\n{told(row, chapter)}" not in rows(document, head):
            missing.append(f"add to {document}, below {head} ..., a row {told(row, chapter)}")
    for name, head in HEADS.items():
        path = chapters.ROOT / told(name, chapter)
        if path.exists() and not path.read_text().startswith(told(head, chapter)):
            begin = repr(told(head, chapter))
            missing.append(f"change {told(name, chapter)}: it has to begin with {begin}")
    if chapter is CHAPTERS[0]:
        missing = [line for line in missing if "docs/protocol.md" not in line]
    assert not missing, "\n".join([f"chapter {chapter.slug} is not complete:", *missing])


@pytest.mark.parametrize("pattern", FILES)
def test_nothing_is_of_a_chapter_that_is_not_there(pattern):
    """It would never be read."""
    slugs = {chapter.slug for chapter in CHAPTERS}
    numbers = {chapter.number for chapter in CHAPTERS}
    for path in chapters.ROOT.glob(pattern.format(slug="[0-9]*", number="[0-9][0-9]")):
        place = path.relative_to(chapters.ROOT)
        of = place.parts[1] if "{slug}" in pattern else re.search(r"\d\d", path.name)[0]
        assert (
            of in slugs | numbers
        ), f"{place}: {ENTRY} has no chapter {of}; add it, or the file goes"


@each_chapter
def test_one_source(chapter, tmp_path):
    """The skeleton in chapters/ is what its solution gives, to the byte."""
    skeleton.write(chapter, tmp_path)
    written, committed = sources.texts(tmp_path), sources.texts(chapter.chapter_dir)
    differ = [
        name
        for name in sorted(written.keys() | committed.keys())
        if written.get(name) != committed.get(name)
    ]
    assert not differ, (
        f"{', '.join(differ)} of chapters/{chapter.slug} are not what solutions/{chapter.slug} "
        f"gives: run `make skeletons`, and commit what it changes"
    )


@each_chapter
def test_student_sees_no_marks(chapter):
    for path in sources.files(chapter.chapter_dir):
        found = re.search(r"// (BEGIN|END) |\bSTUB\b", path.read_text())
        assert not found, (
            f"{path}: {found[0]!r} is left: in solutions/{chapter.slug} a mark needs its line to "
            f"itself, and each // BEGIN name its // END name"
        )


@each_chapter
def test_skeleton_shows_its_todos_in_their_files(chapter):
    text = "".join(path.read_text() for path in sources.files(chapter.chapter_dir))
    shown = sorted(int(number) for number in re.findall(r"/\* TODO (\d+):", text))
    numbers = [todo.number for todo in skeleton.todos(chapter)]
    assert shown == numbers, (
        f"the files of chapters/{chapter.slug} show the TODOs {shown}, and todos.md has {numbers}: "
        f"each needs one region // BEGIN ... // END in solutions/{chapter.slug}; `make skeletons`"
    )


@each_chapter
def test_every_todo_names_a_claim_that_grades_it(chapter):
    claims = {claim.name: claim for claim in scoring.load()}
    for todo in skeleton.todos(chapter):
        number = f"{chapter.number}.{todo.number}"
        where = f"solutions/{chapter.slug}/todos.md: TODO {todo.number}"
        assert todo.test, f"{where} names no test: its text needs 'Graded by test_...'"
        assert todo.test in claims, (
            f"{where} names {todo.test}, which is not there: add that claim to "
            f"harness/claims/test_{chapter.number}_*.py, or name another"
        )
        assert claims[todo.test].number == number, (
            f"{where} names {todo.test}, whose @claim says {claims[todo.test].number}: it has to "
            f"say {number}, or the TODO has to name another"
        )


@each_chapter
def test_a_todo_is_short(chapter):
    """A contract of one sentence, the test, and at most three lines of guidance."""
    most = 3 * skeleton.LINE_WIDTH
    for todo in skeleton.todos(chapter):
        for paragraph in todo.text.split("\n\n"):
            length = len(" ".join(paragraph.split()))
            assert length <= most, (
                f"solutions/{chapter.slug}/todos.md: a paragraph of TODO {todo.number} has {length}"
                f" characters; make it {most} at most, which is three lines"
            )


def test_the_hints_that_claims_choose_are_there():
    """`hints` of @claim: a general hint, and the key of a better one."""
    for claim in scoring.load():
        module = import_module(f"harness.claims.{claim.file.stem}")
        for general, better in getattr(module, claim.name).claim.hints.items():
            for key in (general, better):
                assert key in HINTS, (
                    f"harness/claims/{claim.file.name}: hints= of {claim.name} names {key!r}: add "
                    f"it to the file of its heading in harness/failures/hints, or name another"
                )


@each_chapter
def test_a_handout_says_how_much_is_given(chapter):
    """From 07 on, where it is more than a student reads: the files that are new or changed and have
    no TODO."""
    said = GIVEN.search((chapter.chapter_dir / "README.md").read_text())
    assert bool(said) == (chapter.number >= "07")
    if not said:
        return
    marks = [f"// BEGIN {todo.region}\n" for todo in skeleton.todos(chapter)]
    texts = [
        path.read_text()
        for path in sources.files(chapter.solution_dir)
        if not links.is_linked(path)
    ]
    given = [text for text in texts if not any(mark in text for mark in marks)]
    lines = sum(text.count("\n") for text in given)
    assert int(said[1]) == len(given)
    assert abs(int(said[2].replace(",", "")) - lines) <= lines / 10, f"they have {lines} lines"


@each_chapter
def test_own_points_add_up_to_100(chapter):
    own = sum(claim.points for claim in scoring.load() if claim.chapter == chapter)
    assert own == 100, (
        f"the points in harness/claims/test_{chapter.number}_*.py add up to {own}: change "
        f"@claim(..., points=...) so that they are 100"
    )


@each_chapter
def test_most_points_are_for_what_comes_over_tcp(chapter):
    """Programs that call a single module give at most a third of a chapter's own points: a student
    who builds the same server of other modules loses no more."""
    own = [claim for claim in scoring.load() if claim.chapter == chapter]
    of_programs = sum(claim.points for claim in own if claim.module)
    assert 3 * of_programs <= sum(claim.points for claim in own)


@each_chapter
def test_points_of_a_grade_add_up_to_100(chapter):
    claims = scoring.holding(scoring.load(), chapter)
    total = sum(scoring.worths(claims, chapter).values())
    assert total == 100, f"{total}: the fault is in harness/grading/scoring.py, worths()"


@pytest.mark.parametrize(
    "chapter, compiler", some(variants(), 1, "chapters whose steps are compiled", variant_id)
)
def test_every_step_compiles_without_a_warning(chapter, compiler, tmp_path):
    """With 0, 1, ... all of its TODOs solved. From one step to the next few files change, and only
    these are compiled; all of them if a header changes."""
    before: dict[str, str] = {}
    for solved in range(len(skeleton.todos(chapter)) + 1):
        directory = tmp_path / str(solved)
        skeleton.write(chapter, directory, solved)
        texts = sources.texts(directory)
        changed = {name for name, text in texts.items() if before.get(name) != text}
        everything = any(name.endswith(".h") for name in changed)
        files = [name for name in build.sources(directory) if everything or name in changed]
        before = texts
        words = [compiler, *FLAGS, *files]
        result = subprocess.run(words, cwd=directory, capture_output=True, text=True)
        assert result.returncode == 0, (
            f"solutions/{chapter.slug} with its first {solved} TODOs solved has to compile: mend "
            f"it, or a stub\n{result.stderr}"
        )


def test_sources_carry_no_chapter_numbers_dates_or_licences():
    for chapter in CHAPTERS:
        for name, text in skeleton.solution_without_marks(chapter).items():
            found = re.search(r"chapter \d|\b20\d\d\b|copyright|licen[cs]e", text, re.I)
            assert not found, (
                f"solutions/{chapter.slug}/{name}: take out {found[0]!r}: the next chapter would "
                f"have to change it, and that is no lesson"
            )


def test_functions_and_files_are_short():
    """Functions of about 40 lines, files of at most 400.

    The limit of files was 300, and one connection was five files for it. A reader looks for all of
    a connection in conn.c: that needs 400. The marks are not counted.
    """
    for path in (path for one in CHAPTERS for path in sources.files(one.solution_dir)):
        where = path.relative_to(chapters.ROOT)
        lines = skeleton.plain(path.read_text()).splitlines()
        assert len(lines) <= 400, f"{where} has {len(lines)} lines: divide it, 400 are the most"
        starts = [i for i, line in enumerate(lines) if line == "{"]
        ends = [i for i, line in enumerate(lines) if line == "}"]
        for start, end in zip(starts, ends):
            length = end - start
            assert length <= 45, f"{where}:{start}: divide this function of {length - 1} lines"


def test_chapters_are_found_by_number_and_name():
    assert chapters.find("3") is chapters.find("03") is chapters.find("03-poll-loop")
    assert chapters.find("chapters/06-epoll/events") is chapters.find("06")  # as an editor says it
    for wrong in ("99", "", "3-blocking", "poll", "../03"):
        with pytest.raises(chapters.UnknownChapter, match="01, 02, 03, 04"):
            chapters.find(wrong)
