"""Chapter 04: many frames in flight, bounded memory. Cost is linear in bytes and frames."""

from __future__ import annotations

from harness.claims.context.observe import made_since, until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.cost import (
    EXACT,
    GROWTH_COPIED,
    HELD_BYTES,
    bounded,
    burst_is_cheap,
    linear,
)
from harness.claims.scenarios.exchanges import (
    burst,
    connect_and_ping,
    connect_narrow,
    ping,
    send_and_owe,
    words,
)
from harness.client import length_framing
from harness.feedback.failure import Failure
from harness.server.preload import Group, Plan, piece
from harness.submission.sizes import KIB, MB, MIB
from harness.waiting.shared import STEPS_MAX

# Of a write, 1 to as many, so that a reply takes hundreds of them.
PART_BYTES = 512
PARTED_KIB = 128

LARGE_MIB = 2  # of a frame, and twice as many, and if need be four times
IN_FLIGHT = 5_000  # frames

ROW = 4  # frames of one length in a row: a server may pass them more quickly than others
FRAMES_A_WRITE = 10  # at least, on average, in a burst of small frames

# How many clients are idle after a frame of how many bytes each. The first row shows whether small
# blocks are given back, the second whether a large one is. free() is enough: see EXACT in cost.py.
# Once IDLE_LOT more clients have cost no more than they may, further ones would show nothing new.
IDLE_AFTER = ((40, 2 * MIB), (50, length_framing.MAX_FRAME))
KEPT_BYTES = 8 * MIB  # of free memory, by a server for the frames that come next: docs/protocol.md
IDLE_LOT = 2
A_CONNECTION = MIB  # of memory, beside what has come and what is owed: docs/protocol.md

# Asked for, if not used, for ANNOUNCED headers of 32 MiB, 3,200 MiB together. A runtime with a heap
# of its own may take some for another reason. And for each connection before that: the stack of a
# thread is 8 MiB.
ANNOUNCED = 100
RESERVED_BYTES = 1024 * MIB
RESERVED_FOR_EACH = 10 * MIB

OFFERED_BYTES = 256 * MIB  # to a server that nobody reads from

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


@claim("04.1", fatal="bytes", native=True, hints={"quadratic": "consume-moves"}, sees_calls=True)
def test_04_reply_taken_in_small_parts(launch, rng):
    """A reply of twice the bytes, sent in small parts, takes about twice the work."""
    server = launch(steps=True)
    if server.shim is None:  # then nobody makes sure that the parts are small
        return
    server.conversation.note("the grader", f"lets a write take {PART_BYTES:,} bytes at most")
    steps = [piece(rng.randint(1, PART_BYTES)) for _ in range(STEPS_MAX)]
    parts = Plan(Group.OUTPUT, steps, cycles=True)
    client = server.connect()
    body = rng.randbytes(KIB)

    def work(size: int) -> None:
        server.shim.schedule(parts)
        client.echo_all(length_framing.encode(body * size))

    # A server may copy a bounded piece of what is left for each call, as for MSG_ZEROCOPY.
    linear(server, work, PARTED_KIB, "a reply of {:,} KiB", GROWTH_COPIED)
    server.shim.require_calls()


@claim("04.1", guard=True, native=True, sees_calls=True)
def test_04_cost_grows_with_the_bytes(launch, rng):
    """A frame of twice the bytes takes about twice the work."""
    server = launch(environment=EXACT, steps=True)  # else a block is kept, and a larger one is not
    client = server.connect()
    body = rng.randbytes(MIB)

    def work(size: int) -> None:
        client.echo_all(length_framing.encode(body * size))

    linear(server, work, LARGE_MIB, "a frame of {:,} MiB", GROWTH_COPIED)


# 04.2 answering and sending


@claim("04.2", fatal="bytes")
def test_04_hundred_thousand_frames(server, rng, inherited):
    """100,000 frames sent in one go are all answered, in their order."""
    lot = [b"%07d" % number + rng.randbytes(number // ROW % 17) for number in range(20_000)]
    client = server.connect()
    client.echo_all(b"".join(map(length_framing.encode, lot)) * 5)
    if not inherited:  # headers that differ in byte 3
        burst(client, [rng.randbytes(5), rng.randbytes(5 + 256**3)])


# 04.3 the parse loop


@claim("04.3", sees_calls=True)
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


@claim("04.3", native=True, sees_calls=True)
def test_04_burst_costs_no_more_than_small_batches(launch, rng):
    """A frame takes no more work when thousands are in flight than when 64 are."""
    server = launch(steps=True)
    bodies = [rng.randbytes(12)] * IN_FLIGHT
    burst_is_cheap(server, server.connect(), bodies, "consume-moves")


# 04.4 back-pressure


@claim("04.4", fatal="growth", native=True)
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


@claim("04.4", hints=RESUME)
def test_04_reading_goes_on_when_the_peer_reads(server, rng):
    """A client that sends 10 MB without reading gets every reply once it reads."""
    bodies = [rng.randbytes(1000) for _ in range(10_000)]
    data = b"".join(map(length_framing.encode, bodies))
    client = connect_narrow(server)
    sent = client.send_some(data)
    client.echo_all(data, sent)
    ping(client, rng)


# 04.5 flush before close


@claim("04.5", fatal="bytes", hints=HALF_CLOSE)
def test_04_half_close_with_a_late_reader(server, rng):
    """Replies owed at a half-close arrive at a late reader, though the kernel takes only a part."""
    client = connect_narrow(server)
    owed = send_and_owe(client, [*(rng.randbytes(200_000) for _ in range(4)), words(rng, 4)])
    client.half_close()
    for _ in range(5):
        ping(server.connect(), rng)
    client.expect_closed_after(owed)


@claim("04.2", hints=HALF_CLOSE, refusals=True)
def test_04_replies_before_a_frame_that_is_too_long(server, rng):
    """Replies owed before a frame that is too long are sent, then the connection is closed."""
    for count in (1, 100, 1000):
        bodies = [rng.randbytes(1000) for _ in range(count)]
        client = server.connect()
        client.send(b"".join(map(length_framing.encode, bodies)) + length_framing.TOO_LONG)
        client.expect_closed_after(bodies)


# 04.6 memory


@claim("04.6", native=True, hints=LARGE)
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


@claim("04.6", guard=True, fatal="growth", native=True)
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
