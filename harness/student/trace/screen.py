"""A timeline in the terminal: a line for each event, a mark in the lane of its connection."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from harness.student.trace import spins
from harness.student.trace.fold import Fold, fold
from harness.student.trace.timeline import (
    ACCEPTS,
    CLIENT,
    CLOCK,
    INPUTS,
    LOST,
    OUTPUTS,
    WAITS,
    Event,
    Timeline,
)
from harness.student.trace.words import alike, first_bytes, kinds, milliseconds, repeated, sentence

WIDTH = 100  # columns
MOST_LANES = 8  # that get a column of their own
MOST_LINES = 160  # of events, unless V=1
MOST_ROWS = 3  # of one event
TIME_WIDTH = 9  # columns for a time, at least
THREAD_WIDTH = 3  # columns
PAUSE = 0.2  # seconds without an event that get a line of their own


def render(timeline: Timeline, width: int = WIDTH, lines: int = MOST_LINES) -> str:
    """The whole timeline as text; with more than `lines` of events, its middle is left out."""
    folds = fold(timeline.events)
    told = list(_told(timeline, folds, width))
    if len(told) > lines:
        left_out = len(told) - lines
        marked = next((i for i, line in enumerate(told) if line.startswith("->")), len(told))
        tail = max(0, min(len(told), marked + lines // 4) - lines // 2)
        gap = f"   ... {left_out} lines left out here; V=1 shows them, and so does the picture"
        told = [*told[: lines // 2], gap, *told[max(lines // 2, tail) :][: lines // 2]]
    head = _rows(
        "",
        "ms".rjust(_time_width(timeline)) + _thread(timeline),
        [lane.name for lane in timeline.lanes[:MOST_LANES]],
        "",
        width,
    )
    return "\n".join([*head, *told, "", *_ending(ending(timeline, folds), width)])


def ending(timeline: Timeline, folds: Sequence[Fold]) -> list[str]:
    """What to look at first, as sentences."""
    return [*spins.told(timeline, folds), *timeline.ending]


def _told(timeline: Timeline, folds: Sequence[Fold], width: int) -> Iterator[str]:
    before = 0.0
    for one in folds:
        if one.first.at - before > PAUSE and not timeline.own_clock:
            yield f"   {'':>9}  {one.first.at - before:,.1f} s in which nothing happens"
        before = max(before, one.end)
        if one.first.what == CLOCK and len(one.rounds) == 1 and one.times == 1:
            yield f"   {'':{_time_width(timeline)}}  {sentence(timeline, one.first)}"
            continue
        if len(one.rounds) > 1:
            yield from _rounds(timeline, one, width)
            continue
        alone = one.times == 1 or one.first.what == LOST
        text = sentence(timeline, one.first) if alone else repeated(timeline, one)
        data = first_bytes(one.first) if alone else ""
        yield from _line(timeline, one.first, f"{text}{_verdict(one)}", width, data)


def _verdict(one: Fold) -> str:
    return "   SPINS" if spins.spins(one) else ""


def _rounds(timeline: Timeline, one: Fold, width: int) -> Iterator[str]:
    text = f"{one.times:,} times:{_verdict(one)}"
    time = _time(timeline, one.first) + _thread(timeline)
    yield from _rows("", time, _blank(timeline), text, width)
    for kind in kinds(one.rounds):
        marks = _blank(timeline)
        for events in kind:
            _set_marks(timeline, events[0], marks)
        text = f"  {alike(timeline, kind)}"
        time = " " * _time_width(timeline) + _thread(timeline, kind[0][0])
        yield from _rows(_arrow(kind[0][0]), time, marks, text, width)


def _line(timeline: Timeline, event: Event, text: str, width: int, data: str = "") -> Iterator[str]:
    """A line of the trace; `data` follows the text if it fits."""
    marks = _blank(timeline)
    _set_marks(timeline, event, marks)
    time = _time(timeline, event) + _thread(timeline, event)
    rows = _rows(_arrow(event), time, marks, text, width)
    if len(rows) == 1 and len(rows[0]) + len(f"   {data}") <= width:
        rows = [f"{rows[0]}   {data}".rstrip()]
    yield from rows


def _time(timeline: Timeline, event: Event) -> str:
    return _milliseconds(timeline, event).rjust(_time_width(timeline))


def _thread(timeline: Timeline, event: Event | None = None) -> str:
    """A column for the thread, if the server has several."""
    if timeline.threads < 2:
        return ""
    return f" {f'T{event.thread}' if event and event.thread else '':{THREAD_WIDTH}}"


def _milliseconds(timeline: Timeline, event: Event) -> str:
    return milliseconds(event.own) if timeline.own_clock else f"{1000 * event.at:.3f}"


def _time_width(timeline: Timeline) -> int:
    """Columns for the longest time. Time only goes forward, so that is the last, or one with a part
    of a millisecond."""
    if not timeline.own_clock:
        return TIME_WIDTH
    return max(TIME_WIDTH, *(len(_milliseconds(timeline, one)) for one in timeline.events))


def _arrow(event: Event) -> str:
    return "->" if event.failed else ""


def _rows(arrow: str, time: str, marks: Sequence[str], text: str, width: int) -> list[str]:
    """One line, or some if the text is long."""
    lanes = " ".join(f"{mark[:2]:2}" for mark in marks)
    head = f"{arrow:2} {time}  {lanes}  "
    indent = " " * (len(text) - len(text.lstrip()))
    room = max(width - len(head), WIDTH // 3)
    rows = textwrap.wrap(text, room, subsequent_indent=f"{indent}  ", drop_whitespace=True)
    if len(rows) > MOST_ROWS:
        rows = [*rows[: MOST_ROWS - 1], f"{indent}  ..."]
    more = " " * (5 + len(time)) + " ".join(f"{'.' if mark else '':2}" for mark in marks) + "  "
    return [f"{more if number else head}{row}".rstrip() for number, row in enumerate(rows or [""])]


def _blank(timeline: Timeline) -> list[str]:
    return ["."] * min(MOST_LANES, len(timeline.lanes))


def _set_marks(timeline: Timeline, event: Event, marks: list[str]) -> None:
    """A mark in the lane of the event, and where it is a wait, in those that are ready."""
    lanes = {event.lane}
    ready = {one.name for one in event.watched if one.ready}
    lanes |= {i for i, lane in enumerate(timeline.lanes) if lane.name in ready}
    for lane in lanes & set(range(len(marks))):
        marks[lane] = _mark(event)


def _mark(event: Event) -> str:
    if event.error and event.what not in WAITS:
        return "!"
    if event.side == CLIENT:
        return {"send": ">", "urgent": ">", "recv": "<", "connect": "+"}.get(event.what, "x")
    if event.what in INPUTS:
        return "r"
    if event.what in OUTPUTS:
        return "w"
    return {"close": "c"}.get(event.what, "a" if event.what in ACCEPTS else "*")


def _ending(said: Sequence[str], width: int) -> Iterator[str]:
    yield "At the end"
    for line in said:
        yield from textwrap.wrap(line, width - 3, initial_indent="   ", subsequent_indent="     ")
