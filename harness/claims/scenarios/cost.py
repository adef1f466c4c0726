"""What a server may cost as its work grows: its steps by ratios, memory by a bound.

Steps are counted, see harness/server/steps, so what other programs do does not change them. Where
the server cannot be built for that, no ratio is asked for, and a server that has nothing to do is
known by its CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.claims.context.observe import (
    cpu_share,
    eventually,
    steps_in_silence,
    steps_of,
    until_asleep,
    waits_in_silence,
)
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, burst, burst_that_waits
from harness.client.client import Client
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB

# A frame of a burst beside one of a small batch, in steps. It takes fewer calls: in the solutions
# 0.4 to 0.7 times as many steps. In a server that moves its buffer for every frame, 20 times.
BURST_RATIO = 1.1
BATCH = 64
BATCHES = 20

# Steps for twice the work: a server fails that takes more in each of some doublings. Linear is 1.97
# to 2.00 in the solutions, where something is done only once. Quadratic is 4.
DOUBLINGS = 3
GROWTH = 2.05
N_LOG_N = 2.25  # n log n is 2.17 from 4,000 to 8,000, and 2.15 after that

# The same where most steps are copies of a buffer that grows. The first doubling may be 3, as a
# block is needed that is not there yet. How often a byte is copied depends on where the last block
# ends. A buffer that grows by half may copy a little more than twice as much.
GROWTH_COPIED = 2.25

# A variable for a server whose memory is measured: with it glibc's malloc gives a block of 128 KiB
# and more back to the kernel when it is freed. Else it keeps up to twice the largest that was
# freed, and that for each thread (M_MMAP_THRESHOLD in mallopt(3)).
EXACT = {"MALLOC_MMAP_THRESHOLD_": str(128 * KIB)}

# Of a server with nothing to do. One that waits uses no CPU time; one that looks at 50 connections
# every millisecond uses 2 % of a processor and more.
IDLE_SHARE = 0.01
STEPS_A_SECOND = 60_000_000  # of a server that never waits, about: half of them for its calls
IDLE_TRIES = 2
WATCHED = 0.25  # seconds
IDLE_WAITS = 5  # calls in that time; one or two may be made by chance

HELD_BYTES = 8 * MIB  # over the start: 1 MiB of output, input buffers, and what malloc keeps

# To a server with these marks a client offers more all the time, and reads all the time. So output
# is always on its way: low-water is more than the kernel takes at once.
STEADY_MARKS = ("--high-water", str(4 * MIB), "--low-water", str(3 * MIB))
STEADY_LOT = 32  # frames of 4,000 bytes
STEADY_BYTES = 192 * MIB  # through its connection: a buffer that only grows meets the limit
STEADY_LIMIT = 24 * MIB  # of memory: a block of twice the mark, one that it moves to, input, spare


def burst_is_cheap(server, client: Client, bodies: Sequence[bytes], hint: str) -> None:
    """Checks that a frame costs no more steps when all of these are in flight together than when a
    few are. Does nothing if the steps of the server are not counted."""
    if server.process.steps() is None:
        return
    batch = bodies[:BATCH]
    burst(client, batch)

    def in_batches() -> None:
        for _ in range(BATCHES):
            burst_that_waits(server, client, batch)

    small = steps_of(server, in_batches) / (BATCH * BATCHES)
    large = steps_of(server, lambda: burst_that_waits(server, client, bodies)) / len(bodies)
    if large > BURST_RATIO * small:
        raise Failure(
            f"a {client.framing.noun} takes {large:,.0f} steps among {len(bodies):,}, "
            f"and {small:,.0f} when sent {BATCH} at a time",
            hint=hint,
        )


def linear(
    server, work: Callable[[int], None], size: int, what: str, limit: float = GROWTH
) -> None:
    """Checks that twice the work costs about twice as much. `work` does some of it, as much as it
    is given, at first `size`; `what` names that: "{:,} frames". `limit`: see grows(). Says nothing
    of a server whose steps are not counted."""
    if server.process.steps() is not None:
        work(size)
        grows(lambda some: steps_of(server, lambda: work(some)), size, what, limit, "quadratic")


def grows(steps: Callable[[int], float], size: int, what: str, limit: float, hint: str) -> None:
    """Checks that twice the work takes at most `limit` times the steps, if not at once, then from
    one of DOUBLINGS to the next. `steps` does some work and returns them; `what` is that of
    linear()."""
    two = steps(size)
    for _ in range(DOUBLINGS):
        one, two, size = two, steps(2 * size), 2 * size
        if two <= limit * one:
            return
    text = f"{what.format(size // 2)} took {_large(one)} steps, and {what.format(size)} took "
    raise Failure(f"{text}{_large(two)}: {two / one:.1f} times as many", hint=hint)


def _large(number: float) -> str:
    """The number, in millions if there are several."""
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:,.0f}"


def bounded(server, base: int, limit: int, when: str, than: str = "at its start") -> None:
    """The server's resident memory is at most `limit` bytes over `base`, which it had `than`."""
    if not eventually(server, lambda: server.process.resident_bytes() - base <= limit):
        more = (server.process.resident_bytes() - base) / MIB
        text = f"{when}, the server holds {more:.1f} MiB more than {than}"
        raise Failure(text, hint="memory-grows")


