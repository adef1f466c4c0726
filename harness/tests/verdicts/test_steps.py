"""Students who solve the TODOs of a chapter in their order are paid at each step.

Every chapter is graded with its first 0, 1, ... TODOs solved, by the tests that these TODOs and the
next one name: each is failed until its TODO is solved, and passed from then on. With all of them
solved the chapter is the solution. FULL=1 tries every step, else some are drawn, and steps of the
chapters that have changed.
"""

from __future__ import annotations

import random
import re

import pytest

from harness.grade import scoring
from harness.submission import skeleton, sources
from harness.submission.chapters import CHAPTERS, find
from harness.tests import drawn

NOT_JUDGED = 2  # exit status
TOO_BUSY = "not judged: this machine is too busy"
JOBS = "4"  # waiting costs no processor
DRAWN = 2
DONE = 8  # with FULL=1
# How many of the own points of a chapter an untouched skeleton gets at most: for bounds that a
# server keeps which does less, and for what the chapter before does already.
UNTOUCHED = {"03": 15.75, "04": 14.7, "05": 0.7, "06": 18.9, "07": 18.2, "08": 6.3, "09": 5.6}

STEPS = [(one, count) for one in CHAPTERS for count in range(len(skeleton.todos(one)))]


def steps():
    """Each chapter with how many of its TODOs are solved: none of them to all but one."""
    draw = random.Random(f"{drawn.SEED} steps").sample
    of_changed = [step for step in STEPS if step[0] in drawn.CHANGED]
    chosen = draw(STEPS, DRAWN)
    chosen += draw(of_changed, min(drawn.STEPS_OF_CHANGED, len(of_changed)))
    for step in STEPS:
        marks = [] if step in chosen else [pytest.mark.full("steps of a student")]
        yield pytest.param(*step, id=f"{step[0].slug}-{step[1]}", marks=marks)


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
def test_a_step_is_paid(chapter, solved, grader, tmp_path):
    """The tests that the solved TODOs name are passed, and that of the next one is not."""
    todos = skeleton.todos(chapter)[: solved + 1]
    only = ",".join(todo.test for todo in todos)
    tests = graded_tests(grader, chapter, solved, tmp_path, "--only", only)
    for todo in todos[:-1]:
        found = tests[todo.test]
        assert found.get("status") == "passed", f"TODO {todo.number} is solved\n{found['output']}"
    unsolved = todos[-1]
    assert (
        tests[unsolved.test].get("status") == "failed"
    ), f"TODO {unsolved.number} is not solved, and {unsolved.test} passes"


def done():
    """Some chapters with how many of their TODOs are solved, but neither none nor all of them."""
    solved = [step for step in STEPS if step[1]]
    drawn_now = random.Random(f"{drawn.SEED} done").sample(solved, DONE if drawn.FULL else 1)
    return [pytest.param(*step, id=f"{step[0].slug}-{step[1]}") for step in drawn_now]


@pytest.mark.parametrize("chapter, solved", done())
def test_all_claims_of_a_todo_pass_without_the_later_ones(chapter, solved, patient, tmp_path):
    """A student would look for a mistake where there is none."""
    only = f"{chapter.number}.{solved}"
    tests = graded_tests(patient, chapter, solved, tmp_path, "--only", only)
    failed = [test["output"] for test in tests.values() if test.get("status") == "failed"]
    assert not failed, "\n\n".join(failed)


def test_a_reply_too_early_is_no_echo_of_bytes(grader, tmp_path):
    """Otherwise the first failure of an untouched 01 names a wrong cause, and TODO 2 is not
    paid."""
    tests = graded_tests(grader, find("01"), 2, tmp_path, "--only", "test_01_first_frames,01.2")
    assert "One read() was taken for one message" in tests.pop("test_01_first_frames")["output"]
    assert {test["status"] for test in tests.values()} == {"passed"}


@pytest.mark.full("untouched skeletons")
@drawn.each_chapter
def test_an_untouched_skeleton_gets_no_more_points(chapter, grader, tmp_path):
    """Of its own claims; what it inherits is the work of earlier chapters. And it crashes nowhere;
    SIGTERM and SIGINT are no crashes: the grader sends them, and 01 begins without a handler."""
    tests = graded_tests(grader, chapter, 0, tmp_path, *drawn.drawn_claims(chapter))
    for name, test in tests.items():
        crashed = re.search(r"killed by SIG(?!TERM|INT)", test["output"])
        assert not crashed, f"{name}: {test['output']}"
    own = {claim.name for claim in scoring.load() if claim.chapter == chapter and claim.points}
    paid = {name: test["score"] for name, test in tests.items() if name in own and test["score"]}
    assert sum(paid.values()) <= UNTOUCHED.get(chapter.number, 0) + 0.01, paid


def test_all_todos_solved_are_the_solution(tmp_path):
    for chapter in CHAPTERS:
        todos = skeleton.todos(chapter)
        assert len({todo.test for todo in todos}) == len(todos), "solving each of them is paid"
        place = tmp_path / chapter.slug
        skeleton.write(chapter, place, len(todos))
        assert sources.texts(place) == skeleton.solution_without_marks(chapter), chapter.slug
