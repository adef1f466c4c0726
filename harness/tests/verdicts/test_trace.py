"""The trace: what the terminal and the page show of a record. Real servers: test_replay.py."""

import json

from harness.student.trace import page, rows, timeline
from harness.tests import golden
from harness.waiting import shared as layout

MS = 1_000_000  # nanoseconds
EVIL = "</script>"  # one of the clients sends this, and a page must not end there
USUAL = dict.fromkeys(layout.Entry._fields, 0) | {"thread": 1, "fd": 5, "number": 1}


def record(moves, calls, under_way, waits):
    """A record as the recorder saves it, of one in trace.json, which has milliseconds and leaves
    out what is usual. The first step has failed."""
    for one in moves:
        data = {"port": 0, "data": "", "size": len(one.get("data", "")) // 2}
        one |= {"at_ns": one["ms"] * MS, "step": 1} | data | one
    calls = [USUAL | {"start_ns": one.pop("ms") * MS} | one for one in calls]
    server = {"calls": [list(layout.Entry(**one)) for one in calls], "under_way": under_way}
    server |= {"waits": waits, "at_ns": 5_000 * MS, "fate": f"killed by {EVIL}"}
    steps = [{"number": n, "who": "A", "text": "waits", "failed": n == 1} for n in (1, 2)]
    return {"steps": steps, "moves": moves, "servers": [server, server]}


def test_what_is_shown_of_a_record(tmp_path):
    """The last one is shown again with its middle left out, and as what the page shows."""
    records = json.loads((golden.DIRECTORY / "trace.json").read_text())
    shown = []
    for one in records:
        title = one.pop("title")
        (tmp_path / "seen.json").write_text(json.dumps(record(**one)))
        found = timeline.load(tmp_path / "seen.json")
        shown += [f"# {title}", rows.render(found, 80), ""]
    text = page.render("a title", "failed", EVIL, found)
    assert EVIL not in text and "<script" not in text
    table = text.split("<!-- timeline -->\n")[1].split("<!--")[0].replace("\n  ", " ")
    golden.check("trace", "\n".join([*shown, rows.render(found, 80, most=6), "", table]))
