"""Numbers in the documents that a command prints, or that the lab has as constants, are the same
there. Figures that were measured have a date or a command instead, and are not compared."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from harness.authors import soak
from harness.authors.selftest.drawn import each_chapter
from harness.authors.selftest.test_packages import PACKAGES
from harness.client.redis import left_out
from harness.course.classes import extract, submissions, unit
from harness.course.handover import handin
from harness.course.isolation import __main__ as isolated
from harness.grading import runner, scoring
from harness.lab.chapters import CHAPTERS, ROOT, find
from harness.lab.units import MIB
from harness.server import build, limits, spawn
from harness.student import doctor
from harness.student.bench import command as bench
from harness.student.bench import rounds
from harness.student.bench.rows import ROWS

GIB = 1024 * MIB
CLAIMS = scoring.load()
LAB = "docs/working-on-the-lab.md"
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
INSTRUCTORS, SYLLABUS = "docs/instructors.md", "docs/syllabus.md"
NUMBER = r"\d[\d,]*(?:\.\d+)?"


def text(document: str) -> str:
    return " ".join((ROOT / document).read_text().split())


def shows(document: str, sentence: str) -> None:
    """The document has this sentence, whatever its lines are."""
    beginning = re.split(r"\d", sentence)[0].strip()
    found = re.search(rf"{re.escape(beginning)}[^|]{{0,60}}", text(document))
    has = found[0] if found else "nothing that begins so"
    assert sentence in text(document), f"{document} has {has!r}: write {sentence!r}"


def numbers(words: str) -> list[str]:
    return re.findall(NUMBER, words)


def table(document: str, head: str) -> list[list[str]]:
    """The rows of the table whose first row begins with `head`."""
    lines = (ROOT / document).read_text().partition(f"\n{head}")[2].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    assert rows, f"{document} has no table {head!r}"
    return rows


def test_the_closing_line_of_doctor(monkeypatch, capsys):
    """It counts all claims."""
    monkeypatch.setattr(doctor, "all_instruments", lambda claims: [])
    assert doctor.main([]) == 0
    said = capsys.readouterr().out.splitlines()[-1].strip()
    assert numbers(said) == [f"{len(CLAIMS)}"]
    shows(INSTRUCTORS, said)


def test_what_is_handed_in():
    """The size may change a little with the texts."""
    chapter = find("01")
    found = handin.collect(chapter.chapter_dir, chapter.slug)
    shown = re.search(rf"^ +{len(found.members)} files, (\d+) kB$", text_of(INSTRUCTORS), re.M)
    assert shown, f"{INSTRUCTORS}: a hand-in of 01 has {len(found.members)} files"
    size = sum(len(one.data) for one in found.members) / 1000
    assert size == pytest.approx(int(shown[1]), rel=0.2), f"{INSTRUCTORS}: it has {size:.0f} kB"


def text_of(document: str) -> str:
    return (ROOT / document).read_text()


def test_the_units_of_the_tests_of_redis():
    units = f"{len(left_out.UNITS)} units"
    shows(INSTRUCTORS, f"It runs {units}")
    shows(LAB, f"and runs {units}")


# Points

POINTS = "docs/reading-failures.md"


@each_chapter
def test_the_points_of_a_chapter(chapter):
    """The table divides the points as scoring.py does."""
    row = next(row for row in table(POINTS, "| grade of ") if row[0] == chapter.number)
    worths = scoring.worths(scoring.holding(CLAIMS, chapter), chapter)
    of: dict[str, Fraction] = {}
    for claim in scoring.holding(CLAIMS, chapter):
        of[claim.chapter.number] = of.get(claim.chapter.number, 0) + worths[claim.name]
    assert row[1] == f"{float(of.pop(chapter.number)):g}"
    if not of:
        assert row[2] == "-"
        return
    share = float(numbers(row[2])[0])
    assert all(float(points) == pytest.approx(share, abs=0.06) for points in of.values()), row
    named = sorted(of) if len(of) < 4 else [min(of), max(of)]
    assert re.findall(r"\b\d\d\b", row[2].partition("from")[2]) == named, row


def test_the_points_that_are_inherited():
    early = {chapter.number: chapter.inherited for chapter in CHAPTERS[1:3]}
    assert {chapter.inherited for chapter in CHAPTERS[3:]} == {30}
    shows(INSTRUCTORS, f"({early['02']} and {early['03']} points in 02 and 03, 30 from 04 on)")
    own = 100 - find("02").inherited
    shows(POINTS, f"a claim of 8 points in chapter 02 is worth {8 * own / 100:g} there")


def test_the_example_of_one_claim():
    claim = next(claim for claim in CLAIMS if claim.name == "test_01_empty_frames")
    worth = f"{claim.points}/{claim.points}"
    shows(LAB, f"passed {worth} {claim.number} {claim.text}")
    shows(LAB, f"{worth.replace('/', ' of ')} points selected")


# Hours


def test_the_hours_are_added_up():
    rows = table(SYLLABUS, "| chapter | hours ")
    assert len(rows) == len(CHAPTERS)
    total, sums = 0, {}
    for row, chapter in zip(rows, CHAPTERS):
        total += int(row[1])
        sums[chapter.number] = total
        assert row[0].startswith(f"[{chapter.slug}]") and int(row[2]) == total, row
    for sentence in ("{04} for the chapters and 3", "{08} for the chapters and 6", "{10} for the"):
        shows(SYLLABUS, re.sub(r"\{(..)\}", lambda number: str(sums[number[1]]), sentence))


def test_each_chapter_has_its_week():
    """A course that goes to a chapter has it in its tables."""
    found = (ROOT / SYLLABUS).read_text()
    for chapter in CHAPTERS:
        assert re.search(rf"^\|.*\| {chapter.number}: code", found, re.M), chapter.slug


# Limits


def test_the_limits_on_a_submission():
    rows = {row[0]: numbers(row[1]) for row in table(INSTRUCTORS, "| what | limit ")}
    wanted = {
        "compiling": (build.COMPILE_SECONDS, build.MEMORY_BYTES // GIB),
        "memory, all its processes together": (limits.MEMORY_LIMIT // MIB,),
        "processes; threads of all of them": (limits.PROCESS_LIMIT, limits.THREAD_LIMIT),
        "CPU time of a process": (spawn.CPU_SECONDS,),
        "output, stdout and stderr together": (limits.OUTPUT_LIMIT // MIB,),
        "a file it writes": (spawn.FILE_BYTES // MIB,),
        "all files it writes": (limits.DISK_LIMIT // MIB, limits.FILE_LIMIT),
        "descriptors": (spawn.DESCRIPTORS, 32),
        "core dumps": (),
        "one claim, without its builds; a whole grade": (runner.TEST_SECONDS, runner.TOTAL_SECONDS),
    }
    assert rows == {name: [f"{value:,}" for value in values] for name, values in wanted.items()}


def test_the_limits_of_a_control_group():
    memory = (limits.MEMORY_LIMIT + limits.GRADERS_BYTES) // MIB
    threads = limits.THREAD_LIMIT + limits.GRADERS_THREADS
    shows(INSTRUCTORS, f"below {memory:,} MiB and {threads:,} threads")
    whole = isolated.MEMORY_BYTES // GIB
    shows(INSTRUCTORS, f"a whole grade gets at most {whole} GiB and {isolated.THREADS:,} threads")


def test_how_many_work_at_a_time():
    assert unit.GRADER[-2:] == ("--jobs", "2")
    shows(INSTRUCTORS, "In a class, a grade has two workers.")


def test_the_limits_of_a_hand_in():
    most = f"{submissions.MOST_BYTES // MIB} MiB or {submissions.MOST_FILES:,} files"
    shows(INSTRUCTORS, f"more than {most}, or takes more than {extract.CPU_SECONDS} s")


def test_the_rounds_of_a_scoreboard():
    shows(INSTRUCTORS, f"`N={bench.ROUNDS}` rounds")
    assert rounds.TRIES == 4
    shows(INSTRUCTORS, "is repeated, up to four times")


def test_the_rows_of_the_benchmark():
    rows = {row[0]: row[1] for row in table("docs/benchmarks.md", "| row | what is measured ")}
    assert list(rows) == [row.key for row in ROWS]
    for row in ROWS:
        load = row.load
        known = {f"{value:,}" for value in (load.connections, load.depth, load.size, load.idle)}
        known |= set(numbers(row.text))
        assert set(numbers(rows[row.key])) <= known, f"row {row.key}: {row.text}"


# The lab itself


def test_what_is_counted_of_the_lab_itself():
    shows(LAB, f"one of {WORDS[len(PACKAGES)]} packages")
    pages = len(list((ROOT / "docs" / "zh").glob("*.md"))) - 1  # README.md is not one of these
    shows(LAB, f"each handout, and for {WORDS[pages]} pages of `docs/`")
    shows(LAB, f"Each server lives for {soak.LIFE_SECONDS:g} seconds")
