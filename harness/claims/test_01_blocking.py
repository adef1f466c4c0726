"""Chapter 01: one read is not one message. What is claimed here holds for every later chapter.

The claims of a TODO need that TODO and the ones before it, and no later one. So up to 01.4 a test
sends one frame to each server it starts, up to 01.5 it has one client.
"""

from __future__ import annotations

import signal
import socket
import time

from harness.claims.context.observe import until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.cost import bounded
from harness.claims.scenarios.exchanges import (
    LONG_REPLY,
    SMALL_WINDOW,
    burst,
    connect_narrow,
    echo,
    expect_failed_start,
    expect_stop,
    interrupt,
    ping,
    send_in_pieces,
    words,
)
from harness.claims.scenarios.first_frames import try_out
from harness.claims.scenarios.greedy import greedy
from harness.claims.scenarios.many_clients import arrive_together
from harness.client import length_framing
from harness.client.expected_replies import Replies
from harness.feedback.failure import Failure, NotJudged
from harness.server.spawn import LOCALHOST, free_port
from harness.submission.sizes import KIB, MIB
from harness.waiting.wait import wait_until

LONG_STREAM, ROUNDS = 32 * MIB, 8  # bytes of frames, and in how many parts they are sent
LONG_SECONDS = 30  # then no more of them: some right servers read a byte at a time
KEPT_BYTES = 8 * MIB  # of memory: a quarter of what a server that keeps every frame has
SANITIZERS = "address,undefined"

# What a general hint means in a claim, see marker.claim.
LENGTH = dict.fromkeys(
    ("silence", "stalled-reply", "closed-early", "closed-in-reply", "reset-early")
    + ("wrong-header", "wrong-body", "extra-bytes", "refused-as-too-long"),
    "length-byte-lost",
)
TOO_LONG = dict.fromkeys(("not-closed", "extra-bytes"), "length-not-refused")
PIECES = {
    **dict.fromkeys(("silence", "stalled-reply", "not-taken"), "waits-for-more"),
    **dict.fromkeys(
        ("wrong-header", "wrong-body", "closed-early", "closed-in-reply", "reset-early")
        + ("refused-as-too-long",),
        "one-read-one-message",
    ),
}
CLOSED = ("closed-early", "reset-early", "refused-as-too-long")
LARGE = {**PIECES, **dict.fromkeys(CLOSED, "large-frame-refused")}
SHORT_WRITE = {
    **dict.fromkeys(("stalled-reply", "closed-early", "closed-in-reply"), "short-write"),
    "wrong-body": "remainder-from-elsewhere",
}
ONE_FRAME = dict.fromkeys(("silence", "closed-early", "reset-early"), "one-frame-only")
EMPTY = dict.fromkeys(("silence", "closed-early", "reset-early"), "empty-body")
HALF_CLOSE = {
    **dict.fromkeys(("closed-early", "closed-in-reply"), "replies-lost-at-eof"),
    "reset-early": "reset-by-close",
}
INTERRUPTED = dict.fromkeys(("ended-early", "closed-early", "reset-early"), "ended-by-a-signal")
READ_INTERRUPTED = {**PIECES, **INTERRUPTED}
NEXT = dict.fromkeys(("silence", "connect-stuck", "connect-refused"), "server-stopped-accepting")


ANYWHERE = ("192.0.2.1", 9)  # of no machine, see RFC 5737
REMEDY = "`sudo ip address add 127.0.0.2/8 dev lo`"


# 01.1 listen


@claim("01.1", cli=True)
def test_01_listens_where_told(launch):
    """It listens on the given address and port, or on 127.0.0.1, and prints which."""
    port, others = free_port(), _other_addresses()
    _listens_only_on(LOCALHOST, others[-1], launch(("-a", LOCALHOST, "-p", str(port))), port)
    _listens_only_on(LOCALHOST, others[-1], launch())
    _listens_only_on(others[0], [*others, LOCALHOST][1], launch(("-a", others[0])))


