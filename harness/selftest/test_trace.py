"""The trace: what it makes of what was seen, and whole traces of right and wrong servers."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from harness.lab.chapters import ROOT
from harness.mutants.catalogue import CATALOGUE
from harness.selftest.drawn import some
from harness.selftest.test_unusual import _command
from harness.trace import __main__ as trace, page, screen, timeline
from harness.trace.fold import fold
from harness.trace.timeline import CLIENT, SERVER, Event

MS = 1_000_000  # nanoseconds


def call(
    function, at_ms, connection=0, fd=5, size=0, result=0, error=0, watched=False, repeated=False
):
    return {
        "start_ns": at_ms * MS,
        "took_ns": 0,
        "size": size,
        "result": result,
        "fd": fd,
        "connection": connection,
        "error": error,
        "function": function,
        "fault": False,
        "closed_twice": False,
        "watched": watched,
        "repeated": repeated,
        "thread": 1,
        "number": 1,
    }


def move(who, at_ms, what, data=b"", step=1, port=0):
    return {
        "at_ns": at_ms * MS,
        "who": who,
        "step": step,
        "what": what,
        "size": len(data),
        "data": data.hex(),
        "port": port,
    }


def seen(moves, calls, under_way=None, failed=False):
    steps = [{"number": 1, "who": "A", "text": "waits", "failed": failed}]
    server = {"calls": calls, "left_out": 0, "under_way": under_way, "fate": "still running"}
    return {"steps": steps, "moves": moves, "servers": [server]}


@pytest.fixture
def load(tmp_path):
    def loaded(*arguments, **options):
        path = tmp_path / "seen.json"
        path.write_text(json.dumps(seen(*arguments, **options)))
        return timeline.load(path)

    return loaded


STUCK = (
    [
        move("A", 1, "connect", port=4001),
        move("A", 3, "send", b"\2\0\0\0hi"),
        move("A", 9, "recv", b"\2\0"),
        move("A", 20, "silence"),
    ],
    [
        call("accept", 2, connection=7, fd=3, size=4001, result=5),
        call("read", 4, connection=7, size=100, result=6),
        call("send", 5, connection=7, size=6, result=2),
        call("poll", 10, connection=7, size=1, watched=True),
    ],
)


def test_bytes_are_followed(load):
    """From the client into the server and back: how many are where, and which they are."""
    found = load(*STUCK, under_way=["poll", -1], failed=True)
    told = [(e.what, e.levels.to_server, e.levels.held, e.levels.to_client) for e in found.events]
    assert told == [
        ("connect", 0, 0, 0),
        ("accept", 0, 0, 0),
        ("send", 6, 0, 0),
        ("read", 0, 6, 0),
        ("send", 0, 4, 2),
        ("recv", 0, 4, 0),
        ("silence", 0, 4, 0),
    ]
    assert [event.data for event in found.events if event.what == "read"] == [b"\2\0\0\0hi"]
    assert [event.what for event in found.events if event.failed] == ["silence"]
    assert [lane.name for lane in found.lanes] == ["A"]


def test_the_ending_says_what_is_stuck(load):
    assert load(*STUCK, under_way=["poll", -1]).ending == [
        "the server: still running",
        "it is in poll(), which has not returned",
        "A: 4 bytes that the server has read and not sent back; the server waits for input",
    ]


def test_a_connection_is_known_by_its_port(load):
    """Two clients whose connections were accepted in the other order; and one of somebody else."""
    moves = [move("A", 1, "connect", port=4001), move("B", 2, "connect", port=4002)]
    calls = [
        call("accept", 3, connection=0, size=4002, result=5),
        call("accept", 3, connection=1, size=4001, result=6),
        call("accept", 3, connection=2, size=4999, result=7),
        call("read", 4, connection=0, size=9, result=-1, error=11),
        call("read", 5, connection=1, size=9, result=-1, error=104),
    ]
    found = load(moves, calls)
    lanes = [lane.name for lane in found.lanes]
    reads = [(lanes[e.lane], e.error) for e in found.events if e.what == "read"]
    assert lanes == ["A", "B", "#2"]
    assert reads == [("B", "EAGAIN"), ("A", "ECONNRESET")]


def test_what_a_wait_was_for(load):
    calls = [
        call("accept", 2, fd=3, size=4001, result=5),
        call("poll", 3, size=1, watched=True),
        call("poll", 4, size=1, result=1, watched=True),
        call("poll", 4, connection=-1, fd=3, size=1, result=1, watched=True),
        call("poll", 4, connection=-1, fd=-1, size=2, result=2),
    ]
    found = load([move("A", 1, "connect", port=4001)], calls)
    text = screen.sentence(found, found.events[-1]).strip()
    assert text == "poll() = A: input, the listener: input   (waits now: A for input)"


def event(what, moved=1, side=SERVER, lane=0):
    return Event(0.0, side, what, lane, moved=moved)


def test_what_repeats_is_told_once():
    cycle = [event("poll", lane=None), event("read", 10), event("write", 10)]
    events = [event("accept"), *(cycle * 5), event("poll"), event("poll"), event("close")]
    shape = [(one.times, [kinds[0].what for kinds in one.rounds]) for one in fold(events)]
    assert shape == [
        (1, ["accept"]),
        (5, ["poll", "read", "write"]),
        (1, ["poll"]),
        (1, ["poll"]),
        (1, ["close"]),
    ]


def test_what_the_library_has_counted_is_told_with_it(load):
    """A round that was recorded twice and then counted: the wait with what it was for."""
    around = [
        call("poll", 3, fd=5, size=1, result=1, watched=True),
        call("poll", 3, fd=-1, connection=-1, size=1, result=1),
        call("read", 3, connection=0, size=9, result=-1, error=11),
    ]
    counter = call("write", 4, connection=-1, fd=-1, size=3, result=3_000, repeated=True)
    calls = [call("accept", 2, size=4001, result=5), *around, *around, counter]
    found = load([move("A", 1, "connect", port=4001), move("A", 9, "close")], calls)
    (one,) = [one for one in fold(found.events) if one.times > 1]
    assert (one.times, [events[0].what for events in one.rounds]) == (1_002, ["poll", "read"])
    assert "1,002 times:" in screen.render(found)


def test_one_that_stands_for_many_may_be_the_last():
    events = [event("accept"), Event(0.0, SERVER, "poll", times=60)]
    shape = [(one.times, [kinds[0].what for kinds in one.rounds]) for one in fold(events)]
    assert shape == [(1, ["accept"]), (60, ["poll"])]


def test_what_fails_or_moves_nothing_is_no_repetition():
    events = [event("read", 5), event("read", 5), event("read", 0), event("read", 5)]
    assert [one.times for one in fold(events)] == [1, 1, 1, 1]


def test_a_repetition_in_words(load):
    found = load([move("A", 1, "connect", port=1)], [])
    one = fold([event("read", 65_536) for _ in range(480)])[0]
    assert screen.repeated(found, one).strip() == "read(A, 0) = 65,536 x 480"
    uneven = fold([event("recv", size, CLIENT) for size in (10, 20, 30)])[0]
    assert screen.repeated(found, uneven) == "A gets 10 to 30 bytes, 60 in all x 3"


def test_a_long_trace_keeps_its_ends_and_the_failure(load):
    moves = [move("A", 1, "connect", port=1)]
    moves += [move("A", n, ("send", "recv")[n % 2], b"x" * (n % 7)) for n in range(2, 900)]
    moves.append(move("A", 900, "silence"))
    text = screen.render(load(moves, [], failed=True), lines=40).splitlines()
    assert len(text) < 60
    assert any("lines left out here" in line for line in text)
    assert "connects" in text[1]
    assert any(line.startswith("->") and "nothing came" in line for line in text)


def test_a_page_carries_what_the_server_said(load):
    """Whatever a submission prints, or is sent, ends neither the script nor the page."""
    evil = "</script><script>alert(1)</script>{{data}}"
    found = load([move("A", 1, "connect", port=1), move("A", 2, "send", evil.encode())], [])
    text = page.render("a title", "failed", evil, found)
    assert text.count("<script") == 2
    assert "alert(1)</script>" not in text
    packed = re.search(r'id="data">(.*?)</script>', text, re.S)[1]
    assert json.loads(packed)["lanes"] == ["A"]


# Whole traces


def traced(capsys, *words):
    """Exit status, what was printed, and the page."""
    status = trace.main(list(words))
    out = capsys.readouterr().out
    name = re.search(r"^picture: (.*)$", out, re.M)
    return status, out, (ROOT / name[1]).read_text() if name else ""


@pytest.fixture(autouse=True)
def own_pages(tmp_path_factory, monkeypatch):
    """Not those of whoever works with the lab, nor of another worker."""
    directory = ROOT / "build" / "trace" / f"selftest-{tmp_path_factory.getbasetemp().name}"
    monkeypatch.setattr(trace, "PAGES", directory)
    yield
    shutil.rmtree(directory, ignore_errors=True)


def test_a_right_server(capsys):
    words = ["--chapter", "04", "--from", "solutions", "--only", "02_short_write_is_resumed"]
    status, out, text = traced(capsys, *words)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 100
    assert re.search(r"waits now: A for (input and )?output", out)
    assert "not sent back" not in out.split("At the end")[1]
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "")


WAITS = ["select.c", "epoll_level.c", "epoll_edge.c"]
WRONG = {
    "04-no-parse-after-drain": "has read and not sent back; the server waits for input",
    "02-rest-dropped": "bytes that the server has read and not sent back",
    "02-eagain-is-the-end": "close() of A",
    "04-pollin-while-paused": "poll() = A: input x ",
    "03-reads-while-writing": "poll() = A: input x ",
}


@pytest.mark.parametrize("name", some(list(WRONG), 2, "traces of wrong servers", str))
def test_a_wrong_server(name, capsys, tmp_path, monkeypatch):
    """The fault can be seen: what is stuck, or what was called that should not have been."""
    mutant = next(one for one in CATALOGUE if one.id == name)
    mutant.write(tmp_path / "wrong")
    words = ["--chapter", mutant.chapter, "--dir", str(tmp_path / "wrong"), "--only", mutant.test]
    status, out, text = traced(capsys, *words)
    assert status == 1
    assert out.startswith("FAILED")
    assert WRONG[name] in out
    assert ('"failed":true' in text) == ("\n->" in out)


@pytest.mark.parametrize("name", some(WAITS, 1, "traces of other ways to wait", str))
def test_other_ways_to_wait(name, capsys, tmp_path):
    command = " ".join([*_command(name, tmp_path), "{port}"])
    only = "02_short_write_is_resumed"
    status, out, _ = traced(capsys, "--chapter", "02", "--server", command, "--only", only)
    assert status == 0
    assert "A: input" in out and "A: output" in out


@pytest.mark.parametrize(
    "words, says",
    [
        (["--chapter", "04"], "which test?"),
        (["--only", "04.1"], "which test?"),
        (["--chapter", "04", "--only", "nonsense"], "chapter 04 has no such test"),
        (["--chapter", "04", "--only", "04.3"], "name one of them:"),
        (["--chapter", "77", "--only", "x"], "there is no chapter '77'"),
    ],
)
def test_wrong_usage(words, says, capsys):
    assert trace.main(words) == 2
    assert says in capsys.readouterr().err


def test_a_submission_that_does_not_compile(capsys, tmp_path):
    (tmp_path / "server.c").write_text("int main(void) { return }\n")
    words = ["--chapter", "01", "--dir", str(tmp_path), "--only", "01_frame_byte_by_byte"]
    assert trace.main(words) == 1
    assert "the server does not compile" in capsys.readouterr().out
