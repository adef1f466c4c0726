"""One call of a server after the other fails, once, while three clients are served.

What has to hold at every point: no crash; the client whose call it was gets a correct beginning of
its replies, or all of them where the fault is none of the connection's; everybody else gets all;
and the next client is served.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from harness.claims.context.observe import until_asleep
from harness.claims.scenarios.exchanges import SMALL_WINDOW
from harness.client import length_framing
from harness.client.client import Client
from harness.feedback.failure import Failure
from harness.server.preload import Group, Plan, Step, fail, piece

# Every call is tried up to this one; of those behind it, fewer and fewer.
EVERY = 12
GROWTH = 1.5
LAST = 200  # a server that looks round all the time makes calls for as long as it is given
MOST = 100_000  # bytes asked of one read of a client

# What ends a connection, and nothing else.
FATAL = {errno.ECONNRESET, errno.EPIPE, errno.ENOMEM}

# How a client may see that it was dropped.
DROPPED = {"closed-early", "closed-in-reply", "reset-early", "replies-missing", "connect-refused"}

# What to think of first. The faults of writing and reading have their hints in common with others.
HINTS = {
    0: "short-write",
    errno.EAGAIN: "call-disturbed",
    errno.EINTR: "call-disturbed",
    errno.ECONNRESET: "reset-ends-one",
    errno.EPIPE: "sigpipe",
    errno.ENOMEM: "out-of-memory",
}
GROUP_HINTS = {
    Group.ACCEPT: "accept-failed",
    Group.WAIT: "ended-by-a-signal",
    Group.CLOSE: "close-interrupted",
}

NAMES = {
    Group.INPUT: "read",
    Group.OUTPUT: "write",
    Group.ACCEPT: "accept",
    Group.WAIT: "wait",
    Group.CLOSE: "close",
    Group.ALLOCATION: "allocation",
}


@dataclass(frozen=True)
class Fault:
    """Something that can happen to a call of this group."""

    group: Group
    step: Step

    def __str__(self) -> str:
        if self.step.limit:
            return f"moves only {self.step.limit} byte"
        return f"fails with {errno.errorcode[self.step.error]}"

    @property
    def fatal(self) -> bool:
        return self.step.error in FATAL

    @property
    def hint(self) -> str:
        if self.group == Group.INPUT and self.step.limit:
            return "one-read-one-message"
        return GROUP_HINTS.get(self.group) or HINTS[self.step.error]


def _faults(group: Group, *errors: int) -> tuple[Fault, ...]:
    return tuple(Fault(group, fail(error)) for error in errors)


# From the ERRORS sections of read(2), send(2), accept(2), poll(2), close(2), malloc(3).
FAULTS = (
    Fault(Group.INPUT, piece(1)),
    *_faults(Group.INPUT, errno.EAGAIN, errno.EINTR, errno.ECONNRESET),
    Fault(Group.OUTPUT, piece(1)),
    *_faults(Group.OUTPUT, errno.EAGAIN, errno.EINTR, errno.ECONNRESET, errno.EPIPE),
    *_faults(Group.ACCEPT, errno.EAGAIN, errno.EINTR, errno.ECONNABORTED, errno.EMFILE),
    *_faults(Group.WAIT, errno.EINTR),
    *_faults(Group.CLOSE, errno.EINTR),
    *_faults(Group.ALLOCATION, errno.ENOMEM),
)


class Participant:
    """A client that gets frames back, all of them or, when it was dropped, the first bytes."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.owed = b""
        self.dropped: Failure | None = None

    def send(self, frames: bytes) -> None:
        """Sends frames, which are to come back."""
        self.owed += frames
        self._try(lambda: self.client.send(frames))

    def take(self) -> None:
        """Reads all that is owed."""
        while self.owed and not self.dropped:
            self._try(self._take_some)

    def _take_some(self) -> None:
        came = self.client.read_some(min(MOST, len(self.owed)))
        due, self.owed = self.owed[: len(came)], self.owed[len(came) :]
        if came != due:
            raise Failure(
                "the reply is not what was sent", hint="wrong-body", expected=due, received=came
            )

    def leave(self) -> None:
        self._try(self.client.half_close)
        self._try(self.client.expect_eof)

    def _try(self, action: Callable[[], None]) -> None:
        """Notes that the connection is over; everything else that is wrong goes on."""
        if self.dropped:
            return
        try:
            action()
        except Failure as failure:
            if failure.hint not in DROPPED:
                raise
            self.dropped = failure


