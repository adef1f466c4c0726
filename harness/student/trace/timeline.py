"""What was seen of a test, in order: a lane for each connection, and where its bytes were."""

from __future__ import annotations

import errno
import json
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from harness.failures.conversation import GRADER, counted
from harness.server.shim import layout

SHOWN_BYTES = 64  # of what moved
HEADER_BYTES = 4  # of a frame
STAYS_SECONDS = 0.1  # in a call, and it is worth a word
SHOWN_NAMES = 6  # of connections about which the same is said
CLIENT, SERVER = "client", "server"
LOST, IN_CALL = "lost", "in a call"  # events that are no call, and no client's
SIGNAL, CLOCK = "signal", "clock"  # of the grader
INPUTS = {"read", "readv", "recv", "recvfrom", "recvmsg"}
OUTPUTS = {"write", "writev", "send", "sendto", "sendmsg", "sendfile", "sendfile64"}
WAITS = {"poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2"}
COUNTED = {"poll", "ppoll"}  # are told how many descriptors there are
ACCEPTS = {"accept", "accept4"}
OWN_OUTPUTS = {0, 1, 2}  # the server's standard input, output and error
REPORTED = {  # by waits
    layout.IN: "input",
    layout.OUT: "output",
    layout.URGENT: "urgent data",
    layout.END: "end of input",
    layout.ERROR: "an error",
    layout.HANGUP: "a hang-up",
    layout.CLOSED: "a closed descriptor",
}
USUAL = ("input", "output", "input and output")


@dataclass
class Levels:
    """Where the bytes of a connection are: how many, at one moment.

    `to_server`: sent and not read yet. `held`: read by the server and not answered, or answered and
    not written. `to_client`: written, and not received yet.
    """

    to_server: int = 0
    held: int = 0
    to_client: int = 0


@dataclass
class Ready:
    """What a wait was for, of one descriptor: its lane's name, its interest, and what was reported
    of it, as words: "input", "input and output", "input, end of input and a hang-up"."""

    name: str
    interest: str
    ready: str

    @property
    def reports_more(self) -> bool:
        """Whether more than input and output is reported: an end of input, a hang-up, an error,
        urgent data."""
        return self.ready not in ("", *USUAL)


@dataclass
class Event:
    """Something that a client or the server did. `lane`: its connection, None for the loop.

    at, took: seconds. `what`: "send", "read", "poll" ... `asked`, `moved`: bytes; of a wait,
    descriptors. `error`: the name of an errno. `fault`: the grader made it so. `data`: the first
    bytes that moved, as far as they are known. `failed`: with it the step failed. `times`: it, or
    the round of `round` events that it is in, came so often, for `lasted` seconds. `unsent`: of a
    close(), bytes that the server had read and not answered.

    `what` may be no call: LOST, `times` calls of the server are not known; IN_CALL, the server was
    in the call `function` before the first step; SIGNAL, of the grader to the server, as `function`
    says; CLOCK, the grader moves the server's clock by `moved` ns. If it does, `own` is the time on
    this clock, and waits have lasted as long as it says. `thread`: the number of the server's
    thread, from 1; 0: of a client.
    """

    at: float
    side: str
    what: str
    lane: int | None = None
    own: float = 0.0
    took: float = 0.0
    asked: int = 0
    moved: int = 0
    error: str = ""
    fault: bool = False
    failed: bool = False
    data: bytes = b""
    fd: int = -1
    step: int = 0
    times: int = 1
    lasted: float = 0.0
    round: int = 0
    thread: int = 0
    unsent: int = 0
    function: str = ""
    watched: list[Ready] = field(default_factory=list)
    levels: Levels = field(default_factory=Levels)


@dataclass
class Lane:
    """A connection. `interest`: what the server waited for last; None: not known."""

    name: str
    interest: str | None = None
    levels: Levels = field(default_factory=Levels)


@dataclass
class Timeline:
    """`ending`: what was true when the test was over, as sentences. `own_clock`: the server had one
    that the grader moved. `threads`: so many of the server made these calls."""

    lanes: list[Lane]
    events: list[Event]
    steps: list[dict]
    ending: list[str]
    own_clock: bool = False
    threads: int = 1

    def time(self, event: Event) -> float:
        """When it happened, in seconds: on the clock of the server, if that is its own."""
        return event.own if self.own_clock else event.at


def load(path: Path) -> Timeline:
    """Reads the timeline from a file that recorder.save() wrote."""
    return _Reader(json.loads(path.read_text())).timeline()


