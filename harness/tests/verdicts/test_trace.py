"""The trace: what the terminal and the page show of a record. Real servers: test_replay.py."""

import json
import re

from harness.server.shim import layout
from harness.student.trace import page, screen, timeline
from harness.tests import golden

MS = 1_000_000  # nanoseconds
EVIL = b"</script>"  # a page must not end here
MANY = layout.IN | layout.OUT | layout.URGENT | layout.END | layout.ERROR | layout.HANGUP
NONE = {"connection": -1, "fd": -1}


def call(function, at_ms, size=0, result=0, **more):
    """A call as the recorder saves it. With `watched`: the interest and what was reported."""
    found = dict.fromkeys(layout.Entry._fields, 0) | {"thread": 1, "fd": 5, "number": 1}
    found |= {"start_ns": at_ms * MS, "size": size, "result": result, "function": function}
    return list(layout.Entry(**found | {"error": 11 if result < 0 else 0} | more))


def spin(at_ms, times, *calls):
    """Calls that the library has recorded twice, and then counted."""
    counted = call("write", at_ms, len(calls), len(calls) * (times - 2), repeated=1, **NONE)
    return [*calls, *calls, counted]


def move(who, at_ms, what, data=b"", **more):
    found = {"at_ns": at_ms * MS, "who": who, "step": 1, "what": what, "port": 0}
    return found | {"size": len(data), "data": data.hex()} | more


def record(moves, calls, **server):
    server = {"calls": calls, "under_way": None, "waits": [], "at_ns": 5_000 * MS} | server
    steps = [{"number": n, "who": "A", "text": "waits", "failed": n == 1} for n in (1, 2)]
    servers = 2 * [server | {"fate": "still running"}]
    return {"steps": steps, "moves": [move("A", 1, "connect", port=4001), *moves], "servers": servers}


# A is owed 4 of 6 bytes. B was accepted before A, and nobody knows #2. The server has two threads.
BYTES = record(
    [
        move("B", 2, "connect", port=4002),
        move("A", 3, "send", b"\2\0\0\0hi"),
        move("B", 4, "urgent", b"!"),
        move("B", 4, "send", EVIL),
        move("A", 9, "recv", b"\2\0"),
        move("A", 1_020, "silence"),
    ],
    [
        call("poll", 0, layout.IN, watched=1, fd=3, connection=-1),
        call("poll", 0, layout.IN, layout.IN, watched=1, fd=3, connection=-1),
        call("poll", 0, 2, 1, took_ns=3 * MS, **NONE),
        call("accept", 3, 4002, 6, connection=1, fd=3),
        call("accept", 3, 4001, 5, connection=0, fd=3),
        call("accept", 3, 4999, 7, connection=2, fd=3),
        call("read", 4, 9, 6),
        call("read", 5, 9, 9, connection=1, fd=6, thread=77),
        call("read", 5, 9, -1, connection=2, fd=7, error=104),
        call("send", 5, 6, 2, fault=1),
        call("close", 6, connection=1, fd=6),
        call("read", 700, 9, -1, number=702),
        call("poll", 1_010, layout.OUT, watched=1),
    ],
    under_way=["poll", -1, 2, 1_010 * MS],
    waits=[(77, "epoll_wait")],
)
SPINS = record(
    [move("A", 3, "send", b"x" * 50)],
    [
        call("accept", 2, 4001, 5, fd=3),
        *spin(5, 40, call("read", 4, 1, 1)),
        *spin(
            *(10, 18_729_586, call("poll", 9, layout.IN, MANY, watched=1)),
            *(call("poll", 9, 1, 1, **NONE), call("read", 9, 9)),
        ),
        *spin(410, 4_000_000, call("read", 400, 9, -1)),
        *spin(610, 4_000, call("poll", 600, 2, **NONE)),
    ],
)
CLOCK = record(
    [
        move("the grader", 4, "clock", step=2, size=59_999_999_000),
        move("the grader", 6, "clock", step=2, size=1_000),
    ],
    [call("poll", 2, 1, took_ns=3 * MS, **NONE), call("poll", 7, 1, **NONE)],
)


def test_what_is_shown_of_a_record(tmp_path):
    """The terminal: where the bytes are, what spins, the server's own clock, and a long trace with
    its middle left out. And what the page draws."""
    shown = []
    for seen, lines in ((BYTES, 99), (SPINS, 99), (CLOCK, 99), (BYTES, 6)):
        (tmp_path / "seen.json").write_text(json.dumps(seen))
        found = timeline.load(tmp_path / "seen.json")
        shown.append(screen.render(found, 80, lines))
    text = page.render("a title", "failed", EVIL.decode(), found)
    assert (text.count("<script"), text.count("</script>")) == (2, 2)
    columns = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["columns"]
    drawn = [" ".join(map(str, column.values())) for column in columns]
    golden.check("trace", "\n".join(["\n\n".join(shown), "", *drawn]))
