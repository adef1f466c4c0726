"""The pytest plugin of a graded run: it runs claims, and tells what became of each.

It is used by harness/grade/grade.py only, which passes --run (how to start the server) and
--outcomes (a descriptor to write to). For every test that is over, one JSON object a line goes
there:

    {"name": "test_...", "seconds": 0.5, "diagnosis": {"failed": true, "message": "...", ...}}

and, when it begins, {"begun": "test_..."}. The diagnosis is that of diagnosis.py, null if the test
has passed.

A Failure, or a test that takes too long, is a failure. Every other exception is a fault of ours:
the test was not judged.
"""

from __future__ import annotations

import json
import os
import signal

import pytest
from _pytest.runner import runtestprotocol

from harness.claims.context.fixtures import inherited, launch, rng, run, server, server_for_each
from harness.claims.context.stage import Run, Stage
from harness.client.redis.here import OTHERS
from harness.feedback.failure import Failure, NotJudged, TooBusy
from harness.grade import diagnosis, runner
from harness.grade.workers import GONE, KILLED, Workers
from harness.modules.program import program
from harness.server import limits
from harness.server.linux import prctl
from harness.server.process_tree import destroy_all, until_gone
from harness.waiting import procfs
from harness.waiting.clock import OwnClock

__all__ = ["inherited", "launch", "program", "rng", "run", "server", "server_for_each"]

HELD_UP_SECONDS = 30  # of a test that took too long: then others are why
ENOUGH_CPU_SECONDS = 30  # the same: if its servers had less and want more, others are why
SWEEP_SECONDS = 10  # to end what a dead worker has left
PROPERTY = "event-loop-lab"  # of a test report, which is how a result leaves a worker process


def pytest_addoption(parser):
    group = parser.getgroup("event-loop-lab")
    group.addoption("--run", dest="lab_run", metavar="FILE", help="set by grade/runner.py")
    group.addoption("--workers", dest="lab_workers", type=int, help="set by grade/runner.py")
    group.addoption("--outcomes", dest="lab_outcomes", type=int, help="set by grade/runner.py")


def pytest_configure(config):
    if not config.option.lab_run:
        raise pytest.UsageError("the claims are run by `make grade`, or python3 -m harness grade")
    config.lab_run = Run.load(config.option.lab_run)
    config.lab_own_clock = ""
    prctl.close_memory()
    signal.signal(signal.SIGTERM, _end)
    prctl.die_with_parent(signal.SIGTERM)
    outcomes = Outcomes(config.option.lab_outcomes)
    config.pluginmanager.register(outcomes)
    if config.option.lab_workers:
        workers = Workers(config.option.lab_workers, reports_of, outcomes.worker_died)
        config.pluginmanager.register(workers)


def _end(_number, _frame):
    """The grade was killed, so we have to end everything that we have started."""
    until_gone(procfs.below, SWEEP_SECONDS)
    os._exit(1)


def pytest_unconfigure(config):
    destroy_all()


def reports_of(item):
    """Runs the test; once more if the server has shown that it goes by a clock of its own: then its
    servers keep that of the machine from their start. The last report has the result."""
    item.config.lab_own_clock, item.lab_found = "", []
    reports = runtestprotocol(item, log=False)
    if item.config.lab_own_clock:
        item._initrequest()  # its fixtures begin again
        item.lab_found.clear()
        reports = runtestprotocol(item, log=False)
    bad = sorted(item.lab_found, key=lambda found: not found.failed)  # of set-up, body, clean-up
    seconds = sum(report.duration for report in reports)
    result = _result(item.nodeid, bad[0] if bad else None, seconds)
    reports[-1].user_properties.append((PROPERTY, result))
    return reports


def _result(nodeid, found, seconds=0.0):
    """The line that tells what became of a test; `found` is None if it has passed."""
    told = found and found.told()
    name = nodeid.split("::")[-1]
    return json.dumps({"name": name, "seconds": round(seconds, 2), "diagnosis": told})


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports_of(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_setup(item):
    mark = item.function.claim
    own_clock = item.config.lab_own_clock
    item.lab_stage = Stage(item.config.lab_run, mark.valgrind, mark.sees_calls, own_clock)
    lacking = limits.lacking_descriptors(mark.descriptors)
    if lacking:
        raise NotJudged(lacking)
    if mark.needs == "io_uring" and prctl.ring_problem():
        raise NotJudged(f"{prctl.ring_problem()}; this helps: {prctl.RING_REMEDY}")
    other = OTHERS.get(mark.needs)
    if other and other.problem():
        raise NotJudged(f"{other.problem()}; this helps: {other.remedy}")
    _put_off_the_alarm(item.lab_stage, item.config.option.timeout)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds a diagnosis for each phase of a test that has not passed."""
    yield
    stage = getattr(item, "lab_stage", None)
    if call.excinfo is None:
        if stage is not None and call.when == "call":
            stage.body_passed = True
        return
    if isinstance(call.excinfo.value, OwnClock):
        item.config.lab_own_clock = str(call.excinfo.value)
    mark, error = item.function.claim, _in_time(call.excinfo.value, stage)
    item.lab_found.append(diagnosis.diagnose(error, stage, mark.hints, mark.refusals))


def _put_off_the_alarm(stage, seconds):
    """While other programs hold up the test, it may take so many seconds once more: a few times.
    pytest-timeout has set the alarm, and ends the test when it rings."""
    end = signal.getsignal(signal.SIGALRM)
    rung = 0

    def ring(number, frame):
        nonlocal rung
        rung += 1
        if rung < runner.BUSY_TIMES and _is_held_up(stage):
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            end(number, frame)

    if callable(end):
        signal.signal(signal.SIGALRM, ring)


def _is_held_up(stage):
    """Whether the grader stood in line for long, or its servers do, and have not had their time."""
    return stage.seconds_held_up() > HELD_UP_SECONDS or runner.is_held_up(ENOUGH_CPU_SECONDS)


def _in_time(error, stage):
    """The error; of a test that took too long, what that means."""
    if not isinstance(error, pytest.fail.Exception) or "Timeout" not in str(error):
        return error
    if stage.valgrind and not stage.run.sources:
        return NotJudged("under valgrind this server is too slow to be judged")
    if _is_held_up(stage):
        return TooBusy("other programs kept the claim from running for most of its time")
    return Failure("the test took longer than a test may", hint="too-long")


class Outcomes:
    """Tells what becomes of the tests, in the process that has all reports."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self._file = open(descriptor, "w", encoding="utf-8")
        self._a_worker_died = False

    def pytest_runtest_logreport(self, report):
        result = dict(report.user_properties).get(PROPERTY)
        if report.when == GONE:
            result = _result(report.nodeid, diagnosis.not_judged(KILLED))
        if result:
            print(result, file=self._file, flush=True)

    def worker_died(self):
        """What its servers leave is ours now, and nobody else would end it."""
        self._a_worker_died = True
        until_gone(_orphans, SWEEP_SECONDS)

    def pytest_runtest_logstart(self, nodeid, location):
        """Ends processes that became ours only now: a server dies a moment after its worker."""
        if self._a_worker_died:
            until_gone(_orphans, SWEEP_SECONDS)
        print(json.dumps({"begun": nodeid.split("::")[-1]}), file=self._file, flush=True)


def _orphans():
    """Our children that are not workers, which share our session, and all below them."""
    processes = procfs.family(os.getpid())
    me = processes[os.getpid()]
    children = [p for p in processes.values() if p.parent == me.pid and p.session != me.session]
    return procfs.tree([child.pid for child in children], processes)
