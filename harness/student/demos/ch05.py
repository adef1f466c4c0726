"""Bytes framed in another way than the server expects; a struct as it lies in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from harness.client import length_framing
from harness.client.client import Client
from harness.student.demos.shown import server_of


class Padded(ctypes.Structure):
    """A C struct as this machine lays it out: with holes, so that `value` is aligned."""

    _fields_ = (("kind", ctypes.c_int16), ("value", ctypes.c_int64), ("n", ctypes.c_int16))


def show() -> None:
    """What a server makes of bytes framed in another way; and what a struct is on the wire."""
    with server_of("04", together=2) as server:
        print("Four clients send some bytes. What does the server make of them?\n")
        print("    sent                      meant as            the server")
        for data, meant, look in MISUNDERSTOOD:
            client = server.connect(meant)
            client.send(data)
            print(f"    {data!r:25} {meant:19} {look(client, data)}", flush=True)
        print("\nNothing in the bytes says how they are framed: both sides have to know it.")
        print("Nothing says what a frame contains, either. A struct, sent as it lies in memory:\n")
        print("    struct { int16_t kind; int64_t value; int16_t n; } s = {1, 300, -2};")
        memory = _as_it_lies_in_memory()
        print(f"    {'  '.join(memory[at : at + 8].hex(' ') for at in range(0, len(memory), 8))}")
        print(f"\n{len(memory)} bytes, for 12 bytes of fields. aa is what was there", end=" ")
        print(
            "before, and now the\n"
            "client has it. Another compiler, or another machine, puts the fields elsewhere,"
        )
        print("or their bytes in another order.")


def _echoed(client: Client, data: bytes) -> str:
    client.expect_frame(data[length_framing.HEADER :])
    return "echoes it"


def _closed(client: Client, data: bytes) -> str:
    client.expect_eof()
    return f"closes: N = {length_framing.declared_length(data):,}"


def _waiting(client: Client, data: bytes) -> str:
    client.expect_nothing(0.5)
    if len(data) < length_framing.HEADER:
        return "waits for more of N"
    return f"waits for {length_framing.declared_length(data):,} bytes"


MISUNDERSTOOD: tuple[tuple[bytes, str, Callable[[Client, bytes], str]], ...] = (
    (length_framing.encode(b"hello"), "a frame", _echoed),
    (b"hello\n", "a line", _closed),
    (b"hi\n", "a line", _waiting),
    (b"\0\0\0\1x", "a big-endian frame", _waiting),
)


def _as_it_lies_in_memory() -> bytes:
    memory = bytearray(b"\xaa" * ctypes.sizeof(Padded))
    padded = Padded.from_buffer(memory)
    padded.kind, padded.value, padded.n = 1, 300, -2
    return bytes(memory)
