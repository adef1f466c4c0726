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
from typing import NamedTuple

from harness.feedback.conversation import GRADER, counted
from harness.waiting import shared

SHOWN_BYTES = 64  # of what moved
HEADER_BYTES = 4  # of a frame
STAYS_SECONDS = 0.1  # in a call, and it is worth a word
SHOWN_NAMES = 6  # of connections about which the same is said
CLIENT, SERVER = "client", "server"
SIGNAL, CLOCK = "signal", "clock"  # of the grader
INPUTS = {"read", "readv", "recv", "recvfrom", "recvmsg"}
OUTPUTS = {"write", "writev", "send", "sendto", "sendmsg"}
WAITS = {"poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait"}
ACCEPTS = {"accept", "accept4"}
OWN_OUTPUTS = {0, 1, 2}  # the server's standard input, output and error
REPORTED = {  # by waits
    shared.Watched.IN: "input",
    shared.Watched.OUT: "output",
    shared.Watched.URGENT: "urgent data",
    shared.Watched.END: "end of input",
    shared.Watched.ERROR: "an error",
    shared.Watched.HANGUP: "a hang-up",
    shared.Watched.CLOSED: "a closed descriptor",
}
PLACES = "to be read", "that the server has read but not sent back", "on their way to the client"


class Levels(NamedTuple):
    """Where the bytes of a connection are: how many, at one moment.

    `to_server`: sent and not read yet. `held`: read by the server and not answered, or answered and
    not written. `to_client`: written, and not received yet.
    """

    to_server: int = 0
    held: int = 0
    to_client: int = 0

    def told(self) -> str:
        """`6 bytes to be read, 1 byte on its way to the client`; "" if there are none."""
        told = zip(self, PLACES)
        return ", ".join(f"{counted(size, 'byte')} {where}" for size, where in told if size > 0)


@dataclass
class Ready:
    """What a wait was for, of one descriptor: its lane and name, its interest, and what was
    reported of it, as words: "input", "input and output", "input, end of input and a hang-up"."""

    lane: int | None
    name: str
    interest: str
    ready: str


@dataclass
class Event:
    """Something that a client or the server did. `lane`: its connection, which has the
    name `name`; None for the loop.

    at, took: seconds. `what`: "send", "read", "poll" ... `asked`, `moved`: bytes; of a wait,
    descriptors. `error`: the name of an errno. `fault`: the grader made it so. `data`: the first
    bytes that moved, as far as they are known. `failed`: with it the step failed. `times`: it, or
    the round of `round` events that it is in, came so often, for `lasted` seconds. `unsent`: of a
    close(), bytes that the server had read and not answered.

    `what` may be no call: SIGNAL, of the grader to the server, as `said` says; CLOCK, the grader
    moves the server's clock by `moved` ns. If it does, `own` is the time on this clock, and waits
    have lasted as long as it says. `thread`: the number of the server's thread, from 1; 0: it
    has only one, or a client did it.
    """

    at: float
    side: str
    what: str
    lane: int | None = None
    name: str = ""
    own: float = 0.0
    took: float = 0.0
    asked: int = 0
    moved: int = 0
    error: str = ""
    fault: bool = False
    failed: bool = False
    data: bytes = b""
    fd: int = -1
    times: int = 1
    lasted: float = 0.0
    round: int = 0
    thread: int = 0
    unsent: int = 0
    said: str = ""
    watched: list[Ready] = field(default_factory=list)
    levels: Levels = Levels()


@dataclass
class Stream:
    """The bytes that went one way, as far as they were kept, and how many have passed a point."""

    kept: bytearray = field(default_factory=bytearray)
    size: int = 0
    passed: int = 0

    def add(self, data: bytes, size: int) -> None:
        if len(self.kept) == self.size:  # without a gap so far
            self.kept += data
        self.size += size

    def take(self, size: int) -> bytes:
        """The next bytes that pass; the first of them are returned, where they are known."""
        start, self.passed = self.passed, self.passed + size
        return bytes(self.kept[start : start + min(size, SHOWN_BYTES)])


@dataclass
class Lane:
    """A connection. `interest`: what the server waited for last; None: not known. `sent`: what the
    client has sent, and `answered`: what it has got."""

    name: str
    interest: str | None = None
    levels: Levels = Levels()
    sent: Stream = field(default_factory=Stream)
    answered: Stream = field(default_factory=Stream)


