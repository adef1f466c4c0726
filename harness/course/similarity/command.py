"""Compares the submissions of a class with each other, and names pairs that share much.

What the skeleton and the solutions of earlier chapters explain is left out. Exit status: 0 the
class was compared, whatever was found; 2 wrong usage, or it was stopped.
"""

from __future__ import annotations

import argparse
import html
from collections.abc import Mapping
from pathlib import Path

from harness.course.classes import submissions, unpack
from harness.course.classes.command import RECIPES
from harness.course.classes.submissions import Submission, fitted, shown
from harness.course.similarity.compare import (
    Comparison,
    Files,
    Pair,
    compare,
    given,
    pieces,
    tokens,
)
from harness.feedback.printable import harmless
from harness.server import scratch
from harness.submission import command_line, files, sources
from harness.submission.chapters import find
from harness.submission.sizes import MIB
from harness.submission.target import WrongUsage, as_typed, setting

EXAMPLE = "make similar CH=04 SUB=directory"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line; the defaults are the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="similar", description=__doc__)
    parser.add_argument("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    parser.add_argument(
        "--submissions", metavar="PATH", default=setting("SUB"), help="a directory of submissions"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """The command. Returns the exit status."""
    options = parse(arguments)
    return command_line.run("similar", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Compares, writes the page and prints the table. Raises WrongUsage, UnknownChapter."""
    if not options.chapter:
        raise WrongUsage(f"which chapter? For instance: {EXAMPLE}")
    if not options.submissions:
        raise WrongUsage(f"which submissions? For instance: {EXAMPLE}")
    if setting("ANON"):
        raise WrongUsage(f"ANON= is gone: {RECIPES['ANON']}")
    chapter = find(options.chapter)
    found, others = submissions.find(Path(options.submissions).expanduser())
    texts, left_out = read(found, chapter.slug)
    left_out |= dict.fromkeys(others, "There is a hand-in of this name.")
    if len(texts) < 2:
        reasons = [f"; for instance {shown(name)}: {why}" for name, why in left_out.items()]
        need = f"SUB={options.submissions}: two or more submissions are needed"
        raise WrongUsage(need + "".join(reasons[:1]))
    known = given(chapter)
    comparison = compare(texts, known)
    count = f"{len(texts)} submissions, {len(texts) * (len(texts) - 1) // 2:,} pairs"
    summary = f"chapter {chapter.number}: {count}, without what was handed out"
    print(f"{summary}\n")
    print("\n".join(table(comparison, left_out)))
    target = command_line.BUILD / "similar" / chapter.number / "similar.html"
    text = page(summary, texts, comparison, known | comparison.common, left_out)
    files.write(target, text.encode("utf-8", "replace"))
    print(f"\n  the page: {as_typed(target)}")
    return 0


# What students handed in: the hand-in that `make class` grades

MOST_BYTES = 2 * MIB  # of C in one submission; a solution has at most 100 KiB


def read(found: list[Submission], chapter: str) -> tuple[dict[str, Files], dict[str, str]]:
    """The submissions by name; and why others are left out, by name."""
    texts: dict[str, Files] = {}
    left_out: dict[str, str] = {}
    for one in found:
        try:
            texts[one.name] = _texts(one, chapter)
        except unpack.Unusable as error:
            left_out[one.name] = str(error)
        except OSError as error:
            why = error.strerror or "a fault of the machine"
            left_out[one.name] = f"It cannot be read: {why}."
    return texts, left_out


def _texts(one: Submission, chapter: str) -> Files:
    """Raises Unusable, OSError."""
    with scratch.directory("similar-") as place:
        top = place / "sources"
        chosen = submissions.latest(one.places, chapter)
        unpack.sources(chosen, top, place / "unpacked", chapter)
        found = sources.below(top)
        if sum(path.stat().st_size for path in found) > MOST_BYTES:
            raise unpack.Unusable(f"It has more than {MOST_BYTES // MIB} MiB of C.")
        return {str(path.relative_to(top)): _decoded(path) for path in found}


def _decoded(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")


# The table, of at most 80 columns

MOST_ROWS = 20
NAME_WIDTH = 24
SCREEN_WIDTH = 80
EVIDENCE = "This is evidence, not a verdict: read the passages before you decide."


def table(comparison: Comparison, left_out: Mapping[str, str]) -> list[str]:
    """The lines to print: the pairs that are named, and what else there is to know."""
    named = comparison.named
    lines = ["  No pair shares enough to be named."]
    if named:
        lines = [f"       shared  windows  {'submission':{NAME_WIDTH}}  and"]
        lines += [_row(number, pair) for number, pair in enumerate(named[:MOST_ROWS], 1)]
        if len(named) > MOST_ROWS:
            lines.append(f"  and {len(named) - MOST_ROWS} more on the page")
    median, high = comparison.share_at(0.5), comparison.share_at(0.99)
    lines += ["", f"  Half of all pairs share at most {median:.0%}, 99 of 100 at most {high:.0%}."]
    if comparison.alike_to_many:
        many = len(comparison.alike_to_many)
        lines.append(f"  Code that more than {comparison.limit} submissions have is not counted.")
        lines.append(f"  It is half or more of the own code of {many}: the page has the names.")
    for name, why in left_out.items():
        says = f"  left out: {fitted(name, NAME_WIDTH).rstrip()}: {why}"
        lines.append(fitted(says, SCREEN_WIDTH).rstrip())
    return [*lines, *(["", f"  {EVIDENCE}"] if named else [])]


def _row(number: int, pair: Pair) -> str:
    first, second = fitted(pair.first, NAME_WIDTH), fitted(pair.second, NAME_WIDTH)
    return f"  {number:>3}  {pair.share:>6.0%}  {pair.shared:>7}  {first}  {second}".rstrip()


# The page: one HTML file that needs nothing else

MOST_SHOWN = 50  # pairs: more would make a browser slow
HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Which submissions share more than the skeleton explains</title>
<style>
body { font: 14px/1.5 sans-serif; margin: 1rem; }
td { vertical-align: top; border-top: 1px solid silver; padding: 0 1rem 1rem 0; }
pre { margin: 0; }
</style>
<h1>Which submissions share more than the skeleton explains</h1>
<p>This is evidence, not a verdict. Read the passages, and talk to both students before you decide
anything: a common source, work in pairs and a hint in class look the same from here.</p>
"""


def page(
    summary: str,
    submissions: Mapping[str, Files],
    comparison: Comparison,
    no_evidence: frozenset[bytes],
    left_out: Mapping[str, str],
) -> str:
    """The page: the passages of each pair that is named, side by side."""
    notes = [f"Left out: {name}: {why}" for name, why in left_out.items()]
    if comparison.alike_to_many:
        names = ", ".join(comparison.alike_to_many)
        notes.append(
            f"Code that more than {comparison.limit} submissions have is not counted. These consist"
            f" of it by half or more, so they may be missing. They may have one source: {names}."
        )
    parts = [HEAD, f"<p>{_text(summary)}</p>\n", *(f"<p>{_text(note)}</p>\n" for note in notes)]
    for number, pair in enumerate(comparison.named[:MOST_SHOWN], 1):
        names = f"{pair.first} and {pair.second}: {pair.share:.0%}"
        parts.append(f"<details><summary>{number}. {_text(names)}</summary><table>\n")
        first, second = submissions[pair.first], submissions[pair.second]
        for piece in pieces(first, second, no_evidence):
            here = _passage(first, piece.here, piece.at, piece.size)
            there = _passage(second, piece.there, piece.other, piece.size)
            parts.append(f"<tr><td>{here}<td>{there}\n")
        parts.append("</table></details>\n")
    return "".join(parts)


def _passage(files: Files, name: str, at: int, size: int) -> str:
    """The lines of a file from one of its tokens on."""
    text = files[name]
    lines = tokens(text).lines
    first, last = lines[at], lines[at + size - 1]
    passage = "\n".join(text.split("\n")[first - 1 : last])
    return f"<b>{_text(name)}:{first}</b><pre>{_text(passage)}</pre>"


def _text(foreign: str) -> str:
    return html.escape(harmless(foreign))
