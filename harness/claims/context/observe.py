"""What a claim can find out about a server without asking it: what it has read, what it costs.

It comes from the kernel. Where the kernel does not tell, the functions say so by their result;
none of them fails a server.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet

from harness.feedback.failure import NotJudged
from harness.waiting import procfs, sockets
from harness.waiting.idle import Quiescence
from harness.waiting.wait import SECONDS, SHORT_SECONDS, Patience, wait_until

READ_SECONDS = 1.0  # for a server to read what was sent to it; it may not want to
UNREAD_SECONDS = 0.05  # the same, of a client that it has not read for so long before
ASLEEP_SECONDS = 5.0  # a server that waits for the processor may need that long to go to sleep
BUSY_SECONDS = 0.011  # no multiple of a millisecond, or of a tick
WAIT_CHANNELS = ("poll", "select", "cqring")  # parts of the names of where they sleep
REST_SECONDS = 0.3  # to finish something, and to be seen asleep
SLEEPS_SECONDS = 1.0  # for one that works a little now and then to be seen asleep
SPINS_SHARE = 0.15  # of a processor, in each of SURE_TRIES measurements
SURE_TRIES, SHARE_TRIES = 4, 8
FREE_PART = 10  # of a measurement counts at least, however busy the machine is
SPUN_SECONDS = 0.1  # of CPU: one that has used so much meanwhile is not about to

WAITS = ("poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait")
ACCEPTS = ("accept", "accept4")
SENDS = ("send", "sendto", "sendmsg", "write", "writev")

_unread: WeakSet = WeakSet()  # clients for which until_read() has waited in vain
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def eventually(server, condition: Callable[[], bool]) -> bool:
    """Looks until the condition holds, as long as a wait for this server may take."""
    return wait_until(condition, server.patience)


def unread_bytes(client) -> int | None:
    """How many bytes of this client wait in the server's socket; None when that is closed."""
    ends = _ends(client)
    if ends is None:
        return None
    here, there = ends
    try:
        found = sockets.queues(there, here)
    except sockets.Unavailable:
        return _unread_in_tables(there[1], here[1])
    return found.unread if found else None


def bytes_within(client, sent: int) -> int | None:
    """How many of `sent` bytes, all of which have arrived, an echo server has read and not sent
    back. None: the kernel does not tell."""
    unread, written = unread_bytes(client), written_bytes(client)
    return None if unread is None or written is None else sent - unread - written


def written_bytes(client) -> int | None:
    """How many bytes the server has written to this client so far, all in all. None: the kernel
    does not tell."""
    ends = _ends(client)
    try:
        found = sockets.sending(*reversed(ends)) if ends else None
    except sockets.Unavailable:
        return None
    return found.acknowledged + found.unacknowledged if found else None


def arrived_bytes(client) -> int:
    """How many bytes have come for this client and are not read."""
    return struct.unpack("i", fcntl.ioctl(client.fileno(), termios.FIONREAD, bytes(4)))[0]


def kernel_tells(client) -> bool:
    """Whether it answers how many bytes wait in the sockets of a connection."""
    ends = _ends(client)
    try:
        if ends is not None:
            sockets.queues(*ends)
    except sockets.Unavailable:
        return False
    return True


def held_bytes(client, owed: int) -> int | None:
    """How many of the bytes that an echo server owes this client it has in itself: all but those
    that are with the kernel, on their way there or back. None: the kernel does not tell."""
    ends = _ends(client)
    if ends is None:
        return None
    try:
        found = sockets.queues(*ends), sockets.queues(*reversed(ends))
    except sockets.Unavailable:
        return None
    return owed - sum(map(sum, found)) if all(found) else None


def sending(client) -> sockets.Sending | None:
    """How far the server's kernel has sent what the server has written to this client; None when
    the connection is closed. Raises NotJudged."""
    ends = _ends(client)
    try:
        return sockets.sending(*reversed(ends)) if ends else None
    except sockets.Unavailable as error:
        raise NotJudged(f"the kernel does not report what a socket has sent: {error}") from None


