"""Compares the submissions of a class with each other, and names pairs that share much.

What the skeleton and the solutions of earlier chapters explain is left out. Exit status: 0 the
class was compared, whatever was found; 2 wrong usage, or it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.lab import command_line
from harness.lab.chapters import ROOT, Chapter, find
from harness.lab.target import WrongUsage, setting
from harness.similarity import handed_in, page, screen
from harness.similarity.fingerprints import given
from harness.similarity.pairs import Comparison, compare

EXAMPLE = "make similar CH=04 SUB=directory"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line; the defaults are the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="similar", description=__doc__)
    parser.add_argument("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    parser.add_argument(
        "--submissions", metavar="PATH", default=setting("SUB"), help="a directory of submissions"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    return command_line.run("similar", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Compares, writes the page and prints the table. Raises WrongUsage, UnknownChapter."""
    if not options.chapter:
        raise WrongUsage(f"which chapter? For instance: {EXAMPLE}")
    if not options.submissions:
        raise WrongUsage(f"which submissions? For instance: {EXAMPLE}")
    chapter = find(options.chapter)
    submissions, left_out = handed_in.read(Path(options.submissions).expanduser())
    if len(submissions) < 2:
        raise WrongUsage(f"SUB={options.submissions}: two or more submissions are needed")
    known = given(chapter)
    comparison = compare(submissions, known)
    summary = _summary(chapter, len(submissions))
    print(f"chapter {chapter.number}: {summary}\n")
    print("\n".join(screen.render(comparison, left_out)))
    notes = _notes(comparison, left_out)
    written = _write(chapter, summary, submissions, comparison, known, notes)
    print(f"\n  the page: {written.relative_to(ROOT)}")
    return 0


def _summary(chapter: Chapter, count: int) -> str:
    pairs = count * (count - 1) // 2
    return f"{count} submissions, {pairs:,} pairs, without what was handed out"


def _notes(comparison: Comparison, left_out: dict[str, str]) -> list[str]:
    notes = [f"Left out: {name}: {why}." for name, why in left_out.items()]
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
    submissions: dict[str, dict[str, str]],
    comparison: Comparison,
    known: frozenset[bytes],
    notes: list[str],
) -> Path:
    """Writes the page. Returns its path."""
    target = command_line.BUILD / "similar" / chapter.number / "similar.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = [path for path in chapter.chapter_dir.iterdir() if path.suffix in (".c", ".h")]
    lines = [line for path in sources for line in path.read_text().splitlines()]
    title = f"Chapter {chapter.number}: which submissions share more than the skeleton explains"
    text = page.render(title, f"{summary}.", submissions, comparison, known, lines, notes)
    target.write_text(text, encoding="utf-8")
    return target


if __name__ == "__main__":
    sys.exit(main())
