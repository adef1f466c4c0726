"""What claims say to a server that speaks the protocol of Redis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.claims.context.observe import eventually
from harness.claims.marker import GONE, MUTE
from harness.client import resp
from harness.client.client import Client
from harness.client.resp import Answers, Err, words_of
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB

# General hints, for the hints of claims: the server has ended, or closes; or is wrong in any way.
ENDED = (*GONE, "ended-early", "crashed")
BAD = (*MUTE, "wrong-header", "wrong-body", "extra-bytes", *ENDED)

Pair = tuple[str | Sequence[str | bytes | int], object]  # a command, and the reply that is due
PIECE = 256 * KIB  # bytes of a reply, at a time


def ask(client: Client, command: str | Sequence[str | bytes | int], value: object) -> None:
    """Sends one command and expects its reply. See resp for the values that are replies."""
    words = words_of(command)
    client.send_frame(resp.command(*words))
    client.expect_frames(Answers([words], [resp.reply(value)]))


def talk(client: Client, *pairs: Pair) -> None:
    """Sends commands, each after the reply to the one before."""
    for command, value in pairs:
        ask(client, command, value)


def pipelined(client: Client, pairs: Iterable[Pair]) -> None:
    """Sends commands without waiting for replies, which come in the same order."""
    pairs = list(pairs)
    commands = [words_of(command) for command, _ in pairs]
    data = b"".join(resp.command(*words) for words in commands)
    client.exchange(data, Answers(commands, [resp.reply(value) for _, value in pairs]))


def read_value(client: Client) -> object:
    """The next reply, whatever it is; nothing else may come after it."""
    decoder = resp.Decoder()
    while True:
        came = client.read_some(PIECE)
        try:
            found = decoder.feed(came)
        except resp.Malformed as error:
            text = f"what comes is no reply: {error}"
            raise Failure(text, hint="wrong-header", received=came) from None
        if len(found) > 1 or found and decoder.left:
            text = f"after the reply {resp.told_bytes(found[0])} came more, without a request"
            raise Failure(text, hint="extra-bytes", received=came)
        if found:
            return resp.value_of(found[0])


def answer(client: Client, command: str | Sequence[str | bytes | int]) -> object:
    """The reply to a command, whatever it is."""
    client.send_frame(resp.command(*words_of(command)))
    return read_value(client)


def until(
    server, client: Client, command: str | Sequence[str | bytes | int], value: object, hint: str
) -> None:
    """Asks the same again until the reply is this one."""
    last: list[object] = []

    def is_so() -> bool:
        last[:] = [answer(client, command)]
        return type(last[0]) is type(value) and last[0] == value

    if not eventually(server, is_so):
        words = resp.told_command(words_of(command))
        text = f"the reply to {words} stays {resp.told(last[0])}; due is {resp.told(value)}"
        raise Failure(text, hint=hint)


def until_refused(client: Client, command: bytes, most: int) -> int:
    """Sends the same request again and again. Returns how many were taken before the first error;
    `most` if there was none."""
    for taken in range(most):
        client.exchange(command, [])
        if isinstance(read_value(client), Err):
            return taken
    return most


def time_of_day_passes(server, ms: int) -> None:
    """Lets this time go by; where the clock is ours, the time of day alone: no timer is due."""
    if server.clock.ours:
        server.clock.jump(ms)
    else:
        server.clock.advance(ms)
