"""The kill matrix as text: a row for each wrong server, then the tests that kill none."""

from __future__ import annotations

from collections.abc import Sequence

from harness.grade.scoring import Claim
from harness.maintain.wrong_servers.catalogue import NAME_WIDTH
from harness.maintain.wrong_servers.judge import BROKEN, KILLED, OTHER_HINT, SURVIVED, Judgement
from harness.maintain.wrong_servers.wrong_server import GROUPS
from harness.submission import chapters

WIDTH = 100
INDENT = " " * 13


def table(judgements: Sequence[Judgement]) -> str:
    """The rows, by chapter and group, and how many were killed."""
    return "\n".join([*rows(judgements), summary(judgements)])


def rows(judgements: Sequence[Judgement]) -> list[str]:
    """A line for each judgement, by chapter and group, each with its title."""
    lines = []
    for chapter in chapters.CHAPTERS:
        for group in GROUPS:
            found = [
                judgement
                for judgement in judgements
                if (judgement.wrong.chapter, judgement.wrong.group) == (chapter, group)
            ]
            if found:
                lines += [
                    f"{chapter.number}  {group}",
                    *(row for one in found for row in _row(one)),
                ]
    return lines


def summary(judgements: Sequence[Judgement]) -> str:
    """How many were killed."""
    killed = sum(judgement.verdict == KILLED for judgement in judgements)
    return f"{killed} of {len(judgements)} wrong servers are killed"


def _row(judgement: Judgement) -> list[str]:
    """A line, and a second one for what is not as it is meant."""
    wrong, verdict = judgement.wrong, judgement.verdict
    test = wrong.test[len("test_") :]
    line = f"{verdict:<10} {wrong.name:<{NAME_WIDTH}} {test}  {wrong.hint}"
    if len(line) > WIDTH:
        line = f"{verdict:<10} {wrong.name} {test} {wrong.hint}"
    if verdict == OTHER_HINT:
        return [line, f"{INDENT}killed by another hint: {judgement.hint}"]
    if verdict == BROKEN:
        return [line, *(f"{INDENT}{text}"[:WIDTH] for text in judgement.hint.splitlines()[:5])]
    if verdict == SURVIVED:
        return [line, f"{INDENT}the test passes", *_killers(judgement)]
    return [line, *_killers(judgement)]


def _killers(judgement: Judgement) -> list[str]:
    """The other tests that failed: known only when all of them were asked."""
    others = [name for name in judgement.killers if name != judgement.wrong.test]
    return [f"{INDENT}and {name[len('test_'):]}" for name in others]


def idle_claims(judgements: Sequence[Judgement], claims: Sequence[Claim]) -> str:
    """The claims that failed none of these, a line each; "" if there are none."""
    killers = {name for judgement in judgements for name in judgement.killers}
    idle = [claim.name for claim in claims if claim.name not in killers]
    return "\n".join(["these tests kill nothing:", *(f"  {name}" for name in idle)] if idle else [])
