"""The scoreboard of a class: it is measured in isolation, has no names, and changes no points."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from harness.authors.selftest import submissions
from harness.authors.selftest.shell import check_refused
from harness.authors.selftest.test_class import ClassRun, handed_in
from harness.course.classes import command as grade_class
from harness.course.classes import labels, page, ranking, records, scoreboard
from harness.course.classes.ranking import SOLUTION_NAME, Board
from harness.course.classes.records import Graded, Record
from harness.course.classes.unit import Unit
from harness.course.isolation.landlocked import Landlocked
from harness.lab.chapters import ROOT, find
from harness.server.linux import landlock
from harness.student.bench import alone
from harness.student.bench.measure import Failed, Place
from harness.student.bench.rounds import Cell
from harness.student.bench.rows import ROWS

CHAPTER = find("04")
A, IDLE = ROWS[0], ROWS[8]  # requests a second, and bytes for an idle connection
LISTENS = "struct sockaddr_in address = {.sin_family = AF_INET, "


def server(change: str = "", first: str = "") -> str:
    """A server of 01 in C that listens on the port of its option -p. `change`: when it has a frame.
    `first`: statements of main()."""
    text = submissions.right(change).replace("int main(void)", "int main(int argc, char **argv)")
    assert LISTENS in text
    text = text.replace(LISTENS, f"{LISTENS}.sin_port = htons(argc > 2 ? atoi(argv[2]) : 0), ")
    return text.replace("struct sigaction action", f"{first}\n    struct sigaction action", 1)


def made(**cells: Cell) -> Board:
    """A board with the solution and submissions of these names, in the rows A and IDLE."""
    found = {(SOLUTION_NAME, "a"): Cell([100]), (SOLUTION_NAME, "i"): Cell([2000])}
    entrants = {label: str(number) for number, label in enumerate(cells, 1)}
    for label, cell in cells.items():
        found |= {(entrants[label], "a"): cell, (entrants[label], "i"): Cell([1000])}
    return Board(CHAPTER, [A, IDLE], 3, entrants, found)


def test_the_speed_is_the_mean_of_the_rows_beside_the_solution():
    """For bytes, less is better."""
    board = made(ada=Cell([200]), ben=Cell([50]))
    assert board.speed(SOLUTION_NAME) == 1
    assert [board.speed(board.entrants[name]) for name in ("ada", "ben")] == pytest.approx([2, 1])
    one_client = Cell(skipped=True)
    assert made(ada=one_client).speed("1") == pytest.approx(2)


def test_one_that_dies_is_a_row_with_a_reason_at_the_end():
    board = made(dora=Cell([300], why="client 0: <reset>"), ada=Cell([200]), ben=Cell([50]))
    assert board.ranked[0] == board.entrants["ada"] and board.ranked[-1] == board.entrants["dora"]
    lines = re.findall(r"<tr><td>.*", ranking.section(board))
    assert len(lines) == 4 and "<td>a: client 0: &lt;reset&gt;</td></tr>" in lines[-1]
    assert '<td class="number">-</td>' in lines[-1]
    assert "✗" in ranking.column(board, "dora") and "a: client 0" in ranking.column(board, "dora")
    ada = ranking.column(board, "ada")
    assert ">2.00<" in ada and "a 200, i 1k" in ada
    assert ranking.column(board, "zoe") == '<td class="number" data-v=""></td>'


def test_the_board_for_everybody_has_no_names():
    board = made(ada=Cell([200]), dora=Cell(why="it died"), ben=Cell([50], disturbed=1))
    for text in (ranking.section(board), ranking.as_text(board)):
        assert not [name for name in board.entrants if re.search(rf"\b{name}\b", text)]
        assert "it died" in text and "It changes no points." in text
    assert re.search(r"^1 +2.00$", ranking.as_text(board), re.M)
    assert max(map(len, ranking.as_text(board).splitlines())) <= 80


def test_a_busy_machine_is_told():
    quiet, busy = made(ada=Cell([200])), made(ada=Cell([1, 2, 3], disturbed=2))
    said = "The machine was busy: other work disturbed 2 of 6 measurements."
    for text in (ranking.section, lambda board: " ".join(ranking.as_text(board).split())):
        assert said in text(busy) and "busy" not in text(quiet)


def test_the_page_has_a_column_only_with_a_board():
    results = [Graded("ada", Path("ada"), Record("", "passed", 100))]
    with_board = page.render(CHAPTER, results, made(ada=Cell([200])))
    assert ">speed</th>" in with_board and "<h2>Scoreboard</h2>" in with_board
    without = page.render(CHAPTER, results)
    assert "speed" not in without and "Scoreboard" not in without
    for text in (with_board, without):
        assert not re.search(r"\{\{\w+\}\}", text)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"found": {}}', '{"failed": "it died"}'])
def test_a_measurement_that_says_nothing_has_failed(text):
    """A submission may end the process that measures it."""
    with pytest.raises(Failed, match="it died|printed nothing that can be read"):
        alone.printed(text)


@pytest.fixture
def a_class(tmp_path):
    return ClassRun(tmp_path)


BENCH = ("--bench", "a", "--rounds", "1", "--cores", "1")


def test_a_class_is_measured_and_no_points_change(a_class):
    """One dies at its twentieth frame, one is built no more, one has not full marks."""
    handed_in(a_class.sub / "ada", server())
    dies = "static int count; if (++count == 20) abort();"
    handed_in(a_class.sub / "ben", server(dies))
    handed_in(a_class.sub / "cleo", submissions.BROKEN.replace("void", ""))
    handed_in(a_class.sub / "dora", "60")
    a_class.run()
    top = a_class.results / "01"
    before = (top / "scores.csv").read_bytes()
    status, printed = a_class.run(*BENCH)
    assert status == 0 and "measuring 3 with full marks beside the solution: a; 1 round" in printed
    assert (top / "scores.csv").read_bytes() == before
    text = (top / "scoreboard.txt").read_text()
    assert re.search(r"^(1|2) +\d+\.\d\d$", text, re.M)
    assert re.search(r"^solution +1\.00$", text, re.M)
    assert re.search(r"^  [34], a: client 0: ", text, re.M)
    assert re.search(r"^  [34], a: it cannot be built for the measurement$", text, re.M)
    found = (top / "class.html").read_text()
    speeds = re.findall(r'<td class="number" data-v="([\d.]*)"( title="[^"]*")?>', found)
    of_students = [value for value, title in speeds if title]
    assert [value != "" for value in of_students] == [True, False, False]
    assert not (top / ".work" / "bench").exists()
    a_class.run()
    assert not (top / "scoreboard.txt").exists() and (top / "scores.csv").read_bytes() == before


@pytest.mark.parametrize(
    "options, said",
    [
        (["--bench", "ax"], "BENCH=ax: there is no row 'x'; they are abcdefghij"),
        (["--bench", "a", "--rounds", "0"], "N=0: a number from 1 to 100"),
        (["--bench", "a", "--cores", "3"], "CORES=3"),
        (["--bench", "set,zadd", "--chapter", "12"], "there is no row 'zadd'; they are ping, set"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_graded(a_class, options, said):
    handed_in(a_class.sub / "ada")
    check_refused(a_class.ended(*options), said)
    assert not a_class.called()


def test_when_it_is_stopped_the_scores_stand(a_class, monkeypatch, capsys):
    handed_in(a_class.sub / "ada")
    a_class.run()

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(scoreboard, "measure", stopped)
    words = ["--chapter", "01", "--submissions", str(a_class.sub), "--isolate", "none"]
    words += ["--results", str(a_class.results), *BENCH]
    assert grade_class.main(words) == 2
    assert "stopped while measuring; the scores stand" in capsys.readouterr().out
    row = a_class.rows()["ada"]
    assert row["score"] == "100", row
    assert not (a_class.results / "01" / "scoreboard.txt").exists()


class NoUnit:
    """In place of a Unit: notes where each server is built, and builds none."""

    def __init__(self, of: labels.Class) -> None:
        self.of, self.places = of, []

    def isolated(self, argv, sources, output, printed, seconds, more):
        self.places.append((sources, output))
        assert sources.is_dir() and output.is_dir() and not (output / "server").exists()
        return 1


def test_a_server_is_not_built_among_its_sources(tmp_path):
    """The solutions of 06 and later have a directory with the name of the program."""
    of = labels.of(find("06"), tmp_path, ["ada"], False)
    handed_in(of.place("ada") / records.SOURCES / "server")
    results = [Graded("ada", of.place("ada"), Record("", "passed", 100))]
    units = NoUnit(of)
    board = scoreboard.measure(units, results, [A], 1, Place(0, 0), lambda _: None)
    assert len(units.places) == 2 and (of.place("ada") / records.SOURCES).is_dir()
    assert all("cannot be built" in board.why(name) for name in board.ranked)


@pytest.mark.skipif(not landlock.works(), reason="there is no Landlock here")
def test_a_measured_server_is_kept_apart(tmp_path):
    """It cannot read a solution. Each program that it needs is there."""
    secret = ROOT / "solutions" / "01-blocking" / "io.c"
    reads = f'if (access("{secret}", R_OK) == 0 && fopen("{secret}", "r")) return 1;'
    label = "ada"
    of = labels.of(find("01"), tmp_path, [label], False)
    handed_in(of.place(label) / records.SOURCES, server(first=reads))
    handed_in(of.place("ben") / records.SOURCES, server(first="return 1;"))
    results = [Graded(name, of.place(name), Record("", "passed", 100)) for name in ("ada", "ben")]
    place = Place(*[min(os.sched_getaffinity(0))] * 2)
    units = Unit(of, Landlocked())
    board = scoreboard.measure(units, results, [A], 1, place, lambda _: None)
    assert board.why(board.entrants["ada"]) == "" and board.speed(board.entrants["ada"]) > 0
    assert board.why(board.entrants["ben"]) == "a: it ended before it listened"
