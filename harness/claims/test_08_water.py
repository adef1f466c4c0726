"""Chapter 08, memory: the output of a client that does not read stays between two marks."""

from __future__ import annotations

from harness.claims.context.observe import bytes_within, held_bytes, unread_bytes, until_asleep
from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.cost import (
    EXACT,
    HELD_BYTES,
    STEADY_MARKS,
    bounded,
    launch_idle,
    no_cpu,
    steady_reader,
)
from harness.claims.scenarios.exchanges import SMALL_WINDOW, ask, burst, connect_narrow, ping
from harness.claims.scenarios.greedy import Silent
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.framing import LENGTH, Fixed
from harness.client.messages import MALFORMED, MESSAGES, NONE, reply
from harness.feedback.conversation import counted
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MB, MIB

HIGH, LOW = 16 * MIB, 8 * MIB  # so far apart that what the kernel takes at once does not matter
INPUT = MIB  # that a server may have read beyond the mark, or hold as frames that have to wait
SENT_AT_ONCE = 4 * MIB  # by a server, when the kernel takes something again: tcp_wmem in tcp(7)
STEP = 256 * KIB  # taken by the client between two looks
OFFERED = 64 * MIB
FEW = 32  # frames of 500 bytes: less than a server reads at once

SILENT_CLIENTS = 100
SILENT_BYTEWISE = 20  # of one byte a frame: tens of thousands of frames each
SILENT_BEFORE = 4  # a server may have memory that all clients share, as for lent buffers
SMALL_HIGH = 64 * KIB
A_CLIENT = SMALL_HIGH + 512 * KIB  # of memory: output up to the mark, and what has been read

STEADY_BODY, STEADY_FRAMES = 3996, 4096
FRAMES_A_CALL = 4  # at least; a right server moves ten times as many
TEMPOS = (
    ("at once", None, MIB),
    ("slowly", SMALL_WINDOW, 4 * KIB),
    ("a little late", SMALL_WINDOW, 128 * KIB),
)

# Messages of 4 bytes, so that the 256 messages of a budget are a small part of a read of 256 KiB.
SHORTEST, SHORTEST_ANSWER = b"", reply(NONE, NONE, MALFORMED)
SHORT_MESSAGES = 4 * MIB

# What a general hint means in a claim, see marker.claim.
WATER = dict.fromkeys((*MUTE, "memory-grows"), "water-marks")
# A server that has stopped at a mark, at its budget or at a full socket has to go on.
STALLS = {**dict.fromkeys((*MUTE, *GONE), "one-turn"), "memory-grows": "water-marks"}
CALLS = {**dict.fromkeys(MUTE, "budget-used-up"), "memory-grows": "water-marks"}


# 08.2 water


