"""The pairs of a class as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from harness.course.similarity.pairs import Comparison, Pair
from harness.course.similarity.pieces import Piece, Place, shared_pieces
from harness.feedback.printable import harmless

TEMPLATE = Path(__file__).with_name("page.html")
EVIDENCE = (
    "This is evidence, not a verdict. Read the marked pieces, and talk to both students before you "
    "decide anything: a common source, work in pairs and a hint in class look the same from here."
)
MOST_SHOWN = 50  # pairs side by side: more would make a browser slow
COLOURS = 6
CONTEXT = 5  # lines round a marked piece

Files = Mapping[str, str]


def render(
    title: str,
    summary: str,
    submissions: Mapping[str, Files],
    comparison: Comparison,
    known: Collection[bytes],
    skeleton: Collection[str],
    notes: list[str],
) -> str:
    """The page. `known`: k-grams that are no evidence; `skeleton`: its lines, which are grey."""
    left_out = frozenset(known) | comparison.common
    shown = comparison.named[:MOST_SHOWN]
    lines = {line.strip() for line in skeleton}
    pairs = []
    for number, pair in enumerate(shown, 1):
        first, second = submissions[pair.first], submissions[pair.second]
        pieces = shared_pieces(first, second, left_out)
        pairs.append(_pair(number, pair, first, second, pieces, lines))
    parts = {
        "title": html.escape(title),
        "evidence": EVIDENCE,
        "summary": html.escape(summary),
        "list": _list(comparison, len(shown)),
        "pairs": "".join(pairs),
        "notes": "".join(f"<p>{_text(note)}</p>" for note in notes) or "<p>None.</p>",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], TEMPLATE.read_text())


def _text(foreign: str) -> str:
    return html.escape(harmless(foreign))


def _list(comparison: Comparison, shown: int) -> str:
    if not comparison.named:
        return "<p>No pair shares enough to be named.</p>"
    head = "<tr><th></th><th>shared</th><th>fingerprints</th><th colspan=2>submissions</th></tr>"
    rows = [_row(number, pair, shown) for number, pair in enumerate(comparison.named, 1)]
    return f'<table class="list">{head}{"".join(rows)}</table>'


def _row(number: int, pair: Pair, shown: int) -> str:
    link = f'<a href="#pair{number}">{number}</a>' if number <= shown else str(number)
    return (
        f'<tr><td class="number">{link}</td><td class="number">{pair.share:.0%}</td>'
        f'<td class="number">{pair.shared}</td>'
        f"<td>{_text(pair.first)}</td><td>{_text(pair.second)}</td></tr>"
    )


def _pair(
    number: int, pair: Pair, first: Files, second: Files, pieces: list[Piece], given: set[str]
) -> str:
    here = _side(number, "a", "b", first, [piece.here for piece in pieces], given)
    there = _side(number, "b", "a", second, [piece.there for piece in pieces], given)
    names = f"{_text(pair.first)} and {_text(pair.second)}"
    says = f"{number}. {names}: {pair.share:.0%} shared, {len(pieces)} pieces"
    opened = " open" if number == 1 else ""
    return (
        f'<details id="pair{number}"{opened}><summary>{says}</summary>'
        f'<div class="sides">{here}{there}</div></details>'
    )


def _side(
    pair: int, side: str, other: str, files: Files, places: list[Place], given: set[str]
) -> str:
    """The files of one submission that have a marked piece, each with its lines."""
    shown = []
    for name in sorted({place.file for place in places}):
        marks, links = _marks(name, places, f"p{pair}{side}", f"p{pair}{other}")
        lines = files[name].split("\n")
        rows, before = [], 0
        for line in sorted(_near(marks, len(lines))):
            rows.append(_gap(line - before - 1))
            text, piece = lines[line - 1], marks.get(line)
            rows.append(_line(line, text, piece, "".join(links.get(line, [])), given))
            before = line
        rows.append(_gap(len(lines) - before))
        shown.append(f"<h3>{_text(name)}</h3><table>{''.join(rows)}</table>")
    return f'<div class="side">{"".join(shown)}</div>'


def _marks(
    name: str, places: list[Place], here: str, there: str
) -> tuple[dict[int, int], dict[int, list[str]]]:
    """The piece of each line of a file; and at the lines where pieces begin, links to the other
    side. `here` and `there`: the names of the two sides."""
    marks: dict[int, int] = {}
    links: dict[int, list[str]] = {}
    for piece, place in enumerate(places, 1):
        if place.file == name:
            link = f'<a id="{here}-{piece}" href="#{there}-{piece}">{piece}</a> '
            links.setdefault(place.first, []).append(link)
            for line in range(place.first, place.last + 1):
                marks.setdefault(line, piece)
    return marks, links


def _near(marks: Collection[int], count: int) -> set[int]:
    """The lines that are marked, or close to one that is, of `count` lines."""
    around = range(-CONTEXT, CONTEXT + 1)
    return {line + more for line in marks for more in around if 1 <= line + more <= count}


def _gap(count: int) -> str:
    """A row for so many lines that are left out."""
    said = "1 line" if count == 1 else f"{count} lines"
    return f'<tr class="given"><td></td><td></td><td>… {said}</td></tr>' if count else ""


def _line(line: int, text: str, piece: int | None, links: str, given: set[str]) -> str:
    grey = piece is None and text.strip() in given
    style = f' class="m{piece % COLOURS}"' if piece else ' class="given"' if grey else ""
    return f"<tr{style}><td>{line}</td><td>{links}</td><td>{_text(text)}</td></tr>"
