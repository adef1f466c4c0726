"""Students who solve the TODOs of a chapter in their order are paid at each step.

Every chapter is graded with its first 0, 1, ... TODOs solved, by the tests that these TODOs and the
next one name: each is failed until its TODO is solved, and passed from then on. The untouched
skeleton is graded with what the chapter adds, and some of what it inherits. With all of them solved
it is the solution, which test_verdicts.py grades. FULL=1 tries every step, else SEED draws some of
them. FULL=2 grades every step in full, too, which takes more than an hour.
"""

from __future__ import annotations

import random
import re

import pytest

from harness.authors.mutants.grader import Grader
from harness.tests.drawn import SEED, drawn_claims, slug, some
from harness.grading import scoring
from harness.lab import skeleton, sources
from harness.lab.chapters import CHAPTERS, find
from harness.lab.target import setting

SECOND = {"LAB_PATIENCE": "1"}  # most of a skeleton hangs in most claims
NOT_JUDGED = 2  # exit status
TOO_BUSY = "not judged: this machine is too busy"
JOBS = "4"  # waiting costs no processor

# How many of the own points of a chapter an untouched skeleton gets, and the claims that give them:
# each holds before its TODO is done, for this reason. Another claim that does so pays for no work:
# let it ask for something more, or give its points to one that fails.
BOUND = "a bound, which a server that does less keeps as well"
EARLIER = "the chapter before does it already, and the TODO can break it"
STUB = "the stub does it already, and the TODO can break it"
REFUSED = "what is wrong is refused, and the skeleton answers nothing else either"
POLL = "--backend poll and select are given; TODOs of this chapter can break them"
UNTOUCHED = {
    "03": (
        15.75,
        {
            "test_03_replies_come_at_once": EARLIER,
            "test_03_readiness_that_was_none": EARLIER,
            "test_03_no_descriptor_is_closed_twice": EARLIER,
            "test_03_resets_are_noticed": EARLIER,
            "test_03_all_leave_in_one_iteration": EARLIER,
            "test_03_leave_and_arrive_in_one_iteration": EARLIER,
            "test_03_out_of_descriptors_is_told_once": BOUND,
        },
    ),
    "04": (
        14.7,
        {
            "test_04_long_stream_costs_no_memory": STUB,
            "test_04_cost_grows_with_the_bytes": BOUND,
            "test_04_polite_client_beside_a_fire_hose": EARLIER,
            "test_04_others_are_served_promptly": EARLIER,
            "test_04_waiting_for_a_reader_uses_no_cpu": EARLIER,
            "test_04_memory_that_is_refused_loses_none": BOUND,
            "test_04_declared_length_costs_no_memory": BOUND,
        },
    ),
    "05": (0.7, {"test_05_refuses_wrong_options": REFUSED}),
    "06": (
        18.9,
        {
            "test_06_six_hundred_clients": POLL,
            "test_06_many_connect_at_once": POLL,
            "test_06_select_and_poll": POLL,
            "test_06_stops_with_each_backend": POLL,
            "test_06_select_and_poll_use_no_cpu": POLL,
            "test_06_refuses_an_unknown_backend": REFUSED,
            "test_06_no_read_in_vain": EARLIER,
            "test_06_silence_after_a_burst": EARLIER,
            "test_06_eof_with_the_last_bytes": EARLIER,
            "test_06_urgent_data_between_frames": EARLIER,
            "test_06_share_of_an_iteration": EARLIER,
        },
    ),
    "07": (
        18.2,
        {
            "test_07_messages_cut_short": REFUSED,
            "test_07_arguments_that_make_no_sense": REFUSED,
            "test_07_refuses_wrong_options": REFUSED,
            "test_07_many_timers_cost_n_log_n": BOUND,
            "test_07_cancel": BOUND,
            "test_07_alarms_hold_32_mib": BOUND,
            "test_07_memory": BOUND,
            "test_07_stop_with_alarms": BOUND,
            "test_07_frame_too_long_ends_alarms": BOUND,
            "test_07_time_of_day_is_set": BOUND,
            "test_07_server_whose_time_of_day_is_set": STUB,
            "test_07_every_byte_counts": BOUND,
            "test_07_idle_waits_for_alarms": BOUND,
            "test_07_honest_senders_are_not": BOUND,
            "test_07_own_pauses_do_not_count": BOUND,
        },
    ),
    "08": (
        6.3,
        {
            "test_08_every_state_and_each_end": BOUND,
            "test_08_hundred_that_never_read": BOUND,
            "test_08_steady_reader": EARLIER,
            "test_08_calls_of_steady_clients": EARLIER,
            "test_08_a_send_takes_of_the_budget": BOUND,
            "test_08_more_than_a_turn_both_ways": EARLIER,
        },
    ),
    "09": (
        5.6,
        {
            "test_09_refuses_wrong_threads": REFUSED,
            "test_09_tasks_wait_in_line": STUB,
            "test_09_arrivals_that_fail": STUB,
            "test_09_broadcast_malformed": REFUSED,
            "test_09_stops_under_load": EARLIER,
        },
    ),
}

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=slug)


def steps():
    """Each chapter with how many of its TODOs are solved: none of them to all but one."""
    solved = [
        (chapter, count) for chapter in CHAPTERS for count in range(len(skeleton.todos(chapter)))
    ]
    return some(solved, 2, "steps of a student", lambda step: f"{step[0].slug}-{step[1]}")