def in_flight(client) -> bool:
    """Whether this client has not yet acknowledged everything that was sent to it. False once the
    connection is closed. Raises NotJudged."""
    found = sending(client)
    return found is not None and found.in_flight > 0


def is_open(client) -> bool:
    """Whether the server has not closed this connection, as far as we have heard; or has sent
    something before that is not read yet."""
    with socket.socket(fileno=os.dup(client.fileno())) as ours:
        try:
            return ours.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def _ends(client) -> tuple | None:
    """The client's address and the server's; None when the server has reset the connection."""
    with socket.socket(fileno=os.dup(client.fileno())) as ours:
        try:
            return ours.getsockname(), ours.getpeername()
        except OSError:
            return None


def _unread_in_tables(local: int, remote: int) -> int | None:
    """How many bytes wait in the server's socket, where the kernel only has the tables of proc(5).

    Their fields are local address, remote address, state, tx:rx queue, all in hexadecimal.
    """
    ends = (f":{local:04X}", f":{remote:04X}")
    for table in _TABLES:
        if not table.exists():
            continue
        for line in table.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                return int(fields[4].split(":")[1], 16)
    return None


def until_read(client, seconds: float = READ_SECONDS) -> bool:
    """Waits until the server has read everything this client has sent. Returns whether it has read
    it, or has closed.

    For a claim about pieces that arrive one after the other: without it the kernel may join them,
    and a server that takes one read for one message would pass.
    """
    seconds = min(seconds, UNREAD_SECONDS if client in _unread else SECONDS)
    began = time.monotonic()

    def over() -> bool:
        long = time.monotonic() - began > SHORT_SECONDS
        return not unread_bytes(client) or long and client.patience.asleep(began)

    wait_until(over, seconds)
    read = not unread_bytes(client)
    (_unread.discard if read else _unread.add)(client)
    return read


def until_asleep(server, seconds: float = ASLEEP_SECONDS) -> bool:
    """Waits until all threads of the server wait for something. Whether they do.

    That may take a while where others want the processor too. One that spins, or has ended, never
    does: a server that spins is told by the CPU time that it uses meanwhile.
    """
    pid = server.process.pid
    spun = procfs.cpu_seconds(pid) + SPUN_SECONDS

    def at_rest() -> bool:
        return procfs.thread_states(pid) <= set("SZX")

    patience = Patience(seconds, lambda: [server.process])
    wait_until(lambda: at_rest() or procfs.cpu_seconds(pid) > spun, patience)
    return procfs.thread_states(pid) == {"S"}


def is_quiescent(server) -> bool:
    """Whether it can do nothing at all until a client does something. It has a moment to finish
    what it does; one with a timer is not."""
    return wait_until(_quiescence(server), REST_SECONDS)


def _quiescence(server) -> Callable[[], bool]:
    """The question of is_quiescent(), to be asked again and again from now on."""
    quiescence = Quiescence(lambda: [server.process], lambda: server.clients)
    began = time.monotonic()
    return lambda: bool(quiescence(began))


def waits_in_silence(server, seconds: float, most: int) -> int | None:
    """How many calls that wait it makes in `seconds` of its clock in which nothing happens; or
    some that are more than `most`. None: the library does not count."""
    if server.process.calls() is None:
        return None
    server.conversation.note("the grader", "counts the wait calls while nothing happens")
    return _in_silence(server, seconds, most, lambda: server.process.calls().waits)


def made_since(server, before, kind: str) -> int:
    """How many calls of this kind, a field of Calls, the server has made since `before`. Raises
    NotJudged if the library has never seen one: then the server makes them by itself."""
    now = getattr(server.process.calls(), kind)
    if not now:
        verb = {"waits": "waits", "inputs": "reads", "outputs": "writes"}[kind]
        raise NotJudged(f"the lab's library sees none of the calls with which this server {verb}")
    return now - getattr(before, kind)


def most_accepted_in_an_iteration(server) -> int:
    """How many clients it has accepted at most between two calls that wait, of the same thread.

    A thread that never waits has no turns. 0: there was none, or the library is not in the server.
    """
    made: dict[int, int] = {}  # by thread, since it has waited
    most = 0
    for entry in server.shim.record() if server.shim else ():
        if entry.function in WAITS:
            made[entry.thread] = 0
        elif entry.function in ACCEPTS and entry.result >= 0 and entry.thread in made:
            made[entry.thread] += 1
            most = max(most, made[entry.thread])
    return most


