"""What was seen of a test, in order: a lane for each connection, and where its bytes were."""

from __future__ import annotations

import errno
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.shim import layout

SHOWN_BYTES = 64  # of what moved
SHOWN_NAMES = 6  # of connections about which the same is said
CLIENT, SERVER = "client", "server"
INPUTS = {"read", "readv", "recv", "recvfrom", "recvmsg"}
OUTPUTS = {"write", "writev", "send", "sendto", "sendmsg", "sendfile", "sendfile64"}
WAITS = {"poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2"}
ACCEPTS = {"accept", "accept4"}
OWN_OUTPUTS = {0, 1, 2}  # the server's standard input, output and error


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
    """What a wait was for, of one descriptor: its lane's name, its interest, and what it was ready
    for, as words: "in", "out", "in out", "error"."""

    name: str
    interest: str
    ready: str


@dataclass
class Event:
    """Something that a client or the server did. `lane`: its connection, None for the loop.

    at, took: seconds. `what`: "send", "read", "poll" ... `asked`, `moved`: bytes; of a wait,
    descriptors. `error`: the name of an errno. `fault`: the grader made it so. `data`: the first
    bytes that moved, as far as they are known. `failed`: with it the step failed. `times`: it, or
    the round of events that it is in, came so often, for `lasted` seconds.
    """

    at: float
    side: str
    what: str
    lane: int | None = None
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
    """`ending`: what was true when the test was over, as sentences. `left_out`: calls of the server
    that were not kept, for there were too many."""

    lanes: list[Lane]
    events: list[Event]
    steps: list[dict]
    ending: list[str]
    left_out: int


def load(path: Path) -> Timeline:
    """From the file that recorder.save() wrote."""
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


class _Rounds:
    """What a thread of the server did last, and once more when it did so again and again."""

    def __init__(self) -> None:
        # By entries of the record; None: it was no event.
        self._last: deque[Event | None] = deque(maxlen=layout.LONGEST_ROUND)

    def add(self, event: Event | None) -> None:
        self._last.append(event)

    def again(self, entry: layout.Entry) -> Iterator[Event]:
        """The events of the round that came again, each for all its times."""
        times = entry.result // entry.size
        again = list(self._last)[-entry.size :] if times else []
        for event in filter(None, again):
            at, lasted = entry.start_ns / 1e9, entry.took_ns / 1e9
            yield replace(event, at=at, times=times, lasted=lasted, levels=Levels())


