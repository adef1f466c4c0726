"""Chapter 08, clients that cannot be accepted: --max-conns is reached, or no descriptor is free."""

from __future__ import annotations

from harness.claims.context.observe import is_open, most_accepted_in_an_iteration, until_asleep
from harness.claims.marker import claim
from harness.claims.scenarios.cost import few_waits, launch_idle
from harness.claims.scenarios.exchanges import connect_and_ping, echo, ping, words
from harness.claims.scenarios.timed import MOMENT_MS, pass_until, soon
from harness.client.client import Client
from harness.feedback.failure import Failure, meaning

BACKENDS = ("select", "poll", "epoll")

DESCRIPTORS = 32
SERVED = 10
WAITING = 40
REFUSE_MS = 3_000  # for which a client waits in vain, before it is turned away
TRY_MS = 100  # from one try to accept it to the next
LATE_MS = 2 * TRY_MS  # docs/protocol.md
MACHINES_MS = 2_000  # with the clock of the machine: before that we look whether it waits

# Clients in the backlog at the same time; the protocol promises that as many fit.
BACKLOG = 200
ACCEPTED_AT_MOST = 64

CROWD = 200  # clients that connect when there is no descriptor
AT_ONCE = 64  # of them are turned away in an iteration, at most

# General hints that have a better one in some claims, see marker.claim.
LOST = ("silence", "replies-missing", "closed-early", "reset-early", "connect-refused")
FULL = dict.fromkeys((*LOST, "extra-bytes"), "max-conns")
TURNED = {**dict.fromkeys(LOST, "turned-away"), "timer-timeout": "tries-at-once"}
AGAIN = {**TURNED, **dict.fromkeys(LOST, "reserve")}


# 08.5 accept_clients


@claim("08.5", cli=True, hints=FULL)
def test_08_max_conns_wait_in_the_backlog(launch, rng):
    """Clients over --max-conns wait in the backlog while the server sleeps; as others leave they
    are accepted, in order."""
    for backend in BACKENDS:
        server = launch_idle(launch, argv_extra=("--max-conns", "3", "--backend", backend))
        served = connect_and_ping(server, rng, 3, "served")
        body = words(rng, 8)
        waiting = [server.connect("waits") for _ in range(4)]
        for client in waiting:
            client.send_frame(body)
        for client in served:
            ping(client, rng)
        few_waits(server, "with --max-conns reached", "max-conns")
        for client in list(waiting):
            _expect_to_wait(server, served, waiting, rng)
            served.pop(0).close()
            waiting.remove(client)
            client.expect_frame(body)
            served.append(client)


def _expect_to_wait(server, served: list[Client], waiting: list[Client], rng) -> None:
    """Checks that no waiting client has been answered, after enough iterations to answer it."""
    for client in served:
        ping(client, rng)
        ping(client, rng)
    until_asleep(server)
    for client in waiting:
        client.expect_nothing_yet()


@claim("08.5", cli=True, native=True, hints={"silence": "accepts-rest"}, sees_calls=True)
def test_08_many_connects_do_not_hold_the_loop(launch, rng):
    """One iteration accepts at most 64 of 200 waiting clients; all of them are served."""
    for backend in BACKENDS:
        server = launch(("--backend", backend))
        ping(server.connect("served"), rng)
        with server.paused():
            waiting = [server.connect("waiting") for _ in range(BACKLOG)]
        for client in waiting:
            ping(client, rng)
        most = most_accepted_in_an_iteration(server)
        if most > ACCEPTED_AT_MOST:
            text = f"one iteration of the loop accepted {most} clients"
            raise Failure(f"{text}, and {ACCEPTED_AT_MOST} are allowed", hint="accepts-all")


# 08.6 turn_away. valgrind has a limit of its own, and closes what it accepts above it.


@claim("08.6", cli=True, native=True, hints=TURNED)
def test_08_turned_away_in_the_end(launch, rng):
    """With no descriptor left clients are turned away after 3 s, each time; the others stay. When
    some have left, new ones are served."""
    server = launch(nofile=DESCRIPTORS, clock=True)
    served = connect_and_ping(server, rng, SERVED, "served")
    served += _expect_turned_away(server, rng)
    served += _expect_turned_away(server, rng, "reserve", before=TRY_MS)
    for client in served:
        ping(client, rng)
    for client in served:
        client.close()
    with meaning(AGAIN), server.clock.within(LATE_MS):  # they may have to wait for the next try
        connect_and_ping(server, rng, SERVED, "new")
        _expect_turned_away(server, rng, "reserve")


@claim("08.6", cli=True, native=True, hints=TURNED)
def test_08_turned_away_a_few_at_a_time(launch, rng):
    """One iteration turns away at most 64 of 200 waiting clients; connected ones are served."""
    server = launch(nofile=DESCRIPTORS, clock=True)
    served = connect_and_ping(server, rng, SERVED, "served")
    began = server.clock.now_ms
    waiting = [server.connect("waits") for _ in range(CROWD)]
    _until_turned_away(server, waiting[-1], began, "turned-away")
    for client in served:
        ping(client, rng)
    most = most_accepted_in_an_iteration(server)
    if most > AT_ONCE:
        text = f"one iteration of the loop turned away {most} clients"
        raise Failure(f"{text}, and {AT_ONCE} are allowed", hint="turns-all-away")


def _expect_turned_away(server, rng, hint: str = "turned-away", before: int = 0) -> list[Client]:
    """Connects more clients than there are descriptors for. Returns those that were let in.

    `before`: for so many milliseconds at most there was no descriptor already.
    """
    began = server.clock.now_ms
    waiting = [server.connect("waits") for _ in range(WAITING)]
    body = words(rng, 8)
    early = {"reserve": "refuses-early"}.get(hint, hint)
    _expect_nobody_is(server, waiting, began, REFUSE_MS - before, early)
    _until_turned_away(server, waiting[-1], began, hint)
    let_in = [client for client in waiting if is_open(client)]
    if len(let_in) + SERVED >= DESCRIPTORS:
        text = f"{len(let_in)} of {WAITING} clients still wait, and others were turned away"
        raise Failure(text, hint=hint)
    for client in let_in:
        echo(client, body)
    return let_in


def _expect_nobody_is(server, waiting: list[Client], began: float, ms: int, hint: str) -> None:
    """Checks that none of these has been turned away until `ms` after `began`."""
    server.conversation.note("the grader", "watches the waiting clients")
    server.clock.advance(1)  # the server waits with a time limit now
    pass_until(server, began, ms - MOMENT_MS if server.clock.ours else MACHINES_MS)
    closed = not all(map(is_open, waiting))
    if closed and server.clock.now_ms - began < ms:
        text = f"no descriptor is free, and a client was turned away before {REFUSE_MS:,} ms"
        raise Failure(f"{text} were over", hint=hint)


def _until_turned_away(server, last: Client, began: float, hint: str) -> None:
    """The last of those that wait is closed in time: goes to the moment when that happens."""
    server.clock.advance(1)
    for late in range(0, LATE_MS + 1, TRY_MS):
        pass_until(server, began, REFUSE_MS + late)
        if soon(server, lambda: not is_open(last)):
            return
    text = f"no descriptor is free, and after {REFUSE_MS + LATE_MS:,} ms a client still waits"
    raise Failure(text, hint=hint)
