"""A timeline as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from harness.failures.printable import printable
from harness.student.trace import screen, words
from harness.student.trace.fold import Fold, fold
from harness.student.trace.timeline import (
    ACCEPTS,
    CLIENT,
    CLOCK,
    IN_CALL,
    INPUTS,
    LOST,
    OUTPUTS,
    SIGNAL,
    WAITS,
    Event,
    Timeline,
)

TEMPLATE = Path(__file__).with_name("page.html")
SCRIPT = Path(__file__).with_name("timeline.js")  # the site of the lab has it, too
STYLE = Path(__file__).with_name("timeline.css")
MOST_COLUMNS = 6000  # more would make a browser slow: the middle is left out
ROW = 16  # bytes of a line of a hex dump


def render(title: str, verdict: str, said: str, timeline: Timeline) -> str:
    """The page. `said`: what the grader says of the test, as plain text."""
    folds = fold(timeline.events)
    kept, left_out = _kept(folds)
    data = {
        "lanes": [lane.name for lane in timeline.lanes],
        "columns": [column for one in kept for column in _columns(timeline, one)],
        "gap": left_out,
        "verdict": verdict,
    }
    # "<" must not end the script element that carries it.
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": html.escape(title),
        "verdict": html.escape(verdict),
        "said": html.escape(said),
        "ending": _list(screen.ending(timeline, folds)),
        "text": html.escape(screen.render(timeline, lines=10 * screen.MOST_LINES)),
        "data": packed,
        "style": STYLE.read_text(),
        "script": SCRIPT.read_text(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], TEMPLATE.read_text())


def _list(said: list[str]) -> str:
    return "".join(f"<li>{html.escape(line)}</li>" for line in said)


def _kept(folds: list[Fold]) -> tuple[list[Fold], dict | None]:
    """The folds that are drawn, and where some are left out: behind which column, how many."""
    if sum(len(one.rounds) for one in folds) <= MOST_COLUMNS:
        return folds, None
    half = MOST_COLUMNS // 2
    head, tail, columns = [], [], 0
    for one in folds:
        if (columns := columns + len(one.rounds)) > half:
            break
        head.append(one)
    columns = 0
    for one in reversed(folds):
        if (columns := columns + len(one.rounds)) > half:
            break
        tail.insert(0, one)
    behind = sum(len(one.rounds) for one in head)
    return head + tail, {"behind": behind, "count": len(folds) - len(head) - len(tail)}


def _columns(timeline: Timeline, one: Fold) -> list[dict]:
    """What timeline.js draws: one column for each kind of event."""
    return [_column(timeline, events, one.times) for events in one.rounds]


def _column(timeline: Timeline, events: list[Event], times: int) -> dict:
    first, last = events[0], events[-1]
    single = Fold(times, [events])
    alone = times == 1 or first.what == LOST
    text = words.sentence(timeline, first) if alone else words.repeated(timeline, single)
    thread = f"T{first.thread} " if first.thread and timeline.threads > 1 else ""
    ready = {one.name for one in first.watched if one.ready}
    more = {one.name for one in first.watched if one.reports_more}
    return {
        "at": round(1000 * timeline.time(first), 3),
        "end": round(1000 * (timeline.time(last) + last.lasted), 3),
        "took": round(1000 * max(event.took for event in events), 3),
        "side": first.side,
        "lane": first.lane,
        "ready": [i for i, lane in enumerate(timeline.lanes) if lane.name in ready],
        "more": [i for i, lane in enumerate(timeline.lanes) if lane.name in more],
        "kind": kind(first),
        "moved": 0 if first.what in WAITS else sum(event.moved * event.times for event in events),
        "error": first.error,
        "fault": first.fault,
        "failed": first.failed,
        "times": times,
        "levels": [last.levels.to_server, last.levels.held, last.levels.to_client],
        "text": f"{thread}{text.strip()}",
        "step": _step(timeline, first),
        "bytes": _dump(first.data, first.moved),
    }


def kind(event: Event) -> str:
    """How an event is drawn."""
    if event.what in (LOST, SIGNAL, CLOCK, IN_CALL):
        kinds = {LOST: "lost", SIGNAL: "signal", CLOCK: "signal", IN_CALL: "wait"}
        return kinds[event.what]
    if event.side == CLIENT:
        what = "send" if event.what == "urgent" else event.what
        return what if what in ("send", "recv", "connect", "silence") else "end"
    for name, calls in (("wait", WAITS), ("read", INPUTS), ("write", OUTPUTS), ("accept", ACCEPTS)):
        if event.what in calls:
            return name
    return "close" if event.what == "close" else "other"


def _step(timeline: Timeline, event: Event) -> str:
    """The step of the conversation that a client's event belongs to."""
    if not 0 < event.step <= len(timeline.steps):
        return ""
    step = timeline.steps[event.step - 1]
    return f"step {step['number']}: {step['who']} {step['text']}"


def _dump(data: bytes, moved: int) -> str:
    """Lines of hex and text, and how much more there was."""
    lines = [
        f"{start:3}  {data[start : start + ROW].hex(' '):{3 * ROW - 1}}  "
        f"|{printable(data[start : start + ROW])}|"
        for start in range(0, len(data), ROW)
    ]
    if lines and moved > len(data):
        lines.append(f"     and {moved - len(data):,} bytes more")
    return "\n".join(lines)
