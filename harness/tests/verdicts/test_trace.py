"""The trace: what the terminal and the page show of a record, and traces of real servers."""

from __future__ import annotations

import json
import random
import re

import pytest

from harness.authors.mutants.catalogue import CATALOGUE
from harness.lab.chapters import ROOT
from harness.server.shim import layout
from harness.student.trace import command as trace
from harness.student.trace import page, screen, timeline
from harness.tests import golden

MS = 1_000_000  # nanoseconds
END = 5_000  # ms, when the test is over
SEED = "7"


def call(function, at_ms, connection=0, fd=5, size=0, result=0, error=0, took_ms=0, **more):
    """A call as the recorder saves it: the fields of layout.Entry in their order."""
    flags = dict.fromkeys(("fault", "closed_twice", "watched", "repeated"), False)
    times = {"start_ns": at_ms * MS, "took_ns": took_ms * MS}
    where = {"size": size, "result": result, "fd": fd, "connection": connection}
    named = {**times, **where, "error": error, "function": function, **flags}
    return list(layout.Entry(**{**named, "thread": 1, "number": 1, **more}))


def wait(at_ms, ready=1, function="poll", **more):
    return call(function, at_ms, connection=-1, fd=-1, size=2, result=ready, **more)


def watched(at_ms, asked, reported=0, function="poll", **more):
    """What the wait behind this entry was for, of one descriptor."""
    return call(function, at_ms, size=asked, result=reported, watched=True, **more)


def spin(calls, times, at_ms):
    """Calls that the library has recorded twice, and then counted."""
    again = {"size": len(calls), "result": len(calls) * (times - 2), "repeated": True}
    return [*calls, *calls, call("write", at_ms, connection=-1, fd=-1, took_ms=100, **again)]


def move(who, at_ms, what, data=b"", step=1, port=0, size=None):
    found = {"at_ns": at_ms * MS, "who": who, "step": step, "what": what, "port": port}
    return {**found, "size": len(data) if size is None else size, "data": data.hex()}


def record(moves, calls, under_way=None, failed=False, waits=(), steps=(), servers=1):
    first = {"number": 1, "who": "A", "text": "waits", "failed": failed}
    server = {"calls": calls, "under_way": under_way, "waits": waits, "at_ns": END * MS}
    server["fate"] = "still running"
    moves = [move("A", 1, "connect", port=4001), *moves]
    return {"steps": [first, *steps], "moves": moves, "servers": servers * [server]}


def read(at_ms, result=-1, error=0, **more):
    return call("read", at_ms, size=9, result=result, error=error or 11 * (result < 0), **more)


EVIL = b"</script>"  # a page must not end here
ACCEPTED = call("accept", 2, fd=3, size=4001, result=5)
CLOCK = ((4, 59_999_999_000), (6, 1_000))  # ms of the machine, ns that the clock is moved
JUMPS = [move("the grader", at, "clock", step=2, size=ns) for at, ns in CLOCK]
MANY = layout.IN | layout.OUT | layout.URGENT | layout.END | layout.ERROR | layout.HANGUP
IDS = (4040, 77)  # of threads
CHANCE = random.Random(1)
RECORDS = {
    "The server has written two bytes of six; B was accepted before A; a stranger is #2": record(
        [
            move("B", 2, "connect", port=4002),
            move("A", 3, "send", b"\2\0\0\0hi"),
            move("B", 4, "urgent", b"!"),
            move("B", 4, "send", EVIL),
            move("A", 9, "recv", b"\2\0"),
            move("A", 20, "silence"),
        ],
        [
            watched(0, layout.IN, connection=-1, fd=3),
            watched(0, layout.IN, layout.IN, connection=-1, fd=3),
            wait(0, took_ms=3),
            call("accept", 3, connection=1, fd=3, size=4002, result=6),
            call("accept", 3, connection=0, fd=3, size=4001, result=5),
            call("accept", 3, connection=2, fd=3, size=4999, result=7),
            read(4, 6),
            read(5, 9, connection=1, fd=6),
            read(5, connection=2, fd=7, error=104),
            call("send", 5, size=6, result=2, fault=True),
            call("close", 6, connection=1, fd=6),
            watched(10, layout.OUT),
        ],
        under_way=["poll", -1, 2, 10 * MS],
        failed=True,
        servers=2,
    ),
    "Four spins, of which one is rare; 40 bytes are read one by one": record(
        [move("A", 3, "send", b"x" * 50), move("A", 900, "close")],
        [
            ACCEPTED,
            *spin([call("read", 4, size=1, result=1)], 40, 5),
            *spin([watched(9, layout.IN, layout.IN), wait(9)], 18_729_586, 10),
            *spin([watched(200, layout.IN, MANY), wait(200), read(200, 0)], 5_690_053, 210),
            *spin([read(400)], 4_000_000, 410),
            *spin([wait(600, 0)], 4_000, 610),
        ],
        under_way=["poll", -1, 1, (END - 1) * MS],
    ),
    "The grader moves the clock; the first wait lasts a minute": record(
        [*JUMPS, move("A", 9, "recv", b"x"), move("the grader", 10, "signal", step=3)],
        [ACCEPTED, wait(2, 0, took_ms=3), wait(7, 0, took_ms=1)],
        steps=[
            {"number": 2, "who": "A", "text": "lets 60,000 ms go by", "failed": False},
            {"number": 3, "who": "the grader", "text": "sends SIGUSR1", "failed": False},
        ],
    ),
    "Two threads; 699 calls are not known; a close loses six bytes": record(
        [move("A", 3, "send", b"\2\0\0\0hi"), move("A", 9, "abort")],
        [
            call("accept", 2, fd=3, size=4001, result=5, thread=IDS[0]),
            read(4, 6, number=2, thread=IDS[1]),
            read(6, number=702, thread=IDS[0]),
            call("close", 8, number=703, thread=IDS[1]),
        ],
        waits=[(IDS[0], "epoll_wait"), (1, "futex")],
    ),
    "A long trace keeps its ends and the failure": record(
        [move("A", n, CHANCE.choice(["send", "recv"]), b"x") for n in range(2, 200)]
        + [move("A", 200, "silence")],
        [],
        failed=True,
    ),
}


