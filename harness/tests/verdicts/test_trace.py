"""The trace: what it makes of what was seen, and whole traces of right and wrong servers."""

from __future__ import annotations

import json
import random
import re
import shutil

import pytest

from harness.authors.mutants.catalogue import CATALOGUE
from harness.tests.drawn import some
from harness.tests.verdicts.test_unusual import _command
from harness.lab.chapters import ROOT
from harness.server.shim import layout
from harness.student.trace import command as trace
from harness.student.trace import page, screen, spins, timeline, words
from harness.student.trace.fold import fold
from harness.student.trace.timeline import CLIENT, SERVER, Event

MS = 1_000_000  # nanoseconds
END = 5_000  # ms, when the test is over
JUMPS = ((3, 59_999_999_000), (6, 1_000))  # of the clock: ms of the machine, ns


def call(function, at_ms, connection=0, fd=5, size=0, result=0, error=0, took_ms=0, **more):
    """A call as the recorder saves it: the fields of layout.Entry in their order."""
    flags = dict.fromkeys(("fault", "closed_twice", "watched", "repeated"), False)
    entry = layout.Entry(
        start_ns=at_ms * MS,
        took_ns=took_ms * MS,
        size=size,
        result=result,
        fd=fd,
        connection=connection,
        error=error,
        function=function,
        **{**flags, "thread": 1, "number": 1, **more},
    )
    return list(entry)


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


def seen(moves, calls, under_way=None, failed=False, steps=None, waits=(), servers=1):
    steps = steps or [{"number": 1, "who": "A", "text": "waits", "failed": failed}]
    server = {"calls": calls, "under_way": under_way, "waits": waits, "at_ns": END * MS}
    server["fate"] = "still running"
    return {"steps": steps, "moves": moves, "servers": servers * [server]}


def connected(*moves, until_ms=None):
    """Moves that begin with a connect of A, and end with its close if `until_ms` says when."""
    end = [move("A", until_ms, "close")] if until_ms else []
    return [move("A", 1, "connect", port=4001), *moves, *end]


@pytest.fixture
def load(tmp_path):
    def loaded(*arguments, **options):
        path = tmp_path / "seen.json"
        path.write_text(json.dumps(seen(*arguments, **options)))
        return timeline.load(path)

    return loaded


STUCK = (
    connected(
        move("A", 3, "send", b"\2\0\0\0hi"),
        move("A", 9, "recv", b"\2\0"),
        move("A", 20, "silence"),
    ),
    [
        call("accept", 2, connection=7, fd=3, size=4001, result=5),
        call("read", 4, connection=7, size=100, result=6),
        call("send", 5, connection=7, size=6, result=2),
        call("poll", 10, connection=7, size=1, watched=True),
    ],
)


def test_bytes_are_followed(load):
    """From the client into the server and back: how many are where, and which they are."""
    found = load(*STUCK, under_way=["poll", -1, 2, 10 * MS], failed=True)
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
    assert load(*STUCK, under_way=["poll", -1, 2, 10 * MS]).ending == [
        "the server: still running",
        "it is in poll() of 2 descriptors, which has not returned for 5.0 s",
        "A: 4 bytes that the server has read but not sent back; the server waits for input",
    ]


def test_the_ending_says_that_others_are_not_shown(load):
    found = load(*STUCK, servers=2).ending
    assert found[0] == "2 servers were started; the calls are of the last one"


def test_a_connection_is_known_by_its_port(load):
    """Two clients whose connections were accepted in the other order; and one of somebody else."""
    moves = connected(move("B", 2, "connect", port=4002))
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
    found = load(connected(), calls)
    text = words.sentence(found, found.events[-1]).strip()
    assert text == "poll() = A, the listener: input   (waits now: A for input)"


def test_urgent_data_is_sent_beside_the_stream(load):
    """It is told, and the server has no byte more to read."""
    found = load(connected(move("A", 3, "urgent", b"!")), [ACCEPTED])
    sent = next(event for event in found.events if event.what == "urgent")
    assert words.sentence(found, sent) == 'A sends urgent data, 1 byte: 21 "!"'
    assert (page.kind(sent), sent.levels.to_server) == ("send", 0)
    assert 'A sends urgent data, 1 byte: 21 "!"' in screen.render(found)