def never_waits(pid: int) -> bool:
    """Whether the process wants the processor now, and BUSY_SECONDS later. On a busy machine it may
    not have it: so it is no question of CPU time."""
    before = procfs.read_process(pid)
    time.sleep(BUSY_SECONDS)
    after = procfs.read_process(pid)
    return before is not None and after is not None and before.state == after.state == "R"


def waits_for_readiness(pid: int) -> bool:
    """Whether all its threads sleep in poll(), select(), epoll_wait() or io_uring_enter(), so that
    none is blocked by a client. False, too, where the kernel does not tell, and if it does not
    sleep."""
    channels: set[str] = set()

    def sleeps() -> bool:
        channels.clear()
        channels.update(procfs.wait_channels(pid))
        return bool(channels) and "0" not in channels

    found = wait_until(sleeps, SLEEPS_SECONDS)
    return found and all(any(name in one for name in WAIT_CHANNELS) for one in channels)


def cpu_share(server, limit: float, seconds: float = 0.5) -> float:
    """The part of one processor that the server uses: 0.02 is 2 %.

    Measured over `seconds`, and again up to SHARE_TRIES times if it is over `limit`: what the
    server still had to do, or a neighbour's noise, is over by then. One that was busy each time is
    not measured as often: it spins. Time in which it wanted the processor and other programs had it
    does not count: so a server that spins is seen on a busy machine, too. One that can do nothing
    needs no measurement.
    This is a step of the conversation.
    """
    server.conversation.note("the grader", "watches what the server costs while nothing happens")
    if is_quiescent(server):
        return 0.0
    shares: list[float] = []
    pid = server.process.pid
    while len(shares) < SHARE_TRIES and not (
        len(shares) == SURE_TRIES and min(shares) > SPINS_SHARE
    ):
        before, stood = server.process.cpu_seconds(), procfs.seconds_in_line(pid)
        start = time.monotonic()
        time.sleep(seconds)
        used, passed = server.process.cpu_seconds() - before, time.monotonic() - start
        free = passed - procfs.longest_in_line(stood, procfs.seconds_in_line(pid))
        shares.append(used / max(free, used, passed / FREE_PART))
        if shares[-1] <= limit:
            break
    return shares[-1]


def steps_of(server, work: Callable[[], None]) -> int:
    """The steps that the server takes while `work` is done, from one rest to the next: see
    harness/server/steps. For a server that counts them. The conversation notes the number."""
    until_asleep(server)
    before = server.process.steps()
    work()
    until_asleep(server)
    steps = server.process.steps() - before
    server.conversation.note("the grader", f"has counted {steps:,} steps of the server")
    return steps


def steps_in_silence(server, seconds: float, most: float) -> int:
    """The steps that the server takes in `seconds` of its clock in which nothing happens; or some
    that are more than `most`."""
    server.conversation.note("the grader", "counts the steps of the server while nothing happens")
    return _in_silence(server, seconds, most, server.process.steps)


def _in_silence(server, seconds: float, most: float, count: Callable[[], int]) -> int:
    """The growth of `count` in `seconds` of the server's clock in which nothing happens.

    The clock of the machine need not run so long for a server that can do nothing more, nor for one
    with more than `most`. It runs on until the server has been seen at rest: so one that spins has
    its turn on a busy machine, too.
    """
    before = count()
    if server.process.clock is not None:
        server.process.clock.advance(1000 * seconds)
        return count() - before
    end, can_do_nothing = time.monotonic() + seconds, _quiescence(server)

    def enough() -> bool:
        late = time.monotonic() >= end
        return count() - before > most or can_do_nothing() or (late and _rests(server))

    wait_until(enough, seconds + ASLEEP_SECONDS)
    return count() - before


def _rests(server) -> bool:
    return procfs.thread_states(server.process.pid) <= set("SZX")
