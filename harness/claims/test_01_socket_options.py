"""Chapter 01, what options of a socket, and flags of send(), do to a client: see socket(7), tcp(7).

An option may be set where it does a client no harm, so it is the harm that is looked for.
"""

from __future__ import annotations

import time

from harness.claims.context.observe import is_quiescent, until_asleep, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import LONG_REPLY, SMALL_WINDOW, connect_narrow, echo, words
from harness.claims.scenarios.sent_at_once import leaves_at_once
from harness.client import length_framing
from harness.submission.sizes import KIB
from harness.waiting import sockets

# Bytes: what the kernel takes at once of a server, and much more than the client's kernel takes.
LATE_BYTES = 100 * KIB

# How long a client does nothing, in seconds. Where the server has set a time-out on a socket it is
# so many times as long, and MORE: a send() that has moved some bytes returns after one time-out,
# and the kernel takes some bytes of the next one, too.
PAUSE, LONGEST_PAUSE, TIMES, MORE = 1.2, 17.0, 3, 1.5

# What a general hint means in a claim, see marker.claim.
CLOSED = {
    **dict.fromkeys(("closed-early", "closed-in-reply", "replies-missing"), "replies-lost-at-eof"),
    "reset-early": "reset-by-close",
}

GIVEN_UP = dict.fromkeys(
    ("closed-early", "closed-in-reply", "reset-early", "silence", "call-disturbed"), "given-up"
)

URGENT = dict.fromkeys(
    ("silence", "replies-missing", "stalled-reply", "wrong-header", "wrong-body", "closed-early")
    + ("closed-in-reply", "reset-early", "extra-bytes", "refused-as-too-long"),
    "urgent-in-the-stream",
)


# 01.5 one client's frames


@claim("01.5", points=1, needs="queues")
def test_01_replies_leave_at_once(launch, rng):
    """A short reply leaves as soon as it is written: the server's kernel holds none of it back."""

    def connect():
        server = launch()
        return server, server.connect()

    for body in (words(rng, 8), b""):
        leaves_at_once(connect, body)


@claim("01.5", points=1, chapters="01-05", hints=URGENT)
def test_01_urgent_data_is_no_part_of_the_stream(server, rng):
    """A byte of urgent data between two frames belongs to none of them."""
    client = server.connect()
    echo(client, words(rng, 8))
    client.send_urgent(b"!")
    echo(client, words(rng, 8))


# 01.6 one client after the other


@claim("01.6", points=1, hints=CLOSED)
def test_01_replies_outlive_the_close(server, rng):
    """A client that half-closes and reads late gets the replies that the kernel has by then."""
    bodies = [rng.randbytes(LATE_BYTES) for _ in range(2)]
    client = server.connect(rcvbuf=SMALL_WINDOW)
    client.send_frames(bodies)
    client.half_close()
    until_read(client)
    until_asleep(server)  # it has closed, if the kernel has taken all
    client.expect_closed_after(bodies)


@claim("01.6", points=1, hints=GIVEN_UP)
def test_01_slow_clients_are_kept(launch, rng):
    """A client may do nothing for a while, inside a frame or while a reply waits for it."""
    short, long = words(rng, 8), rng.randbytes(LONG_REPLY)
    frame = length_framing.encode(short)
    servers = launch(), launch()
    sender = servers[0].connect("sender")
    reader = connect_narrow(servers[1], "reader")
    sender.send(frame[:6])
    reader.send_frame(long)
    for client in (sender, reader):
        until_read(client)
    longest = max(sockets.longest_time_out(server.process.pid) for server in servers)
    seconds = min(TIMES * longest + MORE, LONGEST_PAUSE) if longest else PAUSE
    if not all(map(is_quiescent, servers)):  # else nothing can happen, however long they wait
        sender.conversation.note("the grader", f"lets both clients do nothing for {seconds:g} s")
        time.sleep(seconds)
    sender.send(frame[6:])
    sender.expect_frame(short)
    reader.expect_frame(long)
