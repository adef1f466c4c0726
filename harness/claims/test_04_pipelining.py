"""Chapter 04: many frames in flight, bounded memory. Cost is linear in bytes and frames."""

from __future__ import annotations

from harness import wire
from harness.failure import Failure
from harness.flood import flooding
from harness.measure import cpu_of, cpu_share, eventually, until_read
from harness.plugin import claim
from harness.talk import MIB, SMALL_WINDOW, burst, echo


IDLE = 0.01  # of a processor, as in chapter 03

# What a burst may cost beside the same frames in small batches. A server that consumes in O(1)
# stays below 1, one that moves its buffer for every frame is above 5.
BURST_RATIO = 2.0
BATCH = 64

# Of server CPU, for twice the frames. Linear is 2.
GROWTH = 2.5
GROWTH_TRIES = 3
TOO_CHEAP = 0.010  # CPU seconds: below this the clock says nothing about growth

FRAMES_A_WRITE = 10  # at least, on average, in a burst of small frames
HELD_BYTES = 8 * MIB  # over the start: 1 MiB of output, input buffers, and what malloc keeps

# By all clients together, when each is idle after a frame of 2 MiB. free() is enough: glibc's malloc
# keeps up to twice the largest block that was freed (M_TRIM_THRESHOLD in mallopt(3)), here 8 MiB.
# 40 clients that keep a buffer each hold 80 MiB.
KEPT_BYTES = 24 * MIB

OFFERED_BYTES = 256 * MIB  # to a server that nobody reads from

# What a general hint means in a claim, see plugin.claim.
STARVED = dict.fromkeys(("silence", "connect-stuck"), "starved")
RESUME = dict.fromkeys(("replies-missing", "stalled-reply", "not-taken"), "stuck-after-pause")
HALF_CLOSE = dict.fromkeys(
    ("closed-early", "closed-in-reply", "reset-early", "replies-missing"), "replies-lost-at-eof"
)


# 04.1 consuming


@claim("04.1", points=15, native=True)
def test_04_burst_costs_no_more_than_small_batches(server, rng):
    """A frame costs no more CPU when 60,000 are in flight than when 64 are."""
    bodies = [rng.randbytes(12)] * 60_000
    batch, batches = bodies[:BATCH], 200
    client = server.connect()

    def in_batches() -> None:
        for _ in range(batches):
            burst(client, batch)

    # Noise makes things dearer, never cheaper: of several measurements the least is the truth.
    small = min(cpu_of(server, in_batches) for _ in range(GROWTH_TRIES)) / (BATCH * batches)
    for _ in range(GROWTH_TRIES):
        large = cpu_of(server, lambda: burst(client, bodies)) / len(bodies)
        if large <= BURST_RATIO * small:
            return
    raise Failure(
        f"a frame costs {1e6 * large:.2f} µs of CPU among 60,000, "
        f"and {1e6 * small:.2f} µs when sent {BATCH} at a time",
        hint="consume-moves",
    )


# 04.2 the parse loop


@claim("04.2", points=8)
def test_04_replies_are_batched(server):
    """10,000 small frames that arrive together are answered in far fewer writes than frames."""
    bodies = [b"%d" % number for number in range(10_000)]
    client = server.connect()
    echo(client, b"first")
    before = server.process.calls()
    burst(client, bodies)
    if before is None:  # the library that counts is not in this server
        return
    writes = server.process.calls().outputs - before.outputs
    if writes * FRAMES_A_WRITE > len(bodies):
        text = f"{len(bodies):,} frames were answered with {writes:,} write calls"
        raise Failure(text, hint="write-per-frame")


@claim("04.2", points=8)
def test_04_hundred_thousand_frames(server, rng):
    """100,000 frames sent in one go are all answered, in their order."""
    bodies = [b"%07d" % number + rng.randbytes(number % 17) for number in range(100_000)]
    burst(server.connect(), bodies)


@claim("04.2", points=8, native=True)
def test_04_cost_grows_with_the_frames(server):
    """200,000 frames of 16 bytes cost about twice the CPU of 100,000."""
    client = server.connect()
    bodies = [b"sixteen bytes ok"] * 200_000
    burst(client, bodies[:1000])
    for _ in range(GROWTH_TRIES):
        one = cpu_of(server, lambda: burst(client, bodies[:100_000]))
        two = cpu_of(server, lambda: burst(client, bodies))
        if two <= GROWTH * max(one, TOO_CHEAP):
            return
        if two > 2 * GROWTH * max(one, TOO_CHEAP):
            break
    raise Failure(
        f"100,000 frames cost {one:.2f} s of CPU, and 200,000 cost {two:.2f} s: "
        f"{two / one:.1f} times as much",
        hint="quadratic",
    )


@claim("04.2", points=6, hints=STARVED)
def test_04_polite_client_beside_a_fire_hose(server, rng):
    """A client that sends a frame now and then is served beside one that sends megabytes."""
    polite = server.connect("polite")
    for size in (8, 64 << 10, MIB):
        with flooding(server, rng.randbytes(size)):
            for number in range(10):
                echo(polite, b"%d" % number)


# 04.3 back-pressure


