"""A TCP client that records what it does and says exactly how a server's answer is wrong.

A client never reads a byte that no call requested: unexpected bytes stay in the kernel's buffer,
where the next call finds them.
"""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from harness.client import length_framing
from harness.client.expected_replies import End, Replies
from harness.client.framing import LENGTH, Framing
from harness.client.stream import REMAINDER_BYTES, REMAINDER_SECONDS, Stream
from harness.feedback.conversation import Conversation, Step, counted, describe_bytes
from harness.feedback.failure import Failure, NotJudged
from harness.submission import surroundings
from harness.waiting.wait import PATIENCE, Deadline, Patience, Waited

__all__ = ["Client", "Conversation", "Patience", "PATIENCE", "Step"]

DESCRIPTORS = 16_384  # as many as a test with thousands of clients needs
QUIET = 0.3  # seconds without progress after which a peer "takes no more"


def _allow_many_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = surroundings.within(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


_allow_many_descriptors()


class Client:
    """One connection to the server. Every method is one step of the conversation.

    A fault of the server is raised as Failure, and its step is marked. A shortage on our own side
    (descriptors, ports, memory) is raised as NotJudged. Waiting is bounded by `patience`, and the
    wait begins again with every byte that moves.
    """

    def __init__(
        self,
        address: tuple[str, int],
        conversation: Conversation,
        name: str = "A",
        *,
        rcvbuf: int | None = None,
        segment: int | None = None,
        patience: Patience = PATIENCE,
        framing: Framing = LENGTH,
        prepare: Callable[[int], object] = str,
    ) -> None:
        """Connects. `rcvbuf` (bytes, the kernel doubles it) makes a client that is full soon.

        `segment`: the largest segment (bytes) that the server may send. With short ones the kernel
        holds little of what the server has sent, some 100 KB instead of megabytes. `framing`: makes
        frames of bodies, for all methods that take bodies. `prepare` is called with a number of
        bytes before the client sends them; with 0 before it connects, half-closes or closes.
        """
        prepare(0)
        self.name = name
        self.conversation = conversation
        self.patience = patience
        self.framing = framing
        self._prepare = prepare
        self._stream: Stream | None = None
        began = time.monotonic_ns()
        with self._step("connects"):
            self._stream = Stream(address, patience, rcvbuf, segment, self._moved)
        self.ends = self._stream.ends
        conversation.connected(name, self._stream.port, began)

    # Sending

    def send(self, data: bytes) -> None:
        """Sends all of `data`, and reads nothing meanwhile.

        A server that answers as it reads can fill both directions with more than some 100 KB on
        the way: use exchange() for that.
        """
        with self._sending(f"sends {describe_bytes(data)}", len(data)):
            self._open().send_all(data)

    def send_frame(self, body: bytes) -> None:
        """Sends one frame, in one call."""
        data = self.framing.encode(body)
        with self._sending(f"sends {self.framing.told_sent(body)}", len(data)):
            self._open().send_all(data)

    def send_frames(self, bodies: Sequence[bytes]) -> None:
        """Sends frames back to back, in as few calls as the kernel allows."""
        data = b"".join(map(self.framing.encode, bodies))
        with self._sending(f"sends {self.framing.told_together(bodies, len(data))}", len(data)):
            self._open().send_all(data)

    def send_some(self, data: bytes, quiet: float = QUIET) -> int:
        """Sends until everything is sent or the peer took nothing for `quiet` seconds. Returns the
        bytes sent."""
        text = f"sends up to {counted(len(data), 'byte')}, as many as are taken"
        with self._sending(text, len(data)) as step:
            sent = self._open().send_some(data, quiet)
            step.text += f": {sent:,}"
            return sent

    def offer(self, data: bytes | memoryview) -> int:
        """Sends as much as the kernel takes at once. Returns how many bytes, or -1 if the peer has
        closed. It is no step of the conversation: note one before the first of many calls.
        """
        self._prepare(len(data))
        return self._open().offer(data)

    def send_urgent(self, byte: bytes) -> None:
        """Sends one byte of urgent data (MSG_OOB), which is not part of the stream."""
        with self._sending(f"sends a byte of urgent data: {byte.hex()}", 1):
            self._open().send_urgent(byte)

    # Receiving

    def withhold_acknowledgements(self) -> float:
        """For as many seconds as are returned, counted from a byte that comes, its kernel
        acknowledges nothing: so the server's kernel sends only what needs no acknowledgement of
        earlier bytes. It may receive nothing more."""
        with self._step("acknowledges nothing from now on"):
            return self._open().withhold_acknowledgements()

    def expect_frame(self, body: bytes) -> None:
        """The next frame carries exactly `body`."""
        with self._step(f"waits for {self.framing.told_due(body)}"):
            self._open().expect(Replies([body], self.framing))

    def expect_frames(self, bodies: Iterable[bytes] | Replies) -> None:
        """The next frames carry exactly these bodies, in this order."""
        replies = self._due(bodies)
        with self._step(f"waits for {self.framing.counted(replies.count)}"):
            self._open().expect(replies)

    def expect_part(self, replies: Replies, limit: int) -> None:
        """The next bytes of `replies`, as they come: at least 1 and at most `limit`."""
        with self._step(f"reads up to {counted(limit, 'byte')} of its reply"):
            self._open().expect_part(replies, limit)

    def take(self, replies: Replies, limit: int) -> int:
        """Reads what is there already of `replies`, at most `limit` bytes. Returns how many. Like
        offer() it is no step of the conversation."""
        return self._open().take(replies, limit)

    def exchange(self, data: bytes, bodies: Iterable[bytes] | Replies) -> None:
        """Sends `data` and expects these frames, both at once: neither waits for the other."""
        replies = self._due(bodies)
        with self._sending(self._exchanges(len(data), replies), len(data)):
            self._open().exchange(data, replies)

    def echo_all(self, data: bytes, sent: int = 0) -> None:
        """Sends `data`, which is whole frames, and expects the same bytes back, both at once.

        Its first `sent` bytes have been sent before.
        """
        replies, rest = Replies.echo_of(data, self.framing), data[sent:]
        with self._sending(self._exchanges(len(rest), replies), len(rest)):
            self._open().exchange(rest, replies)

    def read_frame(self) -> bytes:
        """The body of the next frame, with any content. For length framing."""
        with self._step(f"waits for a {self.framing.noun}") as step:
            stream = self._open()
            head = stream.read_exactly(length_framing.HEADER, "the reply's header")
            length = length_framing.declared_length(head)
            if length > length_framing.MAX_FRAME:
                text = f"the length header of the reply says {length:,}, which is over the maximum"
                raise Failure(text, hint="wrong-header", received=head)
            body = stream.read_exactly(length, "the reply", before=head)
            step.text += f", and gets {self.framing.told_came(body)}"
            return body

    def read_some(self, limit: int) -> bytes:
        """Reads at least 1 and at most `limit` bytes (256 KiB at a time), as they come."""
        with self._step(f"reads up to {counted(limit, 'byte')}") as step:
            deadline = Deadline(self.patience)
            came = self._open().receive(limit, deadline)
            if isinstance(came, End):
                raise self._open().stopped(came, deadline.waited)
            step.text += f", and gets {describe_bytes(came)}"
            return came

    def at_hand(self, limit: int, seconds: float) -> bytes:
        """The bytes that come with gaps below `seconds`, at most `limit` of them; b"" if none do.
        Only for finding a cause, never for judging."""
        with self._step(f"waits {seconds:g} s to see whether anything comes"):
            return self._open().at_hand(limit, seconds)

    def expect_eof(self) -> None:
        """The server closes, by FIN or by RST, and sends nothing before."""
        with self._step("waits for the server to close the connection"):
            self._expect_end()

    def expect_closed_after(self, bodies: Iterable[bytes]) -> None:
        """Exactly these frames come, then the server closes, by FIN or by RST."""
        replies = self._due(bodies)
        text = f"waits for {self.framing.counted(replies.count)} and then for the server to close"
        with self._step(text):
            self._open().expect(replies)
            self._expect_end()

    def expect_nothing(self, seconds: float) -> None:
        """For `seconds` nothing comes and the connection stays open."""
        with self._step(f"expects nothing for {seconds:g} s"):
            self._expect_silence(seconds)

    def expect_nothing_yet(self) -> None:
        """Checks that nothing has come so far, and that the connection is open."""
        with self._step("checks that nothing has come yet"):
            self._expect_silence(0)

    # Ending

    def half_close(self) -> None:
        """Half-closes: sends FIN, and can still read."""
        with self._sending("half-closes: it will send no more"):
            self._moved("half-close")
            try:
                self._open().socket.shutdown(socket.SHUT_WR)
            except OSError:  # the server was faster; the next step will find out
                pass

    def close(self) -> None:
        """Closes. With unread bytes the kernel sends a RST instead of a FIN."""
        if self._stream is not None:
            self._prepare(0)
            self.conversation.note(self.name, "closes the connection")
            self._moved("close")
            self.abandon()

    def reset(self) -> None:
        """Closes by RST: nothing that is on its way arrives."""
        if self._stream is not None:
            self._prepare(0)
            self.conversation.note(self.name, "resets the connection")
            self._moved("abort")
            self.abandon(by_reset=True)

    def abandon(self, by_reset: bool = False) -> None:
        """Closes without a step in the conversation: for cleaning up. May be called twice.

        It resets the connection, so that nothing keeps the server's port in use.
        """
        if self._stream is not None:
            self._stream.close(by_reset)
            self._stream = None

    @property
    def closed(self) -> bool:
        """Whether we have closed both directions."""
        return self._stream is None

    @property
    def drops(self) -> bool:
        """Whether its kernel drops what arrives: see withhold_acknowledgements()."""
        return self._stream is not None and self._stream.drops

    def fileno(self) -> int:
        """The socket's descriptor, for a selector."""
        return self._open().socket.fileno()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    # Inside: none of these notes a step

    def _moved(self, what: str, data: bytes | memoryview = b"", at_ns: int = 0) -> None:
        self.conversation.moved(self.name, what, data, at_ns)

    @contextmanager
    def _step(self, text: str) -> Iterator[Step]:
        try:
            with self.conversation.step(self.name, text) as step:
                yield step
        except OSError as error:
            raise NotJudged(f"{self.name} {text}: {error}") from error

    def _sending(self, text: str, size: int = 0) -> AbstractContextManager[Step]:
        """A step in which the server gets something."""
        self._prepare(size)
        return self._step(text)

    def _open(self) -> Stream:
        if self._stream is None:
            raise RuntimeError(f"the test uses client {self.name} after closing it")
        return self._stream

    def _due(self, bodies: Iterable[bytes] | Replies) -> Replies:
        return bodies if isinstance(bodies, Replies) else Replies(bodies, self.framing)

    def _exchanges(self, size: int, replies: Replies) -> str:
        due = self.framing.counted(replies.count)
        waits = f"waits for {due}"
        return f"sends {counted(size, 'byte')} while it {waits}" if size else waits

    def _expect_end(self) -> None:
        deadline = Deadline(self.patience)
        came = self._open().receive(REMAINDER_BYTES, deadline)
        if isinstance(came, bytes):
            raise self._extra(came)
        if came is End.SILENCE:
            waited = deadline.waited
            how_long = (
                waited.told("will stay so") if waited.hopeless else f" after {waited.seconds:g} s"
            )
            text = f"the connection is still open{how_long}"
            raise Failure(text, hint="not-closed", asleep=waited.asleep)

    def _expect_silence(self, seconds: float) -> None:
        came = self._open().receive(REMAINDER_BYTES, Deadline(seconds))
        if isinstance(came, bytes):
            raise self._extra(came)
        if came is not End.SILENCE:
            raise self._open().stopped(came, Waited(seconds))

    def _extra(self, came: bytes) -> Failure:
        """The failure when bytes came where none were due; waits a moment so that all can be
        shown."""
        came += self._open().at_hand(REMAINDER_BYTES - len(came), REMAINDER_SECONDS)
        return Failure(
            f"{describe_bytes(came)} came without a request",
            hint="extra-bytes",
            expected=b"",
            received=came,
        )