@claim("08.2", points=4, cli=True, native=True, hints=WATER)
def test_08_reads_again_at_low_water(launch, rng):
    """From high-water on a client is not read; at low-water, and not before, it is read again."""
    server = launch(("--high-water", str(HIGH), "--low-water", str(LOW)))
    client = server.connect(rcvbuf=STEP)
    data = length_framing.encode(rng.randbytes(1000)) * (OFFERED // 1000)
    sent = client.send_some(data)
    until_asleep(server)
    held = held_bytes(client, sent)
    if held is None:  # the kernel does not tell
        return
    if not HIGH - MIB <= held <= HIGH + INPUT:
        text = f"the server holds {held / MIB:.1f} MiB for a client that does not read"
        raise Failure(f"{text}; high-water is at {HIGH // MIB} MiB", hint="water-marks")
    lowest = _take_until_read(server, client, sent)
    if not LOW - SENT_AT_ONCE <= lowest <= LOW + SENT_AT_ONCE:
        text = f"the client was read again with {lowest / MIB:.1f} MiB of its replies left"
        raise Failure(f"{text}; low-water is at {LOW // MIB} MiB", hint="water-marks")


def _take_until_read(server, client: Client, sent: int) -> int:
    """The client takes its replies step by step. Returns the least that the server held before it
    read more of what is there all the time."""
    taken, lowest = 0, HIGH
    while True:
        goal = taken + STEP
        while taken < goal:
            taken += len(client.read_some(goal - taken))
        until_asleep(server)
        held = held_bytes(client, sent - taken)
        if held is None or held > lowest + MIB or not unread_bytes(client):
            return lowest
        lowest = min(lowest, held)


@claim("08.4", points=3, cli=True, hints=STALLS)
def test_08_any_marks_will_do(launch, rng):
    """With any marks, even 0 and 1 byte, all replies come, also to a late reader."""
    bodies = [rng.randbytes(500) for _ in range(10_000)]
    frames = list(map(length_framing.encode, bodies))
    data = b"".join(frames)
    for high, low in ((1, 0), (1, 1), (64 * KIB, 0), (64 * KIB, 64 * KIB), (4 * MIB, 1)):
        server = launch(("--high-water", str(high), "--low-water", str(low)))
        if high <= SMALL_HIGH:
            _read_when_the_server_holds_frames(server, frames)
        late = connect_narrow(server, "late")
        sent = late.send_some(data, quiet=0.05)
        until_asleep(server)
        if high <= SMALL_HIGH and sent == len(data) and unread_bytes(late) == 0:
            text = f"{sent / MB:.1f} MB of a client that does not read were read"
            mark = counted(high, "byte")
            raise Failure(f"{text}; high-water is at {mark}", hint="water-marks")
        burst(server.connect(), bodies[:200])
        late.echo_all(data, sent)
        ping(late, rng)
    bytewise = launch(("--high-water", "1"), framing=Fixed(1)).connect()
    for count in (1, 2, 3):
        burst(bytewise, [bytes(1)] * count)


def _read_when_the_server_holds_frames(server, frames: list[bytes]) -> None:
    """A client sends a few frames at a time, and reads once the server holds some of them. The
    server has read all that was sent, so no event reports the frames that it holds."""
    client = connect_narrow(server, "patient")
    sent = b""
    for at in range(0, len(frames), FEW):
        part = b"".join(frames[at : at + FEW])
        client.send(part)
        sent += part
        until_asleep(server)
        if bytes_within(client, len(sent)) != 0:
            break
    client.echo_all(sent, len(sent))


@claim("08.4", points=1, cli=True, native=True, hints=WATER)
def test_08_hundred_that_never_read(launch):
    """100 clients that never read cost no more than their high-water each, and no CPU time."""
    for framing, data, clients in (
        (Fixed(1), bytes(256 * KIB), SILENT_BYTEWISE),
        (LENGTH, length_framing.encode(bytes(1000)) * 260, SILENT_CLIENTS),
    ):
        marks = ("--high-water", str(SMALL_HIGH))
        server = launch_idle(launch, argv_extra=marks, framing=framing, environment=EXACT)
        burst(server.connect(), [bytes(1)] * 1000)
        with Silent(server, SILENT_BEFORE) as before, Silent(server, clients) as silent:
            before.send(data, times=16)
            base = server.process.resident_bytes()
            sent = silent.send(data, times=16)
            when = f"after {sent / MB:.0f} MB of {clients} clients that never read"
            bounded(server, base, clients * A_CLIENT, when, than=f"after {SILENT_BEFORE} of them")
            when = "while the clients do not read their replies"
            no_cpu(server, when, "spins-writing", seconds=0.2)
            burst(server.connect(), [bytes(1)] * 1000)


@claim("08.4", chapters="08-10", points=1, cli=True, native=True)
def test_08_steady_reader(launch, rng):
    """A client that reads all the time, with output always on its way, costs little memory."""
    steady_reader(launch(STEADY_MARKS, environment=EXACT), rng)
    _expect_read_as_answered(launch(framing=MESSAGES, environment=EXACT))


def _expect_read_as_answered(server) -> None:
    """A client sends short messages without a pause and reads all replies. A read has 256 times as
    many of them as an iteration answers, so a server that reads in each iteration holds them."""
    client = server.connect("steady")
    ask(client, SHORTEST, SHORTEST_ANSWER)
    base = server.process.peak_bytes()
    answers = length_framing.encode(SHORTEST_ANSWER) * SHORT_MESSAGES
    data = length_framing.encode(SHORTEST) * SHORT_MESSAGES
    client.exchange(data, Replies.echo_of(answers, MESSAGES))
    more = server.process.peak_bytes() - base
    if more > HELD_BYTES:
        text = f"with a client that sends {SHORT_MESSAGES:,} short messages and reads all replies, "
        text += f"the server held up to {more / MIB:.1f} MiB more than before"
        raise Failure(text, hint="reads-ahead")


@claim("08.1", points=1, cli=True, native=True, hints=CALLS, sees_calls=True)
def test_08_calls_of_steady_clients(launch, rng):
    """A client that takes all at once, slowly, or always a little late costs few calls."""
    stream = length_framing.encode(rng.randbytes(STEADY_BODY)) * STEADY_FRAMES
    for tempo, window, lot in TEMPOS:
        server = launch(environment=EXACT)
        base, before = server.process.resident_bytes(), server.process.calls()
        client = server.connect(tempo, rcvbuf=window)
        client.conversation.note(tempo, f"sends frames, and reads {lot:,} bytes at a time")
        replies, sent = Replies.echo_of(stream), 0
        while replies.missing:
            sent += max(0, client.offer(memoryview(stream)[sent:]))
            if not client.take(replies, lot):
                client.expect_part(replies, lot)
        when = f"after {len(stream) / MIB:.0f} MiB of a client that takes its replies {tempo}"
        bounded(server, base, HELD_BYTES, when)
        if before is None:  # the library that counts is not in this server
            continue
        after = server.process.calls()
        calls = after.outputs + after.inputs - before.outputs - before.inputs
        if calls > STEADY_FRAMES // FRAMES_A_CALL:
            text = f"{STEADY_FRAMES:,} frames of a client that takes its replies {tempo} were read "
            raise Failure(f"{text}and sent with {calls:,} calls", hint="calls-cost-nothing")


@claim("08.2", points=2, chapters="08", module=True, hints={"in-the-module": "water-marks"})
def test_08_marks_are_exact(program):
    """Output at high-water suspends, at low-water it resumes, and between them nothing changes."""
    program("08_flow", "marks", "wanted")
