"""A timeline as one HTML file that needs nothing else: no network, no script, no other file.

It has the rows that a terminal shows, and behind each mark a bar: where the bytes of this
connection are. The site of the lab shows what stands between the two comments, and its style.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

from harness.feedback.printable import printable
from harness.student.trace.rows import Row, Rows
from harness.student.trace.timeline import Levels, Timeline

MOST_ROWS = 2000  # more would make a browser slow
MOST_LANES = 24
DUMPED = 16  # bytes of a line of a hex dump
LEAST_PERCENT = 6  # a byte that is stuck must be seen beside a megabyte that was not
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 1.2rem; font: 14px/1.5 system-ui, sans-serif; }}
h1 {{ font-size: 1.15rem; }}
h2 {{ font-size: 1rem; }}
pre {{ font: 12px/1.45 ui-monospace, monospace; overflow-x: auto; }}
.failed {{ color: #cf222e; }}
</style>
<style>
.timeline {{ font: 12px/1.5 ui-monospace, monospace; border-collapse: collapse; display: table; }}
.timeline th, .timeline td {{ padding: 0 .5rem; border: 0; text-align: left; vertical-align: top; }}
.timeline th {{ position: sticky; top: 0; background: Canvas; }}
.timeline tr {{ border: 0; background: none; }}
.timeline tr:target {{ outline: 2px solid #cf222e; }}
.timeline tr > :first-child {{ text-align: right; }}
.timeline td:last-child {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
.timeline .lane {{ min-width: 4.5rem; font-weight: bold; border-left: 1px solid #8888; }}
.bytes {{ background: linear-gradient(90deg, #56b4e9b0 0 var(--a, 33%),
  #e69f00b0 0 var(--b, 67%), #009e73b0 0 var(--c, 100%), transparent 0) no-repeat; }}
.timeline .client .lane {{ color: #0072b2; }}
.timeline .server .lane {{ color: #d55e00; }}
.timeline .failed {{ color: #cf222e; }}
.timeline summary {{ list-style: none; cursor: pointer; border-bottom: 1px dotted; }}
.timeline pre {{ margin: 0 0 .3rem 1rem; }}
</style>
<h1>{title}: <span class="{verdict}">{verdict}</span></h1>
<pre>
{said}</pre>
<h2>At the end</h2>
<ul>{ending}</ul>
<p><a href="#marked">Where it failed</a>, or what was repeated most. Click on a line with a dotted
edge to see its bytes. <span class="bytes">&emsp;&emsp;&emsp;</span> bytes that were sent and not
read yet; read and not sent back yet; on their way back.</p>
<!-- timeline -->
{table}
<!-- end of the timeline -->
</html>
"""


def render(title: str, verdict: str, said: str, timeline: Timeline) -> str:
    """The page. `said`: what the grader says of the test, as plain text."""
    found = Rows(timeline)
    ending = "".join(f"<li>{html.escape(line)}</li>" for line in found.ending)
    title, verdict, said = map(html.escape, (title, verdict, said))
    parts = {"title": title, "verdict": verdict, "said": said, "ending": ending}
    return PAGE.format(**parts, table="\n".join(_table(found)))


def _table(found: Rows) -> Iterator[str]:
    timeline, shown = found.timeline, found.some(MOST_ROWS)
    lanes = range(min(MOST_LANES, len(timeline.lanes)))
    most = dict.fromkeys(lanes, 1)  # of the bytes of a connection
    for event in timeline.events:
        if event.lane in most:
            most[event.lane] = max(most[event.lane], sum(max(0, size) for size in event.levels))
    levels = dict.fromkeys(lanes, Levels())
    failed = [row for row in shown if row.failed]
    marked = (failed or sorted(shown, key=lambda row: -row.times) or [None])[0]
    names = "".join(f"<th>{html.escape(timeline.lanes[i].name)}</th>" for i in lanes)
    yield f'<table class="timeline"><tr><th>ms</th><th></th>{names}<th></th></tr>'
    for row in shown:
        levels |= {event.lane: event.levels for event in row.events if event.lane in most}
        if row.marks is None:
            told = f'<td></td><td colspan="{len(lanes) + 2}">{html.escape(row.text)}</td>'
        else:
            cells = "".join(_cell(row.marks.get(i, ""), levels[i], most[i]) for i in lanes)
            told = f"<td>{row.time}</td><td>{row.thread}</td>{cells}<td>{_text(row)}</td>"
        side = row.events[0].side if row.events else ""
        here = ' id="marked"' if row is marked else ""
        yield f'<tr class="{side}{" failed" * row.failed}"{here}>{told}</tr>'
    yield "</table>"


def _cell(mark: str, levels: Levels, most: int) -> str:
    """The mark of a lane, and its bytes as shares of the most that it has had."""
    if not any(size > 0 for size in levels):
        return f'<td class="lane">{html.escape(mark)}</td>'
    ends, end = [], 0.0
    for size in levels:
        end += max(LEAST_PERCENT, 100 * size / most) if size > 0 else 0
        ends.append(min(100, round(end)))
    bars = "--a:{}%;--b:{}%;--c:{}%".format(*ends)
    told = f' title="{levels.told()}"' if mark else ""
    return f'<td class="lane bytes" style="{bars}"{told}>{html.escape(mark)}</td>'


def _text(row: Row) -> str:
    """What happened. If bytes have moved, lines of hex and text can be unfolded below it."""
    text, first = html.escape(row.text), row.events[0] if row.events else None
    if first is None or not first.data:
        return text
    data = first.data
    parts = [(start, data[start : start + DUMPED]) for start in range(0, len(data), DUMPED)]
    lines = [f"{start:3}  {part.hex(' '):47}  |{printable(part)}|" for start, part in parts]
    if first.moved > len(data):
        lines.append(f"     and {first.moved - len(data):,} bytes more")
    dump = html.escape("\n".join(lines))
    return f"<details><summary>{text}</summary><pre>{dump}</pre></details>"
