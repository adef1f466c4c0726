"""RESP2, the protocol of Redis: commands to bytes, replies from bytes. No I/O.

    command    *<count> CR LF, then for each argument $<size> CR LF <bytes> CR LF; or a line
    reply      +text, -error text, :integer, $<size> and bytes, *<count> and replies

A reply in a claim is a Python value: an int, bytes (a bulk string), None (the null bulk string), a
list (an array), a Simple, an Err, or NO_ARRAY (the null array).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.client.expected_replies import Replies
from harness.client.framing import Difference, Framing
from harness.feedback.conversation import counted
from harness.feedback.printable import printable

EOL = b"\r\n"
MAX_BULK = 33_554_432  # bytes of an argument; this and the next are from docs/protocol.md
MAX_ARGUMENTS = 1_048_576

SHOWN_CHARACTERS = 60  # of a command or a reply, in a sentence
SHOWN_MORE = 200  # bytes of a wrong reply
SHOWN_ELEMENTS = 4  # of an array
LISTED = 3  # commands that are named one by one when they are sent together


class Malformed(ValueError):
    """These bytes do not begin a reply."""


class Simple(str):
    """A simple string: +OK."""


class Err(str):
    """An error: -ERR unknown command."""


class NoArray:
    """The null array, *-1."""


OK, PONG, QUEUED = Simple("OK"), Simple("PONG"), Simple("QUEUED")
NO_ARRAY = NoArray()
WRONGTYPE = Err("WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_AN_INTEGER = Err("ERR value is not an integer or out of range")
SYNTAX = Err("ERR syntax error")
NO_KEY = Err("ERR no such key")
EXECABORT = Err("EXECABORT Transaction discarded because of previous errors.")


def arguments_of(name: str) -> Err:
    """The error of a command with too few or too many arguments."""
    return Err(f"ERR wrong number of arguments for '{name}' command")


def protocol(what: str) -> Err:
    """The error before the server closes a connection whose bytes are no command."""
    return Err(f"ERR Protocol error: {what}")


# Commands


def words_of(command: str | Sequence[str | bytes | int]) -> list[bytes]:
    """The arguments of a command that is written as one text, or as its arguments."""
    words = command.split() if isinstance(command, str) else command
    return [word if isinstance(word, bytes) else str(word).encode() for word in words]


def command(*words: str | bytes | int) -> bytes:
    """A command as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words_of(words):
        parts += (b"$%d\r\n" % len(word), word, EOL)
    return b"".join(parts)


# Replies


def reply(value: object) -> bytes:
    """A value as the bytes of its reply; there is exactly one encoding of each."""
    if value is None:
        return b"$-1\r\n"
    if value is NO_ARRAY:
        return b"*-1\r\n"
    if isinstance(value, Simple):
        return b"+%s\r\n" % value.encode()
    if isinstance(value, Err):
        return b"-%s\r\n" % value.encode("latin-1")
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, bytes):
        return b"$%d\r\n%s\r\n" % (len(value), value)
    if isinstance(value, (list, tuple)):
        return b"*%d\r\n" % len(value) + b"".join(map(reply, value))
    raise TypeError(f"no reply is made of {value!r}")


