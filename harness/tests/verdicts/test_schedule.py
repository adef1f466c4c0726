"""The shim's schedules, by what they make of the calls of a small C program; and its record."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from harness.failures.failure import NotJudged
from harness.server import shim
from harness.server.shim import Group, Plan, Shim, Step, alloc_library, fail, piece, shim_library
from harness.server.shim.layout import PASS, PLANS_MAX, RECORD_ENTRIES, SPURIOUS, STEPS_MAX

SOURCE = Path(__file__).with_name("servers") / "disturbed.c"
PLAIN, FORTIFIED = ("-O0",), ("-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
INPUTS = ["read", "recv", "recvfrom", "readv", "recvmsg"]
OUTPUTS = ["write", "send", "sendto", "writev", "sendmsg"]
WAITS = ["poll", "ppoll", "select", "epoll_wait"]


@pytest.fixture(scope="module", params=[PLAIN, FORTIFIED], ids=["plain", "fortified"])
def program(request, tmp_path_factory):
    built = tmp_path_factory.mktemp("disturbed") / "disturbed"
    subprocess.run(["cc", *request.param, "-o", built, SOURCE], check=True)
    return built


class Disturbed:
    """Runs the program: `lines` it printed, `status`, and the shared file."""

    def __init__(self, directory, program, words, *plans):
        self.shim = Shim(directory / "shim")
        self.shim.schedule(*plans)
        libraries = [shim_library(), *([alloc_library()] if "malloc" in words else [])]
        result = subprocess.run(
            [program, *words.split()],
            env=shim.environment(libraries, self.shim.path),
            stdout=subprocess.PIPE,
            text=True,
            timeout=30,
        )
        self.status, self.lines = result.returncode, result.stdout.splitlines()

    def calls(self, function):
        """What is recorded of a function: size, result, errno, changed."""
        entries = [entry for entry in self.shim.record() if entry.function == function]
        return [(entry.size, entry.result, entry.error, entry.fault) for entry in entries]


@pytest.fixture
def disturb(program, tmp_path):
    return lambda words, *plans: Disturbed(tmp_path, program, words, *plans)


@pytest.mark.parametrize("function", INPUTS)
def test_input_arrives_in_pieces(disturb, function):
    """A piece larger than the requested size takes two calls; errors come between pieces."""
    steps = [piece(1), fail(errno.EAGAIN), piece(6), fail(errno.EINTR), PASS, piece(1)]
    run = disturb(f"{function} 7", Plan(Group.INPUT, steps, connection=0))
    assert run.lines == ["a", "EAGAIN", "bcde", "fg", "EINTR", "hijk", "l", ""]
    assert run.shim.fired() == 5  # both pieces of 1, both errors, and what was left of the 6
    assert run.calls(function)[:4] == [
        (4, 1, 0, True),
        (4, -1, errno.EAGAIN, True),
        (4, 4, 0, False),
        (4, 2, 0, True),
    ]


@pytest.mark.parametrize("function", OUTPUTS)
def test_output_is_taken_in_pieces(disturb, function):
    steps = [piece(3), fail(errno.EAGAIN), fail(errno.EPIPE), piece(1)]
    run = disturb(f"{function} 5", Plan(Group.OUTPUT, steps))
    if function in ("write", "writev"):  # which raise SIGPIPE
        assert run.status == -13
    else:
        assert run.lines == ["3", "EAGAIN", "EPIPE", "1", "4", "wxywwxyz"]


def test_a_peek_is_left_alone(disturb):
    """Cut, it would show the same piece for ever; a real socket shows more at the next look."""
    run = disturb("peek 3", Plan(Group.INPUT, [piece(2), fail(errno.EINTR)]))
    assert run.lines == ["abcd", "abcd", "abcd", ""]


@pytest.mark.parametrize("how", ["dup", "dup2", "dup3", "fcntl"])
def test_a_duplicate_is_the_same_connection(disturb, how):
    run = disturb(f"read 3 {how}", Plan(Group.INPUT, [piece(1), fail(errno.EINTR)], connection=0))
    assert run.lines == ["a", "EINTR", "bcde", ""]


def test_no_eagain_where_a_call_may_wait(disturb):
    steps = [piece(1), fail(errno.EAGAIN), piece(2)]
    run = disturb("read 3 blocking", Plan(Group.INPUT, steps))
    assert run.lines == ["a", "bc", "defg", ""]


def test_calls_that_find_nothing_do_not_count(disturb):
    """Three reads empty the socket; what comes then is the kernel's own EAGAIN."""
    run = disturb("read 5", Plan(Group.INPUT, [fail(errno.ECONNRESET)], skip=3))
    assert run.lines == ["abcd", "efgh", "ijkl", "EAGAIN", "EAGAIN", ""]
    assert run.shim.fired() == 0


def test_skip_and_size(disturb):
    run = disturb("read 3", Plan(Group.INPUT, [fail(errno.EINTR)], skip=1))
    assert run.lines == ["abcd", "EINTR", "efgh", ""]
    run = disturb("read 2", Plan(Group.INPUT, [fail(errno.EINTR)], at_least=5))
    assert run.lines == ["abcd", "efgh", ""]


def test_another_connection_is_left_alone(disturb):
    run = disturb("read 1", Plan(Group.INPUT, [piece(1)], connection=1))
    assert run.lines == ["abcd", ""]


@pytest.mark.parametrize("function", WAITS)
def test_waits(disturb, function):
    """The socket has something to read, so every wait that is not disturbed returns 1."""
    run = disturb(f"{function} 3", Plan(Group.WAIT, [fail(errno.EINTR), PASS], skip=1))
    # main() itself waits once, before.
    assert run.lines[:3] == ["EINTR", "1", "1"]


