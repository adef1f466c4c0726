"""Many clients that arrive at once."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import termios
import time
from contextlib import ExitStack
from pathlib import Path

from harness.failures.failure import Failure, NotJudged
from harness.server.patience import LOOK_SECONDS, Deadline, Patience

LONGEST_BACKLOG = Path("/proc/sys/net/core/somaxconn")  # what the kernel cuts a backlog down to


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
            made, refused = _finish(_start(server.address, count, stack), server.patience)
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


def _finish(sockets: list[socket.socket], patience: Patience) -> tuple[int, int]:
    """How many are connected, and how many refused, when nothing happens any more."""
    made = refused = 0
    waiting, told = sockets, set()
    deadline = Deadline(patience, kernel=True)
    while waiting:
        states = [_state(one, told) for one in waiting]
        if any(state is not None for state in states):
            made, refused = made + states.count(True), refused + states.count(False)
            waiting = [one for one, state in zip(waiting, states) if state is None]
            deadline.restart()
        elif not deadline.left():
            patience.expired()
            break
        time.sleep(LOOK_SECONDS)
    return made, refused


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
