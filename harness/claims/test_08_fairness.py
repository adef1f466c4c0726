"""Chapter 08, an iteration of the loop: no client keeps it for long, and none is forgotten. The
output of a client that does not read stays between two marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.claims.context.observe import (
    SENDS,
    WAITS,
    bytes_within,
    held_bytes,
    made_since,
    unread_bytes,
    until_asleep,
)
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
from harness.claims.scenarios.exchanges import (
    ask,
    burst,
    burst_that_waits,
    connect_narrow,
    ping,
    words,
)
from harness.claims.scenarios.many_clients import connected
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.framing import Fixed
from harness.client.messages import (
    ECHO,
    MALFORMED,
    MESSAGES,
    NONE,
    OK,
    SUM,
    i64,
    reply,
    request,
    string,
    sum_of,
)
from harness.feedback.conversation import counted
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MB, MIB

if TYPE_CHECKING:
    from harness.claims.context.stage import Server
    from harness.waiting.shared import Entry

BACKENDS = ("select", "poll", "epoll")

GREEDY_CLIENTS = 40

# The budget of an iteration is 256 KiB, and a message takes 1 KiB of it.
MESSAGES_SENT, MESSAGES_A_BUDGET = 10_000, 256

# Messages of 4 bytes, whose replies have 16: the more of them are in a read, the longer it takes.
SHORTEST = b""
SHORTEST_REPLY = 16
GREEDY_LOT = 4096  # of them, from each greedy client; their replies fit into the kernel
IN_AN_ITERATION = 2 * MESSAGES_A_BUDGET  # to one client: its turn, and what was left of the last
BEFORE_POLITE = 4 * MESSAGES_A_BUDGET  # to one client: a server may take a few events at a time
POLITE = request(ECHO, 1, string(b"polite")), reply(ECHO, 1, OK, string(b"polite"))

HIGH, LOW = 16 * MIB, 8 * MIB  # so far apart that what the kernel takes at once does not matter
INPUT = MIB  # that a server may have read beyond the mark, or hold as frames that have to wait
SENT_AT_ONCE = 4 * MIB  # by a server, when the kernel takes something again: tcp_wmem in tcp(7)
STEP = 256 * KIB  # taken by the client between two looks
OFFERED = 64 * MIB
FEW = 32  # frames of 500 bytes: less than a server reads at once

SMALL_HIGH = 64 * KIB
SILENT_CLIENTS = 100
SILENT_BEFORE = 4  # a server may have memory that all clients share, as for lent buffers
A_CLIENT = SMALL_HIGH + 512 * KIB  # of memory: output up to the mark, and what has been read

# The 256 messages of a budget are a small part of a read of 256 KiB.
SHORTEST_ANSWER = reply(NONE, NONE, MALFORMED)
SHORT_MESSAGES = 4 * MIB

# What a general hint means in a claim, see marker.claim.
LONG = dict.fromkeys(("silence", "connect-stuck"), "iteration-too-long")
WATER = dict.fromkeys((*MUTE, "memory-grows"), "water-marks")
# A server that has stopped at a mark, at its budget or at a full socket has to go on.
STALLS = {**dict.fromkeys((*MUTE, *GONE), "one-turn"), "memory-grows": "water-marks"}


# 08.1 budget


@claim("08.1", fatal="one", cli=True, native=True, hints=LONG, sees_calls=True)
def test_08_fire_hoses_do_not_keep_the_loop(launch):
    """Beside 40 greedy clients a polite one is answered soon: each has one budget an iteration."""
    server = launch(framing=MESSAGES)
    polite = server.connect("polite")
    ask(polite, *POLITE)
    until_asleep(server)
    if server.shim is None:
        return
    own = [one.connection for one in _record_after(server, 0) if one.function in SENDS]
    record = _all_at_once(server, polite)
    text = "messages of one client were answered"
    most = _most_in_an_iteration(record)
    if most > IN_AN_ITERATION:
        text = f"in one iteration of the loop {most:,} {text}"
        text += f"; the budget of one is enough for {MESSAGES_A_BUDGET}"
        raise Failure(text, hint="iteration-too-long")
    most = _most_before(record, own[-1])
    if most > BEFORE_POLITE:
        text = f"{most:,} {text} before the first one of a polite client"
        raise Failure(text, hint="iteration-too-long")


def _all_at_once(server: Server, polite: Client) -> list[Entry]:
    """Greedy clients have sent, and the polite one after them, when the server looks. Returns its
    calls up to its next sleep."""
    last = server.shim.shared.recorded
    data = length_framing.encode(SHORTEST) * GREEDY_LOT
    with connected(server, GREEDY_CLIENTS) as streams:
        what = f"{GREEDY_LOT:,} empty frames each, all at once"
        server.conversation.note("greedy", f"{GREEDY_CLIENTS} clients send {what}")
        ask(polite, *POLITE)  # all of them are accepted
        until_asleep(server)
        with server.paused():
            for stream in streams:
                stream.send_all(data)
            polite.send_frame(POLITE[0])
        polite.expect_frame(POLITE[1])
        until_asleep(server)
        return _record_after(server, last)


def _record_after(server: Server, last: int) -> list[Entry]:
    return server.shim.record_after(last)[0]


def _most_in_an_iteration(record: Sequence[Entry]) -> int:
    """How many messages of one client were answered at most between two waits of a thread."""
    answered: dict[int, Counter] = {}  # by thread, since it has waited
    most = 0
    for entry in record:
        if entry.function in WAITS:
            answered[entry.thread] = Counter()
        elif entry.function in SENDS and entry.result > 0 and entry.thread in answered:
            answered[entry.thread][entry.connection] += entry.result
            most = max(most, answered[entry.thread][entry.connection])
    return most // SHORTEST_REPLY


def _most_before(record: Sequence[Entry], polite: int) -> int:
    """How many messages of another client were answered at most before this connection was sent to,
    by the same thread."""
    sends = [entry for entry in record if entry.function in SENDS and entry.result > 0]
    first = next((one for one in sends if one.connection == polite), None)
    answered: Counter = Counter()
    for entry in sends[: sends.index(first)] if first else ():
        if entry.thread == first.thread:
            answered[entry.connection] += entry.result
    return max(answered.values(), default=0) // SHORTEST_REPLY


@claim("08.1", cli=True, sees_calls=True, hints=dict.fromkeys(MUTE, "budget-used-up"))
def test_08_nothing_stalls_after_the_budget(launch, rng):
    """Work that is left after one iteration is done in the next ones, though nothing arrives."""
    bodies = [words(rng, 8)] * 100_000
    for backend in BACKENDS:
        options = ("--backend", backend)
        server = launch(options)
        burst_that_waits(server, server.connect(), bodies)
        client = server.connect()
        client.echo_all(length_framing.encode(rng.randbytes(MIB) * 4))
        _ask_much(launch(options, framing=MESSAGES))


def _ask_much(server) -> None:
    """Sums of nothing, which are all there when the server looks, and more than one budget is
    for."""
    client = server.connect()
    data = b"".join(length_framing.encode(sum_of(seq)) for seq in range(MESSAGES_SENT))
    replies = [reply(SUM, seq, OK, i64(0)) for seq in range(MESSAGES_SENT)]
    before = server.process.calls()
    with server.paused():
        sent = client.send_some(data, quiet=0.05)
    client.exchange(data[sent:], replies)
    if before is None:  # the library that counts is not in this server
        return
    waits = made_since(server, before, "waits")
    if waits < MESSAGES_SENT // MESSAGES_A_BUDGET:
        text = f"{MESSAGES_SENT:,} messages were answered in {counted(waits, 'iteration')} of the "
        text += f"loop; the budget of one is enough for {MESSAGES_A_BUDGET}"
        raise Failure(text, hint="iteration-too-long")


# 08.2 water


@claim("08.2", cli=True, native=True, hints=WATER)
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


@claim("08.4", cli=True, hints=STALLS)
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


@claim("08.4", guard=True, fatal="growth", cli=True, native=True, hints=WATER)
def test_08_hundred_that_never_read(launch):
    """100 clients that never read cost no more than their high-water each, and no CPU time."""
    marks = ("--high-water", str(SMALL_HIGH))
    server = launch_idle(launch, argv_extra=marks, environment=EXACT)
    names = [f"silent {number}" for number in range(SILENT_BEFORE + SILENT_CLIENTS)]
    clients = [connect_narrow(server, name) for name in names]
    _sent_in_vain(server, clients[:SILENT_BEFORE])
    base = server.process.resident_bytes()
    sent = _sent_in_vain(server, clients[SILENT_BEFORE:])
    when = f"after {sent / MB:.0f} MB of {SILENT_CLIENTS} clients that never read"
    bounded(server, base, SILENT_CLIENTS * A_CLIENT, when, than=f"after {SILENT_BEFORE} of them")
    no_cpu(server, "while the clients do not read their replies", "spins-writing", seconds=0.2)


def _sent_in_vain(server: Server, clients: list[Client]) -> int:
    """Each client sends up to 2 MiB of frames, as long as the server takes any of it. Returns the
    bytes sent by all."""
    data = length_framing.encode(bytes(1020)) * 2048
    left = {client: memoryview(data) for client in clients}
    moved = True
    while moved:
        moved = False
        for client, rest in left.items():
            count = client.offer(rest) if rest else 0
            left[client] = rest[max(0, count) :]
            moved |= count > 0
        until_asleep(server)
    return sum(len(data) - len(rest) for rest in left.values())


@claim("08.4", guard=True, cli=True, native=True)
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
