"""What the kernel knows of a connection whose two ends are on this machine: what is on its way,
and what is not read.

sock_diag(7) answers. /proc/net/tcp has the same, but reading it takes a tenth of a second when ten
thousand connections have just been closed.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import termios
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakSet

from harness.waiting import procfs

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h
_SOCK_DIAG = 4  # the netlink protocol
_BY_FAMILY = 20  # the request, and its answer
_REQUEST = 1
_NO_COOKIE = (0xFFFFFFFF, 0xFFFFFFFF)
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, pid
_QUESTION = struct.Struct("=BBBBI")  # family, protocol, extensions, padding, states
_PORTS = struct.Struct("!HH")
_WHERE = struct.Struct("=III")  # interface, cookie
_ANSWER = struct.Struct("=BBBB48xIIIII")  # family, state, timer, ..., expires, queues, user, inode
_PROBES = 4  # the timer of a socket whose peer has no space
_LISTEN = 10
_SYN_SENT = 2
_ESTABLISHED, _SYN_RECEIVED, _FIN_WAIT_1, _FIN_WAIT_2, _CLOSE_WAIT = 1, (3, 12), 4, 5, 8
_MESSAGE_BYTES = 72  # of struct inet_diag_msg; attributes follow
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_INFO = 2  # the attribute with a struct tcp_info
_INFO_BIT = 1 << (_INFO - 1)  # of the extensions that a request wants
# Where they are in struct tcp_info of linux/tcp.h
_UNACKED, _CWND, _NOTSENT = 24, 80, 144
_ACKED, _RECEIVED, _SENT = 120, 128, 200  # bytes, each 64 bits; behind _SENT those sent again
_INFO_BYTES = 256  # more than it has


class Unavailable(Exception):
    """This kernel does not answer these requests."""


class Queues(NamedTuple):
    """Bytes in one socket: received and not read, sent and not acknowledged."""

    unread: int
    unsent: int


class Sending(NamedTuple):
    """How far one socket has sent its output."""

    acknowledged: int  # bytes that the peer has acknowledged, all in all
    unacknowledged: int  # bytes that the program has written and the peer has not acknowledged
    unsent: int  # of these, bytes that were never sent
    in_flight: int  # segments that were sent and are not acknowledged
    window: int  # segments that congestion control allows in flight

    @property
    def held_back(self) -> bool:
        """Bytes are not sent although congestion control allows it. The peer's window is not
        looked at: ask only about a few bytes."""
        return self.unsent > 0 and self.in_flight < self.window


class End(NamedTuple):
    """One end of a connection: bytes received and not read, bytes not acknowledged by the peer (a
    FIN counts as one), and the number by which the descriptors of a process name the socket."""

    unread: int
    unsent: int
    inode: int
    state: int  # include/net/tcp_states.h
    timer: int = 0  # the one that runs, see idiag_timer in sock_diag(7)

    @property
    def has_heard_of_the_end(self) -> bool:
        """Whether a FIN or RST of the peer has arrived, or the program has closed it."""
        return self.state not in (_ESTABLISHED, *_SYN_RECEIVED, _FIN_WAIT_1, _FIN_WAIT_2)

    @property
    def finds_no_space(self) -> bool:
        """Whether nothing of its output is on its way, as the peer's receive buffer is full."""
        return self.unsent > 0 and self.timer == _PROBES

    @property
    def is_in_backlog(self) -> bool:
        """Whether no program has accepted it: there is no descriptor for it, and it is open."""
        return self.inode == 0 and self.state in (_ESTABLISHED, _CLOSE_WAIT)

    @property
    def asks(self) -> bool:
        """Whether nothing has answered its attempt to connect, which the kernel repeats."""
        return self.state == _SYN_SENT

    @property
    def begins(self) -> bool:
        """Whether the last segment of its beginning is still on its way."""
        return self.state in _SYN_RECEIVED


def end(here: tuple, there: tuple) -> End | None:
    """The socket at `here` that is connected with `there`; None if there is none. Raises
    Unavailable."""
    answer = _found(here, there, 0)
    if answer is None:
        return None
    _, state, timer, _, _, unread, unsent, _, inode = _ANSWER.unpack_from(answer)
    return End(unread, unsent, inode, state, timer)


