"""Chapter 09, BROADCAST: one message for the clients of all loops.

Replies and pushes of one client may come in any order among each other, so no claim asks for one.
"""

from __future__ import annotations

import struct
from contextlib import nullcontext

from harness.claims.context.observe import eventually
from harness.claims.marker import claim
from harness.claims.scenarios.cost import EXACT, bounded
from harness.claims.scenarios.exchanges import SMALL_WINDOW, words
from harness.claims.scenarios.many_clients import connected
from harness.claims.scenarios.rpc_talk import (
    LOOPS,
    THREADS,
    all_clients,
    broadcast_to,
    echo_text,
    one_each,
    stats,
)
from harness.client import length_framing
from harness.client.client import Client
from harness.client.messages import (
    BROADCAST,
    ECHO,
    MESSAGES,
    OK,
    PUSHED,
    Reply,
    broadcast,
    pushed,
    reached,
    reply,
    request,
    string,
)
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB

MANY = 200  # broadcasts of one client, all sent at once

# To a client that never reads. As much may wait for it as a frame of the maximum and the high-water
# mark, which is more here than the kernel holds; beside it stands the message itself, on its way in
# and out, and what malloc keeps.
TEXT = 2 * MIB
HIGH_WATER = 24 * MIB
UNREAD_MAX = 32 * MIB + HIGH_WATER
KERNEL = 16 * MIB  # may be with it, see tcp_wmem and tcp_rmem in tcp(7)
BESIDE = 16 * MIB

# Clients that broadcast at the same time, each so often, and others that only listen.
SENDERS, EACH, LISTENERS = 60, 10, 240
ALL = SENDERS + LISTENERS
SPARE = 200  # descriptors

# Of the sends that a server makes which sends each message by itself: the part that is allowed.
# Ours makes one of forty.
TOGETHER = 0.25

# What a general hint means in a claim, see marker.claim.
MUTE = ("silence", "stalled-reply", "replies-missing")
WRONG = ("wrong-header", "wrong-seq", "wrong-status", "wrong-fields", "wrong-body", "extra-bytes")
IN_ORDER = {
    **dict.fromkeys(MUTE, "broadcast-reach"),  # whatever the order, one is missing
    **dict.fromkeys(WRONG, "broadcast-order"),
}
GONE = dict.fromkeys((*MUTE, *WRONG, "closed-early", "reset-early"), "sender-is-gone")
BOUND = dict.fromkeys((*MUTE, *WRONG, "memory-grows", "over-limit"), "push-bound")


# 09.5 broadcast


