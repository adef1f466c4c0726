"""A timeline as rows: one for each event, with a mark in the lane of its connection."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness.student.trace import words
from harness.student.trace.fold import Fold, fold, kinds, spins, told
from harness.student.trace.timeline import CLOCK, Event, Timeline

WIDTH = 100  # columns
MOST_LANES = 8  # that get a column in a terminal
MOST_ROWS = 160  # in a terminal, unless V=1
MOST_LINES = 3  # of one row
TIME_WIDTH = 9  # columns for a time, at least
PAUSE = 0.2  # seconds without an event that get a row of their own


@dataclass
class Row:
    """`marks`: by the number of a lane; None if the row is about the whole. `data`: the first bytes
    that a call moved. `events`: what it stands for, each of them `times` or more."""

    text: str
    marks: dict[int, str] | None = None
    time: str = ""
    thread: str = ""
    data: str = ""
    events: list[Event] = field(default_factory=list)
    times: int = 1

    @property
    def failed(self) -> bool:
        return bool(self.events) and self.events[0].failed


class Rows(list[Row]):
    """All rows of a timeline. `ending`: what to look at first."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self.timeline, before = timeline, 0.0
        folds = fold(timeline.events)
        self.ending = [*told(folds), *timeline.ending]
        for one in folds:
            if one.first.at - before > PAUSE and not timeline.own_clock:
                self.append(Row(f"{one.first.at - before:,.1f} s in which nothing happens"))
            before = max(before, one.end)
            self.extend(_of_fold(timeline, one))

    def some(self, most: int, more: str = "") -> list[Row]:
        """The rows; of more than `most` the middle is left out, but never one that has failed.
        `more`: what is said of that."""
        half = most // 2
        if len(self) <= most:
            return self
        marked = next((i for i, row in enumerate(self) if row.failed), len(self))
        tail = max(half, min(len(self), marked + most // 4) - half)
        gap = Row(f"... {len(self) - 2 * half:,} rows left out here{more}")
        return [*self[:half], gap, *self[tail:][:half]]


def _of_fold(timeline: Timeline, one: Fold) -> Iterator[Row]:
    first, time = one.first, _time(timeline, one.first)
    verdict = "   SPINS" if spins(one) else ""
    if len(one.rounds) > 1:
        yield Row(f"{one.times:,} times:{verdict}", {}, time, times=one.times)
        for kind in kinds(one.rounds):
            yield _row(sum(kind, []), f"  {words.alike(kind)}")
    elif one.times > 1:
        text = f"{words.repeated(one.rounds[0], one.times)}{verdict}"
        yield _row(one.rounds[0], text, time, times=one.times)
    elif first.what == CLOCK:
        yield Row(words.sentence(first))
    else:
        data = words.first_bytes(first)
        yield _row(one.rounds[0], words.sentence(first), time, data=data)


def _row(events: list[Event], text: str, time: str = "", data: str = "", times: int = 1) -> Row:
    first = events[0]
    marked = [*(one.lane for one in first.watched if one.ready), *(event.lane for event in events)]
    marks = {lane: words.mark(first) for lane in marked if lane is not None}
    return Row(text, marks, time, f"T{first.thread}" * (first.thread > 0), data, events, times)


def _time(timeline: Timeline, event: Event) -> str:
    return words.milliseconds(event.own) if timeline.own_clock else f"{1000 * event.at:.3f}"


# In a terminal


def render(timeline: Timeline, width: int = WIDTH, most: int = MOST_ROWS) -> str:
    """The timeline as text; of more than `most` rows the middle is left out."""
    found = Rows(timeline)
    times = max(TIME_WIDTH, *(len(row.time) for row in found), 0)
    threads = 3 if timeline.threads > 1 else 0
    names = [f"{lane.name[:2]:2}" for lane in timeline.lanes[:MOST_LANES]]
    lines = _lines(Row("", {}, "ms"), names, times, threads, width)
    for row in found.some(most, "; V=1 shows them, and so does the picture"):
        marks = [f"{(row.marks or {}).get(i, '.'):2}" for i in range(len(names))]
        lines += _lines(row, marks, times, threads, width)
    lines += ["", "At the end"]
    for line in found.ending:
        lines += textwrap.wrap(line, width - 3, initial_indent="   ", subsequent_indent="     ")
    return "\n".join(lines)


def _lines(row: Row, marks: Sequence[str], times: int, threads: int, width: int) -> list[str]:
    """The lines of one row; its bytes follow if there is space for them."""
    if row.marks is None:
        return [f"   {'':{times}}  {row.text}"]
    time = row.time.rjust(times) + (f" {row.thread:{threads}}" if threads else "")
    head = f"{'->' if row.failed else '':2} {time}  {' '.join(marks)}  "
    more = f"{'':{5 + len(time)}}{' '.join('. ' for _ in marks)}  "
    indent = " " * (len(row.text) - len(row.text.lstrip()) + 2)
    space = max(width - len(head), WIDTH // 3)
    texts = textwrap.wrap(row.text, space, subsequent_indent=indent, drop_whitespace=True) or [""]
    if len(texts) > MOST_LINES:
        texts[MOST_LINES - 1 :] = [f"{indent}..."]
    if len(texts) == 1 and row.data and len(f"{head}{texts[0]}   {row.data}") <= width:
        texts[0] += f"   {row.data}"
    return [f"{more if number else head}{text}".rstrip() for number, text in enumerate(texts)]
