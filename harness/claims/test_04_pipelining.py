"""Chapter 04: many frames in flight, bounded memory. Cost is linear in bytes and frames."""

from __future__ import annotations

import errno
import statistics
import time

from harness.claims.context.observe import made_since, seconds_of, until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.cost import (
    EXACT,
    GROWTH_COPIED,
    HELD_BYTES,
    Amount,
    bounded,
    burst_is_cheap,
    linear,
)
from harness.claims.scenarios.edges import expect_all_that_was_read
from harness.claims.scenarios.exchanges import (
    LONG_REPLY,
    SMALL_WINDOW,
    burst,
    connect_and_ping,
    connect_narrow,
    ping,
    send_and_owe,
    send_in_pieces,
    send_large_with_others,
    words,
)
from harness.claims.scenarios.greedy import greedy
from harness.claims.scenarios.single_faults import DROPPED
from harness.client import length_framing
from harness.feedback.failure import Failure
from harness.server.preload import Group, Plan, fail, piece
from harness.submission.sizes import KIB, MB, MIB
from harness.waiting.shared import STEPS_MAX

# Of a write, 1 to as many, so that a reply takes hundreds of them.
PART_BYTES = Amount(steps=512, cpu=8192)
PARTED_KIB = Amount(steps=128, cpu=4096)

LARGE_MIB = Amount(steps=2, cpu=8)  # of a frame, and twice as many, and if need be four times
IN_FLIGHT = Amount(steps=5_000, cpu=60_000)  # frames
FRAMES = Amount(steps=5_000, cpu=100_000)  # and twice as many

ROW = 4  # frames of one length in a row: a server may pass them more quickly than others
FRAMES_A_WRITE = 10  # at least, on average, in a burst of small frames

# How many clients are idle after a frame of how many bytes each. The first row shows whether small
# blocks are given back, the second whether a large one is. free() is enough: see EXACT in cost.py.
# Once IDLE_LOT more clients have cost no more than they may, further ones would show nothing new.
IDLE_AFTER = ((40, 2 * MIB), (50, length_framing.MAX_FRAME))
KEPT_BYTES = 8 * MIB  # of free memory, by a server for the frames that come next: docs/protocol.md
IDLE_LOT = 2
A_CONNECTION = MIB  # of memory, beside what has come and what is owed: docs/protocol.md

# Of a polite client's replies beside others. A right server may take some tens of milliseconds, and
# a slow machine makes everything slower: so it is a ratio to the same client alone, too.
PROMPT_MS = 250
PROMPT_RATIO = 20
PROMPT_TRIES = 3
NOW_AND_THEN = 0.005  # seconds between two frames of a polite client

# Asked for, if not used, for ANNOUNCED headers of 32 MiB, 3,200 MiB together. A runtime with a heap
# of its own may take some for another reason. And for each connection before that: the stack of a
# thread is 8 MiB.
ANNOUNCED = 100
RESERVED_BYTES = 1024 * MIB
RESERVED_FOR_EACH = 10 * MIB

OFFERED_BYTES = 256 * MIB  # to a server that nobody reads from
REFUSED = 2 * MIB  # an allocation of so many bytes fails; small frames do not need one
LONG_ROUNDS = 4  # of 7 MB each, through one connection

# What a general hint means in a claim, see marker.claim.
STARVED = dict.fromkeys(("silence", "connect-stuck"), "starved")
LARGE = dict.fromkeys(("closed-early", "reset-early", "refused-as-too-long"), "large-frame-refused")
RESUME = dict.fromkeys(("replies-missing", "not-taken"), "stuck-after-pause")
HALF_CLOSE = {
    **dict.fromkeys(
        ("stalled-reply", "closed-early", "closed-in-reply", "replies-missing"),
        "replies-lost-at-eof",
    ),
    "reset-early": "reset-by-close",
}


# 04.1 the queue


