"""make tcl: Redis' own test suite, against the server of chapter 12 or any other.

REDIS= names the source of Redis, such as that of `apt-get source redis`. T= chooses units, by a
part of their names. V=1 also shows each test that is left out, and why.

Exit status: 0 no test fails, 1 a test fails, 2 wrong usage, not built, or no test has passed.
"""

from __future__ import annotations

import argparse
import fnmatch
import textwrap
from collections import Counter
from pathlib import Path

from harness.client.redis import left_out
from harness.client.redis.suite import FAILED, LEFT_OUT, PASSED, Outcome, Suite, Unusable
from harness.failures.failure import Failure, NotJudged
from harness.lab import command_line, target
from harness.lab.chapters import CHAPTERS
from harness.lab.target import Target, WrongUsage, setting
from harness.server import build
from harness.server.process import ServerProcess

CHAPTER = "redis"  # the name of the first chapter whose servers speak its protocol
OPTIONS = ("--app", "redis")  # of these servers
DUE = "7.0"  # the replies of this version are due
DETAIL_LINES, DETAIL_BYTES = 12, 400  # of a failure
WIDTH = 100
LOOK = {"initial_indent": "  ", "subsequent_indent": "    ", "break_on_hyphens": False}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; what is not given comes from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="tcl", description=__doc__.splitlines()[0])
    target.add_options(parser, chapter="the chapter, 12")
    add = parser.add_argument
    add("--redis", metavar="DIR", default=setting("REDIS"), help="the source of Redis")
    add("--tests", metavar="TEXT", default=setting("T"), help="units with this in their names")
    add("--verbose", action="store_true", default=bool(setting("V")), help="what is left out, too")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    wrong = (Unusable, NotJudged, Failure, build.BuildFailed)
    return command_line.run("tcl", lambda: run(options), *wrong)


def run(options: argparse.Namespace) -> int:
    """Runs the units that the options name, and prints what came of them."""
    subject = _target(options)
    if not options.redis:
        raise WrongUsage("where is the source of Redis? For instance: make tcl CH=12 REDIS=dir")
    suite = Suite(Path(options.redis))
    units = _units(suite, options.tests or "")
    print(f"the test suite of Redis {suite.version or 'of no known version'}: {subject.subject}")
    if not suite.version.startswith(DUE):
        print(f"(the replies of Redis {DUE} are due: tests of another version may ask for others)")
    with ServerProcess() as server:
        _start(server, subject)
        outcomes = _run_units(suite, units, server, options.verbose)
    return _sum_up(outcomes)


def _target(options: argparse.Namespace) -> Target:
    if not options.chapter:
        raise WrongUsage("which chapter? For instance: make tcl CH=12 REDIS=dir")
    found = target.named(options)
    first = next(chapter for chapter in CHAPTERS if chapter.name == CHAPTER)
    if found.chapter < first:
        text = f"the server of chapter {found.chapter.number} does not speak the protocol of Redis"
        raise WrongUsage(f"{text}; {first.slug} is the first that does")
    return found


def _units(suite: Suite, wanted: str) -> list[str]:
    units = [unit for unit in left_out.UNITS if wanted in unit and unit in suite.units()]
    if not units:
        raise WrongUsage(f"T={wanted}: these units are run: {', '.join(left_out.UNITS)}")
    return units


def _start(server: ServerProcess, subject: Target) -> None:
    """Starts the target. Raises Failure, NotJudged, BuildFailed."""
    if subject.source is None:
        server.start(subject.command, mode="port", port=subject.port)
        return
    binary = build.cached_server(subject.source).binary
    server.start([str(binary), "-p", "0", *OPTIONS])


def _run_units(
    suite: Suite, units: list[str], server: ServerProcess, verbose: bool
) -> list[tuple[str, Outcome]]:
    found = []
    for unit in units:
        counts: Counter[str] = Counter()
        missing = "|".join(left_out.MISSING)
        for outcome in suite.run(
            unit, server.address, missing, left_out.TAGS, list(left_out.TESTS)
        ):
            counts[outcome.verdict] += 1
            found.append((unit, outcome))
            if verbose and outcome.verdict == LEFT_OUT:
                reason = left_out.TESTS.get(outcome.name) or outcome.text
                print(f"  left out: {outcome.name}: {reason}"[:WIDTH])
        numbers = "  ".join(f"{counts[one]:3} {one}" for one in (PASSED, FAILED, LEFT_OUT))
        print(f"  {unit:20} {numbers}", flush=True)
        if not server.alive():
            raise Failure(f"in {unit} the server has ended: {server.describe()}", hint="crashed")
    others = [unit for unit in suite.units() if unit not in left_out.UNITS]
    if verbose:
        for reason, names in _not_run(others).items():
            text = f"units left out: {reason}: {', '.join(names)}"
            print(textwrap.fill(text, WIDTH, **LOOK))
    elif len(units) == len(left_out.UNITS):
        print(f"  {len(others)} other units are left out; V=1 says why")
    return found


def _not_run(units: list[str]) -> dict[str, list[str]]:
    """These units, by the reason why they are not run."""
    found: dict[str, list[str]] = {}
    for unit in units:
        reasons = (
            reason
            for reason, names in left_out.NOT_RUN.items()
            if any(fnmatch.fnmatchcase(unit, name) for name in names)
        )
        found.setdefault(next(reasons, "not in the list of this lab"), []).append(unit)
    return found


def _sum_up(outcomes: list[tuple[str, Outcome]]) -> int:
    """Prints each failure, and the sums. Returns the exit status."""
    counts = Counter(outcome.verdict for _, outcome in outcomes)
    for unit, outcome in outcomes:
        if outcome.verdict == FAILED:
            print(f"\nFAILED  {outcome.name}  (tests/{unit}.tcl)")
            for line in outcome.text.splitlines()[:DETAIL_LINES]:
                print(f"  {line[:DETAIL_BYTES]}")
    sums = ", ".join(f"{counts[one]} {one}" for one in (PASSED, FAILED, LEFT_OUT))
    print(f"\n{sums}")
    if counts[FAILED]:
        return 1
    return 0 if counts[PASSED] else 2
