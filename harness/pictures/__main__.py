"""Draws the pictures of the handouts, docs/pictures/NN-name.svg, from the .dot files beside them.

    python3 -m harness.pictures          status 0; 2 with the reason on stderr

Graphviz decides where things are; the colours of text and lines are those of the page that a
picture stands on, light or dark.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness.bench.plot import STYLE
from harness.lab.chapters import ROOT

DIRECTORY = ROOT / "docs" / "pictures"

# Boxes are as wide as their text is in these fonts, which are wider than most.
FONTS = [f"-{kind}{name}" for kind in "NE" for name in ("fontname=sans-serif", "fontsize=11")]
COMMAND = ["dot", "-Tsvg", "-Gbgcolor=transparent", *FONTS]

# What Graphviz writes for a colour, and what stands there in the end. Other colours are good on
# both pages, if they are tints (#rrggbbaa).
VARIABLES = {'"black"': '"var(--ink)"', '"gray"': '"var(--grid)"'}
TEXT_STYLE = """<style>
text { fill: var(--ink); }
text[font-family=monospace] { font-family: ui-monospace, monospace; }
</style>"""


class CannotDraw(Exception):
    """Graphviz is missing, or refuses a source. The message says why."""


def sources() -> list[Path]:
    """What the pictures are drawn from, in the order of the chapters."""
    return sorted(DIRECTORY.glob("*.dot"))


def digest(source: Path) -> str:
    """Changes when the picture of this source has to be drawn again."""
    parts = [source.read_text(), *COMMAND, *VARIABLES.values(), STYLE, TEXT_STYLE]
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
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    head, _, rest = svg.partition(">\n")
    mark = f"<!-- from {source.name}, {digest(source)} -->"
    return f"{mark}\n{head}>\n{STYLE}\n{TEXT_STYLE}\n{rest}"


def main() -> int:
    """Draws all pictures. Returns the exit status."""
    try:
        drawn = {source: draw(source) for source in sources()}
    except CannotDraw as error:
        print(f"pictures: {error}", file=sys.stderr)
        return 2
    for source, svg in drawn.items():
        source.with_suffix(".svg").write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