class ThreeClients:
    """The scenario: three clients connect and send, and one after the other gets its replies and
    leaves. So a server that serves one at a time can do it, too."""

    def __init__(self, rng: random.Random) -> None:
        self.small = [length_framing.encode(rng.randbytes(size)) for size in (10, 300)]
        self.several = b"".join(length_framing.encode(rng.randbytes(size)) for size in (0, 5, 2000))
        self.large = length_framing.encode(rng.randbytes(100_000))

    def play(self, server) -> list[Participant]:
        """Returns the clients, of which some may have been dropped."""
        clients = []
        for name, sent, rcvbuf in (
            ("A", self.small[0], None),
            ("B", self.several, None),
            ("C", self.large, SMALL_WINDOW),
        ):
            clients.append(Participant(server.connect(name, rcvbuf=rcvbuf)))
            clients[-1].send(sent)
        clients[0].take()
        clients[0].send(self.small[1])
        for client in clients:
            client.take()
            client.leave()
        return clients


def single_faults(launch: Callable, rng: random.Random, allocations: bool) -> int:
    """Plays the scenario once for every point. Returns how many there were.

    allocations: the faults of these too. One server takes all the points of one kind of call.
    Without the library in the server there are none.
    """
    points, three = 0, ThreeClients(rng)
    for group, faults in groupby(FAULTS, lambda fault: fault.group):
        if group == Group.ALLOCATION and not allocations:
            continue
        server = _started(launch, allocations)
        if server.shim is None:
            return 0
        if not points:
            _play_undisturbed(server, three)
        for fault in faults:
            for number in _numbers():
                if not _play(server, fault, number, three):
                    break
                points += 1
        server.process.destroy()
    return points


def _play_undisturbed(server, three: ThreeClients) -> None:
    """The scenario without a fault: what goes wrong there is no matter of calls that fail."""
    try:
        _all_are_served(server, three.play(server))
    except Failure as failure:
        failure.message = f"although no call fails: {failure.message}"
        raise


def _started(launch: Callable, allocations: bool):
    """A server that waits for clients. Before, while it starts, no memory may well be its end."""
    server = launch(allocations=allocations)
    if server.shim is not None:
        until_asleep(server)
    return server


def _numbers() -> Iterator[int]:
    """The numbers of the calls that are to fail, from 0."""
    number = 0
    while number < LAST:
        yield number
        number += 1 if number < EVERY else int(number * (GROWTH - 1))


def _play(server, fault: Fault, number: int, three: ThreeClients) -> bool:
    """The scenario, with the fault at this call. False: the server makes no such call."""
    which = f"the {_ordinal(number + 1)} {NAMES[fault.group]} {fault}"
    server.conversation.restart()
    server.conversation.note("the grader", f"makes sure that {which}")
    server.shim.schedule(Plan(fault.group, [fault.step], skip=number))
    try:
        clients = three.play(server)
        if number == 0 and fault.group in (Group.INPUT, Group.OUTPUT):
            server.shim.require_calls()
        plan = server.shim.shared.plan[0]
        server.shim.schedule()
        if fault.fatal and plan.fired:
            clients = _others(clients, plan.hit)
        _all_are_served(server, clients)
    except Failure as failure:
        failure.message = f"when {which}: {failure.message}"
        failure.hint = fault.hint
        raise
    return bool(plan.fired)


def _others(clients: list[Participant], hit: int) -> list[Participant]:
    """The clients that a fault of the connection from the port `hit` must not touch.

    A fault without a connection (no memory) may cost one client.
    """
    if hit:
        return [one for one in clients if one.client.ends[0][1] != hit]
    dropped = [client for client in clients if client.dropped]
    return dropped[1:]


def _all_are_served(server, clients: list[Participant]) -> None:
    """None of these was dropped, and another client is served."""
    for client in clients:
        if client.dropped:
            raise client.dropped
    client = server.connect("next")
    client.send_frame(b"next")
    client.expect_frame(b"next")
    client.half_close()
    client.expect_eof()


def _ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th ..."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ending}"