@claim("04.1", points=8, native=True, hints={"quadratic": "consume-moves"}, sees_calls=True)
def test_04_reply_taken_in_small_parts(launch, rng):
    """A reply of twice the bytes, sent in small parts, takes about twice the work."""
    server = launch(steps=True)
    if server.shim is None:  # then nobody makes sure that the parts are small
        return
    most = PART_BYTES.of(server)
    server.conversation.note("the grader", f"lets a write take {most:,} bytes at most")
    steps = [piece(rng.randint(1, most)) for _ in range(STEPS_MAX)]
    parts = Plan(Group.OUTPUT, steps, cycles=True)
    client = server.connect()
    body = rng.randbytes(KIB)

    def work(size: int) -> None:
        server.shim.schedule(parts)
        client.echo_all(length_framing.encode(body * size))

    # A server may copy a bounded piece of what is left for each call, as for MSG_ZEROCOPY.
    linear(server, work, PARTED_KIB, "a reply of {:,} KiB", GROWTH_COPIED)
    server.shim.require_calls()


@claim("04.1", points=2, native=True, sees_calls=True)
def test_04_cost_grows_with_the_bytes(launch, rng):
    """A frame of twice the bytes takes about twice the work."""
    server = launch(environment=EXACT, steps=True)  # else a block is kept, and a larger one is not
    client = server.connect()
    body = rng.randbytes(MIB)

    def work(size: int) -> None:
        client.echo_all(length_framing.encode(body * size))

    linear(server, work, LARGE_MIB, "a frame of {:,} MiB", GROWTH_COPIED)


# 04.2 answering and sending


