"""The pytest plugin of a graded run: it runs claims, and tells what became of each.

It is used by harness/grading/grade.py only, which passes --run (how to start the server) and
--outcomes (a descriptor to write to). For every test that is over, one JSON object a line goes
there:

    {"name": "test_...", "verdict": "failed", "seconds": 0.5, "detail": {"message": "...", ...}}

and, when it begins, {"begun": "test_..."}.

A Failure, or a test that takes too long, is a failure. Every other exception is a fault of ours:
the test was not judged. The detail of a failure has: message, hint (a key of hints.HINTS), steps,
compare, server, stderr, crashed; that of a test that was not judged has only the message, and
"busy" if the machine was too busy for it.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from harness.claims.stage.program import program
from harness.claims.stage.stage import Run, Stage, launch, rng, run, server
from harness.client.redis.here import OTHERS
from harness.failures.compare import compare, first_difference
from harness.failures.failure import Failure, NotJudged, TooBusy
from harness.grading import guard
from harness.grading.lanes import Deal, Lanes
from harness.grading.scoring import FAILED, NOT_JUDGED, PASSED
from harness.lab.units import KIB
from harness.server import kill, limits
from harness.server.linux import prctl, procfs, ring
from harness.server.patience import PATIENCE, wait_until
from harness.server.process_tree import destroy_all

__all__ = ["launch", "program", "rng", "run", "server"]

# Hints of failures that the end of the server explains better.
PEER_IS_GONE = {"closed-early", "closed-in-reply", "reset-early", "replies-missing"}
PEER_IS_GONE |= {"connect-refused", "ended-early", "not-taken"}
# Hints of failures that the server's log explains better, where it has one of these.
CUT_SHORT = {"closed-early", "closed-in-reply", "reset-early", "replies-missing"}
LOG_SAYS = (
    (re.compile(r"too (?:long|large|big)\b", re.I), "refused-as-too-long"),
    (re.compile(r"closed: Resource temporarily unavailable"), "call-disturbed"),  # EAGAIN
)
LOG_SECONDS = 0.5  # at most, until the server has logged why it closed
LOG_LOOKS = 3  # at a server that sleeps, one after the other, until its last line has arrived here
SAMPLE_BYTES = 8  # of a random body: they occur once
SENT_AT_ONCE = 256 * KIB  # as a rule, whatever the kernel holds already
OUTCOMES = "lab-outcomes"  # the name of the plugin that has them
GONE = "???"  # the phase that xdist reports when a worker process has died
# Hints about an earlier reply, which replace these.
AFTER_A_REPLY = {
    "one-frame-only": {"silence", "closed-early", "reset-early"},
    "table-too-small": {"silence"},
}
COMPARE_WIDTH = 78  # columns; the report indents it by two
SWEEP_SECONDS = 10  # to end what a dead worker has left
PROPERTY = "event-loop-lab"  # of a test report, which is how a result leaves a worker process


def pytest_addoption(parser):
    group = parser.getgroup("event-loop-lab")
    group.addoption("--run", dest="lab_run", metavar="FILE", help="set by harness.grading.grade")
    group.addoption(
        "--lanes", dest="lab_lanes", metavar="FILE", help="set by harness.grading.grade"
    )
    group.addoption(
        "--outcomes", dest="lab_outcomes", type=int, help="set by harness.grading.grade"
    )


def pytest_configure(config):
    if not config.option.lab_run:
        raise pytest.UsageError("the claims are run by `make grade`, or python3 -m harness grade")
    config.lab_run = Run.load(config.option.lab_run)
    PATIENCE.share(Path(config.option.lab_run).with_name("ran-out"))
    prctl.close_memory()
    is_worker = hasattr(config, "workerinput")
    if is_worker:
        prctl.die_with_parent()
        guard.leave_group()
    else:
        signal.signal(signal.SIGTERM, _end)
        prctl.die_with_parent(signal.SIGTERM)
    if is_worker or config.option.dist == "no":
        limits.bound_processes()
    if not is_worker:
        config.pluginmanager.register(Outcomes(config.option.lab_outcomes), OUTCOMES)


def _end(_number, _frame):
    """The grade was killed, so we have to end everything that we have started."""
    kill.until_gone(procfs.below, SWEEP_SECONDS)
    os._exit(1)


def pytest_unconfigure(config):
    destroy_all()
    limits.release_processes()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    outcomes = config.pluginmanager.get_plugin(OUTCOMES)
    return Lanes(config, log, Deal.load(config.option.lab_lanes), lambda: outcomes.failed)


def pytest_runtest_setup(item):
    marked = item.function.claim
    item.lab_stage = Stage(item.config.lab_run, marked["valgrind"], marked["sees_calls"])
    lacking = limits.lacking_descriptors(marked["descriptors"])
    if lacking:
        raise NotJudged(lacking)
    if marked["needs"] == "io_uring" and ring.problem():
        raise NotJudged(f"{ring.problem()}; this helps: {ring.REMEDY}")
    other = OTHERS.get(marked["needs"])
    if other and other.problem():
        raise NotJudged(f"{other.problem()}; this helps: {other.remedy}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds verdict and detail to the report of each phase of a test."""
    report = (yield).get_result()
    stage = getattr(item, "lab_stage", None)
    if call.excinfo is None:
        if stage is not None and call.when == "call":
            stage.body_passed = True
        return
    marked = item.function.claim
    verdict, detail = judge(call.excinfo.value, stage, marked["hints"], marked["refusals"])
    report.user_properties.append((PROPERTY, {"verdict": verdict, "detail": detail}))