def accepts_no_more(here: tuple, there: tuple) -> bool:
    """Whether the backlog of the socket that listens at `here` is full, so that the kernel drops a
    connection that begins at `there`. False if none listens. Raises Unavailable."""
    answer = _ask(_question(here, there, 0))
    if answer is None or _ANSWER.unpack_from(answer)[1] != _LISTEN:
        return False
    waiting, most = _ANSWER.unpack_from(answer)[5:7]
    return waiting > most  # sk_acceptq_is_full() in include/net/sock.h


def queues(here: tuple, there: tuple) -> Queues | None:
    """The queues of the socket at `here` that is connected with `there`; None if there is none.

    Both are addresses as getsockname() gives them. Raises Unavailable.
    """
    answer = _found(here, there, 0)
    return Queues(*_ANSWER.unpack_from(answer)[5:7]) if answer else None


def sending(here: tuple, there: tuple) -> Sending | None:
    """How far the socket at `here` that is connected with `there` has sent its output; None if it
    is closed. Raises Unavailable."""
    answer = _found(here, there, _INFO_BIT)
    if answer is None:
        return None
    info = _attribute(answer, _INFO)
    if not info:  # the program has closed it: what is left of the connection has no tcp_info
        return None
    if len(info) < _NOTSENT + 4:
        raise Unavailable("this kernel's tcp_info has no count of the bytes that are not sent")
    fields = (struct.unpack_from("=I", info, place)[0] for place in (_NOTSENT, _UNACKED, _CWND))
    [acknowledged] = struct.unpack_from("=Q", info, _ACKED)
    return Sending(acknowledged, _ANSWER.unpack_from(answer)[6], *fields)


def acknowledged(descriptor: int) -> bool:
    """Whether the other end has acknowledged all that this socket has sent."""
    return not any(fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)))


def arrived(sock: socket.socket) -> bool:
    """Whether all that this socket has sent has come to the other one, on this machine, as far as
    that has space; also its FIN. True where the connection is over, or the kernel does not tell.

    What the other one has acknowledged has come to it; it may acknowledge later."""
    try:
        if acknowledged(sock.fileno()):
            return True
        answer = _found(sock.getpeername(), sock.getsockname(), _INFO_BIT)
        ours = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except (OSError, Unavailable):
        return True
    theirs = _attribute(answer, _INFO) if answer else b""
    if len(theirs) < _RECEIVED + 8 or len(ours) < _SENT + 16:
        return True
    sent, again = struct.unpack_from("=QQ", ours, _SENT)
    received = struct.unpack_from("=Q", theirs, _RECEIVED)[0]
    held_back = struct.unpack_from("=I", ours, _NOTSENT)[0] and not _ANSWER.unpack_from(answer)[5]
    fin_on_its_way = ours[0] == _FIN_WAIT_1 and theirs[0] == _ESTABLISHED
    return received >= sent - again and not held_back and not fin_on_its_way


def _found(here: tuple, there: tuple, extensions: int) -> bytes | None:
    """The kernel's answer about the socket, None if there is none."""
    answer = _ask(_question(here, there, extensions))
    return None if answer is None or _ANSWER.unpack_from(answer)[1] == _LISTEN else answer


def _question(here: tuple, there: tuple, extensions: int) -> bytes:
    """Asks for the connection; where it does not exist the kernel finds who listens at `here`."""
    family = socket.AF_INET6 if ":" in here[0] else socket.AF_INET
    ends = [socket.inet_pton(family, address[0]).ljust(16, b"\0") for address in (here, there)]
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, extensions, 0, 0xFFFFFFFF)
    question += _PORTS.pack(here[1], there[1]) + b"".join(ends) + _WHERE.pack(0, *_NO_COOKIE)
    return _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 0, 0) + question


def _attribute(answer: bytes, wanted: int) -> bytes:
    """The attribute of this type behind the message, b"" if it is not there."""
    at = _MESSAGE_BYTES
    while at + _ATTRIBUTE.size <= len(answer):
        size, kind = _ATTRIBUTE.unpack_from(answer, at)
        if kind == wanted:
            return answer[at + _ATTRIBUTE.size : at + size]
        at += max(_ATTRIBUTE.size, (size + 3) & ~3)  # each begins at a multiple of 4
    return b""