@pytest.mark.parametrize(
    "bits, says, able",
    [
        (layout.IN | layout.END, "input and end of input", "readable and at the end of its input"),
        (layout.URGENT, "urgent data", "urgent"),
        (
            layout.IN | layout.OUT | layout.ERROR | layout.HANGUP,
            "input, output, an error and a hang-up",
            "readable, writable, in error and hung up",
        ),
        (layout.CLOSED, "a closed descriptor", "closed"),
    ],
)
def test_what_was_reported_beside_input_and_output(load, bits, says, able):
    """In the sentence of the wait, where it spins, and at its place in the page."""
    asked = layout.IN | layout.END
    wait = [
        call("epoll_wait", 9, fd=5, size=asked, result=bits, watched=True),
        call("epoll_wait", 9, fd=4, connection=-1, result=1),
    ]
    found = load(connected(until_ms=200), [ACCEPTED, *spin(wait, 4_000)])
    assert f"epoll_wait() = A: {says} x 4,000   SPINS" in screen.render(found)
    assert spins.told(found, fold(found.events))[0].endswith(f"4,000 times with A {able}")
    assert found.ending[-1] == (
        "A: nothing on its way; the server waits for input and end of input"
    )
    text = page.render("a title", "failed", "", found)
    packed = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert [column["more"] for column in packed["columns"] if column["ready"]] == [[0]]


def test_a_wait_that_came_often_is_not_said_to_have_waited_each_time(load):
    """The first wait may have waited for the client, or for a processor. Only if all of them
    waited, it is told."""
    first, *others = READY
    slow = [first, call("poll", 9, fd=-1, connection=-1, size=1, result=1, took_ms=30)]
    for calls, says in (
        ([*slow, *READY, *READY], "x 3\n"),
        (slow * 3, "after 30.0 ms x 3\n"),
        (spin(slow, 4_000), "x 4,000   SPINS"),
    ):
        text = screen.render(load(connected(until_ms=900), [ACCEPTED, *calls]))
        assert f"poll() = A: input {says}" in text


def event(what, moved=1, side=SERVER, lane=0):
    return Event(0.0, side, what, lane, moved=moved)


def test_what_repeats_is_told_once():
    """The last event stands for many."""
    cycle = [event("poll", lane=None), event("read", 10), event("write", 10)]
    many = Event(0.0, SERVER, "poll", times=60)
    events = [event("accept"), *(cycle * 5), event("poll"), event("poll"), event("close"), many]
    shape = [(one.times, [kinds[0].what for kinds in one.rounds]) for one in fold(events)]
    assert shape == [
        (1, ["accept"]),
        (5, ["poll", "read", "write"]),
        (1, ["poll"]),
        (1, ["poll"]),
        (1, ["close"]),
        (60, ["poll"]),
    ]


def test_long_rounds_are_those_that_the_library_has_counted(load):
    """What else looks alike may do so by chance, and is told in shorter ones."""
    sweep = [call("read", 9, size=size, result=-1, error=11, connection=size) for size in range(20)]
    accepted = [call("accept", 2, n, 3, 4001 + n, n + 5) for n in range(20)]
    found = load(connected(), accepted + spin(sweep, 5_000))
    (one,) = [one for one in fold(found.events) if len(one.rounds) > 1]
    assert (one.times, len(one.rounds)) == (5_000, 20)
    plain = load(connected(), accepted + sweep * 4)
    assert all(len(one.rounds) == 1 for one in fold(plain.events))


def test_what_the_library_has_counted_is_told_with_it(load):
    """A round that was recorded twice and then counted: the wait with what it was for."""
    around = [
        call("poll", 3, fd=5, size=1, result=1, watched=True),
        call("poll", 3, fd=-1, connection=-1, size=1, result=1),
        call("read", 3, connection=0, size=9, result=-1, error=11),
    ]
    counter = call("write", 4, connection=-1, fd=-1, size=3, result=3_000, repeated=True)
    found = load(connected(until_ms=9), [ACCEPTED, *around, *around, counter])
    (one,) = [one for one in fold(found.events) if one.times > 1]
    assert (one.times, [events[0].what for events in one.rounds]) == (1_002, ["poll", "read"])
    assert "1,002 times:" in screen.render(found)


