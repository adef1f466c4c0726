"""Compares the submissions of a class with each other, and names pairs that share much.

What the skeleton and the solutions of earlier chapters explain is left out. Exit status: 0 the
class was compared, whatever was found; 2 wrong usage, or it was stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from harness.course.classes import submissions, unpack
from harness.course.classes.command import RECIPES
from harness.course.classes.submissions import Submission, fitted, shown
from harness.course.similarity import page
from harness.course.similarity.fingerprints import given
from harness.course.similarity.pairs import Comparison, Pair, compare
from harness.server import scratch
from harness.submission import command_line, files, sources
from harness.submission.chapters import Chapter, find
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
    texts, left_out = read(found, chapter)
    left_out |= dict.fromkeys(others, "There is a hand-in of this name.")
    if len(texts) < 2:
        raise WrongUsage(_too_few(options.submissions, left_out))
    known = given(chapter)
    comparison = compare(texts, known)
    summary = _summary(len(texts))
    print(f"chapter {chapter.number}: {summary}\n")
    print("\n".join(table(comparison, left_out)))
    notes = _notes(comparison, left_out)
    written = _write(chapter, summary, texts, comparison, known, notes)
    print(f"\n  the page: {as_typed(written)}")
    return 0


def _too_few(directory: str, left_out: dict[str, str]) -> str:
    """What is wrong, with one reason why."""
    reasons = [f"; for instance {shown(name)}: {why}" for name, why in left_out.items()]
    return f"SUB={directory}: two or more submissions are needed{''.join(reasons[:1])}"


def _summary(count: int) -> str:
    pairs = count * (count - 1) // 2
    return f"{count} submissions, {pairs:,} pairs, without what was handed out"


def _notes(comparison: Comparison, left_out: dict[str, str]) -> list[str]:
    notes = [f"Left out: {name}: {why}" for name, why in left_out.items()]
    if comparison.alike_to_many:
        notes.append(
            f"Code that more than {comparison.limit} submissions have is not counted. These "
            f"consist of it by half or more, so they may be missing above. They may have one "
            f"source: {', '.join(comparison.alike_to_many)}."
        )
    return notes


def _write(
    chapter: Chapter,
    summary: str,
    texts: dict[str, dict[str, str]],
    comparison: Comparison,
    known: frozenset[bytes],
    notes: list[str],
) -> Path:
    """Writes the page. Returns its path."""
    target = command_line.BUILD / "similar" / chapter.number / "similar.html"
    given = sources.files(chapter.chapter_dir)
    lines = [line for path in given for line in path.read_text().splitlines()]
    title = f"Chapter {chapter.number}: which submissions share more than the skeleton explains"
    text = page.render(title, f"{summary}.", texts, comparison, known, lines, notes)
    files.write(target, text.encode("utf-8", "replace"))
    return target


# What students handed in: the hand-in that `make class` grades

MOST_BYTES = 2 * MIB  # of C in one submission; a solution has at most 100 KiB

Files = dict[str, str]


def read(
    found: list[Submission], chapter: Chapter
) -> tuple[dict[str, Files], dict[str, str]]:
    """The submissions by name, file name to text; and why others are left out, by name."""
    texts: dict[str, Files] = {}
    left_out: dict[str, str] = {}
    for one in found:
        try:
            texts[one.name] = _texts(one, chapter.slug)
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
EVIDENCE = "This is evidence, not a verdict: read the marked pieces before you decide."


def table(comparison: Comparison, left_out: Mapping[str, str]) -> list[str]:
    """The lines to print: the pairs that are named, and what else there is to know."""
    named = comparison.named
    lines = []
    if named:
        lines.append(f"       shared  fingerprints  {'submission':{NAME_WIDTH}}  and")
        lines += [_row(number, pair) for number, pair in enumerate(named[:MOST_ROWS], 1)]
        if len(named) > MOST_ROWS:
            lines.append(f"  and {len(named) - MOST_ROWS} more on the page")
    else:
        lines.append("  No pair shares enough to be named.")
    lines += ["", *_whole_class(comparison)]
    for name, why in left_out.items():
        says = f"  left out: {fitted(name, NAME_WIDTH).rstrip()}: {why}"
        lines.append(fitted(says, SCREEN_WIDTH).rstrip())
    return [*lines, *(["", f"  {EVIDENCE}"] if named else [])]


def _row(number: int, pair: Pair) -> str:
    first, second = fitted(pair.first, NAME_WIDTH), fitted(pair.second, NAME_WIDTH)
    return f"  {number:>3}  {pair.share:>6.0%}  {pair.shared:>12}  {first}  {second}".rstrip()


def _whole_class(comparison: Comparison) -> list[str]:
    median, high = comparison.share_at(0.5), comparison.share_at(0.99)
    lines = [f"  Half of all pairs share at most {median:.0%}, 99 of 100 at most {high:.0%}."]
    many = len(comparison.alike_to_many)
    if many:
        who = "One submission shares" if many == 1 else f"{many} submissions share"
        whose = "its" if many == 1 else "their"
        lines.append(f"  {who} half of {whose} own code, or more, with many others.")
        lines.append(f"  Code that more than {comparison.limit} submissions have is not counted.")
        lines.append("  The page has the names.")
    return lines
