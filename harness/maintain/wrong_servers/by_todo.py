"""Is a mistake in the code of a TODO found by the claims of that TODO, or only by later ones?

A student who has done TODO k grades it with T=NN.k. What those claims let pass is blamed on a
later TODO, or on nobody. So each wrong server that differs from the solution in the code of a TODO
is asked by the claims of this TODO alone; of several TODOs, one of them is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.grade.scoring import FAILED, Claim
from harness.maintain.wrong_servers.grader import Grader
from harness.maintain.wrong_servers.judge import until_lost
from harness.maintain.wrong_servers.wrong_server import WrongServer
from harness.submission import skeleton, sources

LIMIT_SECONDS = 300  # of a grade by the claims of some TODOs


@dataclass(frozen=True)
class Asked:
    """A wrong server with changes in the code of `todos`, and whether a claim of one finds it."""

    wrong: WrongServer
    todos: tuple[int, ...]
    found: bool


def changed_todos(wrong: WrongServer) -> tuple[int, ...]:
    """The numbers of the TODOs whose code in the solution is not in the wrong server as it is."""
    numbers = {todo.region: todo.number for todo in skeleton.todos(wrong.chapter)}
    wrong = wrong.sources()
    found = set()
    for path in sources.files(wrong.chapter.solution_dir):
        text = wrong[sources.name_of(path, wrong.chapter.solution_dir)]
        for region in skeleton.REGION.finditer(path.read_text()):
            if region["name"] in numbers and skeleton.plain(region["code"]) not in text:
                found.add(numbers[region["name"]])
    return tuple(sorted(found))


def ask(wrong: WrongServer, claims: Sequence[Claim], directory: Path, grader: Grader) -> Asked:
    """Whether the claims of its TODOs find it. `grader`: see judge(). Its sources go into
    `directory`. The claim that the catalogue names has been seen to fail, and is not asked."""
    todos = changed_todos(wrong)
    names = [one.name for one in claims if one.chapter == wrong.chapter and one.todo in todos]
    found = wrong.test in names or (bool(names) and _fails(wrong, names, directory, grader))
    return Asked(wrong, todos, found)


def _fails(wrong: WrongServer, names: list[str], directory: Path, grader: Grader) -> bool:
    source = directory / wrong.id
    wrong.write(source)
    graded = until_lost(wrong.chapter, source, names, grader, LIMIT_SECONDS)
    if graded.results is None:
        raise RuntimeError(f"{wrong.id} was not judged: {graded.stderr}")
    return any(test.get("status") == FAILED for test in graded.results["tests"])


def table(asked: Iterable[Asked]) -> str:
    """For docs/sweep.md: a row for each TODO, which counts a server in the first of its TODOs; and
    then the others by name."""
    asked = [one for one in asked if one.todos]
    lines = ["| TODO | wrong servers | found by its claims |", "|---|---|---|"]
    places = sorted({_place(one) for one in asked})
    lines += [_row(place, [one for one in asked if _place(one) == place]) for place in places]
    lines += [_row("all", asked), ""]
    missed = sorted((one for one in asked if not one.found), key=_place)
    return "\n".join([*lines, *map(_missed, missed)])


def _place(one: Asked) -> str:
    return f"{one.wrong.chapter.number}.{one.todos[0]}"


def _row(place: str, those: Sequence[Asked]) -> str:
    return f"| {place} | {len(those)} | {sum(one.found for one in those)} |"


def _missed(one: Asked) -> str:
    return f"- {_place(one)} {one.wrong.name}: {one.wrong.test}"
