"""The same commands to a server under test and to Redis, whose replies are due."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

from harness.claims.scenarios.redis_commands import Command
from harness.client import resp
from harness.client.redis import here
from harness.client.resp import Answers
from harness.feedback.failure import Failure, NotJudged
from harness.server.process import ServerProcess

OPTIONS = '--port {port} --bind 127.0.0.1 --save "" --appendonly no --loglevel warning'
BEGIN = ([b"SELECT", b"0"], [b"FLUSHALL"])  # each comparison begins with empty databases
PIECE = 1 << 18
SECONDS = 60  # for Redis to reply, on a busy machine
AT_ONCE = 100  # commands, while the sequence is longer than that
MOST_TRIES = 80  # to find a shorter sequence that shows the same


def without_nested_multi(commands: Sequence[Command]) -> list[Command]:
    """The commands without each MULTI between a MULTI and its EXEC or DISCARD."""
    found, nested = [], False
    for words in commands:
        if words[0] == b"MULTI" and nested:
            continue
        nested = words[0] == b"MULTI" or nested and words[0] not in (b"EXEC", b"DISCARD")
        found.append(words)
    return found


# What is not compared, by the name of the server: it replies otherwise than Redis 7.0. Redis 7.2
# and 8.0 reply the same.
LEFT_OUT: dict[str, Callable[[Sequence[Command]], list[Command]]] = {
    # It refuses a MULTI within a transaction in other words, and its EXEC as well.
    # test_12_commands_wait_for_exec requires what Redis does.
    "Valkey": without_nested_multi,
}


class Pair:
    """A server under test, and Redis, each with a client."""

    def __init__(self, server) -> None:
        self.server = server
        self._other = here.redis_server()
        self._process = ServerProcess()
        self._redis: socket.socket | None = None

    def __enter__(self) -> Pair:
        try:
            self._process.start(f"{self._other.program} {OPTIONS}", mode="port")
            self.begin()
        except (Failure, OSError) as error:
            self._process.destroy()
            raise NotJudged(f"{self._other.program} does not start here: {error}") from None
        return self

    def whole(self, commands: Sequence[Command]) -> list[Command]:
        """The commands from the beginning of a comparison, without what is not compared."""
        return [*BEGIN, *LEFT_OUT.get(self._other.name, list)(commands)]

    def begin(self) -> None:
        """Connects to Redis again, so that no MULTI is open."""
        if self._redis is not None:
            self._redis.close()
        self._redis = socket.create_connection(self._process.address, SECONDS)

    def __exit__(self, *_: object) -> None:
        self._redis.close()
        self._process.destroy()

    def replies(self, commands: Sequence[Command]) -> list[bytes]:
        """What Redis replies, each reply as its bytes."""
        self._redis.sendall(b"".join(resp.command(*words) for words in commands))
        decoder, found = resp.Decoder(), []
        while len(found) < len(commands):
            came = self._redis.recv(PIECE)
            if not came:
                raise NotJudged(f"{self._other.program} has closed the connection")
            found += decoder.feed(came)
        return found


def compare(pair: Pair, commands: Sequence[Command]) -> None:
    """Checks that both servers reply the same to the commands. A failure shows a short sequence
    that differs."""
    commands = pair.whole(commands)
    count = _first_that_differs(pair, commands, AT_ONCE)
    if count is None:
        return
    shorter = _shorter(pair, commands[len(BEGIN) : count])
    pair.server.conversation.restart()
    whole = pair.whole(shorter)
    pair.begin()
    due = pair.replies(whole)
    client = pair.server.connect("differs")
    for words, answer in zip(whole, due):
        client.send_frame(resp.command(*words))
        client.expect_frames(Answers([words], [answer]))
    raise NotJudged("the replies differed once, and not again")


def _first_that_differs(pair: Pair, commands: Sequence[Command], at_once: int) -> int | None:
    """How many commands it takes until the server replies otherwise; None if it does not.

    With `at_once` commands sent together it may be some more.
    """
    pair.begin()
    client = pair.server.connect("compares")
    try:
        for first in range(0, len(commands), at_once):
            part = commands[first : first + at_once]
            due = pair.replies(part)
            try:
                client.exchange(
                    b"".join(resp.command(*words) for words in part), Answers(part, due)
                )
            except Failure:
                return first + len(part)
        return None
    finally:
        client.abandon(by_reset=True)


def _differs(pair: Pair, commands: Sequence[Command]) -> bool:
    whole = pair.whole(commands)
    return _first_that_differs(pair, whole, len(whole)) is not None


def _shorter(pair: Pair, commands: list[Command]) -> list[Command]:
    """Leaves out parts, from halves to single commands, as long as the rest differs, too."""
    size, tries = max(1, len(commands) // 2), 0
    while tries < MOST_TRIES:
        at = len(commands) - size
        while at > -size and tries < MOST_TRIES:
            start = max(0, at)
            rest = commands[:start] + commands[at + size :]
            tries += 1
            if rest and _differs(pair, rest):
                commands = rest
            at -= size
        if size == 1:
            break
        size = max(1, size // 2)
    return commands
