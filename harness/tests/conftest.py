"""How the tests are run: one process imports and collects them, and forks for each of --jobs.

Without FULL=1 those are left out that are marked

    @pytest.mark.full("wrong servers")

with what each of them is one of. Tests that are named, by -k or by their file, are always run.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from harness.grade import request
from harness.grade.workers import Workers
from harness.server.linux import prctl
from harness.tests import golden, graders
from harness.tests.drawn import FULL, SEED
from harness.tests.progress import Progress

# A shell that runs the tests in the background lets them ignore Ctrl-C, and what they start, too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def grader():
    """A process that grades one submission after the other, with little patience."""
    return graders.hasty()


@pytest.fixture
def patient():
    """A process that grades one submission after the other, as patient as `make grade`."""
    return graders.patient()


def pytest_addoption(parser):
    group = parser.getgroup("event-loop-lab")
    group.addoption("--jobs", type=int, default=None, help="tests at a time; 0: in this process")
    group.addoption("--record", action="store_true", help="write golden/ anew")


def pytest_configure(config):
    config.addinivalue_line("markers", "full(what): only with FULL=1; it is one of `what`")
    config.addinivalue_line("markers", "long: begins before the others")
    golden.RECORD = config.option.record
    os.environ.pop("LAB_SEED", None)  # it has drawn the sample, and is no option of a command
    jobs = request.workers() if config.option.jobs is None else config.option.jobs
    if jobs and not config.option.usepdb:
        workers = Workers(jobs, _reports_of, died=lambda: None, around=lambda: _process(config))
        config.pluginmanager.register(workers)
        config.pluginmanager.register(Progress(config))


def _reports_of(item):
    return runtestprotocol(item, log=False, nextitem=None)


@contextmanager
def _process(config):
    """One that runs tests. It has files of its own for what they print."""
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    prctl.adopt_orphans()  # which a fork does not inherit
    yield
    graders.close()


def pytest_collection_modifyitems(config, items):
    named = config.option.keyword or not all(Path(word).is_dir() for word in config.args)
    config.left_out = Counter()  # how many tests, by what they are
    if not named and not FULL:
        out = [item for item in items if item.get_closest_marker("full")]
        config.left_out.update(item.get_closest_marker("full").args[0] for item in out)
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter, config):
    if config.left_out:
        terminalreporter.section("left out")
        for what, count in sorted(config.left_out.items()):
            terminalreporter.write_line(f"{count:6} {what}")
        terminalreporter.write_line("make test FULL=1 runs them all")
    if config.left_out or FULL:
        terminalreporter.write_line(f"SEED={SEED} has drawn the sample")
