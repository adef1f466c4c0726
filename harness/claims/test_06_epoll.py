"""Chapter 06: the kernel keeps the list. Idle connections cost nothing, and nothing is told twice.

What the event manager promises to its callers is in test_06_modules.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.claims.context.observe import eventually, is_open, steps_of, until_asleep
from harness.claims.marker import claim
from harness.claims.scenarios.cost import WATCHED, no_cpu
from harness.claims.scenarios.edges import NARROW_KINDS, any_order
from harness.claims.scenarios.exchanges import ping, words
from harness.claims.scenarios.many_clients import connected, served
from harness.client import length_framing
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB
from harness.waiting.wait import wait_until

SPARE = 200  # descriptors for everything else, here and in the server
SETTLE_SECONDS = 3  # in which a server lets all of them in

# Idle clients. A look at each of them takes 2 steps and more.
IDLE = 500
FEW_REQUESTS = 20
IDLE_RATIO = 1.1
TRIES = 4

REQUESTS = 300
# On average, in a conversation of requests and replies. One is needed.
READS_A_REQUEST = 1.3

TOO_MANY = 1_100  # for select(), whose descriptors end at 1,023
FREE_AGAIN = 1_000  # of them stay open: then descriptors are free again
CROWD = 600  # clients, fewer than select() can watch
BACKENDS = ("epoll", "poll", "select")

# Around what a server may ask of one read().
SIZES = (*(size + more for size in (64 * KIB, 256 * KIB, MIB) for more in (-5, -4, -3)), 2 * MIB)

# Of a client that has sent some MiB before the server looks: at most so much is read before others
# have their turn.
CLIENTS_TO_SHARE = 60  # who has more loops than that shares none between two of ours
HOSE_FRAMES = 3_000  # of 1,000 bytes
SHARE_BYTES = MIB
GROWING_BYTES = 8 * MIB  # of a frame: meanwhile the kernel makes the server's receive buffer larger
SHARE_TRIES = 3
INPUTS = {"read", "readv", "recv", "recvfrom", "recvmsg"}

# What a general hint means in a claim, see marker.claim.
LOST = ("silence", "stalled-reply", "replies-missing", "not-taken", "connect-stuck")
EDGE = dict.fromkeys(LOST, "told-once")
ENDED = {**EDGE, "not-closed": "hangup-untold"}
REFUSED = dict.fromkeys(("silence", "closed-early", "reset-early"), "table-too-small")
TURN = dict.fromkeys(LOST, "one-turn")


# 06.1 watch


@claim("06.1", guard=True, cli=True, hints=REFUSED, descriptors=CROWD + SPARE)
def test_06_six_hundred_clients(launch, rng, inherited):
    """With each backend 600 clients are connected, and each is served."""
    for backend in BACKENDS[1:] if inherited else BACKENDS:  # other claims have more with epoll
        server = launch(("--backend", backend), nofile=CROWD + SPARE)
        with served(server, CROWD):
            ping(server.connect("late"), rng)


@claim("06.1", cli=True, native=True)
def test_06_select_has_its_limit(launch, rng):
    """With select, connections above descriptor 1,023 are closed; the others stay served."""
    server = launch(("--backend", "select"))
    clients = [server.connect() for _ in range(TOO_MANY)]
    if not eventually(server, lambda: not is_open(clients[-1])):
        text = f"with select {TOO_MANY:,} clients are connected, and the last one is not closed"
        raise Failure(text, hint="beyond-select")
    for client in clients[:1_000:100]:
        ping(client, rng)
    for client in clients[500:]:
        client.close()
    eventually(server, lambda: server.process.descriptors().total < FREE_AGAIN)
    for _ in range(3):
        ping(server.connect("late"), rng)
    ping(clients[0], rng)


# 06.2 turn


@claim("06.2", fatal="bytes", hints=TURN)
def test_06_each_edge(server, rng):
    """Whether a socket becomes readable, writable, or both at once: every reply that is owed is
    sent, though its client sends nothing more."""
    any_order(server, rng)


@claim("06.2", cli=True, hints=TURN)
def test_06_each_level(launch, rng):
    """With select and poll, too, whatever a socket becomes ready for, every reply is sent."""
    for backend in ("select", "poll"):
        any_order(launch(("--backend", backend)), rng, NARROW_KINDS)


@claim("06.2", hints=EDGE, sees_calls=True)
def test_06_share_of_an_iteration(server, rng):
    """However much input of one client is waiting, the others are served in between."""
    if server.shim is None:  # then nobody sees what is read first
        return
    for _ in range(SHARE_TRIES):
        hose = server.connect("hose")
        loop, watched = _served_by(server, hose, rng)
        polite = server.connect("polite")
        while _served_by(server, polite, rng)[0] != loop:  # its turns have nothing to do with ours
            if len(server.clients) > CLIENTS_TO_SHARE:
                return
            polite = server.connect("polite")
        grown = rng.randbytes(GROWING_BYTES)
        hose.send_frame(grown)  # or else one read() empties the socket
        hose.expect_frame(grown)
        recorded = server.shim.shared.recorded
        body = words(rng, 8)
        with server.paused():
            hose.send_some(length_framing.encode(rng.randbytes(1000)) * HOSE_FRAMES)
            polite.send_frame(body)
        polite.expect_frame(body)
        size = _read_first(server, recorded, watched)
        if size > SHARE_BYTES:
            text = f"{size / MIB:.1f} MiB of one client were read before a frame of another"
            raise Failure(text, hint="starved")
        hose.reset()


def _served_by(server, client, rng) -> tuple[int, int]:
    """The thread that reads from this client, the last one, and the number of its connection."""
    recorded = server.shim.shared.recorded
    ping(client, rng)
    number = server.shim.shared.connections - 1
    for call in server.shim.record_after(recorded)[0]:
        if call.function in INPUTS and call.connection == number:
            return call.thread, number
    return 0, number


def _read_first(server, recorded: int, watched: int) -> int:
    """Bytes of connection `watched` that were read, since then, before the last one's turn."""
    last = server.shim.shared.connections - 1
    size = 0
    for call in server.shim.record_after(recorded)[0]:
        if call.function in INPUTS and call.connection == last:
            break
        if call.function in INPUTS and call.connection == watched:
            size += max(0, call.result)
    return size


