"""An event in words, and what came again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.feedback.conversation import SHOWN_BYTES, counted, describe_bytes
from harness.feedback.printable import printable
from harness.student.trace.timeline import (
    ACCEPTS,
    CLIENT,
    CLOCK,
    INPUTS,
    OUTPUTS,
    SIGNAL,
    WAITS,
    Event,
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
CLIENT_MARKS = {"send": ">", "urgent": ">", "recv": "<", "connect": "+"}


def sentence(event: Event) -> str:
    """What happened, as one line."""
    if event.what == SIGNAL:
        return event.said
    if event.what == CLOCK:
        return f"{milliseconds(event.moved / 1e9)} ms later"
    if event.side == CLIENT:
        return _of_client(event)
    fault = "   (caused by the grader)" if event.fault else ""
    return f"    {_of_server(event)}{fault}"


def milliseconds(seconds: float) -> str:
    """`59,999`, or `59,999.999`."""
    return f"{1000 * seconds:,.3f}".rstrip("0").rstrip(".")


def _of_client(event: Event) -> str:
    words = f"{event.name} {CLIENT_WORDS.get(event.what, event.what)}"
    if not event.data:
        return words
    whole = event.moved == len(event.data)
    size = describe_bytes(event.data) if whole else counted(event.moved, "byte")
    long = not whole or event.moved > SHOWN_BYTES
    return f"{words} {size}" + (f": {event.data[:HEX_BYTES].hex(' ')} ..." if long else "")


def _of_server(event: Event) -> str:
    name = event.name
    if event.what in WAITS:
        return _of_wait(event)
    if event.what in ACCEPTS:
        result = event.error or f"descriptor {event.moved}"
        return f"{event.what}() = {result}{name and f', {name}'}"
    if event.what == "close":
        which = name or f"descriptor {event.fd}"
        left = f"   ({counted(event.unsent, 'byte')} read and never sent)" if event.unsent else ""
        return f"close() of {which} {event.error}".rstrip() + left
    result = event.error or f"{event.moved:,}"
    of = f"{name}, " if name else f"descriptor {event.fd}, "
    return f"{event.what}({of}{event.asked:,}) = {result}"


def _of_wait(event: Event) -> str:
    """What was ready, and what is new of what is waited for."""
    found = _grouped(((one.name, one.ready) for one in event.watched if one.ready), "{}: {}")
    new = [(one.name, one.interest or "nothing") for one in event.watched if not one.ready]
    ms = milliseconds(event.took) if event.own else f"{1000 * event.took:,.1f}"
    took = f" after {ms} ms" if event.took > LONG_SECONDS else ""
    text = f"{event.what}() = {event.error or found or event.moved}{took}"
    return text + (f"   (waits now: {_grouped(new, '{} for {}')})" if new else "")


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


def repeated(events: Sequence[Event], times: int = 0) -> str:
    """Events of one kind: `read(A, 65,536) = 65,536 x 480`, or from the least to the most. `times`:
    0 if it is not to be said."""
    first, count = events[0], f" x {times:,}" if times else ""
    same = len({(event.moved, event.asked) for event in events}) == 1
    if same or first.what in WAITS or not any(event.moved for event in events):
        # Without its bytes, which the others do not share. The first of many waits may have been
        # the only one that waited.
        bare = replace(first, data=b"", took=min(map(_took, events)))
        return f"{sentence(bare)}{count}"
    name = first.name
    if first.side == CLIENT:
        return f"{name} {CLIENT_WORDS[first.what]} {_sizes(events)}{count}"
    if first.what in ACCEPTS:
        return f"    {first.what}(){name and f', {name}'}{count}"
    return f"    {first.what}({name}): {_sizes(events)}{count}"


def alike(rounds: Sequence[Sequence[Event]]) -> str:
    """Calls of a round that differ in their connections alone."""
    first = rounds[0][0]
    if len(rounds) == 1:
        return repeated(rounds[0])
    of = names([events[0].name for events in rounds])
    what = first.error or _sizes([event for events in rounds for event in events])
    return f"    {first.what}() of {of}: {what}"


def _sizes(events: Sequence[Event]) -> str:
    """How many bytes moved, of events that stand for several each."""
    sizes = [event.moved for event in events]
    if len(set(sizes)) == 1:
        return f"{counted(sizes[0], 'byte')} each time"
    total = sum(event.moved * event.times for event in events)
    return f"{min(sizes):,} to {counted(max(sizes), 'byte')}, {total:,} in all"


def _took(event: Event) -> float:
    """Seconds; of an event that stands for many, its share of the time that they lasted."""
    return min(event.took, event.lasted / event.times) if event.times > 1 else event.took


def mark(event: Event) -> str:
    """Its mark in the lane of the connection."""
    if event.error and event.what not in WAITS:
        return "!"
    if event.side == CLIENT:
        return CLIENT_MARKS.get(event.what, "x")
    if event.what in INPUTS:
        return "r"
    if event.what in OUTPUTS:
        return "w"
    return {"close": "c"}.get(event.what, "a" if event.what in ACCEPTS else "*")
