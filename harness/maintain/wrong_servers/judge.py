"""Grades wrong servers: does the test that is meant for one fail, with the hint that is meant?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.grade.scoring import FAILED, PASSED
from harness.maintain.wrong_servers.grader import Graded, Grader
from harness.maintain.wrong_servers.wrong_server import WrongServer
from harness.submission.chapters import Chapter

SEED = "1"  # else it follows from the sources, and with a line of them each kept failure changes
ENVIRONMENT = {"LAB_PATIENCE": "1.5"}  # seconds, of a Grader: many wrong_servers hang
KILLED, OTHER_HINT, SURVIVED, BROKEN = "killed", "other hint", "SURVIVED", "BROKEN"


@dataclass(frozen=True)
class Judgement:
    """What became of one wrong.

    `verdict`: KILLED; OTHER_HINT, the test failed with `hint` instead of the one meant; SURVIVED;
    BROKEN, it was not judged or does not compile, and `hint` says why. `killers` are all tests that
    failed: one at most, unless every test of the chapter was asked.
    """

    wrong: WrongServer
    verdict: str
    hint: str = ""
    killers: tuple[str, ...] = ()
    text: str = ""  # what a student is told of the failure


def judge(
    wrong: WrongServer, directory: Path, grader: Grader, *, full: bool = False, jobs: int = 1
) -> Judgement:
    """Builds and grades it; its sources go into `directory`. Raises as write() does.

    `grader`: one with ENVIRONMENT. `full`: with all tests of its chapter, `jobs` at a time, and not
    only the one meant for it.
    """
    source = directory / wrong.id
    wrong.write(source)
    words = ["--chapter", wrong.chapter.number, "--dir", str(source), "--seed", SEED]
    words += ["--jobs", str(jobs)] if full else ["--only", wrong.test]
    graded = grader.grade(words)
    if graded.stderr or graded.results is None:
        return Judgement(wrong, BROKEN, graded.stderr)
    return _judgement(wrong, graded.results)


def until_lost(
    chapter: Chapter, source: Path, names: list[str], grader: Grader, seconds: int
) -> Graded:
    """Asks these claims about the sources, until one fails. After so many seconds the others are
    not judged."""
    words = ["--chapter", chapter.number, "--dir", str(source), "--seed", SEED]
    words += ["--only", ",".join(names), "--until-lost", "--jobs", "0", "--limit", str(seconds)]
    return grader.grade(words, 2 * seconds)


def _judgement(wrong: WrongServer, results: dict) -> Judgement:
    """What the results of a grade say about the wrong server."""
    tests = {test.get("extra_data", {}).get("test", ""): test for test in results["tests"]}
    meant = tests.get(wrong.test)
    if meant is None:
        return Judgement(wrong, BROKEN, results["output"])
    failed = tuple(name for name, test in tests.items() if test.get("status") == FAILED)
    if meant.get("status") == PASSED:
        return Judgement(wrong, SURVIVED, killers=failed)
    if meant.get("status") != FAILED:
        return Judgement(wrong, BROKEN, meant["output"], failed)
    hint = meant["extra_data"]["hint"]
    verdict = KILLED if hint == wrong.hint else OTHER_HINT
    return Judgement(wrong, verdict, hint, failed, meant["output"])
