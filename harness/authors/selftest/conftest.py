"""What is run: with FULL=1 all tests, else not those that are marked

    @pytest.mark.full("wrong servers")

with what each of them is one of. Where there are many of a kind, some are left, drawn by SEED, so
that the kind as a whole is tried every time. Tests that are named, by -k or by their file, are
always run.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from xdist.scheduler import LoadScheduling

from harness.authors.mutants import matrix
from harness.authors.mutants.catalogue import CATALOGUE
from harness.authors.mutants.grader import Grader
from harness.authors.mutants.judge import ENVIRONMENT, KILLED, PROPERTY, Judgement
from harness.authors.selftest.drawn import FULL
from harness.grading import scoring

# A shell that runs the tests in the background lets them ignore Ctrl-C, and what they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Grades: they take longest.
LONG = (
    *("test_steps.py", "test_unusual.py", "test_verdicts.py", "test_hostile.py"),
    *("test_mutants.py", "test_grade.py"),
)
FEW = 3  # a worker begins a test when it knows the next one; and it should not wait for more


@pytest.fixture(scope="session", autouse=True)
def seed_of_the_sample():
    """SEED of `make test` has drawn the sample, and is no option of what the tests start."""
    os.environ.pop("LAB_SEED", None)


@pytest.fixture(scope="session")
def grader():
    """A process that grades one submission after the other, with little patience."""
    with Grader(ENVIRONMENT) as found:
        yield found


@pytest.fixture(scope="session")
def patient():
    """A process that grades one submission after the other, as patient as `make grade`."""
    with Grader() as found:
        yield found


def pytest_configure(config):
    config.addinivalue_line("markers", "full(what): only with FULL=1; it is one of `what`")
    config.left_out = Counter()  # how many tests, by what they are


def pytest_collection_modifyitems(config, items):
    named = config.option.keyword or not all(Path(word).is_dir() for word in config.args)
    if not named and not FULL:
        _leave_out(config, items)
    # The long ones are spread over the first two thirds of the others: most of them compute, many
    # others wait, and at the end no worker is alone with a long one.
    long = [item for item in items if item.fspath.basename in LONG]
    others = [item for item in items if item.fspath.basename not in LONG]
    part = 2 * len(others) / (3 * max(1, len(long)))
    places = {id(item): number * part for number, item in enumerate(long)}
    places.update((id(item), number) for number, item in enumerate(others))
    items.sort(key=lambda item: places[id(item)])


class Few(LoadScheduling):
    """Gives each worker a few tests at a time. xdist deals them in rows, and one worker still has
    a minute of tests when the others have none left."""

    def _send_tests(self, node, num):
        super()._send_tests(node, max(0, min(num, FEW - len(self.node2pending[node]))))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Few(config, log)


def _leave_out(config, items):
    out = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if not item.get_closest_marker("full")]
    config.left_out += Counter(item.get_closest_marker("full").args[0] for item in out)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left out"] = dict(config.left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Each worker has left out the same."""
    found = getattr(node, "workeroutput", {}).get("left out")
    node.config.left_out = Counter(found) or node.config.left_out


def pytest_terminal_summary(terminalreporter, config):
    found = {}
    for report in sum(terminalreporter.stats.values(), []):
        if getattr(report, "when", "") == "call":
            found.update(dict(report.user_properties).get(PROPERTY, ()))
    judgements = [Judgement(one, *found[one.id]) for one in CATALOGUE if one.id in found]
    if judgements:
        terminalreporter.section("wrong servers, and the tests that catch them")
        others = [one for one in judgements if one.verdict != KILLED]
        terminalreporter.write_line("\n".join([*matrix.rows(others), matrix.summary(judgements)]))
    if len(judgements) == len(CATALOGUE):
        terminalreporter.write_line(matrix.idle_claims(judgements, scoring.load()))
    left_out = config.left_out
    if left_out:
        terminalreporter.section("left out")
        for what, count in sorted(left_out.items()):
            terminalreporter.write_line(f"{count:6} {what}")
        terminalreporter.write_line("make test FULL=1 runs them all; make test SEED=2 draws others")