def steady_reader(server, rng) -> None:
    """The memory of a server with STEADY_MARKS stays bounded, though a client always has output on
    its way, so that the buffer for it is never empty."""
    base = server.process.resident_bytes()
    client = server.connect("steady", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    lot = [rng.randbytes(4000)] * STEADY_LOT
    data = b"".join(map(client.framing.encode, lot))
    server.conversation.note("steady", "sends the same frames again and again, while it reads")
    sent = 0
    for taken in range(0, STEADY_BYTES, len(data)):
        while (took := client.offer(data[sent % len(data) :])) > 0:
            sent += took
            if not taken:  # the server gets time to read until it has enough
                until_asleep(server)
        client.expect_frames(lot)
        when = f"when {taken / MIB:.0f} MiB have been sent to a client that reads steadily"
        bounded(server, base, STEADY_LIMIT, when)


def launch_idle(launch, **options):
    """Starts a server for no_cpu() whose clock stands. Where its steps are not counted it keeps the
    clock of the machine, as our waits would cost CPU time."""
    server = launch(steps=True, clock=True, **options)
    return launch(**options) if server.process.steps() is None else server


def no_cpu(server, when: str, hint: str, limit: float = IDLE_SHARE, seconds: float = 0.5) -> None:
    """The server uses no CPU time while nothing happens: at most the part `limit` of a processor.
    Where its steps are counted, as many of them as it could take in that time.

    `limit` and `seconds`: see cpu_share().
    """
    if server.process.steps() is not None:
        return _no_steps(server, when, hint, limit)
    share = cpu_share(server, limit, seconds)
    if share > limit:
        raise Failure(f"{when} the server uses {share:.1%} of a processor", hint=hint)


def _no_steps(server, when: str, hint: str, limit: float) -> None:
    """Watches a server for WATCHED, or for a second of its own clock. Its first steps may be what
    it still had to do. A server that can do nothing more has not to be watched so long."""
    seconds = WATCHED if server.process.clock is None else 1.0
    most = limit * STEPS_A_SECOND * seconds
    for _ in range(IDLE_TRIES):
        until_asleep(server)
        taken = steps_in_silence(server, seconds, most)
        if taken <= most:
            return
    raise Failure(f"{when} the server took {_large(taken)} steps in {seconds:g} s", hint=hint)


def few_waits(
    server, when: str, hint: str, limit: int = IDLE_WAITS, seconds: float = WATCHED
) -> None:
    """The server makes at most `limit` calls that wait in `seconds` of its clock in which nothing
    happens. Says nothing of a server without the library that counts them."""
    waits = waits_in_silence(server, seconds, limit)
    if waits is not None and waits > limit:
        text = f"{when} the server made more than {limit:,} wait calls in {seconds:g} s"
        raise Failure(text, hint=hint)
