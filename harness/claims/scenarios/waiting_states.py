"""The table of waiting.py: a row for each state in which a connection may wait.

A chapter with a new state adds its row here, in a table of its own, and a claim that tries it:

    LINGERING = State(
        "lingering after a frame that is too long",
        enter=_linger,  # connects a client, brings it into the state, and returns Waiting
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close="it looks like a FIN",  # a cell that is left out, and why
        silence=FORGOTTEN,
        seconds=5,  # that the server may take by itself in silence
        stays={FIN: "linger-end", SILENCE: "linger"},  # better hints for a connection that stays
    )
    FLOW_STATES = (LINGERING, ...)

    @claim("08.8", cli=True, native=True)
    def test_08_every_state_and_each_end(launch, rng):
        '''Whatever a connection waits for, ...'''
        every_end(launch, rng, FLOW_STATES)

The claim of an earlier chapter tries its rows with each later server, so the new table needs only
the new rows. A new way to wait, such as a ring, tries all of them: `ways` of every_end().
States that need an option of the server name it in `options`; those with the same options and
`seconds` share a server. `enter` must not wait for what another state needs time for: everything
is tried at once.
"""

from __future__ import annotations

from harness.claims.context.observe import until_asleep
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW
from harness.claims.scenarios.rpc_talk import echo_text
from harness.claims.scenarios.waiting import FIN, RST, SILENCE, Outcome, State, Waiting
from harness.client import length_framing
from harness.client.messages import ECHO, OK, after, reply, request, rung, string
from harness.submission.sizes import KIB, MIB

FORGOTTEN, ANSWERED, SERVED = Outcome.FORGOTTEN, Outcome.ANSWERED, Outcome.SERVED

SOON_MS, NEVER_MS = 150, 2_000_000_000  # of alarms
FRAME_MS = 300  # for a frame, whose client does not complete it
QUOTA_FRAMES = 30  # of an interval: enough for the client that is served meanwhile
INTERVAL_MS, ENDLESS_MS = 300, 600_000
LINGER_SECONDS = 5  # the time that a server waits for a FIN, or for a client that takes nothing
OVER_BYTES = 6 * MIB  # of a reply: above the high-water mark, whatever the kernel takes
OWED_BYTES = 900 * KIB  # of a reply: below it, and more than the kernel takes

_TEXTS = [(seq, string(b"%d" % seq)) for seq in range(QUOTA_FRAMES + 1)]

# Why a cell is left out.
UNREAD_AND_CLOSED = "with replies that are not read, close() sends a RST: see there"
NOT_READ = "what follows is not read before the interval ends: the next row has a short one"
LOOKS_LIKE_FIN = "the server has sent its FIN: see there"
THE_SAME = "it has half-closed already: see silence"
WITHOUT_LIMIT = "the same as without a time-out, where it is tried"


def _idle(server, end, rng) -> Waiting:
    client = server.connect("idle")
    echo_text(client)
    return Waiting(client)


def _above_high_water(server, end, rng) -> Waiting:
    return _owing(server, rng, OVER_BYTES)


def _draining(server, end, rng) -> Waiting:
    waiting = _owing(server, rng, OWED_BYTES)
    waiting.client.send(length_framing.TOO_LONG)
    return waiting


def _owing(server, rng, size: int) -> Waiting:
    """A client that does not take the reply to its ECHO."""
    client = server.connect("owed", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    text = string(rng.randbytes(size))
    client.send_frame(request(ECHO, 1, text))
    return Waiting(client, [reply(ECHO, 1, OK, text)])


def _alarm_pending(server, end, rng) -> Waiting:
    """The alarm never rings if the client sends a RST, which has to be noticed without it. A FIN
    looks like a half-close, after which the reply is owed: so it is noticed when that is sent."""
    client, text = server.connect("alarm"), rng.randbytes(10)
    client.send_frame(after(1, NEVER_MS if end is RST else SOON_MS, text))
    return Waiting(client, [rung(1, text)])


def _half_closed_with_alarm(server, end, rng) -> Waiting:
    waiting = _alarm_pending(server, end, rng)
    waiting.client.half_close()
    return waiting


def _frame_begun(server, end, rng) -> Waiting:
    client = server.connect("frame")
    client.send(length_framing.encode(request(ECHO, 1, string(b"begun")))[:-1])
    return Waiting(client)


def _over_quota(server, end, rng) -> Waiting:
    """A client whose last request has to wait for the next interval. Before a RST there is one
    more, which is not even read."""
    client = server.connect("held")
    bodies = [(request(ECHO, seq, text), reply(ECHO, seq, OK, text)) for seq, text in _TEXTS]
    client.send_frame(bodies[0][0])
    client.expect_frame(bodies[0][1])
    until_asleep(server)  # it waits for input now
    client.send_frames([asked for asked, _ in bodies[1:]])
    client.expect_frames([due for _, due in bodies[1:QUOTA_FRAMES]])
    if end is RST:
        until_asleep(server)
        client.send_frame(bodies[0][0])
    return Waiting(client, [due for _, due in bodies[QUOTA_FRAMES:]])


def _lingering(server, end, rng) -> Waiting:
    client = server.connect("lingers")
    client.send(length_framing.TOO_LONG)
    client.expect_eof()
    return Waiting(client)


TIMER_STATES = (
    State(
        "idle",
        _idle,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
    ),
    State(
        "above the high-water mark",
        _above_high_water,
        fin=UNREAD_AND_CLOSED,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
        given_up=LINGER_SECONDS,
    ),
    State(
        "draining after a frame that is too long",
        _draining,
        fin=UNREAD_AND_CLOSED,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=ANSWERED,
        given_up=LINGER_SECONDS,
    ),
    State(
        "waiting for an alarm",
        _alarm_pending,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
        ms=SOON_MS,
    ),
    State(
        "half-closed and waiting for an alarm",
        _half_closed_with_alarm,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=THE_SAME,
        silence=ANSWERED,
        ms=SOON_MS,
    ),
    State(
        "inside a frame",
        _frame_begun,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence="nothing ends it: the next row has a time-out",
    ),
    State(
        "inside a frame that has a time-out",
        _frame_begun,
        fin=WITHOUT_LIMIT,
        rst=WITHOUT_LIMIT,
        half_close=WITHOUT_LIMIT,
        silence=ANSWERED,
        options=("--frame-timeout", str(FRAME_MS)),
        ms=FRAME_MS,
        stays={SILENCE: "frame-timeout"},
    ),
)

FLOW_STATES = (
    State(
        "over its quota",
        _over_quota,
        fin=NOT_READ,
        rst=FORGOTTEN,
        half_close=NOT_READ,
        silence=NOT_READ,
        options=("--quota", f"{QUOTA_FRAMES}/{ENDLESS_MS}"),
    ),
    State(
        "over its quota for a short time",
        _over_quota,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
        options=("--quota", f"{QUOTA_FRAMES}/{INTERVAL_MS}"),
        ms=INTERVAL_MS,
    ),
    State(
        "lingering after a frame that is too long",
        _lingering,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=LOOKS_LIKE_FIN,
        silence=FORGOTTEN,
        seconds=LINGER_SECONDS,
        stays={FIN: "linger-end", SILENCE: "linger"},
    ),
)
