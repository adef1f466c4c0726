"""Compares the submissions of a class with each other, and names pairs that share much.

sim_c finds pieces that are alike but for names, values, layout and comments. What the skeleton and
the solutions of earlier chapters explain is left out. Exit status: 0 the class was compared,
whatever was found; 2 wrong usage, or it was stopped.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.course.classes import submissions, unpack
from harness.course.classes.command import RECIPES
from harness.course.classes.submissions import Submission, fitted, shown
from harness.failures.printable import harmless
from harness.lab import command_line, files, sources
from harness.lab.chapters import CHAPTERS, Chapter, find
from harness.lab.target import WrongUsage, as_typed, setting
from harness.lab.units import MIB
from harness.server import scratch

EXAMPLE = "make similar CH=04 SUB=directory"
EVIDENCE = (
    "This is evidence, not a verdict: a common source, work in pairs or a hint in class look alike."
)
MOST_BYTES = 2 * MIB  # of C in one submission; a solution has at most 100 KiB
TOKENS = 20  # in a row are a piece: two or three lines
# Pieces that more submissions than this have are no evidence: many have come to them.
COMMON_AT_LEAST, COMMON_SHARE = 10, 0.1
NAMED_SHARE, NAMED_TOKENS = 0.25, 60  # a pair is named from here on
MOST_ROWS, MOST_SHOWN = 20, 50  # pairs on the screen, and side by side on the page
WIDTH = 24  # of a name


Lines = list[str]
Places = list[tuple[str, int]]  # of each line: the name of its file, and its number there


@dataclass(frozen=True)
class Piece:
    """`size` tokens that two texts share: for each its number, and the lines from and to."""

    first: tuple[int, int, int]
    second: tuple[int, int, int]
    size: int


@dataclass(frozen=True)
class Pair:
    """The numbers of two submissions, what they share of the smaller one, and where."""

    share: float
    size: int
    both: tuple[int, int]
    pieces: list[Piece]


def main(arguments: list[str]) -> int:
    """The command; the defaults are the Makefile's variables. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="similar", description=__doc__)
    parser.add_argument("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    parser.add_argument(
        "--submissions", metavar="PATH", default=setting("SUB"), help="a directory of submissions"
    )
    options = parser.parse_args(arguments)
    return command_line.run("similar", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Compares, writes the page and prints the table. Raises WrongUsage, UnknownChapter."""
    if not options.chapter or not options.submissions:
        what = "submissions" if options.chapter else "chapter"
        raise WrongUsage(f"which {what}? For instance: {EXAMPLE}")
    if setting("ANON"):
        raise WrongUsage(f"ANON= is gone: {RECIPES['ANON']}")
    if shutil.which("sim_c") is None:
        raise WrongUsage("sim_c is not installed: apt-get install similarity-tester")
    chapter = find(options.chapter)
    found, others = submissions.find(Path(options.submissions).expanduser())
    texts, left_out = read(found, chapter)
    left_out |= dict.fromkeys(others, "There is a hand-in of this name.")
    if len(texts) < 2:
        why = [f"; for instance {shown(name)}: {why}" for name, why in left_out.items()]
        wrong = f"SUB={options.submissions}: two or more submissions are needed"
        raise WrongUsage(wrong + "".join(why[:1]))
    pairs = compare([lines for lines, _ in texts.values()], given(chapter))
    named = [pair for pair in pairs if is_named(pair)]
    summary, *notes = told(len(texts), pairs, left_out)
    written = command_line.BUILD / "similar" / chapter.number / "similar.html"
    title = f"Chapter {chapter.number}: {summary}"
    files.write(written, page(title, named, texts, notes).encode("utf-8", "replace"))
    print(f"chapter {chapter.number}: {summary}\n")
    print("\n".join(table(named, [*texts])))
    print(f"\n{EVIDENCE}\n\n" + "\n".join(fitted(note, 80).rstrip() for note in notes))
    print(f"\nthe page: {as_typed(written)}")
    return 0


def told(count: int, pairs: list[Pair], left_out: dict[str, str]) -> list[str]:
    """What was compared, what all pairs share, and what was left out."""
    every = count * (count - 1) // 2
    shares = [*(pair.share for pair in pairs), *[0.0] * (every - len(pairs))]
    half, most = (shares[int(part * every)] for part in (0.5, 0.01))
    return [
        f"{count} submissions, {every:,} pairs, without what was handed out",
        f"Half of all pairs share at most {half:.0%}, 99 of 100 at most {most:.0%}.",
        *(f"Left out: {name}: {why}" for name, why in left_out.items()),
    ]


# What students handed in: the hand-in that `make class` grades

def read(
    found: list[Submission], chapter: Chapter
) -> tuple[dict[str, tuple[Lines, Places]], dict[str, str]]:
    """The submissions by name, the files of each as one; and why others are left out, by name."""
    texts, left_out = {}, {}
    for one in found:
        try:
            texts[one.name] = _lines(one, chapter.slug)
        except unpack.Unusable as error:
            left_out[one.name] = str(error)
        except OSError as error:
            left_out[one.name] = f"It cannot be read: {error.strerror or 'a fault of the machine'}."
    return texts, left_out


def _lines(one: Submission, chapter: str) -> tuple[Lines, Places]:
    """Raises Unusable, OSError."""
    lines, places = [], []
    with scratch.directory("similar-") as place:
        top = place / "sources"
        chosen = submissions.latest(one.places, chapter)
        unpack.sources(chosen, top, place / "unpacked", chapter)
        found = sources.below(top)
        if sum(path.stat().st_size for path in found) > MOST_BYTES:
            raise unpack.Unusable(f"It has more than {MOST_BYTES // MIB} MiB of C.")
        for path in found:
            text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
            lines += text
            places += [(str(path.relative_to(top)), at) for at in range(1, len(text) + 1)]
    return lines, places


def given(chapter: Chapter) -> Lines:
    """What students of a chapter may have without writing it: its skeleton, those of earlier
    chapters, and the solutions of earlier chapters, where this copy of the lab has them."""
    earlier = CHAPTERS[: CHAPTERS.index(chapter)]
    places = [one.chapter_dir for one in (*earlier, chapter)]
    places += [one.solution_dir for one in earlier]
    found = (path for place in places if place.is_dir() for path in sources.files(place))
    return "\n".join({path.read_text(): None for path in found}).split("\n")


# Which pairs share how much

RUN = re.compile(r"(\d+)\.c: line (\d+)-(\d+) *\|(\d+)\.c: line (\d+)-(\d+) *\[(\d+)\]")
SIZE = re.compile(r"^File (\d+)\.c: (\d+) tokens?", re.M)


def compare(texts: list[Lines], given: Lines) -> list[Pair]:
    """The pairs that share anything, the most alike first, without what was given."""
    own = [lines[:] for lines in texts]
    for piece in _sim([*own, given], ["-S"], old=1)[0]:
        number, start, end = piece.first
        if number < len(own):
            own[number][start - 1 : end] = [""] * (end - start + 1)
    pieces, sizes = _sim(own, ["-s", "-e"])
    by_pair = defaultdict(list)
    for piece in _rare(pieces, len(texts)):
        by_pair[piece.first[0], piece.second[0]].append(piece)
    pairs = []
    for both, found in by_pair.items():
        size = sum(piece.size for piece in found)
        pairs.append(Pair(min(1.0, size / min(sizes[one] for one in both)), size, both, found))
    return sorted(pairs, key=lambda pair: (-pair.share, -pair.size, pair.both))


def _rare(pieces: list[Piece], count: int) -> Iterable[Piece]:
    """The pieces with a line that only few submissions of `count` have."""
    owners = defaultdict(set)
    for piece in pieces:
        sides = (piece.first, piece.second)
        for (one, start, end), (other, *_) in (sides, sides[::-1]):
            for line in range(start, end + 1):
                owners[one, line].add(other)
    most = max(COMMON_AT_LEAST, int(COMMON_SHARE * count))
    for piece in pieces:
        number, start, end = piece.first
        if any(len(owners[number, line]) < most for line in range(start, end + 1)):
            yield piece


def _sim(texts: list[Lines], options: list[str], old: int = 0) -> tuple[list[Piece], list[int]]:
    """What sim_c finds in texts, of which the last `old` are only compared with the others; and how
    many tokens each has."""
    with scratch.directory("similar-") as place:
        names = [f"{number}.c" for number in range(len(texts))]
        for name, lines in zip(names, texts):
            (place / name).write_text("\n".join(lines) + "\n", "utf-8")
        new = len(texts) - old
        words = ["sim_c", "-n", f"-r{TOKENS}", *options, *names[:new]]
        words += ["/", *names[new:]] if old else []
        done = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, text=True, check=True)
    found = [[int(number) for number in run] for run in RUN.findall(done.stdout)]
    sizes = {int(number): int(size) for number, size in SIZE.findall(done.stdout)}
    pieces = [Piece((*run[:3],), (*run[3:6],), run[6]) for run in found]
    return pieces, [sizes[number] for number in range(len(texts))]


def is_named(pair: Pair) -> bool:
    return pair.share >= NAMED_SHARE and pair.size >= NAMED_TOKENS


# What is told

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>{title}</title><style>
body {{ margin: 1.2rem; font: 14px/1.5 system-ui, sans-serif; }}
table {{ border-collapse: collapse; width: 100%; table-layout: fixed; }}
td {{ border: 1px solid #8888; padding: .2rem .5rem; vertical-align: top; overflow: auto; }}
</style></head><body><h1>{title}</h1><p><strong>{evidence}</strong></p>
"""


def table(named: list[Pair], names: list[str]) -> Iterable[str]:
    """The lines to print, of at most 80 columns."""
    yield f"     shared  tokens  {'submission':{WIDTH}}  and" if named else "No pair is named."
    for number, pair in enumerate(named[:MOST_ROWS], 1):
        first, second = (fitted(names[one], WIDTH) for one in pair.both)
        yield f"{number:>3}  {pair.share:>6.0%}  {pair.size:>6}  {first}  {second}".rstrip()
    if len(named) > MOST_ROWS:
        yield f"and {len(named) - MOST_ROWS} more; the page shows {MOST_SHOWN} at most"


def page(
    title: str, named: list[Pair], texts: dict[str, tuple[Lines, Places]], notes: list[str]
) -> str:
    """The pairs side by side as HTML that needs nothing else: no network, no script."""
    names, parts = [*texts], [HEAD.format(title=html.escape(title), evidence=EVIDENCE)]
    parts += [f"<p>{_text(note)}</p>\n" for note in notes]
    for number, pair in enumerate(named[:MOST_SHOWN], 1):
        who = " and ".join(_text(names[one]) for one in pair.both)
        rows = [
            "".join(_side(texts[names[at]], *lines) for at, *lines in (one.first, one.second))
            for one in sorted(pair.pieces, key=lambda one: one.first)
        ]
        parts.append(f"<details><summary>{number}. {pair.share:.0%}, {pair.size} tokens: {who}")
        parts.append(f"</summary><table>{'<tr>'.join(['', *rows])}</table></details>\n")
    return "".join(parts) + "</body></html>\n"


def _side(text: tuple[Lines, Places], start: int, end: int) -> str:
    """The lines of one piece, with the file that they are in."""
    lines, places = text
    name, first = places[start - 1]
    shown = "\n".join(_text(line) for line in lines[start - 1 : end])
    return f"<td>{_text(name)}:{first}<pre>{shown}</pre>"


def _text(foreign: str) -> str:
    return html.escape(harmless(foreign))