class _Reader:
    """Puts together one test."""

    def __init__(self, seen: dict) -> None:
        self._seen = seen
        self._moves = seen["moves"]
        self._server = seen["servers"][-1] if seen["servers"] else None
        self._calls = self._kept_calls()
        self._listeners = {call.fd for call in self._calls if call.function in ACCEPTS}
        self._lanes: list[Lane] = []
        self._by_client: dict[str, int] = {}
        self._by_connection: dict[int, int] = {}
        self._sent: list[_Stream] = []  # by lane: from the client
        self._answered: list[_Stream] = []  # and to it

    def timeline(self) -> Timeline:
        self._name_lanes()
        events = sorted([*self._client_events(), *self._server_events()], key=lambda e: e.at)
        start = events[0].at if events else 0.0
        for event in events:
            event.at -= start
            self._follow(event)
        left_out = self._server["left_out"] if self._server else 0
        return Timeline(self._lanes, events, self._seen["steps"], self._ending(), left_out)

    def _kept_calls(self) -> list[layout.Entry]:
        """Of the last server, without its log, and without what was before the first client."""
        calls = [layout.Entry(**call) for call in self._server["calls"]] if self._server else []
        since = self._moves[0]["at_ns"] if self._moves else 0
        calls = [call for call in calls if call.start_ns + call.took_ns >= since]
        return [call for call in calls if call.fd not in OWN_OUTPUTS or call.watched]

    def _name_lanes(self) -> None:
        """A lane for each client, and for each connection that no client has told of."""
        ports: dict[int, int] = {}
        for move in self._moves:
            if move["who"] not in self._by_client:
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
            data = bytes.fromhex(move["data"])
            lane = self._by_client[move["who"]]
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
            )

    def _failed_move(self) -> dict | None:
        """The last one of the step that failed."""
        failed = {step["number"] for step in self._seen["steps"] if step["failed"]}
        moves = [move for move in self._moves if move["step"] in failed]
        return moves[-1] if moves else None

    def _server_events(self) -> Iterator[Event]:
        watched: list[Ready] = []
        rounds: dict[int, _Rounds] = {}  # by thread
        for call in self._calls:
            mine = rounds.setdefault(call.thread, _Rounds())
            if call.repeated:
                yield from mine.again(call)
                continue
            if call.watched:
                mine.add(None)
                watched.append(self._ready(call))
                continue
            # Output has its place where it begins, all else where it ends: so nothing seems to
            # arrive before it was sent.
            at = call.start_ns + (0 if call.function in OUTPUTS else call.took_ns)
            event = Event(
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
            )
            if call.function in WAITS:
                event.watched, watched = watched, []
            mine.add(event)
            yield event

    def _ready(self, call: layout.Entry) -> Ready:
        lane = self._lane_of(call.connection)
        interest = _words(call.size)
        if lane is not None:
            self._lanes[lane].interest = interest
        other = "the listener" if call.fd in self._listeners else f"descriptor {call.fd}"
        name = other if lane is None else self._lanes[lane].name
        return Ready(name, interest, _words(call.result))

    def _follow(self, event: Event) -> None:
        """Where the bytes of its connection are after the event, and which bytes moved."""
        if event.lane is None:
            return
        levels, lane = self._lanes[event.lane].levels, event.lane
        if event.what == "send" and event.side == CLIENT:
            levels.to_server += event.moved
        elif event.what == "recv" and event.side == CLIENT:
            levels.to_client -= event.moved
        elif event.what in INPUTS:
            levels.to_server -= event.moved
            levels.held += event.moved
            event.data = self._sent[lane].take(event.moved)
        elif event.what in OUTPUTS:
            levels.held -= event.moved
            levels.to_client += event.moved
            event.data = self._answered[lane].take(event.moved)
        event.levels = Levels(levels.to_server, levels.held, levels.to_client)

    # The end

    def _ending(self) -> list[str]:
        if self._server is None:
            return []
        said = [f"the server: {self._server['fate']}"]
        if self._server["under_way"]:
            said.append(self._under_way(*self._server["under_way"]))
        closed = self._closed()
        states: dict[str, list[str]] = {}
        for number, lane in enumerate(self._lanes):
            if number not in closed and (state := _state(lane)):
                states.setdefault(state, []).append(lane.name)
        return said + [f"{_names(names)}: {state}" for state, names in states.items()]

    def _under_way(self, function: str, fd: int) -> str:
        accepted = [c for c in self._calls if c.function in ACCEPTS and c.result == fd >= 0]
        of = f" of {self._lanes[self._lane_of(accepted[-1].connection)].name}" if accepted else ""
        return f"it is in {function}(){of}, which has not returned"

    def _closed(self) -> set[int]:
        """The lanes whose connection the server has closed."""
        closed = [call for call in self._calls if call.function == "close" and call.connection >= 0]
        return {self._by_connection[call.connection] for call in closed}


def _state(lane: Lane) -> str:
    """Where its bytes are and what the server waits for, "" when there is nothing to say."""
    levels, said = lane.levels, []
    if levels.to_server > 0:
        said.append(f"{_bytes(levels.to_server)} to be read")
    if levels.held > 0:
        said.append(f"{_bytes(levels.held)} that the server has read and not sent back")
    if levels.to_client > 0:
        said.append(f"{_bytes(levels.to_client)} on their way to the client")
    if not said and not lane.interest:
        return ""
    waits = "" if lane.interest is None else f"; the server waits for {lane.interest or 'nothing'}"
    return f"{', '.join(said) or 'nothing on its way'}{waits}"


def _names(names: list[str]) -> str:
    if len(names) <= SHOWN_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN_NAMES])} and {len(names) - SHOWN_NAMES} others"


def _words(bits: int) -> str:
    names = ((layout.IN, "input"), (layout.OUT, "output"), (layout.ERROR, "an error"))
    return " and ".join(name for bit, name in names if bits & bit)


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"
