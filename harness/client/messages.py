"""Typed messages: fields to bytes and bytes to fields, requests and replies (--app rpc). No I/O.

    request    i32 cmd, i32 seq, fields
    reply      i32 cmd, i32 seq, i32 status, fields

The functions that make fields can also make wrong ones: a string that is shorter than it says, a
number in more bytes than it needs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from harness.client import length_framing
from harness.client.framing import Difference, Framing
from harness.feedback.conversation import SHOWN_BYTES, counted, describe_bytes

ECHO, SUM, STATS = 1, 2, 3
AFTER, EVERY, CANCEL, RESET = 10, 11, 12, 13
WHO, BROADCAST = 20, 21
OK, UNKNOWN, MALFORMED, BAD_ARGUMENT, OVERFLOW, CANCELLED, NO_TIMER = range(7)
NONE = -1  # cmd and seq of the reply to a request that was too short to have them
PUSHED = -1  # seq of a push

COMMANDS = {
    **{ECHO: "ECHO", SUM: "SUM", STATS: "STATS"},
    **{AFTER: "AFTER", EVERY: "EVERY", CANCEL: "CANCEL", RESET: "RESET"},
    **{WHO: "WHO", BROADCAST: "BROADCAST"},
}
STATUSES = (
    *("ok", "unknown command", "malformed", "bad argument", "overflow"),
    *("cancelled", "no such timer"),
)

HEAD = 12  # bytes of a reply: cmd, seq, status
BEGINNING = 6  # bytes shown of a long field
LISTED = 3  # messages that are named one by one when they are sent together


def i32(value: int) -> bytes:
    return struct.pack("<i", value)


def i64(value: int) -> bytes:
    return struct.pack("<q", value)


def leb128(value: int, size: int = 0) -> bytes:
    """A number >= 0 as LEB128, in at least `size` bytes."""
    groups = []
    while value or len(groups) < max(1, size):
        groups.append(value & 0x7F)
        value >>= 7
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def string(data: bytes, says: int | None = None, size: int = 0) -> bytes:
    """The string; its length field says `says` and has at least `size` bytes."""
    return leb128(len(data) if says is None else says, size) + data


def request(cmd: int, seq: int, *fields: bytes) -> bytes:
    return i32(cmd) + i32(seq) + b"".join(fields)


def reply(cmd: int, seq: int, status: int, *fields: bytes) -> bytes:
    return i32(cmd) + i32(seq) + i32(status) + b"".join(fields)


def sum_of(seq: int, *numbers: int, count: int | None = None) -> bytes:
    """A SUM request that says it has `count` numbers."""
    count = len(numbers) if count is None else count
    return request(SUM, seq, i32(count), *map(i64, numbers))


def after(seq: int, ms: int, text: bytes) -> bytes:
    return request(AFTER, seq, i32(ms), string(text))


def every(seq: int, ms: int, count: int, text: bytes) -> bytes:
    return request(EVERY, seq, i32(ms), i32(count), string(text))


def cancel(seq: int, which: int) -> bytes:
    """`which`: the seq of the alarm to cancel."""
    return request(CANCEL, seq, i32(which))


def reset(seq: int, which: int, ms: int, from_now: int) -> bytes:
    return request(RESET, seq, i32(which), i32(ms), i32(from_now))


def rung(seq: int, text: bytes) -> bytes:
    """The reply of an AFTER."""
    return reply(AFTER, seq, OK, string(text))


def rung_again(seq: int, index: int, text: bytes) -> bytes:
    """One of the replies of an EVERY."""
    return reply(EVERY, seq, OK, i32(index), string(text))


def broadcast(seq: int, text: bytes) -> bytes:
    return request(BROADCAST, seq, string(text))


def reached(seq: int, count: int) -> bytes:
    """The reply to a BROADCAST that went to this many connections."""
    return reply(BROADCAST, seq, OK, i32(count))


def pushed(text: bytes) -> bytes:
    """The push that each connection gets."""
    return reply(BROADCAST, PUSHED, OK, string(text))


class Reply(NamedTuple):
    """A reply that came. `fields` are the bytes after the status."""

    cmd: int
    seq: int
    status: int
    fields: bytes

    @classmethod
    def of(cls, body: bytes) -> Reply | None:
        """The reply in the bytes of a message; None if they are too few."""
        return cls(*struct.unpack_from("<iii", body), body[HEAD:]) if len(body) >= HEAD else None

    def __str__(self) -> str:
        """cmd 2 (SUM), seq 7, status 0 (ok), 5"""
        parts = [_command(self.cmd), f"seq {self.seq}", _status(self.status)]
        return ", ".join([*parts, _told(self)] if self.fields else parts)


def numbers(fields: bytes) -> tuple[int, ...] | None:
    """The i64 that the fields consist of; None if they are something else."""
    count, rest = divmod(len(fields), 8)
    return None if rest else struct.unpack(f"<{count}q", fields)


def _command(cmd: int) -> str:
    return f"cmd {cmd}" + (f" ({COMMANDS[cmd]})" if cmd in COMMANDS else "")


def _named(body: bytes) -> str:
    """A request in a few words: AFTER (seq 7)."""
    if len(body) < 8:
        return counted(len(body), "byte")
    cmd, seq = struct.unpack_from("<ii", body)
    return f"{COMMANDS.get(cmd, f'cmd {cmd}')} (seq {seq})"


def _status(status: int) -> str:
    known = 0 <= status < len(STATUSES)
    return f"status {status}" + (f" ({STATUSES[status]})" if known else "")


def _told(reply: Reply) -> str:
    """The fields: as numbers where they should be numbers, otherwise as bytes."""
    if (reply.cmd, reply.status, len(reply.fields)) == (WHO, OK, 4):
        return f"loop {struct.unpack('<i', reply.fields)[0]}"
    found = numbers(reply.fields) if reply.cmd in (SUM, STATS) and reply.status == OK else None
    if found is None:
        return f"then {_beginning(reply.fields)}"
    return ", ".join(map(str, found))


def _beginning(data: bytes) -> str:
    """A possibly long byte string: its first bytes and its size."""
    if len(data) <= SHOWN_BYTES:
        return describe_bytes(data)
    return f"{len(data):,} bytes: {data[:BEGINNING].hex(' ')} .."


class Messages(Framing):
    """Length framing whose bodies are messages: requests are sent, and replies come back."""

    options = ("--app", "rpc")
    noun = "message"

    def told_sent(self, body: bytes) -> str:
        if len(body) < 8:
            return super().told_sent(body)
        cmd, seq = struct.unpack_from("<ii", body)
        fields = f", then {_beginning(body[8:])}" if len(body) > 8 else ""
        return f"a message: {_command(cmd)}, seq {seq}{fields}"

    def told_due(self, body: bytes) -> str:
        return f"the reply: {self.told_came(body)}"

    def told_came(self, body: bytes) -> str:
        return str(Reply.of(body) or describe_bytes(body))

    def told_together(self, bodies: Sequence[bytes], size: int) -> str:
        text = super().told_together(bodies, size)
        if not 1 < len(bodies) <= LISTED:
            return text
        return f"{text}: {', '.join(map(_named, bodies))}"

    def wanted(self, due: bytes, came: bytes) -> int:
        """Includes the fields: otherwise a wrong status would hide the fields after it."""
        says = length_framing.declared_length(came) if len(came) >= self.header else 0
        return max(len(due), self.header + says)

    def difference(self, due: bytes, came: bytes, at: int, which: str) -> Difference:
        """Names the fields, if the frame has a possible length, and cmd, seq and status after
        it."""
        says = length_framing.declared_length(came) if len(came) >= self.header else 0
        if says > length_framing.MAX_FRAME:
            return super().difference(due, came, at, which)
        whole = came[: self.header + says]
        ours, theirs = Reply.of(due[self.header :]), Reply.of(whole[self.header :])
        if ours and theirs:
            text = f"{which} has {theirs}; due is {ours}"
            if theirs[:2] != ours[:2]:
                return Difference(text, "wrong-seq", whole)
            if theirs.status != ours.status:
                return Difference(text, "wrong-status", whole)
            if at >= self.header:
                return Difference(text, "wrong-fields", whole)
        return super().difference(due, came, at, which)


MESSAGES = Messages()