@dataclass
class Timeline:
    """`ending`: what was true when the test was over, as sentences. `own_clock`: the server had one
    that the grader moved. `threads`: so many of the server made these calls."""

    lanes: list[Lane]
    events: list[Event]
    ending: list[str]
    own_clock: bool = False
    threads: int = 1


def load(path: Path) -> Timeline:
    """Reads the timeline from a file that recorder.save() wrote."""
    return _Reader(json.loads(path.read_text())).timeline()


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


def _again(last: deque[Event | None], entry: shared.Entry) -> Iterator[Event]:
    """The events of a round that came again, each for all its times; and then, of a round that was
    broken off, those that moved bytes. `last`: what the last entries of this thread were, None for
    no event."""
    times, more = divmod(entry.result, entry.size)
    around = list(last)[-entry.size :]
    if len(around) < entry.size:
        return
    last.extend(around[:more])  # they may be in the round that the next counter is about
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
        self._seen, self._moves = seen, seen["moves"]
        self._clock = _OwnClock(self._moves)
        self._server = (seen["servers"] or [{"calls": [], "under_way": None}])[-1]
        self._calls = [shared.Entry(*call) for call in self._server["calls"]]
        under_way = self._server["under_way"]
        self._under_way = shared.UnderWay(*under_way) if under_way else None
        self._lost = 0  # calls that are not known
        self._since = self._moves[0]["at_ns"] if self._moves else 0  # the first step
        self._threads: dict[int, int] = {}  # their numbers, by their ids
        for call in self._calls:
            self._threads.setdefault(call.thread, len(self._threads) + 1)
        self._listeners = {call.fd for call in self._calls if call.function in ACCEPTS}
        self._lanes: list[Lane] = []
        self._by_client: dict[str, int] = {}
        self._by_connection: dict[int, int] = {}

    def timeline(self) -> Timeline:
        self._name_lanes()
        since = self._since / 1e9
        # Without those of the server that were over before the first step.
        found = [*self._client_events(), *self._server_events()]
        events = [event for event in found if event.at + event.lasted >= since]
        for event in events:
            event.at = max(event.at, since)
        events.sort(key=lambda event: event.at)
        start = events[0].at if events else 0.0
        for event in events:
            event.own = self._clock.at(event.at)
            if event.what in WAITS and self._clock:
                event.took = event.own - self._clock.at(event.at - event.took)
            event.at -= start
            self._follow(event)
        own_clock, threads = bool(self._clock), len(self._threads)
        return Timeline(self._lanes, events, self._ending(), own_clock, threads)

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
                if call.size in ports:
                    self._by_connection[call.connection] = ports[call.size]
                self._lane_of(call.connection)

    def _new_lane(self, name: str) -> int:
        self._lanes.append(Lane(name))
        return len(self._lanes) - 1

    def _lane_of(self, connection: int) -> int | None:
        if connection >= 0 and connection not in self._by_connection:
            self._by_connection[connection] = self._new_lane(f"#{connection}")
        return self._by_connection.get(connection)

    # Events

    def _client_events(self) -> Iterator[Event]:
        failed = {step["number"] for step in self._seen["steps"] if step["failed"]}
        last = next((move for move in reversed(self._moves) if move["step"] in failed), None)
        for move in self._moves:
            what, said = move["what"], ""
            if what == SIGNAL:
                if move["step"] in self._clock.steps:
                    continue  # the clock says it
                step = self._seen["steps"][move["step"] - 1]
                said = f"{step['who']} {step['text']}"
            data = bytes.fromhex(move["data"])
            lane = self._by_client.get(move["who"])
            if what in ("send", "recv"):
                of = self._lanes[lane]
                (of.sent if what == "send" else of.answered).add(data, move["size"])
            yield Event(
                move["at_ns"] / 1e9,
                CLIENT,
                what,
                lane,
                moved=move["size"],
                data=data[:SHOWN_BYTES],
                failed=move is last,
                said=said,
            )

    def _server_events(self) -> Iterator[Event]:
        watched: list[Ready] = []
        rounds: dict[int, deque] = {}  # by thread
        last = 0
        for call in self._calls:
            if 0 < last < call.number - 1:
                self._lost += call.number - last - 1
                rounds.clear()  # what is missing may be a part of them
            last = call.number
            mine = rounds.setdefault(call.thread, deque(maxlen=shared.LONGEST_ROUND))
            if call.repeated:
                yield from _again(mine, call)
                continue
            if call.watched or call.fd in OWN_OUTPUTS:
                mine.append(None)
                watched += [self._ready(call)] if call.watched else []
                continue
            event = self._event(call)
            if call.function in WAITS:
                event.watched, watched = watched, []
            mine.append(event)
            yield event

    def _event(self, call: shared.Entry) -> Event:
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
            thread=self._threads[call.thread] if len(self._threads) > 1 else 0,
        )

    def _ready(self, call: shared.Entry) -> Ready:
        lane = self._lane_of(call.connection)
        interest = _words(call.size)
        name = "the listener" if call.fd in self._listeners else f"descriptor {call.fd}"
        if lane is not None:
            name, self._lanes[lane].interest = self._lanes[lane].name, interest
        return Ready(lane, name, interest, _words(call.result))

    def _follow(self, event: Event) -> None:
        """Updates where the bytes of the connection are after the event, and notes which of them
        moved."""
        if event.lane is None:
            return
        lane, moved = self._lanes[event.lane], event.moved * event.times
        event.name, (unread, held, back) = lane.name, lane.levels
        if event.side == CLIENT:
            unread += moved if event.what == "send" else 0
            back -= moved if event.what == "recv" else 0
        elif event.what in INPUTS:
            unread, held = unread - moved, held + moved
            event.data = lane.sent.take(moved)
        elif event.what in OUTPUTS:
            held, back = held - moved, back + moved
            event.data = lane.answered.take(moved)
        elif event.what == "close" and _echoes(lane):
            event.unsent = max(0, held)
        lane.levels = event.levels = Levels(unread, held, back)

    # The end

    def _ending(self) -> list[str]:
        count, server = len(self._seen["servers"]), self._server
        if count == 0:
            return []
        said = [f"{count} servers were started; the calls are of the last one"] * (count > 1)
        if self._lost:
            said.append(f"{self._lost:,} calls were not recorded: there were too many")
        said.append(f"the server: {server['fate']}")
        if self._under_way:
            seconds = (server["at_ns"] - self._under_way.start_ns) / 1e9
            said += [self._where(self._under_way, seconds)] * (seconds >= STAYS_SECONDS)
        where: dict[str, list[str]] = {}
        for thread, function in server["waits"] if len(self._threads) > 1 else ():
            if thread in self._threads:
                where.setdefault(function, []).append(f"T{self._threads[thread]}")
        said += [f"{names(found)}: in {function}()" for function, found in where.items()]
        closed = {call.connection for call in self._calls if call.function == "close"}
        gone = {self._lane_of(connection) for connection in closed}
        states: dict[str, list[str]] = {}
        for number, lane in enumerate(self._lanes):
            if number not in gone and (state := _state(lane)):
                states.setdefault(state, []).append(lane.name)
        return said + [f"{names(found)}: {state}" for state, found in states.items()]

    def _where(self, call: shared.UnderWay, seconds: float) -> str:
        """The call in which the server has been for so long."""
        accepted = [c for c in self._calls if c.function in ACCEPTS and c.result == call.fd >= 0]
        lanes = [self._lanes[self._lane_of(one.connection)] for one in accepted]
        text = f"it is in {call.function}()" + (f" of {lanes[-1].name}" if lanes else "")
        return text if self._clock else f"{text}, which has not returned for {seconds:,.1f} s"


def _echoes(lane: Lane) -> bool:
    """Returns true if the server sends back what it got, as far as one can tell: other replies have
    other lengths, which come first."""
    return lane.sent.kept.startswith(lane.answered.kept[:HEADER_BYTES])


def _state(lane: Lane) -> str:
    """Where the bytes of a connection are and what the server waits for, "" when there is nothing
    to say."""
    said = lane.levels.told()
    if not said and not lane.interest:
        return ""
    waits = "" if lane.interest is None else f"; the server waits for {lane.interest or 'nothing'}"
    return f"{said or 'nothing on its way'}{waits}"


def names(found: Iterable[str]) -> str:
    """The first of these, and how many more there are. Several clients may have one name."""
    told = [f"{count} of {name}" if count > 1 else name for name, count in Counter(found).items()]
    if len(told) <= SHOWN_NAMES + 1:
        return ", ".join(told)
    return f"{', '.join(told[:SHOWN_NAMES])} and {len(told) - SHOWN_NAMES} others"


def _words(bits: int) -> str:
    *first, last = [name for bit, name in REPORTED.items() if bits & bit] or [""]
    return " and ".join(filter(None, (", ".join(first), last)))
