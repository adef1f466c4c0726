"""What repeats itself, told once: `poll, read 65,536, write 65,536`, 480 times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.student.trace import words
from harness.student.trace.timeline import CLIENT, CLOCK, SERVER, WAITS, Event

LONGEST = 8  # events, of what repeats itself; longer rounds are those that the shim has found
LEAST = 3  # times, to be worth it
SPIN_LEAST = 1000  # rounds
ROUND_SECONDS = 0.001  # a round that takes longer waits for something
SPINS_TOLD = 3  # the worst


@dataclass
class Fold:
    """`times` rounds of the same events; `rounds[i]` are the events of one kind, in all rounds."""

    times: int
    rounds: list[list[Event]]

    @property
    def first(self) -> Event:
        return self.rounds[0][0]

    @property
    def end(self) -> float:
        """When the last of its events was over, in seconds."""
        last = self.rounds[-1][-1]
        return last.at + last.lasted


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
    who = (event.side, event.thread, event.lane, event.what, event.said)
    return (*who, event.error, event.fault, event.failed, moved, watched, event.unsent > 0)


def _best(
    events: Sequence[Event], keys: Sequence[int], periods: Sequence[int], at: int
) -> tuple[int, int]:
    """The period and the number of rounds that tell most from here on; (1, 1) if none repeats."""
    best, most = (1, 1), 0
    for period in periods:
        if at + period > len(keys):
            break
        if at + period < len(keys) and keys[at] != keys[at + period]:
            continue  # by far the most common case
        rounds = 1
        while keys[at : at + period] == keys[at + rounds * period : at + (rounds + 1) * period]:
            rounds += 1
        times = _times(events[at : at + period * rounds], period)
        if times >= LEAST and period * times > most:
            best, most = (period, rounds), period * times
    return best


def _times(group: Sequence[Event], period: int) -> int:
    """How often rounds of so many events came: an event of them can stand for many."""
    starts = range(0, len(group), period)
    return sum(min(event.times for event in group[at : at + period]) for at in starts)


def kinds(rounds: Iterable[list[Event]]) -> list[list[list[Event]]]:
    """The events of a round by kind: neighbours that differ in their connections alone are
    together."""
    found: list[list[list[Event]]] = []
    for events in rounds:
        if found and _alike(found[-1][0][0], events[0]):
            found[-1].append(events)
        else:
            found.append([events])
    return found


def _alike(one: Event, other: Event) -> bool:
    if one.side == CLIENT or one.what in WAITS or None in (one.lane, other.lane):
        return False
    a, b = (one.side, one.what, one.error), (other.side, other.what, other.error)
    return a == b and (one.moved > 0) == (other.moved > 0)


# What a server does again and again, and which gets it nowhere


def spins(one: Fold) -> bool:
    """Returns true if nothing moves in it, and it never waits."""
    if one.times < SPIN_LEAST or (one.end - one.first.at) / one.times > ROUND_SECONDS:
        return False
    calls = [events[0] for events in one.rounds if events[0].what not in WAITS]
    return not any(one.side != SERVER or one.what == "close" or one.moved for one in calls)


def told(folds: Iterable[Fold]) -> list[str]:
    """`SPINS: 18,729,586 times poll() = A: input`; the worst is first."""
    found: Counter[str] = Counter()
    for one in filter(spins, folds):
        calls = [words.alike(kind).strip() for kind in kinds(one.rounds)]
        waits = any(events[0].what in WAITS for events in one.rounds)
        found["; ".join(calls) + ("" if waits else ", and it never waits")] += one.times
    return [f"SPINS: {times:,} times {calls}" for calls, times in found.most_common(SPINS_TOLD)]
