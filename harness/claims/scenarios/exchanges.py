"""What the claims say to a server again and again."""

from __future__ import annotations

import random
import shlex
import signal
from collections.abc import Iterable, Sequence
from itertools import accumulate

from harness.claims.context.observe import bytes_within, kernel_tells, until_asleep, until_read
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.feedback.failure import Failure, NotJudged
from harness.server.process import ServerProcess
from harness.server.process_tree import ExitStatus
from harness.submission.sizes import KIB, MIB
from harness.waiting.idle import Quiescence
from harness.waiting.wait import SECONDS, Deadline, Patience

LETTERS = bytes(ord("a") + value % 26 for value in range(256))  # a letter for each random byte
SMALL_WINDOW = 16 * KIB  # bytes of receive buffer: of a client that takes little at a time
# Bytes that a server may send to it in one: so the kernel holds some 300 KB of what it sends, and
# not up to 4 MB, and what is owed beyond that is owed by the server itself.
SHORT_SEGMENT = 1000
LONG_REPLY = 2 * MIB  # of a reply to such a client: several times what the kernel holds
BODY_BYTES = 4 * KIB
TABLE = 20  # clients at a time
MOST_OWED = 40_000  # bodies of 1,000 bytes: where the kernel takes all, or does not tell
STOP_MS = 1_000  # from a signal to the end, see docs/protocol.md
PIECE = 64 * KIB  # bytes, of a large frame that takes turns with another


def words(rng: random.Random, size: int) -> bytes:
    """`size` letters: as random as other bytes, and readable where a failure shows them."""
    return rng.randbytes(size).translate(LETTERS)


def echo(client: Client, body: bytes) -> None:
    """Sends one frame and expects it back. The kernel's buffers have to hold the body (some 100
    KB)."""
    client.send_frame(body)
    client.expect_frame(body)


def ask(client: Client, body: bytes, answer: bytes) -> None:
    """Sends one frame, and expects another one."""
    client.send_frame(body)
    client.expect_frame(answer)


def ping(client: Client, rng: random.Random) -> None:
    """A short frame there and back."""
    echo(client, words(rng, 8))


def connect_and_ping(server, rng: random.Random, count: int, name: str | None = None) -> list:
    """Connects clients, and when all are connected exchanges a short frame with each of them."""
    clients = [server.connect(name) for _ in range(count)]
    for client in clients:
        ping(client, rng)
    return clients


def connect_narrow(server, name: str | None = None) -> Client:
    """Connects a client that takes little at a time, and for which the kernel holds little."""
    return server.connect(name, rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)


def burst(client: Client, bodies: Sequence[bytes]) -> None:
    """Sends any number of frames of any size without waiting for their replies, then expects all of
    the replies."""
    client.echo_all(b"".join(map(client.framing.encode, bodies)))


def burst_that_waits(server, client: Client, bodies: Sequence[bytes]) -> None:
    """Sends a burst while the server is paused: it runs once the kernel has taken all it can,
    however busy the machine is."""
    data = b"".join(map(client.framing.encode, bodies))
    with server.paused():
        sent = client.send_some(data)
    client.echo_all(data, sent)


def send_in_pieces(client: Client, data: bytes, cuts: Iterable[int]) -> None:
    """Sends `data`, cut at these offsets, each piece after the server has read the one before."""
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:]):
        client.send(data[start:end])
        until_read(client)


def echo_in_pieces(server, client: Client, bodies: Sequence[bytes], cuts: Iterable[int]) -> None:
    """Sends frames, cut at these offsets. Before the next piece goes, the frames that are complete
    have come back, and of the one that is not, nothing has."""
    frames = [client.framing.encode(body) for body in bodies]
    ends = list(accumulate(map(len, frames)))
    edges = [0, *cuts, ends[-1]]
    for start, end in zip(edges, edges[1:]):
        client.send(b"".join(frames)[start:end])
        complete = [body for body, at in zip(bodies, ends) if start < at <= end]
        if complete:
            client.expect_frames(complete)
        if end not in ends:
            until_read(client)
            until_asleep(server)
            client.expect_nothing_yet()


def send_and_owe(
    client: Client, bodies: Sequence[bytes], answers: Sequence[bytes] | None = None
) -> Sequence[bytes]:
    """Sends frames and reads as little as can be. Returns the bodies of the replies not yet read.

    The buffers of most machines take some 4 MB. Where they do not, half of the replies are read.
    `answers`: the bodies of all replies, if they are not the same.
    """
    answers = bodies if answers is None else answers
    data = b"".join(map(client.framing.encode, bodies))
    sent = client.send_some(data)
    if sent == len(data):
        return answers
    half = len(answers) // 2
    client.exchange(data[sent:], answers[:half])
    return answers[half:]


def send_in_turns(clients: Sequence[Client], bodies: Sequence[bytes]) -> None:
    """Each client sends a frame: a piece of one, a piece of the next, and so on."""
    frames = [length_framing.encode(body) for body in bodies]
    for start in range(0, max(map(len, frames)), PIECE):
        for client, frame in zip(clients, frames):
            if start < len(frame):
                client.send(frame[start : start + PIECE])


