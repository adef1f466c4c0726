"""Chapter 08, connections that wait: for an interval, for space, for their peer to close."""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW
from harness.claims.scenarios.waiting import Outcome, State, Waiting, every_end
from harness.claims.scenarios.waiting_states import FLOW_STATES, UNREAD_AND_CLOSED
from harness.client.messages import ECHO, OK, reply, request, string
from harness.submission.sizes import MIB

OVER_BYTES = 2 * MIB  # of replies: above the mark, and more than the kernel takes


def _above_a_low_mark(server, end, rng) -> Waiting:
    """A client whose second request has to wait until its first reply is taken."""
    client = server.connect("above the mark", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    texts = string(rng.randbytes(OVER_BYTES)), string(b"behind it")
    client.send_frames([request(ECHO, seq, text) for seq, text in enumerate(texts)])
    return Waiting(client, [reply(ECHO, seq, OK, text) for seq, text in enumerate(texts)])


ABOVE_A_LOW_MARK = State(
    "above a low high-water mark",
    _above_a_low_mark,
    fin=UNREAD_AND_CLOSED,
    rst=Outcome.FORGOTTEN,
    half_close=Outcome.ANSWERED,
    silence=Outcome.SERVED,
    options=("--high-water", "1000", "--low-water", "0"),
)


# 08.8 closing: one of the states lingers


@claim(
    "08.8",
    points=3,
    chapters="08",
    cli=True,
    native=True,
    refusals=True,
)
def test_08_every_state_and_each_end(launch, rng):
    """Over quota, above a mark or lingering, with each backend: a client that closes, resets, half-
    closes or does nothing is forgotten or served."""
    every_end(launch, rng, (*FLOW_STATES, ABOVE_A_LOW_MARK))