def _other_addresses() -> list[str]:
    """Addresses of this machine beside LOCALHOST. All of 127.0.0.0/8 should be; some containers
    have no other one there, and then that of the way out serves. Raises NotJudged."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe:  # connect() sends nothing
        way_out = [] if probe.connect_ex(ANYWHERE) else [probe.getsockname()[0]]
    found = [one for one in ("127.0.0.2", "127.0.0.3") if _exists(one)] or way_out
    if not found:
        raise NotJudged(f"this machine has no address beside {LOCALHOST}; this helps: {REMEDY}")
    return found


def _exists(address: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
        return True


def _listens_only_on(address: str, other: str, server, port: int | None = None) -> None:
    said, number = server.address
    told = f"it should listen on {address}" + (f":{port}" if port else "")
    if said != address or port not in (None, number):
        raise Failure(f"{told} and listens on {said}:{number}", hint="wrong-address")
    server.conversation.note("a stranger", f"tries to connect to {other}:{number}")
    try:
        socket.create_connection((other, number), server.patience.seconds).close()
    except OSError:
        return
    text = f"{told}, and accepts connections to {other}:{number} too"
    raise Failure(text, hint="wrong-address")


@claim("01.1")
def test_01_restarts_at_once_on_the_same_port(launch):
    """After it ended with a client connected, it can be started on the same port again at once."""
    port = free_port()
    first = launch(port=port)
    before = first.process.descriptors().sockets
    first.connect()
    wait_until(lambda: first.process.descriptors().sockets > before, first.patience)
    text = f"ends the server, and starts it again on port {first.address[1]}"
    first.conversation.note("the grader", text)
    first.process.stop_gently(2)
    first.process.destroy()
    second = launch(port=first.address[1], restarted=True)
    if second.address[1] != first.address[1]:
        text = f"it should use port {first.address[1]} again, and uses {second.address[1]}"
        raise Failure(text, hint="wrong-address")
    second.connect()


@claim("01.1", cli=True)
def test_01_says_what_is_wrong_at_start(run, launch):
    """Wrong usage ends it with status 2 and a usage line, a port in use with 1 and the reason."""
    program = run.argv[0]
    server = launch(("-p", str(free_port())))
    port = str(server.address[1])
    for arguments in (["-x"], ["-p", "70000"], ["-a", "nowhere"]):
        expect_failed_start([program, *arguments], 2, "usage")
    taken = [program, "-p", port]
    expect_failed_start(taken, 1, "in use", hint="port-taken")


@claim("01.1")
def test_01_burst_of_connections(server):
    """200 clients that connect at once are all connected, though most have to wait for service."""
    with server.paused():  # so that the backlog has them all, however fast the server is
        arrive_together(server, 200)


# 01.2 the length


@claim("01.2", fatal="bytes", hints=LENGTH)
def test_01_length_uses_all_four_bytes(server_for_each, rng):
    """A length that needs two bytes is read whole, the lower byte first."""
    for size in (5, 44, 255, 256, 300, 513):
        echo(server_for_each().connect(), rng.randbytes(size))


@claim("01.2", hints=TOO_LONG, refusals=True)
def test_01_one_byte_over_the_maximum(server):
    """A frame of one byte over the maximum closes the connection, with no reply."""
    _refused(server, length_framing.MAX_FRAME + 1)


@claim("01.2", hints=TOO_LONG, refusals=True)
def test_01_length_is_unsigned(server_for_each):
    """The lengths 0x80000000 and 0xFFFFFFFF are too long, not negative, and not zero."""
    for length in (0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0x03000000):
        _refused(server_for_each(), length)


def _refused(server, length: int) -> None:
    client = server.connect()
    client.send(length_framing.header(length))
    client.expect_eof()


@claim("01.2", explains=True, chapters="01-02")
def test_01_first_frames(server, rng):
    """Frames of 5, 5, 5,000 and 70,000 bytes, and one of another client after it, come back."""
    try_out(server, rng, at_once=False)  # worth no points: it says once why most claims fail


# 01.3 read_full


@claim("01.3", fatal="bytes", hints=PIECES)
def test_01_frame_cut_at_every_byte(server_for_each, rng):
    """A frame that arrives in two pieces, cut anywhere, comes back whole."""
    body = words(rng, 6)
    frame = length_framing.encode(body)
    for cut in range(1, len(frame)):
        client = server_for_each().connect()
        send_in_pieces(client, frame, [cut])
        client.expect_frame(body)


@claim("01.3", fatal="bytes", hints=PIECES)
def test_01_frame_byte_by_byte(server, rng):
    """A frame that arrives one byte at a time comes back whole."""
    body = words(rng, 10)
    frame = length_framing.encode(body)
    client = server.connect()
    send_in_pieces(client, frame, range(1, len(frame)))
    client.expect_frame(body)


@claim("01.3", hints={"extra-bytes": "partial-frame-answered"})
def test_01_input_ends_inside_a_frame(server_for_each, rng):
    """If the input ends inside a header or a body, the connection is closed without a reply."""
    frame = length_framing.encode(rng.randbytes(100))
    for size in (1, 2, 3, 4, 5, len(frame) - 1):
        _leaves(server_for_each(), frame[:size], "half_close").expect_eof()


@claim("01.3", fatal="bytes", chapters="01", hints=LARGE)
def test_01_largest_frame(server, rng):
    """A frame of exactly the maximum, 33,554,432 bytes, comes back whole."""
    body = rng.randbytes(MIB) * (length_framing.MAX_FRAME // MIB)
    server.connect().exchange(length_framing.encode(body), [body])


@claim("01.3", fatal="bytes", hints=READ_INTERRUPTED)
def test_01_read_interrupted_by_a_signal(server_for_each, rng):
    """A signal that interrupts a read, in a header or a body, loses no byte and does no harm."""
    body = words(rng, 5)
    frame = length_framing.encode(body)
    for cut in (2, 4, 6):
        server = server_for_each()
        client = server.connect()
        client.send(frame[:cut])
        until_read(client)
        interrupt(server)
        client.send(frame[cut:])
        client.expect_frame(body)


# 01.4 write_all: later chapters have test_02_short_write_is_resumed


@claim("01.4", fatal="bytes", chapters="01", hints=SHORT_WRITE)
def test_01_write_interrupted_by_a_signal(server, rng):
    """Signals that interrupt a write to a slow reader lose no byte of the reply."""
    body = rng.randbytes(8 * MIB)
    client, reply = server.connect(rcvbuf=SMALL_WINDOW), Replies([body])
    client.send_frame(body)
    until_read(client)
    for _ in range(5):
        interrupt(server)
        client.expect_part(reply, MIB)  # so that the next write moves something, and waits again
    client.expect_frames(reply)


# 01.5 one client's frames


@claim("01.5", fatal="bytes", hints=ONE_FRAME)
def test_01_many_frames_on_one_connection(server, rng):
    """A hundred frames on one connection, each sent after the previous reply, come back."""
    client = server.connect()
    for number in range(100):
        echo(client, rng.randbytes(number))


@claim("01.5", fatal="bytes")
def test_01_frames_in_one_segment(server, rng):
    """Frames that arrive together are each answered, in their order."""
    all_values = bytes(rng.sample(range(256), 256))
    bodies = [words(rng, 3), b"", words(rng, 5), all_values, b"", words(rng, 4)]
    client = server.connect()
    client.send_frames(bodies)
    client.expect_frames(bodies)


@claim("01.5", hints=EMPTY)
def test_01_empty_frames(server, rng):
    """A frame with no body gets a reply with no body."""
    client = server.connect()
    for _ in range(3):
        echo(client, b"")
    ping(client, rng)


@claim("01.5", fatal="bytes", hints=HALF_CLOSE)
def test_01_half_close_with_replies_owed(server, rng):
    """A client that sends frames and half-closes at once gets every reply; then it is closed."""
    bodies = [rng.randbytes(size) for size in (1, 500, 0, 30_000, 7)]
    client = server.connect()
    with server.paused():  # so that the end of the input is there before the first reply is due
        client.send_frames(bodies)
        client.half_close()
    client.expect_closed_after(bodies)


@claim("01.5", fatal="growth", native=True)
def test_01_long_stream_costs_no_memory(server, rng):
    """However many frames a connection carries, the server does not keep them."""
    bodies = [rng.randbytes(4 * KIB) for _ in range(LONG_STREAM // ROUNDS // (4 * KIB))]
    stream = b"".join(map(length_framing.encode, bodies))
    begun = stream[:3]  # in the server between two rounds: finds one that waits for an empty buffer
    client = server.connect()
    client.exchange(stream + begun, bodies)
    base, began = server.process.resident_bytes(), time.monotonic()
    for number in range(2, ROUNDS + 1):
        if time.monotonic() - began > LONG_SECONDS:
            return
        client.exchange(stream[len(begun) :] + begun, bodies)
        when = f"when {number * LONG_STREAM // ROUNDS // MIB} MiB have passed through a connection"
        bounded(server, base, KEPT_BYTES, when)


# 01.6 one client after the other


def _leaves(server, sent: bytes, leave: str):
    """A client that sends this and leaves, by the method of its name. Returns it."""
    client = server.connect()
    client.send(sent)
    until_read(client)
    getattr(client, leave)()
    return client


def _next_is_served(server, rng) -> None:
    client = server.connect()
    ping(client, rng)
    client.close()


def _lives_on(server, rng) -> None:
    """Two more clients are served. A server that handles all its clients in turn may reply to the
    first of them before it comes to the one that could end it."""
    _next_is_served(server, rng)
    _next_is_served(server, rng)


@claim("01.6", hints=NEXT, refusals=True)
def test_01_next_client_after_each_way_of_leaving(server, rng):
    """The next client is served, whatever state the one before it left in."""
    frame = length_framing.encode(words(rng, 5))
    for sent in (b"", frame[:2], frame[:4], frame[:6], frame, length_framing.TOO_LONG):
        for leave in ("close", "reset"):
            _leaves(server, sent, leave)
            _next_is_served(server, rng)


@claim("01.6", hints=NEXT)
def test_01_twenty_clients_one_after_another(server, rng):
    """Twenty clients are served one after the other."""
    for _ in range(20):
        client = server.connect()
        echo(client, rng.randbytes(100))
        client.half_close()
        client.expect_eof()


@claim("01.6", hints=NEXT)
def test_01_peer_is_gone_before_its_reply(server, rng):
    """SIGPIPE does not end the server when the peer of a reply is gone."""
    _next_is_served(server, rng)
    with server.paused():
        client = server.connect()
        client.send_frame(rng.randbytes(20))
        client.half_close()
        client.reset()
    _lives_on(server, rng)


@claim("01.6", hints=INTERRUPTED)
def test_01_signal_while_it_waits_for_a_client(server, rng):
    """A signal that interrupts the wait for a client does not end the server."""
    _next_is_served(server, rng)
    for _ in range(3):
        interrupt(server)
        _next_is_served(server, rng)


@claim("01.6", chapters="01-08", cli=True, native=True, hints=NEXT, needs=SANITIZERS)
def test_01_sanitized(launch, rng):
    """Built with sanitizers, it has no undefined behaviour, whatever arrives."""
    server = launch(sanitize=SANITIZERS)
    frame = length_framing.encode(rng.randbytes(300))
    for sent, leave in ((frame[:3], "half_close"), (frame[:200], "close"), (frame[:200], "reset")):
        _leaves(server, sent, leave)
    client = server.connect()
    send_in_pieces(client, frame, (1, 2, 3, 4, 5, 100))
    client.expect_frame(frame[4:])
    burst(client, [rng.randbytes(size) for size in (0, 1, 3, 70_000, 2, 500_000, 5)])
    client.close()
    _next_is_served(server, rng)


# 01.7 an orderly end


@claim("01.7")
def test_01_stops_when_told(launch, rng):
    """SIGTERM and SIGINT end it within a second, with status 0, whatever state a client is in."""
    frame = length_framing.encode(rng.randbytes(5))
    for number, sent in (
        (signal.SIGTERM, b""),
        (signal.SIGINT, frame[:2]),
        (signal.SIGTERM, frame[:6]),
        (signal.SIGTERM, length_framing.encode(rng.randbytes(LONG_REPLY))),
    ):
        server = launch()
        _next_is_served(server, rng)
        client = connect_narrow(server)
        client.send(sent)
        until_read(client)
        until_asleep(server)
        expect_stop(server, number)
    server = launch()
    with greedy(server, rng.randbytes(1000), 1):
        expect_stop(server, signal.SIGTERM)


@claim("01.7", hints={"sigpipe": "sigpipe-not-ignored"})
def test_01_lives_on_without_a_reader_of_its_log(server, rng):
    """SIGPIPE never ends it: not when the reader of its log leaves, nor when it is sent."""
    _next_is_served(server, rng)
    server.process.leave_log()
    _lives_on(server, rng)  # it logs a line for each client, or nothing
    server.process.signal(signal.SIGPIPE)
    _lives_on(server, rng)


@claim("01.7", chapters="01", valgrind=True, hints=NEXT, refusals=True)
def test_01_memory(server, rng):
    """Under valgrind: it uses only its own memory, frees all of it and closes all descriptors."""
    frame = length_framing.encode(rng.randbytes(300))
    _next_is_served(server, rng)
    for sent, leave in (
        (frame[:3], "half_close"),  # of the length, the last byte does not come
        (frame[:200], "close"),
        (frame[:200], "reset"),
        (length_framing.TOO_LONG, "half_close"),
    ):
        client = _leaves(server, sent, leave)
        if leave == "half_close":
            client.expect_eof()
    owed = [rng.randbytes(size) for size in (1, 500, 0, 30_000)]
    client = server.connect()
    client.send_frames(owed)
    client.half_close()
    client.expect_closed_after(owed)
    client = connect_narrow(server)
    client.send_frame(rng.randbytes(512 * KIB))
    client.read_some(1000)
    client.reset()
    _next_is_served(server, rng)
    client = server.connect()
    client.send(frame[:200])  # and the server is told to stop
    until_read(client)