class _Stream:
    """The bytes that went one way, as far as they were kept, and how many have passed a point."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.size = 0
        self.passed = 0

    def add(self, data: bytes, size: int) -> None:
        if len(self.kept) == self.size:  # without a gap so far
            self.kept += data
        self.size += size

    def take(self, size: int) -> bytes:
        """The next bytes that pass; the first of them are returned, where they are known."""
        start, self.passed = self.passed, self.passed + size
        return bytes(self.kept[start : start + min(size, SHOWN_BYTES)])


class _OwnClock:
    """The clock of a server that the grader moved, beside that of the machine."""

    def __init__(self, moves: Iterable[dict]) -> None:
        found = [move for move in moves if move["what"] == CLOCK]
        self.steps = {move["step"] for move in found}
        self._at = [move["at_ns"] / 1e9 for move in found]
        self._since = list(accumulate((move["size"] / 1e9 for move in found), initial=0.0))

    def __bool__(self) -> bool:
        return bool(self._at)

    def at(self, seconds: float) -> float:
        """What it showed, in seconds since the test began, at this time of the machine's."""
        return self._since[bisect_right(self._at, seconds)]


class _Rounds:
    """The last events of one thread of the server, for the rounds of them that it repeated."""

    def __init__(self) -> None:
        # By entries of the record; None: it was no event.
        self._last: deque[Event | None] = deque(maxlen=layout.LONGEST_ROUND)

    def add(self, event: Event | None) -> None:
        self._last.append(event)

    def forget(self) -> None:
        """Forgets the rounds so far, since entries are missing: a later repetition may be of any of
        them."""
        self._last.clear()

    def again(self, entry: layout.Entry) -> Iterator[Event]:
        """The events of the round that came again, each for all its times; and then, of a round
        that was broken off, those that moved bytes."""
        times, more = divmod(entry.result, entry.size)
        around = list(self._last)[-entry.size :]
        if len(around) < entry.size:
            return
        self._last.extend(around[:more])  # they may be in the round that the next counter is about
        start, end = entry.start_ns / 1e9, (entry.start_ns + entry.took_ns) / 1e9
        again = [event for event in around if event and times]
        for event in again:
            many = {"times": times, "lasted": entry.took_ns / 1e9, "round": len(again)}
            yield replace(event, at=start, levels=Levels(), **many)
        for event in filter(None, around[:more]):
            if event.moved and event.what not in WAITS:
                yield replace(event, at=end, levels=Levels())


