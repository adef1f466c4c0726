"""Curves as SVG, with matplotlib: readable on a light page and on a dark one."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from harness.lab.target import WrongUsage
from harness.student.bench.curves import Curve, Line, Sweep

# Text and axes, and the grid, on a light page. The page's colour scheme decides: in the end, a
# variable stands there. A program that knows no CSS variables, such as librsvg, keeps these.
INK, GRID = "#24292f", "#d0d7de"
STYLE = f"""<style>
:root {{ --ink: {INK}; --grid: {GRID}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --grid: #3d444d; }} }}
text {{ font-family: system-ui, sans-serif; }}
</style>"""

# The colours of Okabe and Ito, which nearly everybody can tell apart, but for black; and dashes.
# https://jfly.uni-koeln.de/color/
COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9".split()
DASHES = ("-", "--", ":", "-.")
INKED = "text.color axes.edgecolor axes.labelcolor axes.titlecolor xtick.color ytick.color".split()
MOST_MARKS = 9  # on an axis
FEW_DECADES = 100  # the most over the least, up to which there is space for more marks
PART_MARKS = (0.5, 0.9, 0.99, 0.999, 0.9999)


def curve(sweep: Sweep, drawn: Curve, lines: Sequence[Line], path: Path) -> None:
    """Draws a curve into the file. Raises WrongUsage without matplotlib."""
    figure, axes = _figure(sweep.title, sweep.unit, drawn.figure)
    if 0 not in sweep.numbers:
        axes.set_xscale("log", base=2)
        marks = sweep.numbers[:: -(-len(sweep.numbers) // MOST_MARKS)]
        axes.set_xticks(marks, [short(n) for n in marks])
        axes.minorticks_off()
    _logarithmic(axes, [value for line in lines for _, value in line.points])
    for number, line in enumerate(lines):
        if line.points:
            axes.plot(*zip(*line.points), label=line.name, marker="o", **_look(number))
    _save(figure, axes, path)


def short(number: int) -> str:
    """A power of two as one reads it: 64, 16 Ki, 32 Mi."""
    for unit in ("", " Ki", " Mi"):
        if number < 1024:
            break
        number /= 1024
    return f"{number:g}{unit}"


def latencies(title: str, lines: Sequence[Line], path: Path) -> None:
    """Draws how many requests took how long: the slower, the more space. Lines come in pairs,
    the second of which is what it is about; the first, to compare it with, is thin."""
    figure, axes = _figure(title, "of its requests were faster", "µs")
    axes.set_xscale("function", functions=(_nines, _parts))
    shown = [[point for point in line.points if point[0] <= PART_MARKS[-1]] for line in lines]
    _logarithmic(axes, [us for points in shown for _, us in points])
    for number, (line, points) in enumerate(zip(lines, shown)):
        look = _look(number // 2)
        if number % 2 == 0:
            axes.plot(*zip(*points), **{**look, "linestyle": ":", "linewidth": 0.9})
        else:
            axes.plot(*zip(*points), label=line.name, **look)
    axes.set_xlim(0, PART_MARKS[-1])
    axes.set_xticks(PART_MARKS, [f"{100 * part:g} %" for part in PART_MARKS])
    axes.minorticks_off()
    _save(figure, axes, path)


def _nines(part):
    """Where a part of all stands: 90 %, 99 % and 99.9 % at the same distance."""
    import numpy

    return -numpy.log10(1 - numpy.minimum(part, 0.99999))


def _parts(place):
    return 1 - 10.0**-place


def _logarithmic(axes, values: Sequence[float]) -> None:
    """A y axis with plain numbers: 1, 10, 100; and 2 and 5 between them where they fit."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.set_yscale("log")
    few = max(values) < FEW_DECADES * min(values)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.minorticks_off()


def _look(number: int) -> dict:
    dash = number // len(COLOURS)
    colour = COLOURS[number % len(COLOURS)]
    return {"color": colour, "linestyle": DASHES[dash % len(DASHES)], "markersize": 3.5}


def _figure(title: str, below: str, beside: str):
    try:
        import matplotlib
    except ImportError:
        raise WrongUsage("PLOT=1 needs matplotlib: make setup BENCH=1 installs it") from None
    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({name: INK for name in INKED})
    matplotlib.rcParams.update({"grid.color": GRID, "font.size": 10})
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lab"})
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(below)
    axes.set_ylabel(beside)
    axes.grid(True, linewidth=0.6)
    return figure, axes


def _save(figure, axes, path: Path) -> None:
    axes.legend(frameon=False, fontsize=9, ncols=2)
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    for light, variable in ((INK, "--ink"), (GRID, "--grid")):
        svg = re.sub(rf"([\w-]+): {light}", rf"\g<0>; \1: var({variable})", svg)
    head, _, rest = svg.partition("<defs>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}{STYLE}\n<defs>{rest}")
