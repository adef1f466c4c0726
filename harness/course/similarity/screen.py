"""The pairs of a class as a table of at most 80 columns."""

from __future__ import annotations

from collections.abc import Mapping

from harness.course.classes.progress import fitted
from harness.course.similarity.pairs import Comparison, Pair

MOST_ROWS = 20
NAME_WIDTH = 24
SCREEN_WIDTH = 80
EVIDENCE = "This is evidence, not a verdict: read the marked pieces before you decide."


def render(comparison: Comparison, left_out: Mapping[str, str]) -> list[str]:
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
