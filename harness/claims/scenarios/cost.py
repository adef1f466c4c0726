"""What a server may cost as its work grows: CPU time by ratios, memory by a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.claims.instruments.observe import cpu_of, cpu_share, eventually, waits_in_silence
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, burst, burst_that_waits
from harness.client.client import Client
from harness.failures.failure import Failure
from harness.lab.units import KIB, MIB

# What a burst may cost beside the same frames in small batches. A server that consumes in O(1)
# stays below 1, one that moves its buffer for every frame is above 5.
BURST_RATIO = 1.5
BATCH = 64
BATCHES = 200

# Of server CPU, for twice the frames. Linear is 2.
GROWTH = 2.5
GROWTH_TRIES = 5
HOPELESS_TRIES = 3  # then one that is far above gets no more: quadratic is 4
HOPELESS = 3.5
ALIKE = 2  # times: the same work, on a machine with others on it
TOO_CHEAP = 0.010  # CPU seconds: below this the clock says nothing about growth

# A variable for a server whose memory is measured: with it glibc's malloc gives a block of 128 KiB
# and more back to the kernel when it is freed. Else it keeps up to twice the largest that was
# freed, and that for each thread (M_MMAP_THRESHOLD in mallopt(3)).
EXACT = {"MALLOC_MMAP_THRESHOLD_": str(128 * KIB)}

# Of a server with nothing to do. One that waits uses no CPU time; one that looks at 50 connections
# every millisecond uses 2 % of a processor and more.
IDLE_SHARE = 0.01
WATCHED = 0.25  # seconds
IDLE_WAITS = 5  # calls in that time; one or two may be made by chance

HELD_BYTES = 8 * MIB  # over the start: 1 MiB of output, input buffers, and what malloc keeps

# To a server with these marks a client offers more all the time, and reads all the time. So output
# is always on its way: low-water is more than the kernel takes at once.
STEADY_MARKS = ("--high-water", str(4 * MIB), "--low-water", str(3 * MIB))
STEADY_LOT = 32  # frames of 4,000 bytes
STEADY_BYTES = 64 * MIB  # through its connection; a buffer that only grows would hold half of it
STEADY_LIMIT = 16 * MIB  # of memory: a block, another one of twice its size, and the input


def burst_is_cheap(server, client: Client, bodies: Sequence[bytes], hint: str) -> None:
    """A frame costs no more CPU among all of these, in flight together, than among a few."""
    __tracebackhide__ = True
    batch = bodies[:BATCH]

    def in_batches() -> None:
        for _ in range(BATCHES):
            burst(client, batch)

    # Noise only adds cost, so the minimum of several measurements is taken.
    small = min(cpu_of(server, in_batches) for _ in range(GROWTH_TRIES)) / (BATCH * BATCHES)
    for number in range(GROWTH_TRIES):
        large = cpu_of(server, lambda: burst_that_waits(server, client, bodies))
        large /= len(bodies)
        if large <= BURST_RATIO * small:
            return
        if number + 1 >= HOPELESS_TRIES and large > HOPELESS * small:
            break
    raise Failure(
        f"a {client.framing.noun} costs {1e6 * large:.2f} µs of CPU among {len(bodies):,}, "
        f"and {1e6 * small:.2f} µs when sent {BATCH} at a time",
        hint=hint,
    )


def linear(server, half: Callable[[], None], whole: Callable[[], None], what: str) -> None:
    """Checks that `whole`, twice the work of `half`, costs about twice the CPU time."""
    __tracebackhide__ = True
    halves, wholes = [], []
    for _ in range(GROWTH_TRIES):
        halves.append(cpu_of(server, half))
        wholes.append(cpu_of(server, whole))
        # Noise only adds cost: it may spoil a pair, or one of the minimums. But a cost far above
        # the first one may have grown with all the work done before.
        pairs = [(min(halves), min(wholes))]
        if halves[-1] <= ALIKE * max(min(halves), TOO_CHEAP):
            pairs.insert(0, (halves[-1], wholes[-1]))
        for one, two in pairs:
            if two <= GROWTH * max(one, TOO_CHEAP):
                return
        # One pair may be bad by chance; the pair of the minimum is not.
        if len(wholes) >= HOPELESS_TRIES and two > HOPELESS * max(one, TOO_CHEAP):
            break
    text = f"{what.format(one=one, two=two)}: {two / one:.1f} times as much"
    raise Failure(text, hint="quadratic")


def bounded(server, base: int, limit: int, when: str, than: str = "at its start") -> None:
    """The server's resident memory is at most `limit` bytes over `base`, which it had `than`."""
    __tracebackhide__ = True
    if not eventually(server, lambda: server.process.resident_bytes() - base <= limit):
        more = (server.process.resident_bytes() - base) / MIB
        text = f"{when}, the server holds {more:.1f} MiB more than {than}"
        raise Failure(text, hint="memory-grows")


def steady_reader(server, rng) -> None:
    """The memory of a server with STEADY_MARKS stays bounded, though a client always has output on
    its way, so that the buffer for it is never empty."""
    __tracebackhide__ = True
    base = server.process.resident_bytes()
    client = server.connect("steady", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    lot = [rng.randbytes(4000)] * STEADY_LOT
    data = b"".join(map(client.framing.encode, lot))
    server.conversation.note("steady", "sends the same frames again and again, while it reads")
    sent = 0
    for taken in range(0, STEADY_BYTES, len(data)):
        while (took := client.offer(data[sent % len(data) :])) > 0:
            sent += took
        client.expect_frames(lot)
        when = f"when {taken / MIB:.0f} MiB have been sent to a client that reads steadily"
        bounded(server, base, STEADY_LIMIT, when)


def no_cpu(server, when: str, hint: str, limit: float = IDLE_SHARE, seconds: float = 0.5) -> None:
    """The server uses no CPU time while nothing happens: at most the part `limit` of a processor.

    `limit` and `seconds`: see cpu_share().
    """
    __tracebackhide__ = True
    share = cpu_share(server, limit, seconds)
    if share > limit:
        raise Failure(f"{when} the server uses {share:.1%} of a processor", hint=hint)


def few_waits(
    server, when: str, hint: str, limit: int = IDLE_WAITS, seconds: float = WATCHED
) -> None:
    """The server makes at most `limit` calls that wait in `seconds` in which nothing happens. Says
    nothing of a server without the library that counts them."""
    waits = waits_in_silence(server, seconds)
    if waits is not None and waits > limit:
        text = f"{when} the server made {waits:,} wait calls in {seconds:g} s"
        raise Failure(text, hint=hint)
