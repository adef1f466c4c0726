"""A TCP connection that never blocks for longer than its patience. Knows nothing of conversations.

What the peer does wrong is raised as Failure. Every wait ends after `patience.seconds` in which no
byte moved, neither between us and the kernel nor from the kernel into the peer.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from weakref import WeakSet

from harness.client.expected_replies import End, Replies, why_it_stopped
from harness.feedback.conversation import describe_bytes
from harness.feedback.failure import Failure, NotJudged
from harness.submission.sizes import KIB
from harness.waiting import sockets
from harness.waiting.wait import Deadline, Patience, Waited

CHUNK = 256 * KIB  # bytes requested of one recv or offered to one send
LOOKS = 16  # at least in a wait: whether the patience has shrunk, or the server hangs
REMAINDER_SECONDS = (
    0.05  # how long a failure waits for the remainder of a wrong frame, only to show it
)
REMAINDER_BYTES = 4096  # and how many bytes of it are enough

_OUR_FAULT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}

_ATTACH_FILTER = 26  # asm-generic/socket.h
_DROP = struct.pack("HBBI", 0x06, 0, 0, 0)  # linux/filter.h: BPF_RET, 0 bytes of each segment
# Less than Linux delays an acknowledgement: 40 ms, TCP_DELACK_MIN in net/tcp.h.
_DELAYED_SECONDS = 0.03

_NOW = Deadline(0)  # for what is there already

# Called with what the socket did, the bytes that moved (copy them to keep them) and the time: for
# sending the time before it, for receiving the time after it. So nothing seems to arrive before it
# was sent.
Tap = Callable[[str, bytes | memoryview, int], None]


def _nobody(_what: str, _data: bytes | memoryview, _at_ns: int) -> None:
    """Does nothing: no trace is wanted."""


def _unknown_address() -> str:
    """An address of this machine. Linux remembers what it has learnt of connections between two
    addresses (tcp_metrics in ip(8)), and after packets that came in another order its buffers take
    megabytes. Of a new address it knows nothing."""
    return "127." + ".".join(str(1 + byte % 254) for byte in os.urandom(3))


_streams: WeakSet[Stream] = WeakSet()


def connected_to(address: tuple[str, int]) -> list[Stream]:
    """All streams to this address that somebody still has; some may be closed."""
    return [stream for stream in _streams if stream.ends[1] == address]


class Stream:
    """A connected socket. `tap` gets "send", "urgent" and "recv", and why nothing was received."""

    def __init__(
        self,
        address: tuple[str, int],
        patience: Patience,
        rcvbuf: int | None = None,
        segment: int | None = None,
        tap: Tap = _nobody,
        wait: bool = True,
    ) -> None:
        """Connects. Segments are not delayed, so that every send is seen as it was made.

        Without `wait` it only begins to connect; then call wait_until_connected().
        """
        self._patience = patience
        self.drops = False  # what arrives; see withhold_acknowledgements()
        self._tap = tap
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.socket.setblocking(False)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if rcvbuf is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
                if address[0].startswith("127."):
                    self.socket.bind((_unknown_address(), 0))
            if segment is not None:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
            self._address = address
            self._connecting = self.socket.connect_ex(address)
            self.ends = (self.socket.getsockname(), address)  # also known when it is closed
            self.port = self.ends[0][1]
            _streams.add(self)
            if wait:
                self.wait_until_connected()
        except BaseException:
            self.socket.close()
            raise

    def wait_until_connected(self) -> None:
        code = self._connecting
        if code == errno.EINPROGRESS:  # on the same machine it is mostly done by now
            code = self.socket.connect_ex(self._address)
        if code == errno.EALREADY:
            deadline = Deadline(self._patience)  # the kernel tries again after 1, 3, 7 s
            if not self._wait(select.POLLOUT, deadline):
                how_long = deadline.waited.told("will not")
                text = f"the server did not take the connection{how_long}"
                raise Failure(text, hint="connect-stuck")
            code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code in _OUR_FAULT:
            raise NotJudged(f"cannot connect: {os.strerror(code)}")
        if code:
            where = "{}:{}".format(*self._address[:2])
            text = f"the connection to {where} failed: {os.strerror(code)}"
            raise Failure(text, hint="connect-refused")

    def withhold_acknowledgements(self) -> float:
        """From now on the kernel drops what arrives for this socket (SO_ATTACH_FILTER in
        socket(7)). Where it refuses that, it delays its acknowledgements (TCP_QUICKACK in tcp(7)).
        Returns for how many seconds it acknowledges nothing."""
        self.drops = True
        program = ctypes.create_string_buffer(_DROP)
        filters = struct.pack("HP", 1, ctypes.addressof(program))
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, filters)
        except OSError:  # some kernels allow it only to root
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            return _DELAYED_SECONDS
        return math.inf

    @property
    def closed(self) -> bool:
        return self.fileno() < 0

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self, by_reset: bool) -> None:
        """Closes. After a RST nothing that is on its way arrives, and neither end remembers the
        connection."""
        if by_reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # Sending

    def send_all(self, data: bytes) -> None:
        out = _Outgoing(self.socket, data, self._tap)
        if out.push() and not out.left:
            return
        deadline = Deadline(self._patience)
        self._send_while_taken(out, deadline)
        if out.left:
            raise self._not_taken(out, deadline)

    def send_some(self, data: bytes, quiet: float) -> int:
        """Sends until the peer took nothing for `quiet` seconds, in which it could run. Returns how
        many bytes were sent."""
        out = _Outgoing(self.socket, data, self._tap)
        self._send_while_taken(out, Deadline(self._patience.lasting(quiet)))
        return out.sent

    def offer(self, data: bytes | memoryview) -> int:
        """Sends as much as the kernel takes at once. Returns how many bytes, or -1 if the peer has
        closed."""
        out = _Outgoing(self.socket, data, self._tap)
        out.push()
        return -1 if out.refused else out.sent

    def send_urgent(self, byte: bytes) -> None:
        """Sends one byte beside the stream (MSG_OOB)."""
        began = time.monotonic_ns()
        self.socket.send(byte, socket.MSG_OOB)
        self._tap("urgent", byte, began)

    def _send_while_taken(self, out: _Outgoing, deadline: Deadline) -> None:
        while out.left:
            if out.push():
                deadline.restart()
            elif out.refused:
                raise self._gone(out)
            elif not self._wait(select.POLLOUT, deadline):
                return

    # Receiving

    def receive(self, limit: int, deadline: Deadline) -> bytes | End:
        """Reads at least 1 and at most `limit` bytes. Returns them, or why none came."""
        came = self._receive(limit, deadline)
        if isinstance(came, bytes):
            self._tap("recv", came, time.monotonic_ns())
        elif came is not End.SILENCE or deadline.seconds != 0:
            self._tap(came.name.lower(), b"", time.monotonic_ns())
        return came

    def _receive(self, limit: int, deadline: Deadline) -> bytes | End:
        while True:
            try:
                return self.socket.recv(min(limit, CHUNK)) or End.FIN
            except BlockingIOError:
                if deadline is _NOW or not self._wait(select.POLLIN, deadline):
                    return End.SILENCE
            except ConnectionResetError:
                return End.RESET

    def expect(self, replies: Replies) -> None:
        """Reads until all the replies are there; raises the first fault."""
        while replies.missing:
            self.expect_part(replies, replies.missing)

    def expect_part(self, replies: Replies, limit: int) -> None:
        """Reads 1 to `limit` bytes of the replies, of which some must be missing."""
        deadline = Deadline(self._patience)
        came = self.receive(min(limit, replies.missing), deadline)
        self._accept(replies, came, deadline)

    def take(self, replies: Replies, limit: int) -> int:
        """Reads what is there already of the replies, at most `limit` bytes. Returns how many."""
        size = 0
        while size < limit and replies.missing:
            came = self.receive(min(limit - size, replies.missing), _NOW)
            if came is End.SILENCE:
                break
            self._accept(replies, came, _NOW)
            size += len(came)
        return size

    def exchange(self, data: bytes, replies: Replies) -> None:
        """Sends and expects at once. A byte in either direction is progress."""
        out = _Outgoing(self.socket, data, self._tap)
        deadline = Deadline(self._patience)
        while out.left or replies.missing:
            if out.refused and not replies.missing:
                raise self._gone(out)
            came: bytes | End = End.SILENCE
            ready = self._wait(_interest(out, replies), deadline)
            if not ready and not replies.missing:
                raise self._not_taken(out, deadline)
            if ready and replies.missing:
                came = self.receive(replies.missing, _NOW)
            if not ready or came is not End.SILENCE:
                self._accept(replies, came, deadline, out.remark())
            if out.push() or came is not End.SILENCE:
                deadline.restart()

    def read_exactly(self, size: int, which: str, before: bytes = b"") -> bytes:
        """`size` bytes that complete `which`, of which `before` is there already."""
        parts = [before]
        at, end = len(before), len(before) + size
        while at < end:
            deadline = Deadline(self._patience)
            came = self.receive(end - at, deadline)
            if isinstance(came, End):
                so_far = f"{at:,} of {end:,} bytes of {which}"
                raise self.stopped(came, deadline.waited, so_far, b"".join(parts))
            parts.append(came)
            at += len(came)
        return b"".join(parts)[len(before) :]

    def stopped(self, end: End, waited: Waited, so_far: str = "", came: bytes = b"") -> Failure:
        """The failure for bytes that did not come. `so_far`: "3 of 9 bytes of the reply"."""
        text, hint = why_it_stopped(end, waited, so_far, begun=bool(came))
        return Failure(text, hint=hint, received=came, asleep=waited.asleep)

    def _accept(
        self, replies: Replies, came: bytes | End, deadline: Deadline, remark: str = ""
    ) -> None:
        """Accepts the bytes that came, or raises what is wrong with them."""
        if isinstance(came, End):
            raise replies.ended(came, deadline.waited, remark)
        if not replies.accept(came):
            replies.add_wrong(self.at_hand(replies.still_wanted(), REMAINDER_SECONDS))
            raise replies.wrong()

    def at_hand(self, limit: int, seconds: float = 0) -> bytes:
        """Bytes that are there already, or come with gaps below `seconds`; only to be shown."""
        data = b""
        limit = min(limit, REMAINDER_BYTES)
        while len(data) < limit:
            came = self.receive(limit - len(data), Deadline(seconds))
            if isinstance(came, End):
                break
            data += came
        return data

    # Inside

    def _wait(self, events: int, deadline: Deadline) -> int:
        """The events that are ready (errors and hang-ups too), 0 when the deadline has passed.

        A slow peer may still be reading what the kernel has for it: as long as that amount shrinks,
        a wait with patience begins again.
        """
        poller = select.poll()
        poller.register(self.socket, events)
        if ready := poller.poll(min(deadline.left(), deadline.pause()) * 1000):
            return ready[0][1]
        before = self._unread_by_peer() if deadline.patient else 0
        while not (ready := _poll(poller, deadline)):
            unread = self._unread_by_peer() if before else 0
            if unread >= before:
                return 0
            deadline.restart()
            before = unread
        return ready

    def _unread_by_peer(self) -> int:
        """Bytes that the kernel has for the peer, at both ends; 0 where it does not say."""
        try:
            ends = self.socket.getsockname(), self.socket.getpeername()
            ours, theirs = sockets.queues(*ends), sockets.queues(*reversed(ends))
        except (OSError, sockets.Unavailable):
            return 0
        return ours.unsent + theirs.unread if ours and theirs else 0

    def _not_taken(self, out: _Outgoing, deadline: Deadline) -> Failure:
        waited = deadline.waited
        how_long = f": it {waited.hopeless}" if waited.hopeless else waited.told("")
        text = f"the server took {out.progress()} and then no more{how_long}"
        return Failure(text, hint="not-taken", asleep=waited.asleep)

    def _gone(self, out: _Outgoing) -> Failure:
        """The failure when the server is gone while we send, with what it had answered."""
        reset = isinstance(out.refused, ConnectionResetError)
        what = "reset" if reset else "closed by the server"
        text = f"the connection was {what} when {out.progress()} had been sent"
        answer = self.at_hand(REMAINDER_BYTES)
        if answer:
            text += f"; before that came {describe_bytes(answer)}"
        return Failure(text, hint="reset-early" if reset else "closed-early", received=answer)


class _Outgoing:
    """Data on its way out: how much the kernel took, and whether the peer is gone."""

    def __init__(self, sock: socket.socket, data: bytes | memoryview, tap: Tap) -> None:
        self._socket = sock
        self._tap = tap
        self._view = memoryview(data)
        self.sent = 0
        self.refused: OSError | None = None

    @property
    def left(self) -> int:
        return len(self._view) - self.sent

    def push(self) -> bool:
        """Offers the next bytes to the kernel. Returns whether it took any."""
        if not self.left or self.refused:
            return False
        began = time.monotonic_ns()
        try:
            taken = self._socket.send(self._view[self.sent : self.sent + CHUNK])
        except BlockingIOError:
            return False
        except (ConnectionResetError, BrokenPipeError) as error:
            self.refused = error
            self._tap("refused", b"", began)
            return False
        self._tap("send", self._view[self.sent : self.sent + taken], began)
        self.sent += taken
        return True

    def progress(self) -> str:
        return f"{self.sent:,} of {len(self._view):,} bytes"

    def remark(self) -> str:
        """A remark for a failure that happens before everything is sent."""
        return f" ({self.progress()} had been sent)" if self.left else ""


def _poll(poller: select.poll, deadline: Deadline) -> int:
    """The events that are ready, 0 when the deadline has passed."""
    while True:
        left = deadline.left()
        ready = poller.poll(min(left, deadline.seconds / LOOKS, deadline.pause()) * 1000)
        if ready or not left:
            return ready[0][1] if ready else 0


def _interest(out: _Outgoing, replies: Replies) -> int:
    sending = select.POLLOUT if out.left and not out.refused else 0
    return sending | (select.POLLIN if replies.missing else 0)
