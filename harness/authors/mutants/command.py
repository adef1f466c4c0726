"""Runs the wrong servers that CH and T name, and prints the kill matrix.

    python3 -m harness mutants           status 0: every one is killed as it is meant to be;
                                         with RULES=1 those that rules make instead, see sweep.py
    python3 -m harness mutants write     writes build/mutants.md, the page of all of them
    python3 -m harness mutants copy      writes two copies of the solution that CH names, without
                                         marks, to build/mutants/a and build/mutants/b
    python3 -m harness mutants todos     prints which TODOs find mistakes in their code, by_todo.py
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from harness.authors.mutants import by_todo, catalogue, matrix, page, sweep
from harness.authors.mutants.grader import Grader, Graders
from harness.authors.mutants.judge import ENVIRONMENT, KILLED, Judgement, judge
from harness.authors.mutants.mutant import Mutant, solution
from harness.grading import scoring
from harness.lab import chapters, command_line, sources
from harness.lab.skeleton import NoSolutions
from harness.lab.target import WrongUsage, setting

DIRECTORY = chapters.ROOT / "build" / "mutants"
JOBS = 2

T = TypeVar("T")


def main(arguments: list[str]) -> int:
    """The command line. Returns the exit status: 0, 1 for a survivor, 2 with a line on stderr."""
    if arguments == ["write"]:
        page.write()
        return 0
    by_rule = setting("RULES") not in (None, "0")
    bodies = {"": sweep.run if by_rule else run, "copy": copy, "todos": todos}
    body = bodies.get(" ".join(arguments))
    if not body:
        print("usage: python3 -m harness mutants [write | copy | todos]", file=sys.stderr)
        return 2
    return command_line.run("mutants", body, NoSolutions)


def run() -> int:
    """Judges what CH, T and FULL say. Returns the exit status."""
    chapter = chapters.find(setting("CH")) if setting("CH") else None
    full = setting("FULL") not in (None, "0")
    claims = scoring.load()
    mutants = catalogue.select(chapter, setting("T"))
    wrong = catalogue.faults(mutants, claims)
    if not mutants:
        wrong = ["no wrong server has this name; solutions/*/wrong.patch have the names"]
    if wrong:
        print(*(f"mutants: {line}" for line in wrong), sep="\n", file=sys.stderr)
        return 2
    judgements = judge_all(mutants, full)
    print(matrix.table(judgements))
    if not chapter and not setting("T"):
        print(matrix.idle_claims(judgements, claims))
    return 0 if all(one.verdict == KILLED for one in judgements) else 1


def copy() -> int:
    """Writes the solution to a and b: `diff -U1 -r a b` then shows what was changed in b."""
    if not setting("CH"):
        raise WrongUsage("which chapter? For instance LAB_CH=03")
    for name in "ab":
        shutil.rmtree(DIRECTORY / name, ignore_errors=True)
        sources.write(DIRECTORY / name, solution(chapters.find(setting("CH"))))
    return 0


def todos() -> int:
    """Prints which of the wrong servers that CH and T name are found by the claims of their
    TODOs."""
    chapter = chapters.find(setting("CH")) if setting("CH") else None
    claims = scoring.load()
    chosen = catalogue.select(chapter, setting("T"))
    asked = _each(chosen, lambda one, grader: by_todo.ask(one, claims, DIRECTORY, grader), JOBS)
    print(by_todo.table(asked))
    return 0


def judge_all(mutants: list[Mutant], full: bool) -> list[Judgement]:
    """Judges them, two at a time; when each is graded in full, one after the other."""
    at_once = 1 if full else JOBS
    return _each(
        mutants, lambda one, grader: judge(one, DIRECTORY, grader, full=full, jobs=JOBS), at_once
    )


def _each(mutants: list[Mutant], what: Callable[[Mutant, Grader], T], at_once: int) -> list[T]:
    """What is found of each mutant with a grader, in their order."""
    with Graders(at_once, ENVIRONMENT) as graders, ThreadPoolExecutor(at_once) as pool:

        def one(mutant: Mutant) -> T:
            with graders.one() as grader:
                return what(mutant, grader)

        return list(pool.map(one, mutants))