def test_a_round_that_was_broken_off_may_begin_another(load):
    """The library counts read, send, read of four calls that came twice; instead of the poll comes
    a send. That ends two rounds of read and send, of which the first is counted alone."""
    read = call("read", 3, size=9, result=-1, error=11)
    send = call("send", 3, size=9, result=-1, error=11)
    four = [read, send, read, *NOT_READY]
    broken_off = call("write", 4, connection=-1, fd=-1, size=4, result=3, repeated=True)
    counter = call("write", 5, connection=-1, fd=-1, size=2, result=3_000, repeated=True)
    calls = [ACCEPTED, *four, *four, broken_off, send, counter]
    found = load(connected(until_ms=9), calls)
    told = [event.what for event in found.events if event.times == 1_500]
    assert told == ["read", "send"]


def spin(calls, times, at_ms=10, lasted_ms=100):
    """Calls that come twice, and then again and again."""
    counter = call(
        *("write", at_ms, -1, -1, len(calls), len(calls) * (times - 2)), 0, lasted_ms, repeated=True
    )
    first = [[(at_ms - 1) * MS, *rest] for _, *rest in calls]
    return [*first, *first, counter]


ACCEPTED = call("accept", 2, size=4001, result=5)
READY = [
    call("poll", 9, fd=5, size=1, result=1, watched=True),
    call("poll", 9, fd=-1, connection=-1, size=1, result=1),
]
NOT_READY = [call("poll", 9, fd=-1, connection=-1, size=1)]
NOTHING = call("read", 9, size=9)
AGAIN = call("read", 9, size=9, result=-1, error=11)


@pytest.mark.parametrize(
    "calls, times, says",
    [
        (READY, 18_729_586, "poll() returned at once 18.7 million times with A readable"),
        (READY + [NOTHING], 569_053, "569,053 times with A readable; each time read(A, 9) = 0"),
        (NOT_READY, 4_000, "poll() returned at once 4,000 times with nothing ready"),
        ([AGAIN], 4_000, "4,000 times read(A, 9) = EAGAIN, and it never waits"),
    ],
)
def test_a_spin_is_told_with_what_it_is_about(load, calls, times, says):
    """At the end and where it happens; and it is not said to have not returned."""
    under_way = ["poll", -1, 1, (END - 1) * MS]
    calls = [ACCEPTED, *spin(calls, times)]
    found = load(connected(until_ms=200), calls, under_way=under_way)
    (said,) = spins.told(found, fold(found.events))
    assert said.startswith("SPINS: ") and said.endswith(says)
    text = screen.render(found)
    assert f"   {said}" in text.replace("\n     ", " ")
    assert f"{times:,}" in text and text.count("SPINS") == 2
    assert "has not returned" not in text and "nothing happens" not in text


def test_the_worst_spin_comes_first(load):
    """A rare spin beside it is left out."""
    calls = [ACCEPTED, *spin([AGAIN], 3_000), *spin(READY, 50_000, at_ms=400)]
    calls += spin(NOT_READY, 9_000, at_ms=600)
    found = load(connected(until_ms=900), calls)
    said = spins.told(found, fold(found.events))
    assert [re.search(r"[\d,]+ times", one)[0] for one in said] == ["50,000 times", "9,000 times"]


def test_what_waits_or_moves_bytes_does_not_spin(load):
    moving = call("read", 9, size=9, result=9)
    for calls, lasted_ms in ((READY, 60_000), ([*READY, moving], 100)):
        found = load(connected(), [ACCEPTED, *spin(calls, 4_000, lasted_ms=lasted_ms)])
        assert not spins.told(found, fold(found.events))
        assert "4,000" in screen.render(found)


def test_bytes_of_calls_that_were_counted_are_followed(load):
    """A byte at a time: each of them was read, and is still held."""
    moves = connected(move("A", 3, "send", b"x" * 50))
    calls = [ACCEPTED, *spin([call("read", 9, size=1, result=1)], 40)]
    found = load(moves, calls)
    assert found.events[-1].levels == timeline.Levels(to_server=10, held=40)
    assert "A: 10 bytes to be read, 40 bytes that the server has read but not" in found.ending[-1]
    assert "read(A, 1) = 1 x 40" in screen.render(found)


def test_calls_that_are_not_known_are_told_in_their_place(load):
    """Calls that repeat after them are not taken for something else."""
    calls = [
        call("accept", 2, size=4001, result=5, number=1),
        call("read", 4, size=9, result=9, number=2),
        call("read", 6, size=9, result=-1, error=11, number=702),
        call("write", 7, -1, -1, 2, 600, repeated=True, number=703),
    ]
    found = load(connected(), calls)
    assert [event.what for event in found.events][1:] == ["accept", "read", "lost", "read"]
    assert "699 calls that were not recorded" in screen.render(found)


