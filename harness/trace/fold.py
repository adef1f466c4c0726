"""What repeats itself, told once: `poll, read 65,536, write 65,536`, 480 times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.trace.timeline import Event

LONGEST = 8  # events, of what repeats itself
LEAST = 3  # times, to be worth it


@dataclass
class Fold:
    """`times` rounds of the same events; `rounds[i]` are the events of one kind, in all rounds."""

    times: int
    rounds: list[list[Event]]

    @property
    def first(self) -> Event:
        return self.rounds[0][0]

    @property
    def last(self) -> Event:
        return self.rounds[-1][-1]


def fold(events: Sequence[Event]) -> list[Fold]:
    """All events in their order; what does not repeat itself is a fold of one event, once."""
    keys = [_key(event) for event in events]
    folds: list[Fold] = []
    at = 0
    while at < len(events):
        period, times = _best(keys, at)
        group = events[at : at + period * times]
        folds.append(Fold(times, [list(group[place::period]) for place in range(period)]))
        at += period * times
    return folds


def _key(event: Event) -> tuple:
    """What two events have in common that are told as one. Sizes may differ, zero may not."""
    watched = tuple((one.name, one.interest, one.ready) for one in event.watched)
    moved = event.moved > 0
    return (
        event.side,
        event.lane,
        event.what,
        event.error,
        event.fault,
        event.failed,
        moved,
        watched,
    )


def _best(keys: Sequence[tuple], at: int) -> tuple[int, int]:
    """The period and the number of rounds that cover most from here on; (1, 1) if none repeats."""
    best = (1, 1)
    for period in range(1, LONGEST + 1):
        times = 1
        while keys[at : at + period] == keys[at + times * period : at + (times + 1) * period]:
            times += 1
        if times >= LEAST and period * times > best[0] * best[1]:
            best = (period, times)
    return best