class _Reader:
    """Puts together one test."""

    def __init__(self, seen: dict) -> None:
        self._seen = seen
        self._moves = seen["moves"]
        self._clock = _OwnClock(self._moves)
        self._server = seen["servers"][-1] if seen["servers"] else None
        calls = self._server["calls"] if self._server else []
        self._calls = [layout.Entry(*call) for call in calls]
        self._since = self._moves[0]["at_ns"] if self._moves else 0  # the first step
        self._threads: dict[int, int] = {}  # their numbers, by their ids
        for call in self._calls:
            self._threads.setdefault(call.thread, len(self._threads) + 1)
        self._interests: dict[str, str] = {}  # by name, of what it waits for
        self._listeners = {call.fd for call in self._calls if call.function in ACCEPTS}
        self._lanes: list[Lane] = []
        self._by_client: dict[str, int] = {}
        self._by_connection: dict[int, int] = {}
        self._sent: list[_Stream] = []  # by lane: from the client
        self._answered: list[_Stream] = []  # and to it

    def timeline(self) -> Timeline:
        self._name_lanes()
        events = [*self._client_events(), *self._server_events()]
        events.sort(key=lambda event: (event.at, event.what != IN_CALL))
        start = events[0].at if events else 0.0
        for event in events:
            event.own = self._clock.at(event.at)
            if event.what in WAITS and self._clock:
                event.took = event.own - self._clock.at(event.at - event.took)
            event.at -= start
            self._follow(event)
        steps, own_clock, threads = self._seen["steps"], bool(self._clock), len(self._threads)
        return Timeline(self._lanes, events, steps, self._ending(), own_clock, threads)

    def _name_lanes(self) -> None:
        """A lane for each client, and for each connection that no client has told of."""
        ports: dict[int, int] = {}
        for move in self._moves:
            if move["who"] not in (*self._by_client, GRADER):
                self._by_client[move["who"]] = self._new_lane(move["who"])
            if move["port"]:
                ports[move["port"]] = self._by_client[move["who"]]
        for call in self._calls:
            if call.function in ACCEPTS and call.connection >= 0:
                lane = ports.get(call.size)
                number = call.connection
                self._by_connection[number] = self._new_lane(f"#{number}") if lane is None else lane

    def _new_lane(self, name: str) -> int:
        self._lanes.append(Lane(name))
        self._sent.append(_Stream())
        self._answered.append(_Stream())
        return len(self._lanes) - 1

    def _lane_of(self, connection: int) -> int | None:
        if connection < 0:
            return None
        if connection not in self._by_connection:
            self._by_connection[connection] = self._new_lane(f"#{connection}")
        return self._by_connection[connection]

    # Events

    def _client_events(self) -> Iterator[Event]:
        failed = self._failed_move()
        for move in self._moves:
            if move["what"] == SIGNAL and move["step"] in self._clock.steps:
                continue  # the clock says it
            data = bytes.fromhex(move["data"])
            lane = self._by_client.get(move["who"])
            if move["what"] == "send":
                self._sent[lane].add(data, move["size"])
            elif move["what"] == "recv":
                self._answered[lane].add(data, move["size"])
            yield Event(
                move["at_ns"] / 1e9,
                CLIENT,
                move["what"],
                lane,
                moved=move["size"],
                data=data[:SHOWN_BYTES],
                step=move["step"],
                failed=move is failed,
                function=self._said(move) if move["what"] == SIGNAL else "",
            )

    def _said(self, move: dict) -> str:
        """The step that it belongs to, as a sentence."""
        step = self._seen["steps"][move["step"] - 1]
        return f"{step['who']} {step['text']}"

    def _failed_move(self) -> dict | None:
        """The last one of the step that failed."""
        failed = {step["number"] for step in self._seen["steps"] if step["failed"]}
        moves = [move for move in self._moves if move["step"] in failed]
        return moves[-1] if moves else None

    def _server_events(self) -> Iterator[Event]:
        """The events of the server, without those that were over before the first step."""
        since = self._since / 1e9
        for event in self._all_server_events():
            if event.at + event.lasted >= since:
                event.at = max(event.at, since)
                yield event

    def _all_server_events(self) -> Iterator[Event]:
        watched: list[Ready] = []
        rounds: dict[int, _Rounds] = {}  # by thread
        last = 0
        for call in self._calls:
            if 0 < last < call.number - 1:
                yield Event(call.start_ns / 1e9, SERVER, LOST, times=call.number - last - 1)
                for one in rounds.values():
                    one.forget()
            last = call.number
            mine = rounds.setdefault(call.thread, _Rounds())
            if call.repeated:
                yield from mine.again(call)
                continue
            if call.watched or call.fd in OWN_OUTPUTS:
                mine.add(None)
                watched += [self._ready(call)] if call.watched else []
                continue
            event = self._event(call)
            if call.function in WAITS:
                event.watched, watched = watched, []
            if call.start_ns < self._since <= call.start_ns + call.took_ns:
                yield self._in_call(call)
                event.watched = [one for one in event.watched if one.ready]  # all else is said
            mine.add(event)
            yield event
        if self._server and self._under_way and self._under_way.start_ns < self._since:
            yield self._in_call(self._under_way)

    def _event(self, call: layout.Entry) -> Event:
        # Output has its place where it begins, all else where it ends: so nothing seems to arrive
        # before it was sent.
        at = call.start_ns + (0 if call.function in OUTPUTS else call.took_ns)
        return Event(
            at / 1e9,
            SERVER,
            call.function,
            self._lane_of(call.connection),
            took=call.took_ns / 1e9,
            asked=0 if call.function in ACCEPTS else call.size,
            moved=max(0, call.result),
            error=errno.errorcode.get(call.error, str(call.error)) if call.error else "",
            fault=call.fault,
            fd=call.fd,
            thread=self._threads[call.thread],
        )

    def _in_call(self, call: layout.Entry | layout.UnderWay) -> Event:
        """The server was in this call when the test began."""
        waits = call.function in WAITS
        watched = [Ready(*one, "") for one in self._interests.items() if one[1]] if waits else []
        return Event(
            self._since / 1e9,
            SERVER,
            IN_CALL,
            asked=call.size,
            fd=call.fd,
            function=call.function,
            thread=self._threads[call.thread] if isinstance(call, layout.Entry) else 0,
            watched=watched,
        )

    def _ready(self, call: layout.Entry) -> Ready:
        lane = self._lane_of(call.connection)
        interest = _words(call.size)
        if lane is not None:
            self._lanes[lane].interest = interest
        other = "the listener" if call.fd in self._listeners else f"descriptor {call.fd}"
        name = other if lane is None else self._lanes[lane].name
        if not call.result:
            self._interests[name] = interest
        return Ready(name, interest, _words(call.result))

    def _follow(self, event: Event) -> None:
        """Updates where the bytes of the connection are after the event, and notes which of them
        moved."""
        if event.lane is None:
            return
        levels, lane = self._lanes[event.lane].levels, event.lane
        moved = event.moved * event.times
        if event.what == "send" and event.side == CLIENT:
            levels.to_server += moved
        elif event.what == "recv" and event.side == CLIENT:
            levels.to_client -= moved
        elif event.what in INPUTS:
            levels.to_server -= moved
            levels.held += moved
            event.data = self._sent[lane].take(moved)
        elif event.what in OUTPUTS:
            levels.held -= moved
            levels.to_client += moved
            event.data = self._answered[lane].take(moved)
        elif event.what == "close" and event.side == SERVER and self._echoes(lane):
            event.unsent = max(0, levels.held)
        event.levels = Levels(levels.to_server, levels.held, levels.to_client)

    def _echoes(self, lane: int) -> bool:
        """Whether the server sends back what it got, as far as one can tell: other replies have
        other lengths, which come first."""
        answered = self._answered[lane].kept[:HEADER_BYTES]
        return self._sent[lane].kept.startswith(answered)

    # The end

    @property
    def _under_way(self) -> layout.UnderWay | None:
        found = self._server["under_way"]
        return layout.UnderWay(*found) if found else None

    def _ending(self) -> list[str]:
        if self._server is None:
            return []
        count = len(self._seen["servers"])
        said = []
        if count > 1:
            said.append(f"{count} servers were started; the calls are of the last one")
        said.append(f"the server: {self._server['fate']}")
        if self._under_way and self._stays() >= STAYS_SECONDS:
            said.append(self._where(self._under_way))
        said += self._waiting() if len(self._threads) > 1 else []
        closed = self._closed()
        states: dict[str, list[str]] = {}
        for number, lane in enumerate(self._lanes):
            if number not in closed and (state := _state(lane)):
                states.setdefault(state, []).append(lane.name)
        return said + [f"{names(found)}: {state}" for state, found in states.items()]

    def _stays(self) -> float:
        """Seconds for which the server has been in its last call."""
        return (self._server["at_ns"] - self._under_way.start_ns) / 1e9

    def _where(self, call: layout.UnderWay) -> str:
        accepted = [c for c in self._calls if c.function in ACCEPTS and c.result == call.fd >= 0]
        of = descriptors(call.function, call.size)
        if accepted:
            of = f" of {self._lanes[self._lane_of(accepted[-1].connection)].name}"
        text = f"it is in {call.function}(){of}"
        return text if self._clock else f"{text}, which has not returned for {self._stays():,.1f} s"

    def _waiting(self) -> list[str]:
        """Which threads wait, and where."""
        where: dict[str, list[str]] = {}
        for thread, function in self._server["waits"]:
            if thread in self._threads:
                where.setdefault(function, []).append(f"T{self._threads[thread]}")
        return [f"{names(found)}: in {function}()" for function, found in where.items()]

    def _closed(self) -> set[int]:
        """The lanes whose connection the server has closed."""
        closed = [call for call in self._calls if call.function == "close" and call.connection >= 0]
        return {self._by_connection[call.connection] for call in closed}


