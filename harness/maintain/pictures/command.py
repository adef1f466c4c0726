"""Draws the pictures of the handouts, docs/pictures/NN-name.svg, from the .dot files beside them,
and writes the states of a connection, docs/states/03.json, from a run of the solution (states.py).

    python3 -m harness pictures          status 0; 2 with the reason on stderr

Graphviz decides where things are; the colours of text and lines are those of the page that a
picture stands on, light or dark. A program that knows no CSS variables, such as librsvg, gets those
of a light page. What a colour means stands in the source, and below the picture:

    // legend: #0072b240 reported
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness.maintain.pictures import states
from harness.student.bench.plot import GRID, INK, STYLE
from harness.submission.chapters import ROOT

DIRECTORY = ROOT / "docs" / "pictures"

# Boxes are as wide as their text is in these fonts, which are wider than most.
FONTS = [f"-{kind}{name}" for kind in "NE" for name in ("fontname=sans-serif", "fontsize=11")]
COMMAND = ["dot", "-Tsvg", "-Gbgcolor=transparent", *FONTS]

# What Graphviz writes for a colour, what stands there in the end, and the variable that takes its
# place where there are any. Other colours are good on both pages, if they are tints (#rrggbbaa).
COLOURS = (("black", INK, "--ink"), ("gray", GRID, "--grid"))
TEXT_STYLE = "\n".join(
    [
        "<style>",
        f"text {{ fill: {INK}; fill: var(--ink); }}",
        *(
            f'[{where}="{light}"] {{ {where}: var({variable}); }}'
            for _, light, variable in COLOURS
            for where in ("fill", "stroke")
        ),
        "text[font-family=monospace] { font-family: ui-monospace, monospace; }",
        "</style>",
    ]
)

LEGEND = re.compile(r"^// legend: (#[0-9a-f]{6})([0-9a-f]{2}) (.*)$", re.M)
SIZE = re.compile(r'width="(\d+)pt" height="(\d+)pt"(\s+)viewBox="0.00 0.00 ([\d.]+) ([\d.]+)"')
LEGEND_TOP, LEGEND_ROW, LEGEND_LEFT = 10, 18, 6  # points
LEGEND_BOX = (16, 11)
LETTER = 6  # the width of a letter, rather more than less
GAP = 8


class CannotDraw(Exception):
    """Graphviz is missing, or refuses a source. The message says why."""


def sources() -> list[Path]:
    """What the pictures are drawn from, in the order of the chapters."""
    return sorted(DIRECTORY.glob("*.dot"))


def digest(source: Path) -> str:
    """A hash that changes when the picture of this source has to be drawn again."""
    parts = [source.read_text(), *COMMAND, STYLE, TEXT_STYLE]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def draw(source: Path) -> str:
    """The picture as SVG. Raises CannotDraw."""
    if not shutil.which(COMMAND[0]):
        raise CannotDraw("dot is not installed: make setup BENCH=1 installs Graphviz")
    done = subprocess.run(COMMAND, input=source.read_text(), capture_output=True, text=True)
    if done.returncode or done.stderr:  # a warning is text that does not fit its box
        raise CannotDraw(f"{source.name}: {done.stderr.strip()}")
    svg = done.stdout[done.stdout.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\n|<title>.*?</title>\n", "", svg, flags=re.S)
    for colour, light, _ in COLOURS:
        svg = svg.replace(f'"{colour}"', f'"{light}"')
    svg = _with_legend(svg, LEGEND.findall(source.read_text()))
    head, _, rest = svg.partition(">\n")
    mark = f"<!-- from {source.name}, {digest(source)} -->"
    return f"{mark}\n{head}>\n{STYLE}\n{TEXT_STYLE}\n{rest}"


def _with_legend(svg: str, entries: list[tuple[str, str, str]]) -> str:
    """The picture with a legend below it."""
    if not entries:
        return svg
    _, _, between, width, height = SIZE.search(svg).groups()
    row, right, below = legend(entries, float(width), float(height))
    size = (
        f'width="{right:.0f}pt" height="{below:.0f}pt"{between}'
        f'viewBox="0.00 0.00 {right:.2f} {below:.2f}"'
    )
    body, end, _ = SIZE.sub(size, svg).rpartition("</svg>")
    return "\n".join([body + row[0], *row[1:], end, ""])


def legend(
    entries: list[tuple[str, str, str]], width: float, height: float
) -> tuple[list[str], float, float]:
    """What colours mean, for the space below a picture: (colour, alpha, words).

    Returns its lines, and the width and height that the whole then has.
    """
    right, x, y, lines = width, LEGEND_LEFT, height + LEGEND_TOP, ['<g class="legend">']
    for colour, alpha, words in entries:
        wide = LEGEND_BOX[0] + GAP + LETTER * len(words)
        if x > LEGEND_LEFT and x + wide > right:
            x, y = LEGEND_LEFT, y + LEGEND_ROW
        lines += [
            f'<rect x="{x}" y="{y}" width="{LEGEND_BOX[0]}" height="{LEGEND_BOX[1]}"'
            f' fill="{colour}" fill-opacity="{int(alpha, 16) / 255:.6f}" stroke="{INK}"/>',
            f'<text x="{x + LEGEND_BOX[0] + GAP / 2}" y="{y + LEGEND_BOX[1] - 2}"'
            f' font-family="sans-serif" font-size="11.00">{words}</text>',
        ]
        x += wide + GAP
        right = max(right, x)
    return [*lines, "</g>"], right, y + LEGEND_ROW


def main(_: list[str]) -> int:
    """Draws all pictures. Returns the exit status."""
    try:
        drawn = {source: draw(source) for source in sources()}
    except CannotDraw as error:
        print(f"pictures: {error}", file=sys.stderr)
        return 2
    for source, svg in drawn.items():
        source.with_suffix(".svg").write_text(svg)
    return states.main() if states.SOURCE.is_dir() else 0  # a handout has no solutions
