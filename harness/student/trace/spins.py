"""What a server does again and again, and which gets it nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.student.trace.fold import Fold
from harness.student.trace.timeline import SERVER, WAITS, Event, Timeline
from harness.student.trace.words import alike, kinds, ready

LEAST = 1000  # rounds
ROUND_SECONDS = 0.001  # a round that takes longer waits for something
WORTH = 0.1  # of the most frequent spin, and another one is told
MILLION = 1_000_000
ABLE = {  # with the longest first: "input" is in "end of input"
    "a closed descriptor": "closed",
    "end of input": "at the end of its input",
    "urgent data": "urgent",
    "a hang-up": "hung up",
    "an error": "in error",
    "output": "writable",
    "input": "readable",
}


def spins(one: Fold) -> bool:
    """Whether nothing moves in it, and it never waits."""
    if one.times < LEAST or (one.end - one.first.at) / one.times > ROUND_SECONDS:
        return False
    return not any(_moves(events[0]) for events in one.rounds)


def _moves(event: Event) -> bool:
    if event.what in WAITS:
        return False
    return event.side != SERVER or event.what == "close" or event.moved > 0


def told(timeline: Timeline, folds: Iterable[Fold]) -> list[str]:
    """`SPINS: poll() returned at once 18.7 million times with A readable`; the worst is first."""
    found: dict[tuple[str, str], int] = {}
    for one in filter(spins, folds):
        words = _sentence(timeline, one)
        found[words] = found.get(words, 0) + one.times
    often = sorted(found.items(), key=lambda pair: -pair[1])
    worth = [(words, times) for words, times in often if times >= often[0][1] * WORTH]
    return [f"SPINS: {one}{_count(times)} times{more}" for (one, more), times in worth]


def _sentence(timeline: Timeline, one: Fold) -> tuple[str, str]:
    """What comes before the number of times, and what comes after it."""
    waits = [events[0] for events in one.rounds if events[0].what in WAITS]
    others = [events for events in one.rounds if events[0].what not in WAITS]
    calls = ", ".join(alike(timeline, kind).strip() for kind in kinds(others))
    if not waits:
        return "", f" {calls}, and it never waits"
    with_what = waits[0].error or ready(waits[0], "{} {}", _able) or "nothing ready"
    then = f"; each time {calls}" if calls else ""
    return f"{waits[0].what}() returned at once ", f" with {with_what}{then}"


def _able(reported: str) -> str:
    """`readable and writable`, of `input and output`."""
    return re.sub("|".join(ABLE), lambda name: ABLE[name[0]], reported)


def _count(times: int) -> str:
    return f"{times / MILLION:.1f} million" if times >= MILLION else f"{times:,}"
