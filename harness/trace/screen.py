"""A timeline in the terminal: a line for each event, a mark in the lane of its connection."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from harness.evidence.conversation import describe_bytes
from harness.evidence.printable import printable
from harness.trace.fold import Fold, fold
from harness.trace.timeline import ACCEPTS, CLIENT, INPUTS, OUTPUTS, WAITS, Event, Timeline

WIDTH = 100  # columns
MOST_LANES = 8  # that get a column of their own
MOST_LINES = 160  # of events, unless all are asked for
HEX_BYTES = 8  # shown in a line
PAUSE = 0.2  # seconds without an event that get a line of their own

# What the clients do, as words.
CLIENT_WORDS = {
    "connect": "connects",
    "send": "sends",
    "recv": "gets",
    "fin": "sees the end of the connection",
    "reset": "sees that the connection was reset",
    "silence": "has waited, and nothing came",
    "refused": "cannot send: the connection is gone",
    "half-close": "half-closes: it sends no more",
    "close": "closes",
    "abort": "resets the connection",
}


def render(timeline: Timeline, width: int = WIDTH, lines: int = MOST_LINES) -> str:
    """The whole timeline as text; with more than `lines` of events, its middle is left out."""
    told = list(_told(timeline, width))
    if len(told) > lines:
        left_out = len(told) - lines
        marked = next((i for i, line in enumerate(told) if line.startswith("->")), len(told))
        tail = max(0, min(len(told), marked + lines // 4) - lines // 2)
        gap = f"   ... {left_out} lines left out here; V=1 shows them, and so does the picture"
        told = [*told[: lines // 2], gap, *told[max(lines // 2, tail) :][: lines // 2]]
    head = [_row("", "ms", [lane.name for lane in timeline.lanes[:MOST_LANES]], "", width)]
    if timeline.left_out:
        head.append(
            f"   {timeline.left_out:,} calls of the server are not shown: there were too many"
        )
    return "\n".join([*head, *told, "", *_ending(timeline, width)])


def _told(timeline: Timeline, width: int) -> Iterator[str]:
    before = 0.0
    for one in fold(timeline.events):
        if one.first.at - before > PAUSE:
            yield f"   {'':>9}  {one.first.at - before:,.1f} s in which nothing happens"
        before = one.end
        if one.times == 1:
            yield _line(timeline, one.first, sentence(timeline, one.first), width)
        elif len(one.rounds) == 1:
            yield _line(timeline, one.first, repeated(timeline, one), width)
        else:
            yield from _rounds(timeline, one, width)


def _rounds(timeline: Timeline, one: Fold, width: int) -> Iterator[str]:
    yield _row("", f"{1000 * one.first.at:.3f}", _blank(timeline), f"{one.times:,} times:", width)
    for events in one.rounds:
        text = f"  {repeated(timeline, Fold(one.times, [events]), times=False)}"
        yield _row(_arrow(events[0]), "", _marks(timeline, events[0]), text, width)


def _line(timeline: Timeline, event: Event, text: str, width: int) -> str:
    return _row(_arrow(event), f"{1000 * event.at:.3f}", _marks(timeline, event), text, width)


def _arrow(event: Event) -> str:
    return "->" if event.failed else ""


def _row(arrow: str, time: str, marks: Sequence[str], text: str, width: int) -> str:
    lanes = " ".join(f"{mark[:2]:2}" for mark in marks)
    line = f"{arrow:2} {time:>9}  {lanes}  {text}".rstrip()
    return line if len(line) <= width else line[: width - 3] + "..."


def _blank(timeline: Timeline) -> list[str]:
    return ["."] * min(MOST_LANES, len(timeline.lanes))


def _marks(timeline: Timeline, event: Event) -> list[str]:
    """A mark in the lane of the event; a dot in the others."""
    marks = _blank(timeline)
    lanes = {event.lane}
    ready = {one.name for one in event.watched if one.ready}
    lanes |= {i for i, lane in enumerate(timeline.lanes) if lane.name in ready}
    for lane in lanes & set(range(len(marks))):
        marks[lane] = _mark(event)
    return marks


def _mark(event: Event) -> str:
    if event.error and event.what not in WAITS:
        return "!"
    if event.side == CLIENT:
        return {"send": ">", "recv": "<", "connect": "+"}.get(event.what, "x")
    if event.what in INPUTS:
        return "r"
    if event.what in OUTPUTS:
        return "w"
    return {"close": "c"}.get(event.what, "a" if event.what in ACCEPTS else "*")


# An event in words


def sentence(timeline: Timeline, event: Event) -> str:
    """What happened, as one line."""
    if event.side == CLIENT:
        return _of_client(timeline, event)
    fault = "   (the grader's doing)" if event.fault else ""
    return f"    {_of_server(timeline, event)}{_shown(event)}{fault}"


def _of_client(timeline: Timeline, event: Event) -> str:
    words = f"{_name(timeline, event)} {CLIENT_WORDS.get(event.what, event.what)}"
    return f"{words} {describe_first(event)}" if event.what in ("send", "recv") else words


def describe_first(event: Event) -> str:
    """`4 bytes: 05 00 00 00`, or the size and the first bytes."""
    if event.moved == len(event.data):
        return describe_bytes(event.data) + _hex(event, len(event.data) > 16)
    return f"{_bytes(event.moved)}{_hex(event, True)}"


def _hex(event: Event, wanted: bool) -> str:
    return f": {event.data[:HEX_BYTES].hex(' ')} ..." if wanted and event.data else ""


def _of_server(timeline: Timeline, event: Event) -> str:
    name = _name(timeline, event)
    if event.what in WAITS:
        return _of_wait(event)
    if event.what in ACCEPTS:
        return (
            f"{event.what}() = {event.error or f'descriptor {event.moved}'}{name and f', {name}'}"
        )
    if event.what == "close":
        which = name or f"descriptor {event.fd}"
        return f"close() of {which} {event.error}".rstrip()
    result = event.error or f"{event.moved:,}"
    of = f"{name}, " if name else f"descriptor {event.fd}, "
    return f"{event.what}({of}{event.asked:,}) = {result}"


def _of_wait(event: Event) -> str:
    """What was ready, and what is new of what is waited for."""
    asked = [
        f"{one.name} for {one.interest or 'nothing'}" for one in event.watched if not one.ready
    ]
    found = [f"{one.name}: {one.ready}" for one in event.watched if one.ready]
    took = f" after {1000 * event.took:,.1f} ms" if event.took > PAUSE / 20 else ""
    text = f"{event.what}() = {event.error or ', '.join(found) or event.moved}{took}"
    return text + (f"   (waits now: {', '.join(asked)})" if asked else "")


def _shown(event: Event) -> str:
    if not event.data or not event.moved:
        return ""
    more = " ..." if event.moved > HEX_BYTES else ""
    return f"   {event.data[:HEX_BYTES].hex(' ')}{more} |{printable(event.data[:HEX_BYTES])}|"


def repeated(timeline: Timeline, one: Fold, times: bool = True) -> str:
    """Events of one kind: `read(A, 65,536) = 65,536 x 480`, or from the least to the most."""
    events, first = one.rounds[0], one.rounds[0][0]
    sizes = [event.moved for event in events]
    count = f" x {one.times:,}" if times else ""
    same = len({(event.moved, event.asked) for event in events}) == 1
    if same or first.what in WAITS or not any(sizes):
        return f"{sentence(timeline, _bare(first))}{count}"
    some = f"{_bytes(sizes[0])} each time"
    if len(set(sizes)) > 1:
        some = f"{min(sizes):,} to {_bytes(max(sizes))}, {sum(sizes):,} in all"
    name = _name(timeline, first)
    if first.side == CLIENT:
        return f"{name} {CLIENT_WORDS[first.what]} {some}{count}"
    return f"    {first.what}({name}): {some}{count}"


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"


def _bare(event: Event) -> Event:
    """Without its bytes, which are not those of the others."""
    return Event(**{**vars(event), "data": b""})


def _name(timeline: Timeline, event: Event) -> str:
    return "" if event.lane is None else timeline.lanes[event.lane].name


def _ending(timeline: Timeline, width: int) -> Iterator[str]:
    yield "At the end"
    for line in timeline.ending:
        yield from textwrap.wrap(line, width - 3, initial_indent="   ", subsequent_indent="     ")
