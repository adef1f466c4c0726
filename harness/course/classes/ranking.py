"""The scoreboard of a class: how fast each submission is, with names for the instructor alone."""

from __future__ import annotations

import html
import math
import textwrap
from dataclasses import dataclass

from harness.failures.printable import harmless
from harness.lab.chapters import Chapter
from harness.student.bench import table
from harness.student.bench.command import machine
from harness.student.bench.measure import Cell, Cells
from harness.student.bench.subjects import BYTES, YOURS, Row, Subject

SOLUTION_NAME = "solution"
WIDTH = 80
POINTS = "It changes no points."


@dataclass(frozen=True)
class Board:
    """What was measured in `count` rounds. `entrants`: the name of the subject in `cells`, by the
    label of the submission; that of the solution is SOLUTION_NAME."""

    chapter: Chapter
    rows: list[Row]
    count: int
    entrants: dict[str, str]
    cells: Cells

    def cell(self, name: str, row: Row) -> Cell:
        return self.cells[name, row.key]

    def why(self, name: str) -> str:
        """Why there are figures missing, with the rows; "" if none is."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if why := self.cell(name, row).why:
                found.setdefault(why, []).append(row.key)
        return "; ".join(f"{', '.join(keys)}: {harmless(why)}" for why, keys in found.items())

    def speed(self, name: str) -> float | None:
        """The geometric mean, over the rows, of how many times better than the solution it is. None
        if a figure is missing."""
        found = [] if self.why(name) else [self._ratio(name, row) for row in self.rows]
        ratios = [ratio for ratio in found if ratio is not None]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None

    def _ratio(self, name: str, row: Row) -> float | None:
        mine, theirs = self.cell(name, row).median, self.cell(SOLUTION_NAME, row).median
        if not mine or not theirs or mine < 0 or theirs < 0:
            return None
        return theirs / mine if row.figure == BYTES else mine / theirs

    @property
    def ranked(self) -> list[str]:
        """The subjects, the fastest first; those with a missing figure at the end."""
        names = [SOLUTION_NAME, *self.entrants.values()]
        return sorted(names, key=lambda name: -(self.speed(name) or 0.0))

    @property
    def disturbed(self) -> str:
        """A sentence about other work on the processors, "" if there was none."""
        count = sum(cell.disturbed for cell in self.cells.values())
        total = sum(len(cell.values) for cell in self.cells.values())
        if not count:
            return ""
        return (
            f"The machine was busy: other work disturbed {count} of {total} measurements. These "
            "figures say little. Measure again when nothing else runs."
        )

    def about(self) -> str:
        return (
            f"Submissions with full marks, beside the solution, medians of {self.count} rounds, "
            f"measured in turn. A speed of 2 is twice that of the solution. {POINTS}"
        )


# For the page


def column(board: Board, label: str) -> str:
    """The cell of a submission in the table of students, blank without full marks."""
    name = board.entrants.get(label)
    if name is None:
        return '<td class="number" data-v=""></td>'
    speed, why = board.speed(name), board.why(name)
    title = why or ", ".join(f"{row.key} {_figure(board.cell(name, row))}" for row in board.rows)
    value = "" if speed is None else f"{speed:.2f}"
    sign = value or '<span class="label failed">✗</span>'
    return f'<td class="number" data-v="{value}" title="{html.escape(title)}">{sign}</td>'


def section(board: Board) -> str:
    """The anonymous table, with its heading."""
    heads = ["place", "speed", *(row.key for row in board.rows), "why a figure is missing"]
    cells = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    rows = "\n".join(_row(board, place, name) for place, name in enumerate(board.ranked, 1))
    keys = "; ".join(f"{row.key}: {row.text}" for row in board.rows)
    busy = f'<p><span class="label open">{board.disturbed}</span></p>' if board.disturbed else ""
    nobody = "" if board.entrants else "<p>No submission has full marks.</p>"
    return (
        f'<h2>Scoreboard</h2>\n<p class="soft">{board.about()} Below each heading: {keys}. '
        f"{html.escape(machine())}.</p>{busy}{nobody}"
        f'<div class="wide"><table class="board"><thead><tr>{cells}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(board: Board, place: int, name: str) -> str:
    speed = board.speed(name)
    shown = "solution" if name == SOLUTION_NAME else str(place)
    figures = [_figure(board.cell(name, row)) for row in board.rows]
    numbers = ["-" if speed is None else f"{speed:.2f}", *figures]
    cells = "".join(f'<td class="number">{text}</td>' for text in numbers)
    return f"<tr><td>{shown}</td>{cells}<td>{html.escape(board.why(name))}</td></tr>"


def _figure(cell: Cell) -> str:
    return "-" if cell.median is None else table.number(cell.median)


# For everybody


def as_text(board: Board) -> str:
    """The anonymous table, to be shown to the class."""
    places = {name: str(place) for place, name in enumerate(board.ranked, 1)}
    shown = places | {SOLUTION_NAME: SOLUTION_NAME}
    cells = {(shown[name], key): cell for (name, key), cell in board.cells.items()}
    subjects = [Subject(shown[name], YOURS, ()) for name in board.ranked]
    speeds = [board.speed(name) for name in board.ranked]
    lines = [
        table.columns(one.name, ["-" if speed is None else f"{speed:.2f}"])
        for one, speed in zip(subjects, speeds)
    ]
    parts = [
        textwrap.fill(f"{board.chapter.slug}, {machine()}", WIDTH),
        textwrap.fill(board.about(), WIDTH),
        textwrap.fill(board.disturbed, WIDTH),
        "\n".join([table.columns("", ["speed"]), *lines]),
        table.table("the median, and how far the others lie from it", subjects, board.rows, cells),
        harmless(table.notes(subjects, board.rows, cells)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"