def judge(error, stage, hints, refusals=False):
    """The verdict on a test that raised `error`, and its detail. `hints`, `refusals`: of claim."""
    if isinstance(error, pytest.fail.Exception) and "Timeout" in str(error):
        if stage.valgrind and not stage.run.sources:
            return NOT_JUDGED, {"message": "under valgrind this server is too slow to be judged"}
        error = Failure("the test took longer than a test may", hint="too-long")
    if isinstance(error, Failure):
        error = stage.explained(error)
    if not isinstance(error, Failure):
        kind = "" if isinstance(error, NotJudged) else f"{type(error).__name__}: "
        detail = {"message": (kind + str(error)).split("\n")[0]}
        return NOT_JUDGED, {**detail, "busy": True} if isinstance(error, TooBusy) else detail
    hint = _hint(error, stage)
    if hint in CUT_SHORT and not refusals:
        hint = _reason_in_log(stage) or hint
    hint = _meant(hints.get(hint, hint), hint, stage)
    if hint == "state-shared" and _is_of_the_same_frame(error):
        hint = "offset-of-the-remainder"
    detail = {"message": error.message, "hint": hint, "compare": ""}
    if error.expected is not None and error.received is not None:
        detail["compare"] = compare(error.expected, error.received, COMPARE_WIDTH)
    detail["steps"] = stage.conversation.render()
    fate, detail["stderr"] = stage.ending()
    detail["server"] = f"{fate}{stage.busy()}"
    detail["crashed"] = stage.crashed()
    return FAILED, detail


def _meant(hint, general, stage):
    """The better hint that a claim has for a general one, unless the failure contradicts it, or the
    server's log knows better."""
    if general in AFTER_A_REPLY.get(hint, ()) and not stage.conversation.went_on():
        return general
    if general == "not-closed" and _logs_every_close(stage.ending()[1]):
        return "logged-not-closed"
    if hint == "ready-for-nothing" and stage.busy():
        return general
    if hint == "blocked-by-another" and stage.waits_for_readiness():
        return "never-watched"
    return hint


def _hint(error, stage):
    """The hint of the error; or one about the server's end, if that is the reason for the
    silence."""
    fate, _ = stage.ending()
    if fate.startswith("killed by the grader"):
        return "over-limit"
    if error.hint not in PEER_IS_GONE or not stage.surprised():
        return error.hint
    if "SIGPIPE" in fate:
        return "sigpipe"
    return "crashed" if fate.startswith("killed") else "ended-early"