def _state(lane: Lane) -> str:
    """Where the bytes of a connection are and what the server waits for, "" when there is nothing
    to say."""
    levels, said = lane.levels, []
    if levels.to_server > 0:
        said.append(f"{_bytes(levels.to_server)} to be read")
    if levels.held > 0:
        said.append(f"{_bytes(levels.held)} that the server has read but not sent back")
    if levels.to_client > 0:
        said.append(f"{_bytes(levels.to_client)} on their way to the client")
    if not said and not lane.interest:
        return ""
    waits = "" if lane.interest is None else f"; the server waits for {lane.interest or 'nothing'}"
    return f"{', '.join(said) or 'nothing on its way'}{waits}"


def names(found: Iterable[str]) -> str:
    """The first of these, and how many more there are. Several clients may have one name."""
    told = [f"{count} of {name}" if count > 1 else name for name, count in Counter(found).items()]
    if len(told) <= SHOWN_NAMES + 1:
        return ", ".join(told)
    return f"{', '.join(told[:SHOWN_NAMES])} and {len(told) - SHOWN_NAMES} others"


def descriptors(function: str, size: int) -> str:
    """ " of 2 descriptors", where it is said of how many a wait is."""
    return f" of {counted(size, 'descriptor')}" if function in COUNTED else ""


def _words(bits: int) -> str:
    *first, last = [name for bit, name in REPORTED.items() if bits & bit] or [""]
    return " and ".join(filter(None, (", ".join(first), last)))


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"
