"""Judges the wrong servers that CH and T name, and prints what became of each.

    python3 -m harness wrong-servers           status 0: every one is killed as it is meant to be
    python3 -m harness wrong-servers write     writes build/wrong-servers.md, the page of all
    python3 -m harness wrong-servers copy      writes two copies of the solution that CH names,
                                               without marks, to build/wrong-servers/a and /b
    python3 -m harness wrong-servers since REV how the catalogue differs from that of a commit
"""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

from harness.grade import scoring
from harness.maintain.wrong_servers import catalogue, history, report
from harness.maintain.wrong_servers.grader import Graders
from harness.maintain.wrong_servers.judge import ENVIRONMENT, KILLED, Judgement, judge
from harness.maintain.wrong_servers.wrong_server import WrongServer, solution
from harness.submission import chapters, command_line, sources
from harness.submission.skeleton import NoSolutions
from harness.submission.target import WrongUsage, setting

DIRECTORY = chapters.ROOT / "build" / "wrong-servers"
JOBS = 2
USAGE = "usage: python3 -m harness wrong-servers [write | copy | since REV]"


def main(arguments: list[str]) -> int:
    """The command line. Returns the exit status: 0, 1 for a survivor, 2 with a line on stderr."""
    if arguments == ["write"]:
        report.write_page()
        return 0
    bodies = {(): run, ("copy",): copy}
    if len(arguments) == 2 and arguments[0] == "since":
        bodies[tuple(arguments)] = lambda: since(arguments[1])
    body = bodies.get(tuple(arguments))
    if not body:
        print(USAGE, file=sys.stderr)
        return 2
    return command_line.run("wrong-servers", body, NoSolutions)


def run() -> int:
    """Judges those that CH, T and FULL choose. Returns the exit status."""
    chapter = chapters.find(setting("CH")) if setting("CH") else None
    full = setting("FULL") not in (None, "0")
    claims = scoring.load()
    chosen = catalogue.select(chapter, setting("T"))
    faults = catalogue.faults(chosen, claims)
    if not chosen:
        faults = ["no wrong server has this name; solutions/*/wrong-servers.patch have the names"]
    if faults:
        print(*(f"wrong-servers: {line}" for line in faults), sep="\n", file=sys.stderr)
        return 2
    judgements = judge_all(chosen, full)
    print(report.table(judgements))
    if not chapter and not setting("T"):
        print(report.idle_claims(judgements, claims))
    return 0 if all(one.verdict == KILLED for one in judgements) else 1


def copy() -> int:
    """Writes the solution to a and b: `diff -U1 -r a b` then shows what was changed in b."""
    if not setting("CH"):
        raise WrongUsage("which chapter? For instance LAB_CH=03")
    for name in "ab":
        shutil.rmtree(DIRECTORY / name, ignore_errors=True)
        sources.write(DIRECTORY / name, solution(chapters.find(setting("CH"))))
    return 0


def since(revision: str) -> int:
    """Prints which wrong servers of a commit are gone, or are expected to fail otherwise."""
    print(history.differences(history.at(revision), catalogue.CATALOGUE))
    return 0


def judge_all(chosen: list[WrongServer], full: bool) -> list[Judgement]:
    """Judges them, two at a time; when each is graded in full, one after the other."""
    at_once = 1 if full else JOBS
    with Graders(at_once, ENVIRONMENT) as graders, ThreadPoolExecutor(at_once) as pool:

        def one(wrong: WrongServer) -> Judgement:
            with graders.one() as grader:
                return judge(wrong, DIRECTORY, grader, full=full, jobs=JOBS)

        return list(pool.map(one, chosen))
