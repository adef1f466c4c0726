"""Chapter 12, whatever a client waits for: a message, EXEC, a change of a key, or space."""

from __future__ import annotations

from collections.abc import Callable

from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW
from harness.claims.scenarios.redis_talk import ENDED, Pair, ask, talk
from harness.claims.scenarios.waiting import SILENCE, Outcome, State, Waiting, every_end
from harness.claims.scenarios.waiting_states import LINGER_SECONDS, UNREAD_AND_CLOSED
from harness.client import resp
from harness.client.client import Client
from harness.client.resp import NO_ARRAY, OK, PONG, QUEUED, RESP
from harness.submission.sizes import MIB

FORGOTTEN, ANSWERED, SERVED = Outcome.FORGOTTEN, Outcome.ANSWERED, Outcome.SERVED

READINESS = ("--io", "epoll")
HELD_BYTES = 8 * MIB  # of a name or a value: memory that is not given back is seen
OVER_BYTES = 6 * MIB  # of a message: above the high-water mark, whatever the kernel takes

# What a general hint means in these claims when a client has left, see marker.claim.
LEFT = dict.fromkeys((*ENDED, "memory-grows"), "client-left")


def _ping(client: Client) -> None:
    ask(client, "PING", PONG)


def _text(end: str, rng) -> bytes:
    """A name or a value of this client alone. It is long if the client leaves."""
    return rng.randbytes(8).hex().encode() + bytes(0 if end == SILENCE else HELD_BYTES)


def _do(server, *pairs: Pair) -> None:
    """Another client connects, sends these commands and leaves."""
    with server.connect("comes and goes") as client:
        talk(client, *pairs)


def _subscribe(client: Client, command: str, name: bytes) -> None:
    done = resp.reply([command.lower().encode(), name, 1])
    client.exchange(resp.command(command, name), [done])


def _gets_message(server, channel: bytes, *begin: bytes) -> Callable[[Client], None]:
    """A message for the channel reaches the client, and begins with these strings."""

    def serve(client: Client) -> None:
        _do(server, (("PUBLISH", channel, "text"), 1))
        client.expect_frame(resp.reply([*begin, channel, b"text"]))

    return serve


def _subscribed(server, end, rng) -> Waiting:
    client, channel = server.connect("subscribed"), _text(end, rng)
    _subscribe(client, "SUBSCRIBE", channel)
    return Waiting(client, serve=_gets_message(server, channel, b"message"))


def _subscribed_to_pattern(server, end, rng) -> Waiting:
    client, begin = server.connect("pattern"), _text(end, rng)
    pattern, channel = begin + b"*", begin + b"1"
    _subscribe(client, "PSUBSCRIBE", pattern)
    return Waiting(client, serve=_gets_message(server, channel, b"pmessage", pattern))


def _slow(server, end, rng) -> Waiting:
    """A subscriber that does not take a message. It is shorter than what may be queued for it."""
    client = server.connect("slow", rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    channel, message = _text(SILENCE, rng), rng.randbytes(OVER_BYTES)
    _subscribe(client, "SUBSCRIBE", channel)
    _do(server, (("PUBLISH", channel, message), 1))
    owed = [resp.reply([b"message", channel, message])]
    return Waiting(client, owed, _gets_message(server, channel, b"message"))


def _in_multi(server, end, rng) -> Waiting:
    client, value = server.connect("queue"), _text(end, rng)
    talk(client, ("MULTI", OK), (("SET", value[:16], value), QUEUED))
    return Waiting(client, serve=lambda client: ask(client, "EXEC", [OK]))


def _watching(server, end, rng) -> Waiting:
    client, key = server.connect("watches"), _text(end, rng)
    ask(client, ("WATCH", key), OK)

    def serve(client: Client) -> None:
        _do(server, (("SET", key, "changed"), OK))
        talk(client, ("MULTI", OK), ("PING", QUEUED), ("EXEC", NO_ARRAY))

    return Waiting(client, serve=serve)


def _state(name: str, enter: Callable[..., Waiting]) -> State:
    """A row for a client that is owed nothing."""
    return State(
        name,
        enter,
        fin=FORGOTTEN,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
        serve=_ping,
    )


REDIS_STATES = (
    _state("subscribed to a channel", _subscribed),
    _state("subscribed to a pattern", _subscribed_to_pattern),
    _state("inside MULTI, with a command in its queue", _in_multi),
    _state("watching a key", _watching),
    State(
        "a subscriber above the high-water mark",
        _slow,
        fin=UNREAD_AND_CLOSED,
        rst=FORGOTTEN,
        half_close=ANSWERED,
        silence=SERVED,
        serve=_ping,
        given_up=LINGER_SECONDS,
    ),
)


# 12.7 watch


@claim("12.7", points=2, cli=True, native=True, hints=LEFT)
def test_12_every_state_and_each_end(launch, rng):
    """Subscribed, inside MULTI or watching a key: a client that closes, resets, half-closes or does
    nothing is forgotten or served."""
    every_end(launch, rng, REDIS_STATES, ways=(READINESS,), framing=RESP)