@claim("04.3", points=9, native=True)
def test_04_client_that_never_reads_costs_little_memory(server, rng):
    """A client that sends 256 MB of 1 KiB frames and never reads costs below 8 MiB of memory."""
    echo(server.connect(), b"start")
    base = server.process.resident_bytes()
    data = wire.encode(rng.randbytes(1024)) * 1024
    client = server.connect()
    sent = 0
    while sent < OFFERED_BYTES:
        taken = client.send_some(data)
        sent += taken
        _bounded(server, base, HELD_BYTES, f"of {sent / 1e6:.0f} MB sent and nothing read")
        if taken < len(data):
            break
    echo(server.connect(), b"others are served")


@claim("04.3", points=6, hints=RESUME)
def test_04_reading_goes_on_when_the_peer_reads(server, rng):
    """A client that sends 20 MB without reading gets every reply once it reads."""
    bodies = [rng.randbytes(1000) for _ in range(20_000)]
    data = b"".join(map(wire.encode, bodies))
    client = server.connect()
    sent = client.send_some(data)
    client.exchange(data[sent:], bodies)
    echo(client, b"and on")


@claim("04.3", points=6, hints=RESUME)
def test_04_small_frames_behind_a_large_one(server, rng):
    """Small frames sent right behind a large one are answered though nothing more arrives."""
    for size in (900_000, MIB, 3 * MIB, 8 * MIB):
        bodies = [rng.randbytes(size), *(b"%d" % number for number in range(50))]
        client = server.connect(rcvbuf=SMALL_WINDOW)
        client.send_frames(bodies)
        until_read(client)
        client.expect_frames(bodies)
        echo(client, b"and on")


@claim("04.3", points=4, native=True)
def test_04_waiting_for_a_reader_uses_no_cpu(server, rng):
    """While frames wait behind replies that nobody reads the server uses no CPU time."""
    client = server.connect(rcvbuf=SMALL_WINDOW)
    client.send_some(wire.encode(rng.randbytes(1024)) * 20_000)
    share = cpu_share(server, IDLE)
    if share > IDLE:
        text = f"while nobody reads its replies the server uses {share:.1%} of a processor"
        raise Failure(text, hint="spins-writing")


# 04.4 flush before close


@claim("04.4", points=8, hints=HALF_CLOSE)
def test_04_half_close_with_10000_replies_owed(server, rng):
    """A client that sends 10,000 frames and half-closes gets every reply; then it is closed."""
    client = server.connect(rcvbuf=SMALL_WINDOW)
    owed = _send_all(client, [rng.randbytes(400) for _ in range(10_000)])
    client.half_close()
    client.expect_closed_after(owed)


@claim("04.4", points=6, hints=HALF_CLOSE)
def test_04_half_close_with_a_late_reader(server, rng):
    """Replies owed at a half-close, more than the kernel takes at once, wait for a late reader."""
    client = server.connect(rcvbuf=SMALL_WINDOW)
    owed = _send_all(client, [*(rng.randbytes(200_000) for _ in range(20)), b"last"])
    client.half_close()
    for _ in range(5):
        echo(server.connect(), b"meanwhile")
    client.expect_closed_after(owed)


def _send_all(client, bodies):
    """Sends frames and reads as little as can be. Returns the bodies of the replies not yet read.

    The buffers of most machines take some 4 MB. Where they do not, half of the replies are read.
    """
    data = b"".join(map(wire.encode, bodies))
    sent = client.send_some(data)
    if sent == len(data):
        return bodies
    read = bodies[: len(bodies) // 2]
    client.exchange(data[sent:], read)
    return bodies[len(read) :]


@claim("04.4", points=6, hints=HALF_CLOSE)
def test_04_replies_before_a_frame_that_is_too_long(server, rng):
    """Replies owed in front of a frame that is too long are sent, then the connection is closed."""
    for count in (1, 100, 1000):
        bodies = [rng.randbytes(1000) for _ in range(count)]
        client = server.connect()
        client.send(b"".join(map(wire.encode, bodies)) + wire.header(wire.MAX_FRAME + 1))
        client.expect_closed_after(bodies)


# 04.5 memory


@claim("04.5", points=6, native=True)
def test_04_memory_is_given_back(server, rng):
    """Forty clients that are idle after a frame of 2 MiB each cost next to no memory."""
    echo(server.connect(), b"start")
    base = server.process.resident_bytes()
    body = rng.randbytes(2 * MIB)
    for _ in range(40):
        client = server.connect("idle")
        burst(client, [body])
        echo(client, b"and idle")
    _bounded(server, base, KEPT_BYTES, "after 40 frames of 2 MiB, with all clients idle")


@claim("04.5", points=4, native=True)
def test_04_declared_length_costs_no_memory(server):
    """200 clients that announce 32 MiB and send nothing of it cost next to no memory."""
    echo(server.connect(), b"start")
    base = server.process.resident_bytes()
    for _ in range(200):
        server.connect().send(wire.header(wire.MAX_FRAME))
    last = server.connect()
    echo(last, b"all read?")
    _bounded(server, base, HELD_BYTES, "after 200 headers that announce 32 MiB")


def _bounded(server, base: int, limit: int, when: str) -> None:
    """The server's resident memory is at most `limit` bytes over `base`, soon."""
    if not eventually(server, lambda: server.process.resident_bytes() - base <= limit):
        more = (server.process.resident_bytes() - base) / MIB
        text = f"{when}, the server holds {more:.1f} MiB more than at its start"
        raise Failure(text, hint="memory-grows")
