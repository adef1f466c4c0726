"""The table as a picture, readable on a light page and on a dark one."""

from __future__ import annotations

import html
from collections.abc import Sequence

from harness.student.bench.measure import Cells
from harness.student.bench.subjects import Row, Subject
from harness.student.bench.table import number

# Text and axes, and the grid, on a light page. The page's colour scheme decides: in the end, a
# variable stands there. A program that knows no CSS variables, such as librsvg, keeps these.
INK, GRID = "#24292f", "#d0d7de"
STYLE = f"""<style>
:root {{ --ink: {INK}; --grid: {GRID}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --grid: #3d444d; }} }}
text {{ font-family: system-ui, sans-serif; }}
</style>"""

NAME, CELL, LINE, BAR = 80, 90, 22, 80  # pixels: columns, the height of a line, the longest bar


def table(title: str, subjects: Sequence[Subject], rows: Sequence[Row], cells: Cells) -> str:
    """An SVG with a line for each server, and in it a bar for each row: the longest is that of the
    largest median of the row."""
    size = f"{NAME + CELL * len(rows)} {LINE * (len(subjects) + 2) + LINE // 2}"
    parts = [_text(0, 0, title)]
    parts += [_text(NAME + CELL * x, 1, row.key) for x, row in enumerate(rows)]
    for y, subject in enumerate(subjects, 2):
        parts.append(_text(0, y, subject.name))
        for x, row in enumerate(rows):
            most = max(cells[one.name, row.key].median or 0 for one in subjects)
            median = cells[subject.name, row.key].median
            left = NAME + CELL * x
            if median is not None and most > 0:
                parts.append(_bar(left, y, BAR * max(0, median) / most))
            parts.append(_text(left + 4, y, "-" if median is None else number(median)))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-size="12">'
    return "\n".join([head, STYLE, *parts, "</svg>\n"])


def _text(x: int, y: int, said: str) -> str:
    style = f'fill="{INK}" style="fill: var(--ink)"'
    return f'<text x="{x}" y="{LINE * y + 16}" {style}>{html.escape(said)}</text>'


def _bar(x: int, y: int, wide: float) -> str:
    style = f'fill="{GRID}" style="fill: var(--grid)"'
    return f'<rect x="{x}" y="{LINE * y + 2}" width="{wide:.1f}" height="{LINE - 4}" {style}/>'
