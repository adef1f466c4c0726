"""make doctor: what this machine can judge, and what mends the rest.

Exit status: 0 every claim can be judged here, 1 some cannot, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import dataclass

from harness.feedback.printable import harmless
from harness.grade import scoring
from harness.grade.scoring import Claim
from harness.student import needed
from harness.student.needed import Instrument
from harness.submission import chapters, command_line
from harness.submission.target import setting

COLUMNS = 80
NAME = 18  # columns
INDENT = " " * 8


@dataclass(frozen=True)
class Finding:
    """What came of trying an instrument. `claims`: those that are not judged for this reason."""

    instrument: Instrument
    problem: str
    claims: list[Claim]


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="doctor", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="default: all of them")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("doctor", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Tries every instrument, and prints what came of it at once."""
    claims = scoring.load()
    if options.chapter:
        claims = scoring.holding(claims, chapters.find(options.chapter))
    print("What this machine can judge\n")
    lost: set[str] = set()
    for instrument in all_instruments(claims):
        problem = instrument.problem()
        missing = [claim for claim in claims if problem and instrument.needed(claim)]
        lost |= {claim.name for claim in missing}
        print("\n".join(told(Finding(instrument, problem, missing), len(claims))), flush=True)
    print(f"\n{verdict(len(lost), len(claims))}")
    return 1 if lost else 0


def all_instruments(claims: list[Claim]) -> list[Instrument]:
    """All instruments; those that claims need come first."""
    required = [*needed.OTHERS, needed.descriptors(claims), *needed.MARKED.values()]
    return [*required, *needed.OPTIONAL]


def told(finding: Finding, total: int) -> list[str]:
    """One line if all is well, otherwise what is lost and what mends it."""
    one = finding.instrument
    if not finding.problem:
        return [f"  yes   {one.name}"]
    sign = "NO" if finding.claims else "no"
    lines = _wrapped(f"  {sign:5} {one.name:{NAME}}", harmless(finding.problem))
    if len(finding.claims) == total:
        lines += _wrapped(f"{INDENT}not judged: ", "any claim")
    elif finding.claims:
        names = ", ".join(f"{claim.number} {claim.name[5:]}" for claim in finding.claims)
        lines += _wrapped(f"{INDENT}not judged: ", names)
    elif one.otherwise:
        lines += _wrapped(f"{INDENT}then: ", one.otherwise)
    return [*lines, *_wrapped(f"{INDENT}this helps: ", one.remedy)]


def _wrapped(begin: str, text: str) -> list[str]:
    """The text behind `begin`, in lines that fit the terminal."""
    words = " ".join(text.split())
    return textwrap.wrap(
        words,
        COLUMNS,
        initial_indent=begin,
        subsequent_indent=INDENT + "  ",
        break_on_hyphens=False,
    )


def verdict(lost: int, total: int) -> str:
    if not lost:
        return f"All {total} claims can be judged here."
    return f"{lost} of {total} claims cannot be judged here. A grade leaves them open."