@pytest.mark.parametrize("function", WAITS)
def test_readiness_that_is_none(tmp_path, program, function):
    """The socket is emptied first, by a plan that makes the program wait for nothing."""
    source = SOURCE.read_text().replace('send(far, "abcdefghijkl", 12, 0) != 12', "0")
    source = source.replace("POLLIN}, 1, -1)", "POLLIN}, 1, 0)")
    silent = tmp_path / "silent"
    command = ["cc", "-x", "c", "-", "-iquote", SOURCE.parent, "-o", silent]
    subprocess.run(command, input=source, text=True, check=True)
    plan = Plan(Group.WAIT, [PASS, Step(SPURIOUS), PASS], connection=0)
    run = Disturbed(tmp_path, silent, f"{function} 2", plan)
    assert run.lines == ["1", "0", ""]
    assert run.shim.fired() == 1
    other = Plan(Group.WAIT, [PASS, Step(SPURIOUS)], connection=7)
    assert Disturbed(tmp_path, silent, f"{function} 2", other).lines[0] == "0"


@pytest.mark.parametrize("function", ["accept", "accept4"])
@pytest.mark.parametrize("error", ["EINTR", "ECONNABORTED", "EMFILE"])
def test_accepts(disturb, function, error):
    plan = Plan(Group.ACCEPT, [fail(getattr(errno, error))], skip=1)
    run = disturb(f"{function} 2", plan)
    assert run.lines[:2] == [error, "0"]
    assert run.shim.connections() == 2  # the one of main(), and one of the two


def test_close(disturb):
    """It is closed all the same; and the second time is noticed."""
    run = disturb("close 2", Plan(Group.CLOSE, [fail(errno.EINTR)]))
    assert run.lines[:2] == ["EINTR", "EBADF"]
    twice = [entry.closed_twice for entry in run.shim.record() if entry.function == "close"]
    assert twice == [False, True]


def test_allocations(disturb):
    run = disturb("malloc 3", Plan(Group.ALLOCATION, [fail(errno.ENOMEM), PASS], at_least=4))
    assert run.lines.count("ENOMEM") <= 1  # stdio allocates too
    assert run.shim.fired() == 1
    assert [entry.error for entry in run.shim.record() if entry.fault] == [errno.ENOMEM]


def test_chance_is_repeated_by_its_seed(disturb):
    steps = [piece(4), fail(errno.EINTR), fail(errno.EAGAIN)]
    runs = [disturb("read 40", Plan(Group.INPUT, steps, seed=seed)) for seed in (7, 7, 8)]
    assert runs[0].lines == runs[1].lines != runs[2].lines
    for run in runs:
        letters = [line for line in run.lines if not line.startswith("E")]
        assert "".join(letters) == "abcdefghijkl"
        assert {"EINTR", "EAGAIN"} <= set(run.lines)


def test_the_first_plan_that_is_about_a_call_decides(disturb):
    plans = [Plan(Group.OUTPUT, [piece(1)]), Plan(Group.INPUT | Group.OUTPUT, [piece(2)])]
    run = disturb("read 2", *plans)
    assert run.lines == ["ab", "cdef", ""]
    assert (run.shim.fired(0), run.shim.fired(1)) == (0, 1)


def test_the_record_keeps_the_latest(disturb):
    times = RECORD_ENTRIES + 100
    run = disturb(f"write {times} blocking", Plan(Group.OUTPUT, [fail(errno.EINTR)], seed=1))
    record = run.shim.record()
    starts = [entry.start_ns for entry in record]
    assert starts == sorted(starts)
    assert len([entry for entry in record if not entry.is_major]) == RECORD_ENTRIES
    assert {"accept", "write", "recv"} <= {entry.function for entry in record}


def test_limits_of_a_schedule(tmp_path):
    shared = Shim(tmp_path / "shim")
    with pytest.raises(ValueError, match="steps"):
        shared.schedule(Plan(Group.INPUT, []))
    with pytest.raises(ValueError, match="steps"):
        shared.schedule(Plan(Group.INPUT, [PASS] * (STEPS_MAX + 1)))
    with pytest.raises(ValueError, match="plans"):
        shared.schedule(*[Plan(Group.INPUT, [PASS])] * (PLANS_MAX + 1))
    shared.schedule(*[Plan(Group.INPUT, [PASS] * STEPS_MAX)] * PLANS_MAX)


def test_a_step_is_for_one_call_of_all_processes(tmp_path):
    """Four processes make calls at the same time: as many fail as the plan has steps."""
    program = tmp_path / "several"
    source = SOURCE.with_name("several.c")
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    for _ in range(20):
        plan = Plan(Group.OUTPUT, [fail(errno.EPIPE)] * STEPS_MAX)
        assert Disturbed(tmp_path, program, "4 60", plan).lines == [str(STEPS_MAX)]


def test_a_schedule_that_met_no_call_is_no_test(disturb):
    """A claim that passes then has not disturbed the server."""
    met = disturb("read 7", Plan(Group.INPUT, [PASS], connection=0))
    met.shim.require_calls()  # a step that changes nothing has met its call all the same
    assert met.shim.fired() == 0
    unmet = disturb("read 7", Plan(Group.INPUT, [piece(1)], connection=5))
    with pytest.raises(NotJudged, match="sees none of the calls"):
        unmet.shim.require_calls()
    unmet.shim.schedule()
    unmet.shim.require_calls()