# 06.3 wake


# 06.4 dispatch


# 06.6 epoll


@claim("06.6", native=True, sees_calls=True, descriptors=IDLE + SPARE)
def test_06_idle_connections_cost_nothing(launch, rng):
    """A request takes as much work beside many idle connections as beside none."""
    server = launch(nofile=IDLE + SPARE, steps=True)
    if server.process.steps() is None:
        return
    client = server.connect()
    ping(client, rng)
    alone = _steps_of_a_request(server, client, rng)
    with _idle(server, IDLE):
        for _ in range(TRIES):  # the last ones may be accepted during the first
            crowded = _steps_of_a_request(server, client, rng)
            if crowded <= IDLE_RATIO * alone:
                return
    text = f"a request takes {crowded:,.0f} steps beside {IDLE} idle connections, and "
    raise Failure(f"{text}{alone:,.0f} alone", hint="pays-for-the-idle")


def _steps_of_a_request(server, client, rng) -> float:
    """Each is sent when the server sleeps again: one that reads until EAGAIN does so each time."""

    def ask() -> None:
        for _ in range(FEW_REQUESTS):
            ping(client, rng)
            until_asleep(server)

    return steps_of(server, ask) / FEW_REQUESTS


@contextmanager
def _idle(server, count: int) -> Iterator[None]:
    """Connects clients that send nothing, for the time of the block."""
    server.conversation.note("the grader", f"connects {count:,} clients, which send nothing")
    with connected(server, count):
        wait_until(lambda: until_asleep(server), SETTLE_SECONDS)  # to let them in is work
        yield


# 06.7 drained


@claim("06.7", cli=True, hints=TURN)
def test_06_no_read_in_vain(server, rng):
    """Requests that come one after the other are read with one call each, and nothing that arrives
    is overlooked for that."""
    any_order(server, rng)
    client = server.connect()
    ping(client, rng)
    before = server.process.calls()
    if before is None:  # the library that counts is not in this server
        return
    for _ in range(REQUESTS):
        ping(client, rng)
    reads = server.process.calls().inputs - before.inputs
    if reads > READS_A_REQUEST * REQUESTS:
        text = f"{REQUESTS} requests, one after the other, were read with {reads:,} calls"
        raise Failure(text, hint="reads-in-vain")


@claim("06.7", guard=True, hints=EDGE)
def test_06_silence_after_a_burst(server, rng):
    """Frames longer than one read are answered, though nothing follows them."""
    for size in SIZES:
        body = rng.randbytes(size)
        clients = [server.connect() for _ in range(2)]
        with server.paused():
            data = length_framing.encode(body)
            sent = [client.send_some(data) for client in clients]
        for client, taken in zip(clients, sent):
            client.echo_all(data, taken)
        for client in clients:
            ping(client, rng)
            client.close()


@claim("06.7", guard=True, fatal="bytes", hints=ENDED)
def test_06_eof_with_the_last_bytes(server, rng):
    """A client whose last bytes arrive together with its FIN gets all replies and is closed."""
    for number, size in enumerate((0, 8, 1000, *SIZES)):
        bodies = [rng.randbytes(size)] * (3 if size <= 1000 else 1)
        client = server.connect()
        if number % 2:
            ping(client, rng)
        data = b"".join(map(length_framing.encode, bodies))
        with server.paused():
            sent = client.send_some(data)
            if sent == len(data):  # else the kernel has no space for it
                client.half_close()
        if sent == len(data):
            client.expect_closed_after(bodies)
        else:
            client.echo_all(data, sent)


@claim("06.7", guard=True, native=True, hints=dict.fromkeys(LOST, "urgent-untold"))
def test_06_urgent_data_between_frames(launch, rng):
    """Urgent data between two frames makes the server miss neither, and costs no CPU later."""
    server = launch(steps=True)
    client = server.connect()
    ping(client, rng)
    bodies = [words(rng, 8), words(rng, 8)]
    with server.paused():
        client.send_frame(bodies[0])
        client.send_urgent(b"!")
        client.send_frame(bodies[1])
    client.expect_frames(bodies)
    ping(client, rng)
    no_cpu(server, "after urgent data was sent", "spins-in-vain", seconds=WATCHED)
