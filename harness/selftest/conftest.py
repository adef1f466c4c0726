"""Runs what takes long first, and prints the kill matrix when wrong servers were graded."""

from __future__ import annotations

from harness import scoring
from harness.mutants import matrix
from harness.mutants.catalogue import CATALOGUE
from harness.mutants.judge import PROPERTY, Judgement

# Whole grades. At the end of a run, one of the two workers would wait for them alone.
LONG = ("test_steps.py", "test_verdicts.py", "test_unusual.py", "test_hostile.py")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)


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