@claim("09.5", cli=True, hints=dict.fromkeys((*MUTE, *WRONG), "broadcast-reach"))
def test_09_broadcast_reaches_all(launch, rng):
    """A BROADCAST goes to all clients of all loops, its sender too, and they are counted."""
    for loops in (LOOPS, 1, 2):
        server = launch(("--threads", str(loops)), framing=MESSAGES)
        clients = [client for mine in one_each(server, loops, 8 // loops) for client in mine]
        for seq, sender in enumerate(clients):
            others = [client for client in clients if client is not sender]
            broadcast_to(sender, others, seq, words(rng, 5))
        for size in (0, 127, 128, 100_000):
            broadcast_to(clients[-1], clients[:-1], size, rng.randbytes(size))
        for client in clients:
            echo_text(client)


@claim("09.5", cli=True, hints=IN_ORDER)
def test_09_broadcasts_in_order(launch):
    """Every client gets all messages of a sender in order; a sender gets its replies in order."""
    server = launch(THREADS, framing=MESSAGES)
    clients = all_clients(server, 1)
    senders = {b"A": clients[0], b"B": clients[-1]}
    for name, sender in senders.items():
        sender.send_frames([broadcast(seq, name + b"%d" % seq) for seq in range(MANY)])
    for client in clients:
        own = [name for name, sender in senders.items() if sender is client]
        _expect_in_order(client, senders, MANY if own else 0)
    sender = senders[b"A"]
    sender.send_frames([broadcast(1, b"last"), request(ECHO, 2, string(b"next"))])
    replies = [body for body in (sender.read_frame() for _ in range(3)) if body != pushed(b"last")]
    if replies != [reached(1, LOOPS), reply(ECHO, 2, OK, string(b"next"))]:
        raise Failure("a BROADCAST was answered after a later request", hint="broadcast-order")


def _expect_in_order(client: Client, senders, replies: int) -> None:
    """The pushes of all senders, and replies; of each the next one, whichever it is."""
    next_of = dict.fromkeys(senders, 0)
    answered = 0
    for _ in range(MANY * len(senders) + replies):
        came = client.read_frame()
        due = [pushed(name + b"%d" % number) for name, number in next_of.items()]
        if came in due:
            next_of[list(next_of)[due.index(came)]] += 1
        elif came == reached(answered, LOOPS) and answered < replies:
            answered += 1
        else:
            _counts(came, answered, (LOOPS,))
            number = {name.decode(): number for name, number in next_of.items()}
            says = Reply.of(came)
            text = f"{says or 'something else'} came; the next message of A is {number['A']}, of B"
            text += f" {number['B']}, and the next reply that of seq {answered}"
            raise Failure(text, hint="broadcast-order", received=came)


def _counts(body: bytes, seq: int, due: tuple[int, ...]) -> None:
    """Checks the count, if this is the reply to a BROADCAST with this seq."""
    came = Reply.of(body)
    if came is None or came[:3] != (BROADCAST, seq, OK) or len(came.fields) != 4:
        return
    count = struct.unpack("<i", came.fields)[0]
    if count not in due:
        text = f"the reply to BROADCAST, seq {seq}, says that it has reached {count} connections; "
        text += f"due are {' or '.join(map(str, due))}"
        raise Failure(text, hint="broadcast-reach", received=body)


@claim("09.5", cli=True, hints=GONE)
def test_09_senders_that_are_gone(launch):
    """A BROADCAST arrives though its sender closes; one that half-closes gets its replies."""
    server = launch(THREADS, framing=MESSAGES)
    clients = all_clients(server, 2)
    for number in range(4 * LOOPS):
        sender, text = server.connect("sender"), b"number %d" % number
        half = number % 2 == 0
        _send_and_leave(server, sender, text, half, at_once=number % 4 >= 2)
        if half:
            _expect_answers(sender, text, len(clients) + 1)
        for client in clients:
            client.expect_frame(pushed(text))
        _until_open(server, clients[0], len(clients))


def _send_and_leave(server, sender: Client, text: bytes, half: bool, at_once: bool) -> None:
    """Closes, or half-closes. `at_once`: the server hears of both together."""
    with server.paused() if at_once else nullcontext():
        sender.send_frames([broadcast(1, text), request(ECHO, 2, string(b"owed"))])
        sender.half_close() if half else sender.close()


def _expect_answers(sender: Client, text: bytes, count: int) -> None:
    """Expects the reply, perhaps after the message itself: it may have been pushed before the
    server saw the half-close. EOF follows."""
    came = sender.read_frame()
    if came == pushed(text):
        came = sender.read_frame()
    _counts(came, 1, (count, count - 1))
    if came not in (reached(1, count), reached(1, count - 1)):
        text = f"{Reply.of(came)} came; due is the reply to BROADCAST, with {count} or {count - 1}"
        raise Failure(text, hint="sender-is-gone", received=came)
    sender.expect_closed_after([reply(ECHO, 2, OK, string(b"owed"))])


def _until_open(server, client: Client, count: int) -> None:
    """Waits until STATS says that `count` connections are open."""
    if not eventually(server, lambda: stats(client)[0] == count):
        text = f"{count} clients are connected, but STATS says {stats(client)[0]}"
        raise Failure(text, hint="stats-of-all")


# 09.6 push


@claim("09.6", fatal="one", cli=True, native=True, hints=BOUND)
def test_09_broadcast_to_one_that_never_reads(launch, rng):
    """A client that never reads is closed when too much is pushed, not earlier; others get all."""
    options = (*THREADS, "--high-water", str(HIGH_WATER))
    server = launch(options, framing=MESSAGES, environment=EXACT)
    readers = all_clients(server, 1)
    broadcast_to(readers[0], readers[1:], 0, b"begin")
    base = server.process.resident_bytes()
    server.connect("silent", rcvbuf=SMALL_WINDOW)
    _until_open(server, readers[0], len(readers) + 1)
    text = rng.randbytes(TEXT)
    for number in range((UNREAD_MAX + KERNEL + BESIDE) // TEXT):
        count = _broadcast_once(readers, number, text)
        _reached_is_open(readers, count)
        if count == len(readers):
            _not_closed_too_early(text, number + 1)
            _until_gone(server, readers)
            bounded(server, base, BESIDE, "after the client that never reads is gone")
            return
        when = f"with {(number + 1) * TEXT // MIB} MiB broadcast to a client that never reads"
        bounded(server, base, UNREAD_MAX + BESIDE, when)
    mib = (UNREAD_MAX + KERNEL + BESIDE) // MIB
    text = f"{mib} MiB were broadcast to a client that never reads, and it is still connected"
    raise Failure(text, hint="push-bound")


def _reached_is_open(readers: list[Client], count: int) -> None:
    """Checks that the client that never reads is connected if it was counted. One of the readers
    is in its loop, and has got the message: if it was closed for that, it is gone now."""
    found = min(stats(reader)[0] for reader in readers)
    if found < count:
        text = f"a BROADCAST reached {count} connections, and closed one of these: {found} are left"
        raise Failure(text, hint="reached-is-gone")


def _not_closed_too_early(text: bytes, count: int) -> None:
    """Checks that `count` pushes of this text exceed what may wait in the server, even if none of
    it is in the kernel."""
    unread = count * len(length_framing.encode(pushed(text)))
    if unread <= UNREAD_MAX:
        raise Failure(
            f"{unread:,} bytes were broadcast to a client that does not read, and it was closed; "
            f"32 MiB and the high-water mark are {UNREAD_MAX:,} bytes",
            hint="push-too-early",
        )


def _until_gone(server, readers: list[Client]) -> None:
    """Waits until STATS no longer counts the client that a BROADCAST has not reached."""
    if not eventually(server, lambda: stats(readers[0])[0] == len(readers)):
        text = "a BROADCAST no longer reaches the client that never reads, but its connection is "
        text += f"still open: STATS says {stats(readers[0])[0]} connections, and the others are "
        raise Failure(f"{text}{len(readers)}", hint="push-not-closed")


def _broadcast_once(readers: list[Client], seq: int, text: bytes) -> int:
    """The first client broadcasts, and every client receives it. Returns the count in the reply."""
    sender, *others = readers
    sender.exchange(length_framing.encode(broadcast(seq, text)), ())
    for other in others:
        other.expect_frame(pushed(text))
    frames = [sender.read_frame(), sender.read_frame()]
    answers = [came for came in map(Reply.of, frames) if came and came.seq != PUSHED]
    if pushed(text) not in frames or [came[:3] for came in answers] != [(BROADCAST, seq, OK)]:
        raise Failure("the sender did not get its message and its reply", hint="broadcast-reach")
    return struct.unpack("<i", answers[0].fields)[0]


@claim(
    "09.6",
    cli=True,
    sees_calls=True,
    descriptors=ALL + SPARE,
    hints=dict.fromkeys(MUTE, "broadcast-reach"),
)
def test_09_pushes_are_sent_together(launch):
    """60 clients broadcast to 300: the messages of an iteration are sent together."""
    server = launch(("--threads", "1"), framing=MESSAGES)
    text = b"to all"
    lot = length_framing.encode(broadcast(1, text)) * EACH
    due = length_framing.encode(pushed(text)) * (EACH * SENDERS)
    with connected(server, ALL) as streams:
        server.conversation.note("the grader", f"connects {ALL} clients; {SENDERS} broadcast")
        last = streams[-1]
        last.send_all(length_framing.encode(request(ECHO, 1, string(b"in"))))
        last.read_exactly(len(length_framing.encode(reply(ECHO, 1, OK, string(b"in")))), "a reply")
        before = server.process.calls()
        with server.paused():
            for stream in streams[:SENDERS]:
                stream.send_all(lot)
        if last.read_exactly(len(due), "what was broadcast") != due:
            raise Failure("a client did not get every message as it was", hint="broadcast-reach")
        after = server.process.calls()
    if before is None or after is None:
        return
    pushes, sends = EACH * SENDERS * ALL, after.outputs - before.outputs
    if sends > TOGETHER * pushes:
        text = f"for {EACH * SENDERS} messages to {ALL} clients the server called send() {sends:,}"
        raise Failure(f"{text} times", hint="push-together")