def test_a_call_that_began_before_the_first_step(load):
    """It is told with what it waits for, whether it has returned or not."""
    calls = [
        call("poll", 1, connection=-1, fd=3, size=1, watched=True),
        call("poll", 1, connection=-1, fd=-1, size=2, result=1, took_ms=20),
        call("accept", 22, fd=3, size=4001, result=5),
    ]
    moves = [move("A", 10, "connect", port=4001)]
    first = screen.render(load(moves, calls)).splitlines()[1]
    assert first.endswith("in poll() of 2 descriptors: the listener for input")
    found = load(moves, [], under_way=["poll", -1, 0, 1 * MS])
    assert screen.render(found).splitlines()[1].endswith("in poll() of 0 descriptors")
    assert found.ending[-1].startswith("it is in poll() of 0 descriptors, which has not returned")


@pytest.mark.parametrize("width", [80, 100])
def test_the_server_has_its_own_time(load, width):
    """What the clock jumps over is a line, and a wait lasts as long as the clock says."""
    clock = [{**move("the grader", at, "clock", step=2), "size": ns} for at, ns in JUMPS]
    moves = connected(move("the grader", 2, "signal", step=2), *clock, move("A", 9, "recv", b"x"))
    calls = [call("poll", 1, -1, -1, 1, took_ms=3), call("poll", 4, -1, -1, 1, took_ms=3)]
    steps = [{"number": n, "who": "A", "text": "lets 60,000 ms go by", "failed": 0} for n in (1, 2)]
    shown = screen.render(load(moves, calls, steps=steps), width)
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[2:7] == [
        "59,999.999 ms later",
        "59,999.999  .       poll() = 0 after 59,999.999 ms",
        "0.001 ms later",
        "60,000  .       poll() = 0",
        '60,000  <   A gets 1 byte: 78 "x"',
    ]
    assert "go by" not in shown


def test_jumps_of_the_clock_that_differ_are_told_one_by_one(load):
    clock = [{**move("the grader", 2 + n, "clock"), "size": n % 2 * MS + MS} for n in range(5)]
    shown = screen.render(load(connected(*clock), []))
    assert shown.count("2 ms later") == 2


def test_signals_of_the_grader_have_no_lane(load):
    moves = connected(move("the grader", 2, "signal", step=2))
    step = {"number": 1, "who": "A", "text": "connects", "failed": False}
    signal = {"number": 2, "who": "the grader", "text": "sends SIGUSR1 to the server"}
    found = load(moves, [], steps=[step, {**step, **signal}])
    assert [lane.name for lane in found.lanes] == ["A"]
    assert "the grader sends SIGUSR1 to the server" in screen.render(found)


@pytest.mark.parametrize("reply, unsent", [(b"", 6), (b"\2\0\0\0", 2), (b"\1\0\0\0", 0)])
def test_a_close_tells_what_was_read_and_never_sent(load, reply, unsent):
    """Not where the replies are other ones: then nobody knows how many bytes are owed."""
    moves = connected(move("A", 3, "send", b"\2\0\0\0hi"))
    moves += [move("A", 8, "recv", reply)] if reply else []
    calls = [ACCEPTED, call("read", 4, size=100, result=6)]
    calls += [call("send", 5, size=6, result=len(reply))] if reply else []
    found = load(moves, [*calls, call("close", 9)])
    (closed,) = [event for event in found.events if event.what == "close"]
    assert closed.unsent == unsent
    told = f"close() of A   ({unsent} bytes read and never sent)"
    assert (told in screen.render(found)) == bool(unsent)


def test_each_call_has_its_thread_if_there_are_several(load):
    ids = (4040, 77, 500)
    calls = [call("read", n, n, result=1, thread=ids[n % 2], number=n) for n in range(2, 9)]
    waits = [(ids[1], "epoll_wait"), (ids[2], "futex")]
    two = load(connected(), calls, waits=waits)
    rows = screen.render(two).splitlines()
    assert [row.split()[1] for row in rows if "read(" in row] == [f"T{1 + n % 2}" for n in range(7)]
    assert "   T2: in epoll_wait()" in rows and not any("futex" in row for row in rows)
    one = screen.render(load(connected(), calls[::2], waits=waits))
    assert "T1" not in one


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(load, width):
    """No line is cut: what a wait is for stands in further lines."""
    ports = range(4001, 4021)
    moves = [move(f"client{port}", 1, "connect", port=port) for port in ports]
    calls = [call("accept", 2, n, 3, port, n + 5) for n, port in enumerate(ports)]
    calls += [call("poll", 3, n, n + 5, 1 + n % 2, 0, watched=True) for n in range(4)]
    calls.append(call("poll", 3, -1, -1, 20))
    text = screen.render(load(moves, calls), width=width)
    assert max(map(len, text.splitlines())) <= width
    joined = " ".join(text.replace(" .", "").split())
    assert "client4001, client4003 for input; client4002, client4004 for output)" in joined