def _is_of_the_same_frame(error):
    """What came instead stands elsewhere in the frame that was due, which is too large to be sent
    at once: so it is no mix of two clients."""
    due, came = error.expected or b"", error.received or b""
    at = first_difference(due, came) or 0
    sample = came[at : at + SAMPLE_BYTES]
    return len(due) > SENT_AT_ONCE and len(sample) == SAMPLE_BYTES and sample in due


def _reason_in_log(stage):
    """The hint for the reason that the server has logged; None if there is none.

    A server may log it after the close that the client saw. It has, once the server sleeps or has
    ended.
    """
    rested = 0

    def said():
        nonlocal rested
        rested = rested + 1 if stage.at_rest() else 0
        return rested >= LOG_LOOKS or _logged(stage.ending()[1])

    wait_until(said, LOG_SECONDS, LOG_SECONDS / 50)
    return _logged(stage.ending()[1])


def _logged(log):
    """The hint for the reason in the last lines of the server's log; None if there is none."""
    return next((hint for pattern, hint in LOG_SAYS if pattern.search(log)), None)


def _logs_every_close(log):
    """Whether the server has logged the close of each connection that it has logged as opened."""
    opened, closed = (len(re.findall(rf": {word}\b", log)) for word in ("opened", "closed"))
    return 0 < opened <= closed


class Outcomes:
    """Puts the phases of each test together, in the process that has all reports."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self._file = open(descriptor, "w", encoding="utf-8")
        self._phases = {}
        self.failed = 0  # claims, so far
        self._a_worker_died = False

    def pytest_runtest_logreport(self, report):
        phases = self._phases.setdefault(report.nodeid, [])
        phases.append({**_result(report), "seconds": report.duration})
        if report.when in ("teardown", GONE):
            name = report.nodeid.split("::")[-1]
            seconds = sum(phase["seconds"] for phase in phases)
            result = {**_worst(self._phases.pop(report.nodeid)), "seconds": round(seconds, 2)}
            self.failed += result["verdict"] == FAILED
            print(json.dumps({"name": name, **result}), file=self._file, flush=True)

    def pytest_testnodedown(self, node, error):
        """A worker has ended: what its servers leave is ours now, and nobody else would end it."""
        self._a_worker_died = True
        kill.until_gone(_orphans, SWEEP_SECONDS)

    def pytest_runtest_logstart(self, nodeid, location):
        """Ends processes that became ours only now: a server dies a moment after its worker."""
        if self._a_worker_died:
            kill.until_gone(_orphans, SWEEP_SECONDS)
        print(json.dumps({"begun": nodeid.split("::")[-1]}), file=self._file, flush=True)


def _orphans(thorough):
    """Our children that are not workers, which share our session, and all below them."""
    processes = procfs.family(os.getpid(), thorough)
    me = processes[os.getpid()]
    children = [p for p in processes.values() if p.parent == me.pid and p.session != me.session]
    return procfs.tree([child.pid for child in children], processes)


def _result(report):
    """Verdict and detail of one phase of a test."""
    found = dict(report.user_properties).get(PROPERTY)
    if found:
        return found
    if report.passed:
        return {"verdict": PASSED, "detail": {}}
    if report.when == GONE:
        return {"verdict": NOT_JUDGED, "detail": {"message": guard.KILLED}}
    return {"verdict": NOT_JUDGED, "detail": {"message": str(report.longrepr).split("\n")[0]}}


def _worst(phases):
    """The result of a test: passed only when its set-up, body and clean-up all did."""
    for verdict in (FAILED, NOT_JUDGED):
        for phase in phases:
            if phase["verdict"] == verdict:
                return phase
    if len(phases) == 3:
        return phases[0]
    return {"verdict": NOT_JUDGED, "detail": {"message": "it did not finish"}}
