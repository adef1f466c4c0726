"""Compares the submissions of a class with each other, and names pairs that share much.

What the skeleton and the solutions of earlier chapters explain is left out. Exit status: 0 the
class was compared, whatever was found; 2 wrong usage, or it was stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.course.classes import labels, submissions
from harness.course.classes.labels import Class
from harness.course.similarity import handed_in, page, screen
from harness.course.similarity.fingerprints import given
from harness.course.similarity.pairs import Comparison, compare
from harness.lab import command_line, files, sources
from harness.lab.chapters import find
from harness.lab.target import WrongUsage, as_typed, setting

EXAMPLE = "make similar CH=04 SUB=directory"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line; the defaults are the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="similar", description=__doc__)
    parser.add_argument("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    parser.add_argument(
        "--submissions", metavar="PATH", default=setting("SUB"), help="a directory of submissions"
    )
    anonymous = setting("ANON") not in (None, "0")
    parser.add_argument(
        "--anonymous", action="store_true", default=anonymous, help="numbers for names"
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
    chapter = find(options.chapter)
    found, others = submissions.find(Path(options.submissions).expanduser())
    of = labels.of(chapter, labels.RESULTS, [one.name for one in found], options.anonymous)
    texts, left_out = handed_in.read(found, of)
    if not options.anonymous:
        left_out |= dict.fromkeys(others, "It is neither a directory nor an archive.")
    if len(texts) < 2:
        raise WrongUsage(_too_few(options.submissions, left_out))
    known = given(chapter)
    comparison = compare(texts, known)
    summary = _summary(len(texts))
    print(f"chapter {chapter.number}: {summary}\n")
    print("\n".join(screen.render(comparison, left_out)))
    notes = _notes(comparison, left_out)
    written = _write(of, summary, texts, comparison, known, notes)
    print(f"\n  the page: {as_typed(written)}")
    if of.key:
        print(f"  the names: {as_typed(of.key)}; do not publish it")
    return 0


def _too_few(directory: str, left_out: dict[str, str]) -> str:
    """What is wrong, with one reason why."""
    reasons = [f"; for instance {labels.shown(name)}: {why}" for name, why in left_out.items()]
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
    of: Class,
    summary: str,
    texts: dict[str, dict[str, str]],
    comparison: Comparison,
    known: frozenset[bytes],
    notes: list[str],
) -> Path:
    """Writes the page. Returns its path."""
    target = command_line.BUILD / "similar" / of.top.name / "similar.html"
    given = sources.files(of.chapter.chapter_dir)
    lines = [line for path in given for line in path.read_text().splitlines()]
    title = f"Chapter {of.chapter.number}: which submissions share more than the skeleton explains"
    text = page.render(title, f"{summary}.", texts, comparison, known, lines, notes)
    files.write(target, text.encode("utf-8", "replace"))
    return target
