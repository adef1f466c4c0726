"""Runs the wrong servers that CH and T name, and prints the kill matrix.

    python3 -m harness wrong-servers           status 0: every one is killed as it is meant to be;
                                         with RULES=1 those that rules make instead, see sweep.py
    python3 -m harness wrong-servers write     writes build/wrong-servers.md, the page of all of them
    python3 -m harness wrong-servers copy      writes two copies of the solution that CH names, without
                                         marks, to build/wrong-servers/a and build/wrong-servers/b
    python3 -m harness wrong-servers todos     prints which TODOs find mistakes in their code, by_todo.py
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from harness.grade import scoring
from harness.maintain.wrong_servers import by_todo, catalogue, matrix, page, sweep
from harness.maintain.wrong_servers.grader import Grader, Graders
from harness.maintain.wrong_servers.judge import ENVIRONMENT, KILLED, Judgement, judge
from harness.maintain.wrong_servers.wrong_server import WrongServer, solution
from harness.submission import chapters, command_line, sources
from harness.submission.skeleton import NoSolutions
from harness.submission.target import WrongUsage, setting

DIRECTORY = chapters.ROOT / "build" / "wrong-servers"
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
        print("usage: python3 -m harness wrong-servers [write | copy | todos]", file=sys.stderr)
        return 2
    return command_line.run("wrong-servers", body, NoSolutions)


def run() -> int:
    """Judges what CH, T and FULL say. Returns the exit status."""
    chapter = chapters.find(setting("CH")) if setting("CH") else None
    full = setting("FULL") not in (None, "0")
    claims = scoring.load()
    wrong_servers = catalogue.select(chapter, setting("T"))
    wrong = catalogue.faults(wrong_servers, claims)
    if not wrong_servers:
        wrong = ["no wrong server has this name; solutions/*/wrong-servers.patch have the names"]
    if wrong:
        print(*(f"wrong_servers: {line}" for line in wrong), sep="\n", file=sys.stderr)
        return 2
    judgements = judge_all(wrong_servers, full)
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


def judge_all(wrong_servers: list[WrongServer], full: bool) -> list[Judgement]:
    """Judges them, two at a time; when each is graded in full, one after the other."""
    at_once = 1 if full else JOBS
    return _each(
        wrong_servers, lambda one, grader: judge(one, DIRECTORY, grader, full=full, jobs=JOBS), at_once
    )


def _each(wrong_servers: list[WrongServer], what: Callable[[WrongServer, Grader], T], at_once: int) -> list[T]:
    """What is found of each wrong with a grader, in their order."""
    with Graders(at_once, ENVIRONMENT) as graders, ThreadPoolExecutor(at_once) as pool:

        def one(wrong: WrongServer) -> T:
            with graders.one() as grader:
                return what(wrong, grader)

        return list(pool.map(one, wrong_servers))
