"""Clients that do at random whatever a client may do, and what they say in each protocol.

They judge no reply: what the server does to its own memory is judged by others, see soak.py. No
call of them blocks.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Callable
from typing import NamedTuple

from harness.claims.scenarios import redis_commands
from harness.client import length_framing, messages, resp
from harness.lab.units import KIB, MIB

SIZES = (0, 1, 5, 100, 100, 3000, 70_000)  # bytes of a body
LARGE, LARGE_PART = 2 * MIB, 0.002  # of the bodies, how many have so many bytes
PUSH_BYTES = 500_000  # of a large broadcast: a client that never reads is closed after 32 MiB
WAITING = 64 * KIB  # with so many bytes to send, a client makes no more of them
PIPELINED = (1, 1, 3, 20, 100)
PIECES = (1, 3, 100, 4000, MIB)
READS_PART, SMALL_WINDOW_PART = 0.8, 0.3  # of the clients; the others never read
STAYS_PART = 0.2  # of the clients whose server has sent FIN, how many go on
CALM_PART = 0.3  # of the clients: they only ask, send and read, and never leave
LEAVES = (0.1, 0.01, 0.001)  # of the acts of another client, how many are its last one
SMALL_WINDOW = 4096
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST

Requests = Callable[[random.Random], bytes]


class Talk(NamedTuple):
    """A protocol: the options of the server for it, a random request, one that is right, and what
    ends a connection."""

    options: tuple[str, ...]
    request: Requests
    right: bytes
    wrong: tuple[bytes, ...] = ()


def _body(rng: random.Random) -> bytes:
    return bytes(LARGE if rng.random() < LARGE_PART else rng.choice(SIZES))


def _pushed(rng: random.Random, large_part: float) -> bytes:
    return bytes(PUSH_BYTES if rng.random() < large_part else rng.choice((1, 100, 5000)))


def _line(rng: random.Random) -> bytes:
    body = rng.randbytes(rng.choice((0, 1, 50, 3000, 65_000))).replace(b"\n", b"\r")
    return body + rng.choice((b"\n", b"\r\n"))


def _message(rng: random.Random) -> bytes:
    """A message of --app rpc. Some are malformed, and some seqs are used twice."""
    seq, which, ms = rng.randrange(8), rng.randrange(8), rng.choice((0, 1, 5, 30, 100_000))
    cmd = rng.choice((messages.STATS, messages.WHO, 99))
    pushed = _pushed(rng, 0.02)
    kinds = (
        lambda: messages.request(messages.ECHO, seq, messages.string(_body(rng))),
        lambda: messages.sum_of(seq, *range(rng.choice((0, 1, 500)))),
        lambda: messages.request(cmd, seq),
        lambda: messages.after(seq, ms, _body(rng)[:5000]),
        lambda: messages.every(seq, rng.choice((1, 5)), rng.choice((1, 20)), b"again"),
        lambda: messages.cancel(seq, which),
        lambda: messages.reset(seq, which, ms, rng.randrange(2)),
        lambda: messages.broadcast(seq, pushed),
        lambda: _damaged(_message(rng), rng),
    )
    return length_framing.encode(rng.choice(kinds)())


def _damaged(frame: bytes, rng: random.Random) -> bytes:
    """The message in this frame: cut, with more bytes, or with one byte that is another."""
    body = bytearray(frame[length_framing.HEADER :])
    at = rng.randrange(len(body) + 1)
    body[at:] = rng.choice((b"", body[at:] + b"more", b"\xff" + body[at + 1 :]))
    return bytes(body)


def _command(rng: random.Random) -> bytes:
    """Commands of Redis: those of the claims, and those whose replies depend on time or order."""
    key, ms = f"k{rng.randrange(20_000)}", rng.choice((1, 20, 1000))
    few = [word for n in range(100) for word in (f"k{rng.randrange(20_000)}", n)]
    kinds = (
        ["SET", key, _body(rng), "PX", ms],
        ["PEXPIRE", rng.choice((key, "list", "a")), ms],
        ["MSET", *few],
        ["DEL", *few[::2]],
        ["WATCH", key, "a"],
        [rng.choice(("MULTI", "EXEC", "DISCARD", "UNWATCH"))],
        [rng.choice(("SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE")), "a", "*", key],
        ["PUBLISH", rng.choice("abc"), _pushed(rng, 0.2)],
        ["SCAN", rng.randrange(1000), "COUNT", 100],
        [rng.choice(("KEYS *1", "CLIENT LIST", "CLIENT INFO", "INFO", "TIME", "HELLO", "QUIT"))],
        [rng.choice(("FLUSHALL", "RANDOMKEY", "DBSIZE", "TTL a", "LRANGE list 0 -1"))],
        ["RPUSH", "list", *few],
        ["LTRIM", "list", rng.randrange(3), 100],
        ["CLIENT", "SETNAME", rng.choice(("", "me", "two words"))],
        ["CONFIG", "GET", "*max*"],
    )
    if rng.random() < 0.05:
        return rng.choice(INLINE)
    if rng.random() < 0.6:
        return b"".join(resp.command(*one) for one in redis_commands.sequence(rng, 1))
    words = rng.choice(kinds)
    return resp.command(*(str(words[0]).split() if len(words) == 1 else words))


INLINE = (b"PING\r\n", b"\r\n", b'SET k1 "a\\x41\\n" \n', b"ECHO 'it\\'s'\r\n")
WRONG_COMMANDS = (
    *(b"*1\r\n$-5\r\n", b"*9999999999\r\n", b"*1\r\n$33554433\r\n", b"POST / HTTP/1.1\r\n"),
    *(b"x" * 70_000, b"*2\r\n:1\r\n", b'GET "open\r\n'),
)
LENGTH = Talk(
    ("--app", "echo"),
    lambda rng: length_framing.encode(_body(rng)),
    length_framing.encode(b"hello"),
    (length_framing.TOO_LONG,),
)
LINE = Talk(("--framing", "line"), _line, b"hello\n", (b"x" * 70_000,))
# Not of a few bytes: with -v, valgrind would take a minute to log those of one iteration.
FIXED = Talk(("--framing", "fixed:100"), lambda rng: rng.randbytes(rng.randrange(5000)), bytes(100))
RIGHT = length_framing.encode(messages.request(messages.STATS, 1))
RPC = Talk(("--app", "rpc"), _message, RIGHT, (length_framing.TOO_LONG,))
REDIS = Talk(("--app", "redis"), _command, resp.command("PING"), WRONG_COMMANDS)


class RandomClient:
    """A client. It connects at once; act() does one thing, until `over`."""

    def __init__(
        self, address: tuple[str, int], talk: Talk, rng: random.Random, calm: bool = False
    ) -> None:
        self.over = False
        self.requests = 0
        self._talk, self._rng = talk, rng
        self._out = bytearray()
        self._reads = rng.random() < READS_PART
        self._calm = calm or rng.random() < CALM_PART
        self._leaves = 0 if self._calm else rng.choice(LEAVES)
        self._socket = socket.socket()
        self._socket.setblocking(False)
        if rng.random() < SMALL_WINDOW_PART:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_WINDOW)
        self._socket.connect_ex(address)

    def act(self) -> bool:
        """Does something. Whether bytes have moved."""
        acts = (self._ask, self._send, self._read, self._half_close, self._urgent, self._go_wrong)
        weights = (60, 100, 100, *([0] * 3 if self._calm else [1] * 3))
        try:
            if self._rng.random() < self._leaves:
                return self.close(reset=self._rng.random() < 0.5)
            return self._rng.choices(acts, weights)[0]()
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:  # reset by the server, not connected yet, or sending after shutdown()
            if self._rng.random() > STAYS_PART:
                self.close()
            return False

    def close(self, reset: bool = False) -> bool:
        if reset and not self.over:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._socket.close()
        self.over = True
        return True

    def _ask(self) -> bool:
        if len(self._out) < WAITING:
            count = self._rng.choice(PIPELINED)
            self.requests += count
            self._out += b"".join(self._talk.request(self._rng) for _ in range(count))
        return False

    def _send(self) -> bool:
        piece = self._rng.choice(PIECES)
        sent = self._socket.send(self._out[:piece]) if self._out else 0
        del self._out[:sent]
        return sent > 0

    def _read(self) -> bool:
        if not self._reads:
            return False
        came = self._socket.recv(self._rng.choice(PIECES))
        if not came and self._rng.random() > STAYS_PART:
            self.close()
        return bool(came)

    def _half_close(self) -> bool:
        self._socket.shutdown(socket.SHUT_WR)
        return True

    def _urgent(self) -> bool:
        return self._socket.send(b"!", socket.MSG_OOB) > 0

    def _go_wrong(self) -> bool:
        self._out += self._rng.choice(self._talk.wrong or (b"",))
        return False