@claim("04.2", points=6)
def test_04_hundred_thousand_frames(server, rng, inherited):
    """100,000 frames sent in one go are all answered, in their order."""
    lot = [b"%07d" % number + rng.randbytes(number // ROW % 17) for number in range(20_000)]
    client = server.connect()
    client.echo_all(b"".join(map(length_framing.encode, lot)) * 5)
    if not inherited:  # headers that differ in byte 3
        burst(client, [rng.randbytes(5), rng.randbytes(5 + 256**3)])


# 04.3 the parse loop


@claim("04.3", points=7, sees_calls=True)
def test_04_replies_are_batched(server, rng):
    """10,000 small frames that arrive together are answered in far fewer writes than frames."""
    bodies = [rng.randbytes(number // ROW % 8) for number in range(10_000)]
    client = server.connect()
    ping(client, rng)
    before = server.process.calls()
    burst(client, bodies)
    if before is None:  # the library that counts is not in this server
        return
    writes = made_since(server, before, "outputs")
    if writes * FRAMES_A_WRITE > len(bodies):
        text = f"{len(bodies):,} frames were answered with {writes:,} write calls"
        raise Failure(text, hint="write-per-frame")


@claim("04.3", points=5, native=True, sees_calls=True)
def test_04_burst_costs_no_more_than_small_batches(launch, rng):
    """A frame takes no more work when thousands are in flight than when 64 are."""
    server = launch(steps=True)
    bodies = [rng.randbytes(12)] * IN_FLIGHT.of(server)
    burst_is_cheap(server, server.connect(), bodies, "consume-moves")


@claim("04.3", points=5, native=True, sees_calls=True)
def test_04_cost_grows_with_the_frames(launch, rng):
    """Twice as many frames of 16 bytes take about twice the work."""
    server = launch(steps=True)
    client = server.connect()
    body = rng.randbytes(16)
    linear(server, lambda count: burst(client, [body] * count), FRAMES, "{:,} frames")


@claim("04.3", points=5, hints=STARVED)
def test_04_polite_client_beside_a_fire_hose(server, rng):
    """A client that sends a frame now and then is served beside some that send megabytes."""
    polite = server.connect("polite")
    for size in (8, 64 * KIB, MIB):
        with greedy(server, rng.randbytes(size)):
            for _ in range(5):
                ping(polite, rng)


@claim("04.3", points=5, hints=STARVED)
def test_04_others_are_served_promptly(server, rng):
    """A client gets its replies at once beside others that stall or never stop sending.

    This is timed: beside clients that never stop, the server is never asleep, so its clock cannot
    stand. How much it does for them meanwhile depends on when each of them could run.
    """
    polite = server.connect("polite")
    alone = _reply_ms(server, polite, rng)
    with greedy(server, rng.randbytes(1), 1), greedy(server, rng.randbytes(MIB), 1):
        _prompt(server, polite, rng, alone, "beside two that send without a pause")
    _stall(server, rng)
    _prompt(server, polite, rng, alone, "beside ten that stall")


def _stall(server, rng) -> None:
    """Five clients that do not read what they are owed, and five that send half a frame."""
    for _ in range(5):
        reader = connect_narrow(server, "stalled")
        reader.send_some(length_framing.encode(rng.randbytes(LONG_REPLY)), quiet=0.02)
        server.connect("stalled").send(length_framing.header(100) + rng.randbytes(50))


def _prompt(server, polite, rng, alone: float, where: str) -> None:
    """Checks that replies take about as long as `alone` (ms), where noise lets us tell."""
    limit = max(PROMPT_MS, PROMPT_RATIO * alone)
    taken = []
    for _ in range(PROMPT_TRIES):
        taken.append(_reply_ms(server, polite, rng))
        if taken[-1] <= limit:
            return
    text = f"a client waits {min(taken):.0f} ms for a reply {where}, and {alone:.1f} ms alone"
    raise Failure(text, hint="starved")


def _reply_ms(server, client, rng) -> float:
    """How long a short frame, sent now and then, takes there and back: the median of nine."""
    times = []
    for _ in range(9):
        time.sleep(NOW_AND_THEN)
        times.append(1000 * seconds_of(server, lambda: ping(client, rng)))
    return statistics.median(times)


# 04.4 back-pressure


@claim("04.4", points=11, native=True)
def test_04_client_that_never_reads_costs_little_memory(server, rng):
    """A client that sends 256 MB of 1 KiB frames and never reads costs below 8 MiB of memory."""
    ping(server.connect(), rng)
    base = server.process.resident_bytes()
    data = length_framing.encode(rng.randbytes(1024)) * 1024
    client = server.connect()
    sent = 0
    while sent < OFFERED_BYTES:
        taken = client.send_some(data)
        sent += taken
        bounded(server, base, HELD_BYTES, f"after {sent / MB:.0f} MB sent and nothing read")
        if taken < len(data) and (until_asleep(server) or not taken):  # else it is only slow
            break
    ping(server.connect(), rng)  # others are served


@claim("04.4", points=8, hints=RESUME)
def test_04_reading_goes_on_when_the_peer_reads(server, rng):
    """A client that sends 10 MB without reading gets every reply once it reads."""
    bodies = [rng.randbytes(1000) for _ in range(10_000)]
    data = b"".join(map(length_framing.encode, bodies))
    client = connect_narrow(server)
    sent = client.send_some(data)
    client.echo_all(data, sent)
    ping(client, rng)


@claim("04.2", points=6, hints=RESUME)
def test_04_small_frames_after_a_large_one(server, rng, inherited):
    """Small frames sent right after a large one are answered though nothing more arrives."""
    for size in (900_000, MIB, LONG_REPLY):
        bodies = [rng.randbytes(size), *(words(rng, 5) for _ in range(50))]
        at_once = size <= MIB  # then the kernel takes all of the replies, once they are written
        client = server.connect(rcvbuf=SMALL_WINDOW) if at_once else connect_narrow(server)
        send_large_with_others(server, client, bodies)
        until_read(client)
        until_asleep(server)
        client.expect_frames(bodies)
        ping(client, rng)
    if not inherited:
        body = rng.randbytes(700)
        expect_all_that_was_read(server, body, body)


# 04.5 flush before close


@claim("04.5", points=7, hints=HALF_CLOSE)
def test_04_half_close_with_10000_replies_owed(server, rng):
    """A client that sends 10,000 frames and half-closes gets every reply; then it is closed."""
    client = connect_narrow(server)
    owed = send_and_owe(client, [rng.randbytes(84) for _ in range(10_000)])
    client.half_close()
    until_read(client)
    until_asleep(server)  # the end has been seen, too, while replies are still owed
    client.expect_closed_after(owed)


@claim("04.5", points=8, hints=HALF_CLOSE)
def test_04_half_close_with_a_late_reader(server, rng):
    """Replies owed at a half-close arrive at a late reader, though the kernel takes only a part."""
    client = connect_narrow(server)
    owed = send_and_owe(client, [*(rng.randbytes(200_000) for _ in range(4)), words(rng, 4)])
    client.half_close()
    for _ in range(5):
        ping(server.connect(), rng)
    client.expect_closed_after(owed)


@claim("04.2", points=5, hints=HALF_CLOSE, refusals=True)
def test_04_replies_before_a_frame_that_is_too_long(server, rng):
    """Replies owed before a frame that is too long are sent, then the connection is closed."""
    for count in (1, 100, 1000):
        bodies = [rng.randbytes(1000) for _ in range(count)]
        client = server.connect()
        client.send(b"".join(map(length_framing.encode, bodies)) + length_framing.TOO_LONG)
        client.expect_closed_after(bodies)


# 04.6 memory


@claim("04.6", points=5, native=True, hints=LARGE)
def test_04_memory_is_given_back(launch, rng):
    """Up to fifty clients that are idle after a frame of 32 MiB each cost next to no memory."""
    for count, size in IDLE_AFTER:
        server = launch(environment=EXACT)
        ping(server.connect(), rng)
        base = before = server.process.resident_bytes()
        frame = b"".join([length_framing.header(size), *[rng.randbytes(MIB)] * (size // MIB)])
        for number in range(1, count + 1):
            client = server.connect("idle")
            client.echo_all(frame)
            if number % 2:
                ping(client, rng)
            else:  # of the next frame only the beginning comes: nearly nothing, and not nothing
                client.send(frame[:3])
                until_read(client)
            if number % IDLE_LOT == 0:
                when = f"with {number} clients idle after a frame of {size // MIB} MiB each"
                bounded(server, base, number * A_CONNECTION + KEPT_BYTES, when)
                before, held = server.process.resident_bytes(), before
                if number > IDLE_LOT and before - held <= IDLE_LOT * A_CONNECTION:
                    break


@claim("04.6", points=1, cli=True, native=True)
def test_04_memory_that_is_refused_loses_none(launch, rng):
    """20 clients need more memory than the machine gives; the memory they had is freed."""
    server = launch(allocations=True)
    ping(server.connect(), rng)
    if server.shim is None:
        return
    server.conversation.note("the grader", f"lets each malloc() of {REFUSED:,} bytes or more fail")
    refused = Plan(Group.ALLOCATION, [fail(errno.ENOMEM)], cycles=True, at_least=REFUSED)
    server.shim.schedule(refused)
    body = rng.randbytes(REFUSED) * 2
    for _ in range(5):  # malloc keeps some of what was freed, and buffers are used in turn
        _in_vain(server, body)
    base = server.process.resident_bytes()
    for _ in range(20):
        _in_vain(server, body)
    try:
        bounded(server, base, HELD_BYTES, "after 20 clients for which there was no memory")
    except Failure as failure:
        raise Failure(failure.message, hint="out-of-memory") from None
    ping(server.connect("last"), rng)


def _in_vain(server, body: bytes) -> None:
    """The frame is echoed, or its connection is closed: a server may need no more memory for it."""
    client = server.connect("needs memory")
    try:
        client.exchange(length_framing.encode(body), [body])
    except Failure as failure:
        if failure.hint not in DROPPED:
            raise
    client.close()


@claim("04.6", points=2, native=True)
def test_04_long_stream_costs_no_memory(server, rng):
    """However much a connection carries, the server keeps only what it still needs."""
    ping(server.connect(), rng)
    base = server.process.resident_bytes()
    bodies = [rng.randbytes(rng.randrange(60_000)) for _ in range(240)]
    stream = b"".join(map(length_framing.encode, bodies))
    begun = stream[:3]  # in the server between two rounds: finds one that waits for an empty buffer
    client = server.connect()
    client.exchange(stream + begun, bodies)
    for number in range(2, LONG_ROUNDS + 1):
        client.exchange(stream[len(begun) :] + begun, bodies)
        when = f"when {number * len(stream) / MB:.0f} MB have passed through a connection"
        bounded(server, base, HELD_BYTES, when)
    client.exchange(stream[len(begun) :], bodies)


@claim("04.6", points=2, native=True)
def test_04_declared_length_costs_no_memory(server, rng):
    """100 clients that announce 32 MiB and send none of it cost next to no memory."""
    ping(server.connect(), rng)
    base, reserved = server.process.resident_bytes(), server.process.reserved_bytes()
    clients = connect_and_ping(server, rng, ANNOUNCED)
    when = f"with {ANNOUNCED} clients that have sent almost nothing"
    limit = ANNOUNCED * A_CONNECTION + HELD_BYTES
    bounded(server, base, limit, when)
    reserved = _asked_for(server, reserved, ANNOUNCED * RESERVED_FOR_EACH + RESERVED_BYTES, when)
    short = words(rng, 8)
    for client in clients:
        client.send(length_framing.header(len(short)))
    ping(server.connect(), rng)  # so all of it is read
    begun = server.process.resident_bytes()
    bounded(server, base, limit, f"with {ANNOUNCED} frames of which only the header has arrived")
    for client in clients:
        client.exchange(short, [short])
        client.send(length_framing.header(length_framing.MAX_FRAME))
    ping(server.connect("last"), rng)
    when = f"after {ANNOUNCED} headers that announce 32 MiB"
    than = f"after {ANNOUNCED} that announce {len(short)} bytes"
    bounded(server, begun, HELD_BYTES, when, than)
    _asked_for(server, reserved, RESERVED_BYTES, when)


def _asked_for(server, before: int, limit: int, when: str) -> int:
    """What the server has requested, used or not; at most `limit` more than before."""
    now = server.process.reserved_bytes()
    if now - before > limit:
        text = f"{when}, the server has requested {(now - before) / MIB:,.0f} MiB, used or not"
        raise Failure(text, hint="memory-grows")
    return now


@claim("04.6", points=2, valgrind=True, hints=RESUME, refusals=True)
def test_04_memory(server, rng):
    """Under valgrind: pipelines in all states, then a stop; no byte is misused or kept."""
    bodies = [rng.randbytes(number) for number in range(100)]
    stream = b"".join(map(length_framing.encode, bodies))
    client = server.connect()
    send_in_pieces(client, stream, (3, 4, 5, 1001, 3000))
    client.expect_frames(bodies)
    late = connect_narrow(server, "late")
    owed = [rng.randbytes(40_000) for _ in range(60)]
    data = b"".join(map(length_framing.encode, owed))
    sent = late.send_some(data, quiet=0.1)
    late.exchange(data[sent:], owed)  # and now it reads
    client.send_frames(bodies)
    client.half_close()
    client.expect_closed_after(bodies)
    client = server.connect()
    client.send(stream + length_framing.TOO_LONG)
    client.expect_closed_after(bodies)
    client = server.connect()
    client.send(stream[:-1])
    until_read(client)
    until_asleep(server)  # so that it hears of the reset from poll(), not from write()
    client.reset()
    owing = connect_narrow(server, "owing")  # of a new one the kernel holds little for sure
    owing.send_some(data[: len(data) // 3], quiet=0.1)
    until_read(owing)  # more than the kernel takes of the replies, less than a server may hold
    server.connect().send(stream[:-1])
    ping(server.connect("last"), rng)