def read_in_turns(clients: Sequence[Client], bodies: Sequence[bytes]) -> None:
    """Each client expects a frame with its body, and reads it in pieces beside the others."""
    due = [Replies([body]) for body in bodies]
    while any(replies.missing for replies in due):
        for client, replies in zip(clients, due):
            if replies.missing:
                client.expect_part(replies, PIECE)


def interrupt(server) -> None:
    """Interrupts the call that the server waits in, if it can be done without killing it.

    Returns when the server waits again: what came earlier would end the wait instead.
    """
    until_asleep(server)
    if server.process.calls() is not None:  # the library with a handler for it is in the server
        server.process.signal(signal.SIGUSR1)
        until_asleep(server)


def come_and_go(
    server, rng: random.Random, count: int, at_once: int = TABLE, size: int = BODY_BYTES
) -> None:
    """Clients, `at_once` at a time; each gets a reply, and the ways in which they leave alternate.

    Their frames have bodies of `size` bytes: a server that keeps one of each client soon grows
    visibly.
    """
    body = rng.randbytes(size)
    frame = length_framing.encode(body)
    for first in range(0, count, at_once):
        leaving = [server.connect("leaves") for _ in range(min(at_once, count - first))]
        for client in leaving:
            client.send(frame)
        for client in leaving:
            client.expect_frame(body)
        _leave(leaving, frame)


def _leave(leaving: Sequence[Client], frame: bytes) -> None:
    """Closes the connections, each in another way."""
    for number, client in enumerate(leaving):
        if number % 4 == 1:
            client.send(frame[:-1])
            client.close()
        elif number % 4 == 2:
            client.send(frame[:2])
            client.reset()
        elif number % 4 == 3:
            client.send(frame)  # and its reply is not read
            client.close()
        else:
            client.close()


def expect_stop(server, number: signal.Signals) -> None:
    """Sends the signal and waits. A second is the rule, and a server whose clock is ours gets no
    more; else what is more is for a busy machine."""
    if not server.process.alive():
        text = f"the server was gone before it was sent {number.name}: {server.describe()}"
        raise Failure(text, hint="ended-early")
    ours, seconds = server.clock.ours, server.patience.seconds
    server.process.signal(number)
    if ours:
        server.clock.advance(STOP_MS)
        seconds = STOP_MS / 1000
    deadline = Deadline(server.patience)
    if server.process.wait(deadline) is None:
        text = f"{seconds:g} s after {number.name} the server still runs"
        if deadline.waited.hopeless:
            text = f"after {number.name} the server still runs, and will not end: it "
            text += deadline.waited.hopeless
        raise Failure(text, hint="not-ended")
    if not server.process.describe().startswith("exited with status 0"):
        text = f"after {number.name} the server did not exit with status 0"
        raise Failure(text, hint="wrong-exit")


def run_to_its_end(
    argv: Sequence[str], seconds: float = SECONDS, ring: bool = True
) -> tuple[ServerProcess, ExitStatus | None]:
    """Runs the program, and returns it with how it has ended by itself; None if it has not within
    `seconds`, in which it could run. `ring`: whether the kernel has io_uring for it."""
    process = ServerProcess()
    alone = Quiescence(lambda: [process])
    patience = Patience(seconds, lambda: [process], asleep=alone, spins_end=True)
    return process, process.run(argv, patience, ring)


def expect_failed_start(
    argv: Sequence[str],
    status: int,
    words: str,
    hint: str = "bad-start",
    seconds: float = SECONDS,
) -> None:
    """The program ends by itself, with this status, and `words` are in what it says on stderr.
    `hint`: of the failure. `seconds`: see run_to_its_end()."""
    named = shlex.join(["server", *argv[1:]])
    process, ended = run_to_its_end(argv, seconds)
    if ended is None:
        text = f"{named}: it kept running instead of ending with an error"
        raise Failure(text, hint=hint)
    stderr = process.stderr.head.decode(errors="replace")
    if ended.code != status or words not in stderr.lower():
        said = stderr.strip().splitlines() or ["nothing"]
        raise Failure(
            f"{named}: it {ended}, and on stderr: {said[0]}; "
            f"due is status {status} and a line with '{words}'",
            hint=hint,
        )


def owe_bytes(client: Client, rng, goal: int, certain: bool = False) -> list[bytes]:
    """Sends frames whose replies wait in the server, `goal` bytes of them, once the kernel takes no
    more. Returns their bodies.

    The server goes on reading meanwhile, and the client reads nothing. Where the kernel does not
    tell how much waits, it may be less; with `certain` NotJudged is raised then.
    """
    lot = [rng.randbytes(1000) for _ in range(64)]
    size = sum(len(length_framing.encode(body)) for body in lot)
    owed: list[bytes] = []
    while len(owed) < MOST_OWED:
        client.send_frames(lot)
        owed += lot
        within = bytes_within(client, size * len(owed) // len(lot)) if until_read(client) else None
        if within is None and certain and not kernel_tells(client):
            raise NotJudged(
                "this kernel does not report which bytes wait in a server: see sock_diag(7)"
            )
        if within is None or within >= goal:
            break
    return owed