class Decoder:
    """Takes the bytes of replies in any pieces; gives each reply as soon as it is complete.

    No byte is looked at twice: what is known of an incomplete reply is kept.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._start = 0  # of the reply that is not complete
        self._at = 0  # where its next part begins
        self._looked = 0  # for a line end, up to here
        self._open: list[int] = []  # arrays that it is in: how many elements of each are missing

    def feed(self, data: bytes) -> list[bytes]:
        """The replies that are complete with these bytes. Raises Malformed."""
        self._data += data
        found = []
        while self._part():
            if not self._open:
                found.append(bytes(self._data[self._start : self._at]))
                self._start = self._at
        if self._start:
            del self._data[: self._start]
            self._at -= self._start
            self._looked = max(0, self._looked - self._start)
            self._start = 0
        return found

    @property
    def left(self) -> int:
        """Bytes of a reply that is not complete."""
        return len(self._data)

    def _part(self) -> bool:
        """Reads one more part: a whole reply, or the head of an array. False if it is not there
        yet."""
        end = self._data.find(EOL, max(self._at, self._looked - 1))
        if end < 0:
            self._looked = len(self._data)
            self._check_type()
            return False
        kind, text = self._check_type(), bytes(self._data[self._at + 1 : end])
        after = end + len(EOL)
        if kind in b"+-":
            return self._took(after)
        number = _number(text)
        if kind == b":":
            return self._took(after)
        if number < -1:
            raise Malformed(f"a size of {number}")
        if kind == b"*" and number > 0:
            self._at = self._looked = after
            self._open.append(number)
            return True
        if kind == b"*" or number < 0:
            return self._took(after)
        if len(self._data) < after + number + len(EOL):
            self._looked = max(self._at, end)  # finds this line end again, and nothing before it
            return False
        if self._data[after + number : after + number + len(EOL)] != EOL:
            raise Malformed("a bulk string does not end with CR LF")
        return self._took(after + number + len(EOL))

    def _check_type(self) -> bytes:
        kind = bytes(self._data[self._at : self._at + 1])
        if kind and kind not in b"+-:$*":
            raise Malformed(f"a reply does not begin with {printable(kind)!r}")
        return kind

    def _took(self, end: int) -> bool:
        """A value ends here; and with it each array whose last element it is."""
        self._at = self._looked = end
        while self._open:
            self._open[-1] -= 1
            if self._open[-1]:
                break
            self._open.pop()
        return True


def _number(text: bytes) -> int:
    digits = text[1:] if text[:1] == b"-" else text
    if not digits.isdigit():
        raise Malformed(f"{printable(text)!r} is no number")
    return int(text)


def split(stream: bytes) -> list[bytes]:
    """A stream of whole replies, cut into them. Raises Malformed."""
    decoder = Decoder()
    found = decoder.feed(stream)
    if decoder.left:
        raise Malformed(f"the last reply is not complete: {decoder.left} bytes of it")
    return found


def value_of(data: bytes) -> object:
    """What reply() makes these bytes of. Raises Malformed."""
    value, end = _value(data, 0)
    if end != len(data):
        raise Malformed(f"{len(data) - end} bytes after the reply")
    return value


def _value(data: bytes, at: int) -> tuple[object, int]:
    end = data.find(EOL, at)
    if end < 0:
        raise Malformed("no line end")
    kind, text, at = data[at : at + 1], data[at + 1 : end], end + len(EOL)
    if kind == b"+":
        return Simple(text.decode("latin-1")), at
    if kind == b"-":
        return Err(text.decode("latin-1")), at
    number = _number(text)
    if kind == b":":
        return number, at
    if kind == b"$":
        return (None, at) if number < 0 else (data[at : at + number], at + number + len(EOL))
    if kind != b"*":
        raise Malformed(f"a reply does not begin with {printable(kind)!r}")
    if number < 0:
        return NO_ARRAY, at
    values = []
    for _ in range(number):
        value, at = _value(data, at)
        values.append(value)
    return values, at


# In words


def told(value: object) -> str:
    """A reply in a few words, as redis-cli would show it."""
    if value is None:
        return "(nil)"
    if value is NO_ARRAY:
        return "(nil array)"
    if isinstance(value, Simple):
        return f"+{_short(value.encode())}"
    if isinstance(value, Err):
        return f"-{_short(value.encode())}"
    if isinstance(value, int):
        return f"(integer) {value}"
    if isinstance(value, bytes):
        return f'"{_short(value)}"'
    shown = ", ".join(map(told, value[:SHOWN_ELEMENTS]))
    more = f", and {len(value) - SHOWN_ELEMENTS:,} more" if len(value) > SHOWN_ELEMENTS else ""
    return f"[{shown}{more}]"


def told_bytes(data: bytes) -> str:
    """The bytes of a reply in a few words. They may be no reply at all."""
    try:
        return told(value_of(data))
    except Malformed:
        return f'"{_short(data)}"'


def told_command(words: Sequence[bytes]) -> str:
    """A command as one would type it."""
    return _short(b" ".join(words))


def _short(data: bytes) -> str:
    text = printable(data[: SHOWN_CHARACTERS + 1])
    if len(data) <= SHOWN_CHARACTERS:
        return text
    return f"{text[:SHOWN_CHARACTERS]}.. ({len(data):,} bytes)"


def _words_in(data: bytes) -> list[bytes] | None:
    """The arguments of the one command in `data`; None if it is something else."""
    try:
        found = value_of(data)
    except Malformed:
        return None
    if not isinstance(found, list) or not all(isinstance(word, bytes) for word in found):
        return None
    return found


class Resp(Framing):
    """Commands are sent, and replies come back. A body is the bytes of either."""

    options = ("--app", "redis")
    noun = "reply"
    header = 0
    hints = dict.fromkeys(("wrong-header", "wrong-body"), "resp-reply")

    def encode(self, body: bytes) -> bytes:
        return body

    def sizes(self, stream: bytes) -> Iterator[int]:
        return map(len, split(stream))

    def byte(self, frame: bytes, number: int) -> str:
        return f"byte {number}"

    def told_sent(self, body: bytes) -> str:
        words = _words_in(body)
        return told_command(words) if words else f'"{_short(body)}"'

    def told_due(self, body: bytes) -> str:
        return f"the reply {told_bytes(body)}"

    def told_came(self, body: bytes) -> str:
        return told_bytes(body)

    def told_together(self, bodies: Sequence[bytes], size: int) -> str:
        if len(bodies) == 1:
            return self.told_sent(bodies[0])
        text = f"{counted(len(bodies), 'command')} at once, {counted(size, 'byte')}"
        if len(bodies) > LISTED:
            return text
        return f"{text}: {'; '.join(map(self.told_sent, bodies))}"

    def counted(self, count: int) -> str:
        return "1 reply" if count == 1 else f"{count:,} replies"

    def wanted(self, due: bytes, came: bytes) -> int:
        """Some more: a wrong reply is often a longer one, such as an error."""
        return len(due) + SHOWN_MORE

    def difference(self, due: bytes, came: bytes, at: int, which: str) -> Difference:
        """Names both replies. The hint is "wrong-header" if they are of different types."""
        whole = _first_of(came)
        hint = "wrong-header" if came[:1] != due[:1] else "wrong-body"
        text = f"{which} is {told_bytes(whole)}; due is {told_bytes(due)}"
        if len(text) > 4 * SHOWN_CHARACTERS or told_bytes(whole) == told_bytes(due):
            text = f"{which} is wrong at byte {at:,}"
        return Difference(text, hint, whole)


def _first_of(data: bytes) -> bytes:
    """The reply that these bytes begin with; all of them if that is not complete."""
    try:
        return (Decoder().feed(data) or [data])[0]
    except Malformed:
        return data


RESP = Resp()


class Answers(Replies):
    """The replies that are due to these commands: each is named after its command."""

    def __init__(self, commands: Sequence[Sequence[bytes]], bodies: Iterable[bytes]) -> None:
        super().__init__(bodies, RESP)
        self._commands = commands

    def name(self, index: int) -> str:
        if index >= len(self._commands):
            return super().name(index)
        which = f"the reply to {told_command(self._commands[index])}"
        return which if self.count == 1 else f"{which} (reply {index + 1:,} of {self.count:,})"