def test_the_page_explains_every_mark():
    """Each kind of event that page.py knows is in the legend."""
    kinds = {"connect", "send", "recv", "silence", "end", "signal", "lost"}
    kinds |= {"wait", "read", "write", "accept", "close"}
    script = page.SCRIPT.read_text()
    legend = re.search(r"const MARKS = \{(.*?)^\};", script, re.S | re.M)[1]
    assert set(re.findall(r'kind: "(\w+)"', legend)) == kinds
    for also in ('"EAGAIN"', "fault: true", "times: ", "more: true"):
        assert also in legend
    words = re.search(r"  legend: \{(.*?)^  \}", script, re.S | re.M)[1]
    assert re.findall(r"^ +(\w+):", words, re.M) == re.findall(r"^ +(\w+):", legend, re.M)


def test_what_fails_or_moves_nothing_is_no_repetition():
    events = [event("read", 5), event("read", 5), event("read", 0), event("read", 5)]
    assert [one.times for one in fold(events)] == [1, 1, 1, 1]


def test_a_repetition_in_words(load):
    found = load(connected(), [])
    one = fold([event("read", 65_536) for _ in range(480)])[0]
    assert words.repeated(found, one).strip() == "read(A, 0) = 65,536 x 480"
    uneven = fold([event("recv", size, CLIENT) for size in (10, 20, 30)])[0]
    assert words.repeated(found, uneven) == "A gets 10 to 30 bytes, 60 in all x 3"


def test_a_long_trace_keeps_its_ends_and_the_failure(load):
    chance = random.Random(1)
    moves = [move("A", n, chance.choice(["send", "recv"]), b"x") for n in range(2, 900)]
    found = load(connected(*moves, move("A", 900, "silence")), [], failed=True)
    text = screen.render(found, lines=40).splitlines()
    assert len(text) < 60
    assert any("lines left out here" in line for line in text)
    assert "connects" in text[1]
    assert any(line.startswith("->") and "nothing came" in line for line in text)


def test_a_page_carries_what_the_server_said(load):
    """Whatever a submission prints, or is sent, ends neither the script nor the page."""
    evil = "</script><script>alert(1)</script>{{data}}"
    found = load(connected(move("A", 2, "send", evil.encode())), [])
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
    """Not the directory of a person who works with the lab, nor of another worker."""
    directory = ROOT / "build" / "trace" / f"tests-{tmp_path_factory.getbasetemp().name}"
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
    "04-no-parse-after-drain": "has read but not sent back; the server waits for input",
    "02-remainder-dropped": "bytes that the server has read but not sent back",
    "02-eagain-is-the-end": "close() of A",
    "04-pollin-while-paused": "poll() = A: input x ",
    "03-reads-while-writing": "poll() = A: input x ",
    "04-pollin-while-draining": "A readable; each time read(A, 73,728) = 0",
    "03-always-wants-to-write": "with A, B, C, D, E, F and 44 others writable",
}


@pytest.mark.parametrize("name", some(list(WRONG), 1, "traces of wrong servers", str))
def test_a_wrong_server(name, capsys, tmp_path, monkeypatch):
    """The fault can be seen: what is stuck, or what was called that should not have been."""
    mutant = next(one for one in CATALOGUE if one.id == name)
    mutant.write(tmp_path / "wrong")
    words = [
        "--chapter",
        mutant.chapter.number,
        "--dir",
        str(tmp_path / "wrong"),
        "--only",
        mutant.test,
    ]
    status, out, text = traced(capsys, *words)
    assert status == 1
    assert out.startswith("FAILED")
    assert WRONG[name] in " ".join(out.split())  # lines are wrapped
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
        (["--chapter", "04", "--only", "nonsense"], "chapter 04 has no test of that name"),
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
