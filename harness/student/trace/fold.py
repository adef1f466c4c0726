"""What repeats itself, told once: `poll, read 65,536, write 65,536`, 480 times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.student.trace.timeline import CLOCK, Event

LONGEST = 8  # events, of what repeats itself; longer rounds are those that the shim has found
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

    @property
    def end(self) -> float:
        """When the last of its events was over, in seconds."""
        return self.last.at + self.last.lasted


def fold(events: Sequence[Event]) -> list[Fold]:
    """All events in their order; an event that does not repeat is a fold of one event."""
    known: dict[tuple, int] = {}
    keys = [known.setdefault(_key(event), len(known)) for event in events]
    periods = sorted({*range(1, LONGEST + 1), *(event.round for event in events if event.round)})
    folds: list[Fold] = []
    at = 0
    while at < len(events):
        period, rounds = _best(events, keys, periods, at)
        group = events[at : at + period * rounds]
        times = _times(group, period)
        folds.append(Fold(times, [list(group[place::period]) for place in range(period)]))
        at += len(group)
    return folds


def _key(event: Event) -> tuple:
    """What two events have in common that are told as one. Sizes may differ, zero may not."""
    watched = tuple((one.name, one.interest, one.ready) for one in event.watched)
    moved = event.moved if event.what == CLOCK else event.moved > 0
    return (
        event.side,
        event.thread,
        event.lane,
        event.what,
        event.function,
        event.error,
        event.fault,
        event.failed,
        moved,
        watched,
        event.unsent > 0,
    )


def _best(
    events: Sequence[Event], keys: Sequence[int], periods: Sequence[int], at: int
) -> tuple[int, int]:
    """The period and the number of rounds that tell most from here on; (1, 1) if none repeats."""
    best, told = (1, 1), 0
    for period in periods:
        if at + period > len(keys):
            break
        if at + period < len(keys) and keys[at] != keys[at + period]:
            continue  # by far the most common case
        rounds = 1
        while keys[at : at + period] == keys[at + rounds * period : at + (rounds + 1) * period]:
            rounds += 1
        times = _times(events[at : at + period * rounds], period)
        if times >= LEAST and period * times > told:
            best, told = (period, rounds), period * times
    return best


def _times(group: Sequence[Event], period: int) -> int:
    """How often rounds of so many events came: an event of them can stand for many."""
    rounds = [group[start : start + period] for start in range(0, len(group), period)]
    return sum(min(event.times for event in events) for events in rounds)
