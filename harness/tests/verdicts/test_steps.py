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
from harness.submission import skeleton, sources, todos
from harness.submission.chapters import CHAPTERS, find
from harness.tests import drawn, golden

TOO_BUSY = "not judged: this machine is too busy"
DRAWN = 2
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


def step_graded(grader, chapter, solved, directory, *words) -> dict:
    """The result of the chapter with its first `solved` TODOs solved.

    Many grades run side by side. A claim about pauses may be not judged then, as it should be.
    """
    source = directory / f"{chapter.number}-{solved}"
    skeleton.write(chapter, source, solved)
    words = ["--chapter", chapter.number, "--dir", str(source), *words]
    graded = grader.grade([*words, "--jobs", "4"])
    assert graded.status in (0, 1, 2) and not graded.stderr
    for test in graded.results["tests"]:
        judged = test.get("status") in ("passed", "failed")
        assert judged or TOO_BUSY in test["output"], f"{test['extra_data']}: {test['output']}"
    return graded.results


def graded_tests(*what) -> dict[str, dict]:
    """The tests of step_graded(), by name."""
    return {test["extra_data"]["test"]: test for test in step_graded(*what)["tests"]}


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


def whole():
    """Some steps, and all to record which TODO each guard needs. A server of 10 or 11 that is half
    done serves nobody, and a grade takes minutes."""
    quick = [step for step in STEPS if step[0].number not in ("10", "11")]
    return STEPS if golden.RECORD else random.Random(f"{drawn.SEED} whole").sample(quick, 6)


@pytest.mark.full("all claims at a step")
@pytest.mark.parametrize("chapter, solved", whole(), ids=lambda one: getattr(one, "slug", one))
def test_each_todo_adds_points(chapter, solved, patient, tmp_path):
    """A step has the points of its TODOs, so no claim needs a later one than its own. Guards that
    fail wait for a later TODO: with RECORD=1, submission/todos.json gets its number."""
    result = step_graded(patient, chapter, solved, tmp_path)
    found = [{**test["extra_data"], **test} for test in result["tests"]]
    broken = {one["test"] for one in found if "costs" in one and one.get("status") == "failed"}
    needs = todos.needs(chapter)
    if golden.RECORD:
        needs |= {name: max(needs.get(name, 0), solved + 1) for name in broken}
        todos.FILE.write_bytes(skeleton.worths_as_json())
    assert {name for name in broken if needs.get(name, 0) <= solved} == set()
    points = [todo.points for todo in skeleton.todos(chapter)]
    assert result["score"] >= sum(points[:solved]), result["extra_data"]["cap"]


def test_a_reply_too_early_is_no_echo_of_bytes(grader, tmp_path):
    """Otherwise the first failure of an untouched 01 names a wrong cause, and TODO 2 is not
    paid."""
    tests = graded_tests(grader, find("01"), 2, tmp_path, "--only", "test_01_first_frames,01.2")
    assert "One read() was taken for one message" in tests.pop("test_01_first_frames")["output"]
    assert {test["status"] for test in tests.values()} == {"passed"}


@pytest.mark.full("untouched skeletons")
@drawn.each_chapter
def test_an_untouched_skeleton_gets_no_points(chapter, grader, tmp_path):
    """It fails all claims that earn points, and passes the guards among the chapter's own claims.
    And it crashes nowhere; SIGTERM and SIGINT are no crashes: the grader sends them, and 01 begins
    without a handler."""
    tests = graded_tests(grader, chapter, 0, tmp_path, *drawn.drawn_claims(chapter))
    for name, test in tests.items():
        crashed = re.search(r"killed by SIG(?!TERM|INT)", test["output"])
        assert not crashed, f"{name}: {test['output']}"
    own = [c for c in scoring.load() if c.chapter == chapter and not c.explains]
    wrong = [c.name for c in own if (tests[c.name].get("status") == "passed") != c.guard]
    assert not wrong, "guards are claims that an untouched skeleton passes, and no others"


def test_all_todos_solved_are_the_solution(tmp_path):
    for chapter in CHAPTERS:
        todos = skeleton.todos(chapter)
        assert len({todo.test for todo in todos}) == len(todos), "solving each of them is paid"
        place = tmp_path / chapter.slug
        skeleton.write(chapter, place, len(todos))
        assert sources.texts(place) == skeleton.solution_without_marks(chapter), chapter.slug
