"""An event in words, and what came again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from harness.failures.conversation import describe_bytes
from harness.failures.printable import printable
from harness.student.trace.fold import Fold
from harness.student.trace.timeline import (
    ACCEPTS,
    CLIENT,
    CLOCK,
    IN_CALL,
    LOST,
    SIGNAL,
    WAITS,
    Event,
    Ready,
    Timeline,
    descriptors,
    names,
)

HEX_BYTES = 8  # shown in a line
LONG_SECONDS = 0.01  # of a call, that are told

# What the clients do, as words.
CLIENT_WORDS = {
    "connect": "connects",
    "send": "sends",
    "urgent": "sends urgent data,",
    "recv": "gets",
    "fin": "sees the end of the connection",
    "reset": "sees that the connection was reset",
    "silence": "has waited, but nothing came",
    "refused": "cannot send: the connection is gone",
    "half-close": "half-closes: it sends no more",
    "close": "closes",
    "abort": "resets the connection",
}


def sentence(timeline: Timeline, event: Event) -> str:
    """What happened, as one line."""
    if event.what == LOST:
        return f"    {event.times:,} calls that were not recorded: there were too many"
    if event.what == SIGNAL:
        return event.function
    if event.what == CLOCK:
        return f"{milliseconds(event.moved / 1e9)} ms later"
    if event.side == CLIENT:
        return _of_client(timeline, event)
    fault = "   (caused by the grader)" if event.fault else ""
    return f"    {_of_server(timeline, event)}{fault}"


def _of_client(timeline: Timeline, event: Event) -> str:
    words = f"{_name(timeline, event)} {CLIENT_WORDS.get(event.what, event.what)}"
    return f"{words} {describe_first(event)}" if event.data else words


def milliseconds(seconds: float) -> str:
    """`59,999`, or `59,999.999`."""
    return f"{1000 * seconds:,.3f}".rstrip("0").rstrip(".")


def describe_first(event: Event) -> str:
    """`4 bytes: 05 00 00 00`, or the size and the first bytes."""
    if event.moved == len(event.data):
        return describe_bytes(event.data) + _hex(event, len(event.data) > 16)
    return f"{_bytes(event.moved)}{_hex(event, True)}"


def _hex(event: Event, wanted: bool) -> str:
    return f": {event.data[:HEX_BYTES].hex(' ')} ..." if wanted and event.data else ""


def _of_server(timeline: Timeline, event: Event) -> str:
    name = _name(timeline, event)
    if event.what == IN_CALL:
        return _in_call(event)
    if event.what in WAITS:
        return _of_wait(event)
    if event.what in ACCEPTS:
        return (
            f"{event.what}() = {event.error or f'descriptor {event.moved}'}{name and f', {name}'}"
        )
    if event.what == "close":
        which = name or f"descriptor {event.fd}"
        left = f"   ({_bytes(event.unsent)} read and never sent)" if event.unsent else ""
        return f"close() of {which} {event.error}".rstrip() + left
    result = event.error or f"{event.moved:,}"
    of = f"{name}, " if name else f"descriptor {event.fd}, "
    return f"{event.what}({of}{event.asked:,}) = {result}"


def _in_call(event: Event) -> str:
    """`in poll() of 2 descriptors: the listener for input`: since before the test."""
    of = descriptors(event.function, event.asked)
    waits = f": {_interests(event.watched)}" if event.watched else ""
    return f"in {event.function}(){of}{waits}"


def _of_wait(event: Event) -> str:
    """What was ready, and what is new of what is waited for."""
    found = ready(event)
    asked = [one for one in event.watched if not one.ready]
    ms = milliseconds(event.took) if event.own else f"{1000 * event.took:,.1f}"
    took = f" after {ms} ms" if event.took > LONG_SECONDS else ""
    text = f"{event.what}() = {event.error or found or event.moved}{took}"
    return text + (f"   (waits now: {_interests(asked)})" if asked else "")


def ready(event: Event, form: str = "{}: {}", terms: Callable[[str], str] = str) -> str:
    """What a wait has found: `A, B: input; C: output`; or in other `terms`."""
    return _grouped(((one.name, terms(one.ready)) for one in event.watched if one.ready), form)


def _interests(watched: Sequence[Ready]) -> str:
    return _grouped(((one.name, one.interest or "nothing") for one in watched), "{} for {}")


def _grouped(pairs: Iterable[tuple[str, str]], form: str) -> str:
    """Names and what is said of them; names of which the same is said stand together."""
    groups: dict[str, list[str]] = {}
    for name, said in pairs:
        groups.setdefault(said, []).append(name)
    return "; ".join(form.format(names(found), said) for said, found in groups.items())


def first_bytes(event: Event) -> str:
    """The first bytes of a call of the server that has moved some, in hex and as text; "" for other
    events."""
    if event.side == CLIENT or not event.data or not event.moved:
        return ""
    more = " ..." if event.moved > HEX_BYTES else ""
    return f"{event.data[:HEX_BYTES].hex(' ')}{more} |{printable(event.data[:HEX_BYTES])}|"


def repeated(timeline: Timeline, one: Fold, times: bool = True) -> str:
    """Events of one kind: `read(A, 65,536) = 65,536 x 480`, or from the least to the most."""
    events, first = one.rounds[0], one.rounds[0][0]
    count = f" x {one.times:,}" if times else ""
    same = len({(event.moved, event.asked) for event in events}) == 1
    if same or first.what in WAITS or not any(event.moved for event in events):
        return f"{sentence(timeline, _bare(events))}{count}"
    name = _name(timeline, first)
    if first.side == CLIENT:
        return f"{name} {CLIENT_WORDS[first.what]} {_sizes(events)}{count}"
    if first.what in ACCEPTS:
        return f"    {first.what}(){name and f', {name}'}{count}"
    return f"    {first.what}({name}): {_sizes(events)}{count}"


def alike(timeline: Timeline, rounds: Sequence[Sequence[Event]]) -> str:
    """Calls of a round that differ in their connections alone."""
    first = rounds[0][0]
    if len(rounds) == 1:
        return repeated(timeline, Fold(1, [list(rounds[0])]), times=False)
    of = names([_name(timeline, events[0]) for events in rounds])
    what = first.error or _sizes([event for events in rounds for event in events])
    return f"    {first.what}() of {of}: {what}"


def kinds(rounds: Iterable[list[Event]]) -> list[list[list[Event]]]:
    """The events of a round by kind: neighbours that alike() takes for the same are together."""
    found: list[list[list[Event]]] = []
    for events in rounds:
        if found and _are_alike(found[-1][0][0], events[0]):
            found[-1].append(events)
        else:
            found.append([events])
    return found


def _are_alike(one: Event, other: Event) -> bool:
    if one.side == CLIENT or one.what in WAITS or None in (one.lane, other.lane):
        return False
    a, b = (one.side, one.what, one.error), (other.side, other.what, other.error)
    return a == b and (one.moved > 0) == (other.moved > 0)


def _sizes(events: Sequence[Event]) -> str:
    """How many bytes moved, of events that stand for several each."""
    sizes = [event.moved for event in events]
    if len(set(sizes)) == 1:
        return f"{_bytes(sizes[0])} each time"
    total = sum(event.moved * event.times for event in events)
    return f"{min(sizes):,} to {_bytes(max(sizes))}, {total:,} in all"


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"


def _bare(events: Sequence[Event]) -> Event:
    """The first event without its bytes, which the others do not share. Its duration is the
    shortest: the first of many waits may have been the only one that waited."""
    return replace(events[0], data=b"", took=min(map(_took, events)))


def _took(event: Event) -> float:
    """Seconds; of an event that stands for many, its share of the time that they lasted."""
    return min(event.took, event.lasted / event.times) if event.times > 1 else event.took


def _name(timeline: Timeline, event: Event) -> str:
    return "" if event.lane is None else timeline.lanes[event.lane].name
