"""Many clients: thousands that are connected at the same time, and some that arrive at once."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.client import length_framing
from harness.client.stream import Stream
from harness.feedback.failure import Failure, NotJudged, TooBusy
from harness.waiting import sockets
from harness.waiting.wait import LOOK_SECONDS, Deadline

MOMENT_SECONDS = 0.5  # for what is under way when a backlog is full
LONGEST_BACKLOG = Path("/proc/sys/net/core/somaxconn")  # what the kernel cuts a backlog down to


@contextmanager
def connected(server, count: int, at_once: bool = False) -> Iterator[list[Stream]]:
    """Connects `count` clients, and closes them at the end of the block by a reset, so that no port
    stays taken.

    `at_once`: all of them begin to connect before we wait for the first one. Raises Failure if the
    server does not take them all, NotJudged if this machine does not.
    """
    with ExitStack() as stack:
        streams = []
        try:
            for _ in range(count):
                stream = Stream(server.address, server.patience, wait=not at_once)
                streams.append(stream)
                stack.callback(stream.close, by_reset=True)
            for stream in streams if at_once else ():
                stream.wait_until_connected()
        except Failure as failure:
            text = f"one of {count:,} clients could not connect: {failure}"
            raise Failure(text, hint="table-too-small") from None
        except TooBusy:  # that is no matter of how many they are
            raise
        except (NotJudged, OSError) as reason:
            raise NotJudged(f"{count:,} clients are too many here: {reason}") from None
        yield streams


@contextmanager
def served(server, count: int, at_once: bool = False) -> Iterator[None]:
    """Connects `count` clients for the time of the block; each of them gets one reply first."""
    what = f"connects {count:,} clients{' at once' if at_once else ''}; each has a frame echoed"
    server.conversation.note("the grader", what)
    frame = length_framing.encode(b"here")
    with connected(server, count, at_once) as streams:
        for stream in streams:
            stream.send_all(frame)
        for number, stream in enumerate(streams):
            came = stream.read_exactly(len(frame), f"the reply to client {number} of {count:,}")
            if came != frame:
                raise Failure(f"client {number} of {count:,} got a wrong reply", hint="wrong-body")
        yield


def arrive_together(server, count: int) -> None:
    """Starts `count` connections at once, waits until all of them are made, and closes them.

    Nobody has to be accepted for that: the kernel makes a connection by itself as long as there is
    space in the backlog. Where there is none it tries again after 1, 3 and 7 seconds. Fewer than
    `count` where no backlog can be as long as that. Raises Failure, NotJudged.
    """
    if LONGEST_BACKLOG.exists():
        count = min(count, int(LONGEST_BACKLOG.read_text()))
    with server.conversation.step(f"{count} clients", "connect at the same time"):
        with ExitStack() as stack:
            made, refused = _finish(_start(server.address, count, stack), server)
        text = f"{made} of {count} clients were connected, the others "
        if refused:
            raise Failure(text + "were refused", hint="connect-refused")
        if made < count:
            text += "waited in vain for space in the backlog"
            raise Failure(text, hint="backlog-too-short")


def _start(address: tuple[str, int], count: int, stack: ExitStack) -> list[socket.socket]:
    """Begins to connect sockets, and returns them. `stack` closes them."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    sockets = [stack.enter_context(socket.socket(family)) for _ in range(count)]
    for one in sockets:
        one.setblocking(False)
        code = one.connect_ex(address)
        if code not in (0, errno.EINPROGRESS, errno.ECONNREFUSED):
            raise NotJudged(f"cannot connect: {os.strerror(code)}")
    return sockets


def _finish(sockets: list[socket.socket], server) -> tuple[int, int]:
    """How many are connected, and how many refused, when nothing happens any more: a server that is
    paused takes nobody from a backlog that is full."""
    made = refused = 0
    waiting, told = sockets, set()
    deadline, moment = Deadline(server.patience, others=True), Deadline(MOMENT_SECONDS)
    while waiting:
        states = [_state(one, told) for one in waiting]
        if any(state is not None for state in states):
            made, refused = made + states.count(True), refused + states.count(False)
            waiting = [one for one, state in zip(waiting, states) if state is None]
            deadline.restart()
            moment.restart()
        elif not deadline.left() or not moment.left() and _is_full(server, waiting[0]):
            break
        time.sleep(LOOK_SECONDS)
    return made, refused


def _is_full(server, one: socket.socket) -> bool:
    """Whether the backlog has no space for this one."""
    try:
        return sockets.accepts_no_more(server.address, one.getsockname())
    except (OSError, sockets.Unavailable):
        return False


def _state(one: socket.socket, told: set[socket.socket]) -> bool | None:
    """Whether it is connected; None while that is open.

    In a flood the kernel answers with SYN cookies, and a client believes in a connection that the
    server's side has no space for. So the client sends a byte: an acknowledgement is proof.
    """
    try:
        if one not in told:
            one.send(b"\0")
            told.add(one)
    except BlockingIOError:
        return None
    except OSError:
        return False
    unacknowledged = fcntl.ioctl(one, termios.TIOCOUTQ, struct.pack("i", 0))
    return None if any(unacknowledged) else True