def test_what_is_shown_of_a_record(tmp_path):
    """The text in the terminal, and of the first record what the page draws."""
    shown = []
    for title, seen in RECORDS.items():
        (tmp_path / "seen.json").write_text(json.dumps(seen))
        found = timeline.load(tmp_path / "seen.json")
        shown += [f"# {title}", screen.render(found, width=80, lines=20), ""]
        text = page.render("a title", "failed", EVIL.decode(), found)
        assert (text.count("<script"), text.count("</script>")) == (2, 2)
        packed = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        if seen["servers"][1:]:
            page_shows = ["# The page of the first one", str(packed.pop("lanes"))]
            page_shows += [" ".join(map(str, column.values())) for column in packed["columns"]]
    golden.check("trace", "\n".join([*shown, *page_shows]))


def traced(capsys, *words):
    """The exit status, what was printed, and the page."""
    status = trace.main([*words, "--seed", SEED])
    out = capsys.readouterr().out
    return status, out, (ROOT / re.search(r"^picture: (.*)$", out, re.M)[1]).read_text()


def written(name, directory):
    """The directory of the wrong server of this name."""
    next(one for one in CATALOGUE if one.id == name).write(directory)
    return str(directory)


@pytest.fixture(autouse=True)
def own_pages(tmp_path, monkeypatch):
    """A directory beside that of somebody who works with the lab."""
    monkeypatch.setattr(trace, "PAGES", tmp_path / "pages")


def by_side(text):
    """The trace without times, the clients' lines before the server's: nobody knows whether the
    server reads before the client has returned from its send()."""
    lines = re.sub(r"[\d.]+ MB", "# MB", text).splitlines()
    told = [(re.match(r"(->|  ) +\d+\.\d+  (.*)", line), line) for line in lines]
    rows = [f"{found[1]} {found[2]}" for found, _ in told if found]
    rest = [line for found, line in told if not found and "nothing happens" not in line]
    return "\n".join([*rest, *sorted(rows, key=lambda row: row[7] == " ")])


def test_traces_of_a_right_and_a_wrong_server(capsys, tmp_path):
    wrong = written("01-reply-counts-header", tmp_path / "wrong")
    ways = [("--from", "solutions", "--only", "01_urgent_data_is_no_part_of_the_stream")]
    ways += [("--dir", wrong, "--only", "01_every_byte_value")]
    found = [traced(capsys, "--chapter", "01", *words) for words in ways]
    assert [status for status, _, _ in found] == [0, 1]
    assert ['"failed":true' in text for _, _, text in found] == [False, True]
    golden.check("trace-of-servers", "\n".join(by_side(out) for _, out, _ in found), tmp_path)


SEEN = {
    "04-no-parse-after-drain": "has read but not sent back; the server waits for input",
    "03-always-wants-to-write": "with A, B, C, D, E, F and 44 others writable",
}


@pytest.mark.full("traces of wrong servers")
@pytest.mark.parametrize("name", SEEN)
def test_the_fault_can_be_seen(name, capsys, tmp_path):
    test = next(one for one in CATALOGUE if one.id == name).test
    words = ["--chapter", name[:2], "--dir", written(name, tmp_path / "wrong"), "--only", test]
    status, out, _ = traced(capsys, *words)
    assert status == 1
    assert SEEN[name] in " ".join(out.split())  # lines are wrapped
