"""Chapter 08, connections that wait: for an interval, for space, for their peer to close."""

from __future__ import annotations

from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW
from harness.claims.scenarios.rpc_talk import echo_text
from harness.claims.scenarios.waiting import Outcome, State, Waiting, every_end
from harness.client import length_framing
from harness.client.messages import ECHO, OK, reply, request, string
from harness.lab.units import MIB

FORGOTTEN, ANSWERED, SERVED = Outcome.FORGOTTEN, Outcome.ANSWERED, Outcome.SERVED

QUOTA = 40  # frames; another client needs some
SOON_MS, FAR_MS = 300, 600_000  # intervals
LINGER_SECONDS = 5  # the time of a peer that has to close
OVER_BYTES = 2 * MIB  # of replies: above the mark, and more than the kernel takes
LOW_MARKS = ("--high-water", "1000", "--low-water", "0")

# Why a cell is left out.
NOT_READ = "over its quota a client is not read, so what it does is known only after the interval"
SEE_SOON = "see the row with a short interval"
UNREAD_AND_CLOSED = "with replies that are not read, close() sends a RST: see there"

# What a general hint means in a claim, see marker.claim.
ENDS = {**dict.fromkeys((*MUTE, *GONE), "lost-at-close"), "not-closed": "linger"}


def _over_quota(server, end, rng) -> Waiting:
    client = server.connect("over quota")
    texts = [string(b"%d" % number) for number in range(QUOTA + 5)]
    replies = [reply(ECHO, 1, OK, text) for text in texts]
    client.send_frames([request(ECHO, 1, text) for text in texts])
    client.expect_frames(replies[:QUOTA])
    return Waiting(client, replies[QUOTA:])


def _above_a_low_mark(server, end, rng) -> Waiting:
    client = server.connect("above the mark", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    text = string(rng.randbytes(OVER_BYTES))
    client.send_frames([request(ECHO, 1, text), request(ECHO, 2, string(b""))])
    return Waiting(client, [reply(ECHO, 1, OK, text), reply(ECHO, 2, OK, string(b""))])


def _lingers(server, end, rng) -> Waiting:
    client = server.connect("lingers")
    echo_text(client)
    client.send(length_framing.TOO_LONG)
    client.expect_eof()
    return Waiting(client)


FLOW_STATES = (
    State(
        "over its quota",
        _over_quota,
        fin=FORGOTTEN,
        rst="it may come after the interval: see the next row",
        half_close=ANSWERED,
        silence=SERVED,
        options=("--quota", f"{QUOTA}/{SOON_MS}"),
        seconds=2 * SOON_MS / 1000,
    ),
    State(
        "over a quota of a long interval",
        _over_quota,
        fin=NOT_READ,
        rst=FORGOTTEN,
        half_close=NOT_READ,
        silence=SEE_SOON,
        options=("--quota", f"{QUOTA}/{FAR_MS}"),
    ),
    State(
        "above a low high-water mark",
        _above_a_low_mark,
        fin=UNREAD_AND_CLOSED,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
        options=LOW_MARKS,
    ),
    State(
        "lingering after a frame that is too long",
        _lingers,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=FORGOTTEN,
        seconds=LINGER_SECONDS,
        hint="linger",
    ),
)


# 08.7 settle


@claim("08.7", points=3, cli=True, native=True, waits=5, hints=ENDS, refusals=True)
def test_08_every_state_and_each_end(launch, rng):
    """Over quota, above a mark or lingering, with each backend: whatever a client does then."""
    every_end(launch, rng, FLOW_STATES)