def _ask(message: bytes) -> bytes | None:
    """The body of the answer, None if the kernel does not know the connection."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as link:
            link.settimeout(1)
            link.send(message)
            answer = link.recv(8192)
    except OSError as error:
        raise Unavailable(str(error)) from None
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _BY_FAMILY:
        return answer[_HEADER.size :]
    number = -struct.unpack_from("=i", answer, _HEADER.size)[0]
    if number == 2:  # ENOENT
        return None
    raise Unavailable(f"error {number}")


# What is between a client and the server, with the kernel, on its way to one of them

_ended: WeakSet = WeakSet()  # clients that have closed, and the server has heard of it


def all_arrived(clients: list) -> bool:
    """Returns true if each of these clients has_arrived(). True where the kernel does not tell."""
    try:
        return all(map(has_arrived, clients))
    except Unavailable:
        return True


def has_arrived(client) -> bool:
    """Returns true if the kernel has delivered to the server all that this client has sent so far,
    and its end, as far as the server's socket has space. Raises Unavailable."""
    if client in _ended:
        return True
    if not client.closed:
        if acknowledged(client.fileno()):  # as a rule: there are thousands of these looks
            return True
        with socket.socket(fileno=os.dup(client.fileno())) as ours:
            return arrived(ours)
    here, there = client.ends
    theirs = end(there, here)
    if theirs is None or theirs.has_heard_of_the_end:
        _ended.add(client)
        return True
    ours_left = end(here, there)
    return ours_left is not None and ours_left.finds_no_space


def is_in_backlog(client) -> bool:
    """Returns true if the server has not accepted this client yet. False where the kernel does not
    tell."""
    theirs = _end_of_server(client)
    return theirs is not None and theirs.is_in_backlog


def has_unread(client) -> bool:
    """Returns true if bytes of this client have come to the server's kernel, and the server has not
    read them. False where the kernel does not tell."""
    theirs = _end_of_server(client)
    return theirs is not None and theirs.unread > 0


def _end_of_server(client) -> End | None:
    try:
        return None if client.closed else end(*reversed(client.ends))
    except Unavailable:
        return None


def is_owed(client) -> bool:
    """Returns true if the kernel has bytes of the server for this client, which has read all that
    came. Raises Unavailable.

    So it is for long where a small receive buffer was full: what did not fit is sent again, each
    time after twice the time.
    """
    if client.closed or client.drops:
        return False
    here, there = client.ends
    ours, theirs = end(here, there), end(there, here)
    return bool(ours and theirs) and ours.unread == 0 and theirs.unsent > 0


def is_delivering(client) -> bool:
    """Returns true if the kernel still has something for this client, or from it for a server that
    has nothing else to read. Raises Unavailable."""
    if client.closed:
        return not has_arrived(client)
    here, there = client.ends
    ours, theirs = end(here, there), end(there, here)
    if theirs is None:
        return ours is not None and ours.asks and not accepts_no_more(there, here)
    waits_for_us = client.drops or ours is not None and ours.unread > 0 and theirs.finds_no_space
    if theirs.begins or theirs.unsent > 0 and not waits_for_us:
        return True
    return not (theirs.unread or has_arrived(client))


# The time-outs that a process has set on its sockets. The kernel tells them only to a process that
# has the socket, so each is copied for a moment: pidfd_getfd(2).

_PIDFD_GETFD = 438  # on all machines: asm-generic/unistd.h
_TIMEVAL = struct.Struct("@ll")  # seconds, microseconds
_BY_TIMEVAL = (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO)
_libc = ctypes.CDLL(None, use_errno=True)


def longest_time_out(pid: int) -> float:
    """The longest time-out in seconds; 0 if there is none, or the kernel does not tell."""
    return max((seconds for sock in _copies(pid) for seconds in _time_outs(sock)), default=0.0)


def _copies(pid: int) -> Iterator[socket.socket]:
    """Copies of its sockets, each open until the next one is wanted."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        for number, target in procfs.descriptors(pid):
            copy = _copy(process, int(number)) if target.startswith("socket:") else -1
            if copy >= 0:
                with socket.socket(fileno=copy) as found:
                    yield found
    finally:
        os.close(process)


def _copy(process: int, number: int) -> int:
    return _libc.syscall(_PIDFD_GETFD, process, number, 0)


def _time_outs(sock: socket.socket) -> Iterator[float]:
    """SO_RCVTIMEO and SO_SNDTIMEO in socket(7), TCP_USER_TIMEOUT in tcp(7)."""
    try:
        for option in _BY_TIMEVAL:
            raw = sock.getsockopt(socket.SOL_SOCKET, option, _TIMEVAL.size)
            seconds, microseconds = _TIMEVAL.unpack(raw)
            yield seconds + microseconds / 1e6
        yield sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
    except OSError:  # it is of another kind
        pass
