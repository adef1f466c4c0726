"""What a grade has to do, besides its target: the options of `grade` and of commands like it."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from harness.claims.context import valgrind
from harness.grade import scoring
from harness.grade.scoring import Claim
from harness.submission import command_line
from harness.submission.chapters import Chapter
from harness.submission.target import WrongUsage, add_options, is_whole, setting

RESULTS = command_line.BUILD / "results"
MOST_NAMES = 12  # of tests that T could have meant
MOST_WORKERS = 6


@dataclass(frozen=True)
class Request:
    """What a grade has to do with its target.

    `only`: a TODO ("03.2") or a part of test names. `seed`: None: it follows from the submission.
    `jobs`: tests at the same time. `limit`: seconds for all of them together. `memcheck`: under
    valgrind. `results`: None: build/results/NN.json. `trace`: where the record of one test is
    written. `debugger`: the socket of a gdb that waits, see context/gdb.py.
    """

    only: str | None = None
    seed: int | None = None
    jobs: int = 2
    limit: int | None = None
    memcheck: bool = False
    results: Path | None = None
    claims: Path = scoring.CLAIMS
    trace: Path | None = None
    debugger: Path | None = None


def workers() -> int:
    """How many tests of a grade run at the same time: two for each processor and one, since a test
    often waits; not more than MOST_WORKERS, since each may need much memory."""
    return min(2 * len(os.sched_getaffinity(0)) + 1, MOST_WORKERS)


def parse(arguments: list[str], what: str = "Grades a chapter.") -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="grade", description=what)
    add_options(parser, chapter="default: a board of all")
    add = parser.add_argument
    add("--only", metavar="T", default=setting("T"), help="a TODO (03.2) or a part of test names")
    add("--verbose", action="store_true", default=setting("V") not in (None, "0"))
    asked = setting("ERRORS") not in (None, "0")
    add("--errors", action="store_true", default=asked, help="failures as file:line:, too")
    add("--memcheck", action="store_true", help="run the server under valgrind")
    add("--seed", metavar="N", default=setting("SEED"), help="of everything random")
    add("--jobs", metavar="N", default=str(workers()), help=f"tests at the same time: {workers()}")
    add("--results", metavar="FILE", type=Path, help="default: build/results/NN.json")
    add("--limit", metavar="S", default=None, help="seconds for all tests of a chapter together")
    add("--id", metavar="ID", default=setting("ID"), help="of a failure, for replay and trace")
    add("--claims", type=Path, default=scoring.CLAIMS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def asked(options: argparse.Namespace) -> Request:
    """The request that the options make. Raises WrongUsage."""
    numbers = {name: getattr(options, name) for name in ("seed", "jobs", "limit")}
    for name, text in numbers.items():
        if text is not None and not is_whole(text):
            raise WrongUsage(f"{name.upper()}={text}: that is not a whole number")
    if options.memcheck and valgrind.missing():
        raise WrongUsage(valgrind.MISSING)
    return Request(
        only=options.only,
        memcheck=options.memcheck,
        results=options.results,
        claims=options.claims,
        **{name: int(text) for name, text in numbers.items() if text is not None},
    )


def one_test(request: Request, chapter: Chapter) -> Claim:
    """The test that T names: by its whole name, or as the only one. Raises WrongUsage."""
    claims = scoring.holding(scoring.load(request.claims, chapter), chapter)
    selected = scoring.select(claims, request.only)
    exact = [claim for claim in selected if claim.name in (request.only, f"test_{request.only}")]
    if len(exact or selected) == 1:
        return (exact or selected)[0]
    if not selected:
        raise WrongUsage(f"T={request.only}: chapter {chapter.number} has no test of that name")
    names = [claim.name for claim in selected[:MOST_NAMES]]
    more = [f"and {len(selected) - MOST_NAMES} more"] if len(selected) > MOST_NAMES else []
    listed = "\n  ".join([*names, *more])
    raise WrongUsage(
        f"T={request.only} selects {len(selected)} tests; name one of them:\n  {listed}"
    )
