"""Which TODOs a wrong server is wrong in, and whether their claims are said to find it."""

import pytest

from harness.authors.mutants import by_todo
from harness.authors.mutants.catalogue import CATALOGUE
from harness.grading import scoring

BY_NAME = {mutant.id: mutant for mutant in CATALOGUE}
CLAIMS = scoring.load()


@pytest.mark.parametrize(
    "name, todos",
    [
        ("04-trims-when-writable", (5,)),
        ("04-no-parse-after-drain", ()),  # it is wrong in what is given
        ("05-messages-stay-in-buffer", ()),
        ("01-maximum-excluded", (2,)),
    ],
)
def test_the_todos_whose_code_is_changed(name, todos):
    assert by_todo.changed_todos(BY_NAME[name]) == todos


@pytest.mark.parametrize(
    "name, found",
    [
        ("04-too-long-closes-at-once", True),  # the claim that the catalogue names is of its TODO
        ("03-does-not-wait-to-write", False),  # that one is of an earlier TODO
    ],
)
def test_what_the_claims_of_a_todo_find(name, found, tmp_path, grader):
    asked = by_todo.ask(BY_NAME[name], CLAIMS, tmp_path, grader)
    assert (asked.todos, asked.found) == ((2,), found)


def test_a_row_for_each_todo_and_the_others_by_name():
    trims, given = BY_NAME["04-trims-when-writable"], BY_NAME["04-no-parse-after-drain"]
    found = by_todo.Asked(BY_NAME["04-too-long-closes-at-once"], (2,), True)
    asked = [by_todo.Asked(trims, (5,), False), found, by_todo.Asked(given, (), False)]
    lines = by_todo.table(asked)
    assert lines.splitlines()[2:] == [
        "| 04.2 | 1 | 1 |",
        "| 04.5 | 1 | 0 |",
        "| all | 2 | 1 |",
        "",
        "- 04.5 trims-when-writable: test_04_memory_is_given_back",
    ]
