"""Spreads what takes long over the run, and prints the kill matrix when wrong servers were graded."""

from __future__ import annotations

import signal

from harness.grading import scoring
from harness.mutants import matrix
from harness.mutants.catalogue import CATALOGUE
from harness.mutants.judge import PROPERTY, Judgement

# A shell that runs the tests in the background lets them ignore Ctrl-C, and what they start as well.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Whole grades, the longest first.
LONG = ("test_steps.py", "test_unusual.py", "test_verdicts.py", "test_hostile.py")


def pytest_collection_modifyitems(items):
    """Workers are given rows of tests: a row must not consist of long ones, and the last no such.

    The first quarter is dealt out like cards: so the distance is one that neither 2 nor 3 divides.
    """
    found = {name: [item for item in items if item.path.name == name] for name in LONG}
    spread = sum(found.values(), [])
    others = [item for item in items if item.path.name not in LONG]
    between = 3 * len(others) // (4 * max(1, len(spread))) // 6 * 6 + 4
    items.clear()
    for item in spread:
        items += [item, *others[:between]]
        del others[:between]
    items += others


def pytest_terminal_summary(terminalreporter):
    found = {}
    for report in sum(terminalreporter.stats.values(), []):
        if getattr(report, "when", "") == "call":
            found.update(dict(report.user_properties).get(PROPERTY, ()))
    graded = [mutant for mutant in CATALOGUE if mutant.id in found]
    judgements = [Judgement(mutant, *found[mutant.id]) for mutant in graded]
    if not judgements:
        return
    terminalreporter.section("wrong servers, and the tests that catch them")
    terminalreporter.write_line(matrix.table(judgements))
    if len(judgements) == len(CATALOGUE):
        terminalreporter.write_line(matrix.idle_claims(judgements, scoring.load()))
