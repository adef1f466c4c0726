"""Chapter 08, calls of an iteration: few, however many of them a client makes necessary."""

from __future__ import annotations

from harness.claims.context.observe import made_since, most_sent_in_an_iteration, until_asleep
from harness.claims.marker import MUTE, claim
from harness.claims.scenarios.exchanges import ask, burst_that_waits, ping
from harness.claims.scenarios.timed import in_time
from harness.client.client import Client
from harness.client.messages import ECHO, MESSAGES, OK, after, reply, request, rung, string
from harness.feedback.conversation import counted
from harness.feedback.failure import Failure

# The budget of an iteration is 256 KiB. A call that sends takes 4 KiB of it, and an alarm that
# rings 1 KiB.
SENDS_A_BUDGET, ALARMS_A_BUDGET = 64, 256
SENDS_AT_MOST = 2 * SENDS_A_BUDGET  # to one greedy client, and a polite one

TINY_FRAMES = 20_000

ALARMS = 20_000
ALARMS_AT_MOST = 2 * ALARMS_A_BUDGET  # in an iteration; then its turn, and their callbacks
FREED_AT_MOST = 1000  # in an iteration
ALARM_MS = 2_000  # in which all of them are set
SENDS_FOR_ALARMS = ALARMS // 20

# What a general hint means in a claim, see marker.claim.
STALLS = dict.fromkeys(MUTE, "budget-used-up")


# 08.1 budget


@claim("08.1", points=1, cli=True, hints=STALLS, sees_calls=True)
def test_08_a_send_takes_of_the_budget(launch, rng):
    """With --high-water 1 each empty frame needs a send: those of an iteration are bounded."""
    for backend in ("poll", "epoll"):
        server = launch(("--high-water", "1", "--backend", backend))
        polite = server.connect("polite")
        ping(polite, rng)
        burst_that_waits(server, server.connect(), [b""] * TINY_FRAMES)
        ping(polite, rng)
        _expect_few_sends(server)


def _expect_few_sends(server) -> None:
    most = most_sent_in_an_iteration(server)
    if most > SENDS_AT_MOST:
        text = f"one iteration of the loop sent {most:,} times"
        text += f"; the budget of a connection is enough for {SENDS_A_BUDGET}"
        raise Failure(text, hint="calls-cost-nothing")


@claim("08.1", points=2, cli=True, hints=STALLS, sees_calls=True)
def test_08_alarms_that_ring_together(launch, rng):
    """20,000 alarms that ring together are answered in many iterations and few sends, and those of
    a client that leaves are freed in many."""
    server = launch(framing=MESSAGES, clock=True)
    client, polite = server.connect(), server.connect("polite")
    with in_time(server):
        _set_alarms(client)
    with server.paused():
        server.clock.advance(ALARM_MS)
        before = server.process.calls()
    client.expect_frames([rung(seq, b"") for seq in range(ALARMS)])
    ask(polite, request(ECHO, 1, string(b"")), reply(ECHO, 1, OK, string(b"")))
    if before is None:  # the library that counts is not in this server
        return
    _expect_few_sends(server)
    sends = made_since(server, before, "outputs")
    waits = made_since(server, before, "waits")
    if sends > SENDS_FOR_ALARMS:
        text = f"the replies of {ALARMS:,} alarms were sent with {sends:,} calls"
        raise Failure(f"{text}; those of an iteration go together", hint="calls-cost-nothing")
    if waits < ALARMS // ALARMS_AT_MOST:
        text = f"{ALARMS:,} alarms that rang together were answered in "
        text += f"{counted(waits, 'iteration')}; the budget of one is enough for {ALARMS_A_BUDGET}"
        raise Failure(text, hint="iteration-too-long")
    _expect_freed_in_many(server, client, polite)


def _set_alarms(client: Client) -> None:
    client.send_frames([after(seq, ALARM_MS, b"") for seq in range(ALARMS)])
    client.send_frame(request(ECHO, ALARMS, string(b"set")))
    client.expect_frame(reply(ECHO, ALARMS, OK, string(b"set")))


def _expect_freed_in_many(server, client: Client, polite: Client) -> None:
    """The alarms of a client that resets are not freed in one iteration."""
    _set_alarms(client)
    before = server.process.calls()
    client.reset()
    ask(polite, request(ECHO, 2, string(b"")), reply(ECHO, 2, OK, string(b"")))
    until_asleep(server)
    waits = made_since(server, before, "waits")
    if waits < ALARMS // FREED_AT_MOST:
        text = f"{ALARMS:,} alarms of a client that had left were freed in "
        text += f"{counted(waits, 'iteration')}; at most {FREED_AT_MOST:,} in each are allowed"
        raise Failure(text, hint="iteration-too-long")


@claim("08.1", points=2, chapters="08", module=True, hints={"in-the-module": "budget-used-up"})
def test_08_budget_is_spent(program):
    """A turn may do what is left of its budget; then, or with input left, there is another turn."""
    program("08_flow", "budget")