@pytest.fixture(scope="module")
def hasty():
    with Grader(SECOND) as grader:
        yield grader


@pytest.fixture(scope="module")
def patient():
    with Grader() as grader:
        yield grader


def graded_tests(grader, chapter, solved, directory, *words) -> dict[str, dict]:
    """The tests of a grade of the chapter with its first `solved` TODOs solved, by name.

    Many grades run side by side. A claim about pauses may be not judged then, as it should be.
    """
    source = directory / f"{chapter.number}-{solved}"
    skeleton.write(chapter, source, solved)
    words = ["--chapter", chapter.number, "--dir", str(source), *words]
    graded = grader.grade([*words, "--jobs", JOBS])
    assert graded.status in (0, 1, NOT_JUDGED) and not graded.stderr
    tests = {test["extra_data"]["test"]: test for test in graded.results["tests"]}
    for name, test in tests.items():
        judged = test.get("status") in ("passed", "failed")
        assert judged or TOO_BUSY in test["output"], f"{name}: {test['output']}"
    return tests


@pytest.mark.parametrize("chapter, solved", steps())
def test_a_step_is_paid(chapter, solved, hasty, tmp_path):
    """The tests that the solved TODOs name are passed, and that of the next one is not."""
    todos = skeleton.todos(chapter)[: solved + 1]
    only = ",".join(todo.test for todo in todos)
    tests = graded_tests(hasty, chapter, solved, tmp_path, "--only", only)
    for todo in todos[:-1]:
        found = tests[todo.test]
        assert found.get("status") == "passed", f"TODO {todo.number} is solved\n{found['output']}"
    unsolved = todos[-1]
    assert (
        tests[unsolved.test].get("status") == "failed"
    ), f"TODO {unsolved.number} is not solved, and {unsolved.test} passes"


def done():
    """Each chapter with how many of its TODOs are solved, but not with all of them: two that are
    drawn, and all with FULL=2."""
    solved = [
        (chapter, count)
        for chapter in CHAPTERS
        for count in range(1, len(skeleton.todos(chapter)))
    ]
    return solved if setting("FULL") == "2" else random.Random(f"{SEED} done").sample(solved, 2)


@pytest.mark.parametrize("chapter, solved", done())
def test_all_claims_of_a_todo_pass_without_the_later_ones(chapter, solved, patient, tmp_path):
    """A student would look for a mistake where there is none."""
    only = f"{chapter.number}.{solved}"
    tests = graded_tests(patient, chapter, solved, tmp_path, "--only", only)
    failed = [test["output"] for test in tests.values() if test.get("status") == "failed"]
    assert not failed, "\n\n".join(failed)


def test_a_reply_too_early_is_no_echo_of_bytes(hasty, tmp_path):
    """Otherwise the first failure of an untouched 01 names a wrong cause, and TODO 2 is not
    paid."""
    tests = graded_tests(hasty, find("01"), 2, tmp_path, "--only", "test_01_first_frames,01.2")
    assert "One read() was taken for one message" in tests.pop("test_01_first_frames")["output"]
    assert {test["status"] for test in tests.values()} == {"passed"}


@pytest.mark.skipif(setting("FULL") != "2", reason="FULL=2 grades every step in full")
@each_chapter
def test_each_step_raises_the_score(chapter, hasty, tmp_path):
    """The score grows with each step, and the last one makes it 100."""
    before = -1
    for solved in range(len(skeleton.todos(chapter))):
        tests = graded_tests(hasty, chapter, solved, tmp_path)
        score = sum(test["score"] for test in tests.values())
        assert score > before, f"TODO {solved} is solved, and the score is {score} after {before}"
        before = score


@pytest.mark.parametrize("chapter", some(CHAPTERS, 1, "untouched skeletons", slug))
def test_an_untouched_skeleton_gets_no_more_points(chapter, hasty, tmp_path):
    """Of its own claims; what it inherits is the work of earlier chapters. And it crashes nowhere;
    SIGTERM and SIGINT are no crashes: the grader sends them, and 01 begins without a handler."""
    tests = graded_tests(hasty, chapter, 0, tmp_path, *drawn_claims(chapter))
    for name, test in tests.items():
        crashed = re.search(r"killed by SIG(?!TERM|INT)", test["output"])
        assert not crashed, f"{name}: {test['output']}"
    points, reasons = UNTOUCHED.get(chapter.number, (0, {}))
    paying = [claim for claim in scoring.load() if claim.chapter == chapter and claim.points]
    names = {claim.name for claim in paying}
    own = {name: test for name, test in tests.items() if name in names}
    paid = {name: test["score"] for name, test in own.items() if test["score"]}
    for_no_work = ", ".join(sorted(paid.keys() - reasons.keys()))
    assert not for_no_work, f"an untouched skeleton passes {for_no_work}: see UNTOUCHED"
    assert sum(paid.values()) <= points + 0.01


@each_chapter
def test_no_two_todos_name_the_same_test(chapter):
    """Otherwise solving the second of them would not be paid."""
    named = [todo.test for todo in skeleton.todos(chapter)]
    assert len(set(named)) == len(named), f"{chapter.slug}: {named}"


@each_chapter
def test_all_todos_solved_are_the_solution(chapter, tmp_path):
    skeleton.write(chapter, tmp_path, len(skeleton.todos(chapter)))
    assert sources.texts(tmp_path) == skeleton.solution_without_marks(chapter)
