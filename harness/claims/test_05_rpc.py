"""Chapter 05, typed messages: a reader that never reads beyond the end, a writer, three commands.

The claims of a TODO need that TODO and the ones before it. So up to 05.3 every message is too short
for its cmd, and up to 05.4 all numbers are 0.
"""

from __future__ import annotations

import struct

from harness.claims.marker import GONE, MUTE, claim
from harness.claims.scenarios.cost import HELD_BYTES, bounded
from harness.claims.scenarios.exchanges import ask, burst, connect_narrow, send_in_pieces, words
from harness.claims.scenarios.rpc_talk import echo_text
from harness.client import length_framing
from harness.client.framing import LINE, MAX_LINE, Fixed
from harness.client.messages import (
    BAD_ARGUMENT,
    ECHO,
    MALFORMED,
    MESSAGES,
    NONE,
    OK,
    OVERFLOW,
    STATS,
    SUM,
    UNKNOWN,
    i32,
    i64,
    reply,
    request,
    string,
    sum_of,
)
from harness.submission.sizes import MB, MIB

# Replies to a message without cmd and seq, to one without seq, and to one with both, all of them 0.
TOO_SHORT = reply(NONE, NONE, MALFORMED)
NO_SEQ = reply(0, NONE, MALFORMED)
NO_COMMAND = reply(0, 0, UNKNOWN)

# Numbers in which each byte counts, and each of their highest bits.
PATTERNS = (0x01020304, 0x7FFFFFFF, -0x80000000, -2, 0x80, 0x8000, 0x800000, -0x7F7F7F80, 0xFF00)

# Lengths of strings: LEB128 takes a byte more from the second of each pair on.
LENGTHS = (0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152)

# What SUM adds up, and sums that do not fit into 64 bits.
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
SUMMED = (
    *((), (5,), (-1,), (1, 2, 3), (0x0102030405060708,), (-0x0102030405060708,)),
    *((INT64_MIN,), (INT64_MAX,), (INT64_MAX, INT64_MIN), (INT64_MIN, INT64_MAX, 1)),
    *((2**31, 2**31), (2**32, -1), (-(2**31), -1), (INT64_MIN + 1, -1), (INT64_MAX - 1, 1)),
)
TOO_LARGE = (
    *((INT64_MAX, 1), (INT64_MIN, -1), (INT64_MAX, INT64_MAX), (INT64_MIN, INT64_MIN)),
    *((2**62, 2**62), (-(2**62), -(2**62), -1), (1, 2, INT64_MAX, 3), (-1, INT64_MIN)),
)

UNREAD_STATS = 1_000_000  # requests of 12 bytes, each with a reply of 40

# What a general hint means in a claim, see marker.claim.
WRONG = ("wrong-header", "wrong-seq", "wrong-status", "wrong-fields", "extra-bytes")
STAYS = dict.fromkeys(GONE, "malformed-stays")
HEAD = {**STAYS, **dict.fromkeys(("wrong-header", "stalled-reply"), "reply-head")}
WIDTHS = {**HEAD, **dict.fromkeys(("wrong-seq", "wrong-fields"), "number-bytes")}
STRINGS = {**STAYS, **dict.fromkeys(("wrong-header", "wrong-status", *MUTE), "leb128-groups")}
BEYOND = {**STAYS, **dict.fromkeys(WRONG, "beyond-the-message")}
COUNTS = {**HEAD, "wrong-fields": "wrong-counts"}
SUMS = {**STAYS, **dict.fromkeys(WRONG, "sum-of-i64")}
HALF_CLOSE = dict.fromkeys((*GONE, "replies-missing"), "replies-lost-at-eof")


def echo_reply(seq: int, text: bytes) -> bytes:
    return reply(ECHO, seq, OK, string(text))


# 05.2 the writer


@claim("05.2", cli=True, hints=HEAD)
def test_05_short_message_is_malformed(launch, rng):
    """A message of 0 to 3 bytes gets cmd -1, seq -1 and status 2, and the connection stays."""
    client = launch(framing=MESSAGES).connect()
    for size in (0, 1, 2, 3, 0):
        ask(client, rng.randbytes(size), TOO_SHORT)


# 05.3 bytes


@claim("05.3", fatal="bytes", cli=True, hints=HEAD)
def test_05_messages_in_flight(launch, rng):
    """10,000 messages, good and malformed, that arrive together are answered in their order."""
    answers = {0: TOO_SHORT, 3: TOO_SHORT, 4: NO_SEQ, 7: NO_SEQ, 8: NO_COMMAND, 30: NO_COMMAND}
    sizes = rng.choices(list(answers), k=10_000)
    client = launch(framing=MESSAGES).connect()
    data = b"".join(length_framing.encode(bytes(size)) for size in sizes)
    client.exchange(data, [answers[size] for size in sizes])


# 05.3 numbers


@claim("05.3", cli=True, hints=WIDTHS)
def test_05_cmd_and_seq_come_back(launch):
    """All bytes of cmd and seq come back, also of negative numbers, in a malformed message, and in
    one with an unknown command, whatever its fields are."""
    client = launch(framing=MESSAGES).connect()
    for cmd, seq in zip(PATTERNS, (*PATTERNS[1:], 7)):
        ask(client, request(cmd, seq), reply(cmd, seq, UNKNOWN))
        ask(client, request(cmd, seq, b"\xff" * 9), reply(cmd, seq, UNKNOWN))
        ask(client, i32(cmd), reply(cmd, NONE, MALFORMED))
        ask(client, i32(cmd) + i32(seq)[:3], reply(cmd, NONE, MALFORMED))
    ask(client, request(NONE, NONE), reply(NONE, NONE, UNKNOWN))


@claim("05.3", fatal="growth", cli=True, native=True)
def test_05_messages_that_nobody_reads_the_replies_of(launch):
    """A client that sends a million requests and never reads costs below 8 MiB of memory."""
    server = launch(framing=MESSAGES)
    ask(server.connect(), b"", TOO_SHORT)
    base = server.process.resident_bytes()
    sent = server.connect().send_some(length_framing.encode(request(STATS, 1)) * UNREAD_STATS)
    bounded(server, base, HELD_BYTES, f"after {sent / MB:.0f} MB of requests and no reply read")
    ask(server.connect(), b"", TOO_SHORT)  # others are served


# 05.4 strings


@claim("05.4", fatal="bytes", cli=True, hints=STRINGS)
def test_05_strings_of_all_lengths(launch, rng):
    """ECHO sends strings of 0 to 2,097,152 bytes back: lengths that take one to four bytes."""
    client = launch(framing=MESSAGES).connect()
    for seq, length in enumerate(LENGTHS):
        text = rng.randbytes(length)
        body, answer = request(ECHO, seq, string(text)), echo_reply(seq, text)
        if length < MIB:
            ask(client, body, answer)
        else:
            client.exchange(length_framing.encode(body), [answer])


@claim("05.4", cli=True, hints=STRINGS)
def test_05_lengths_in_more_bytes_than_needed(launch, rng):
    """A length may have up to five bytes, even if fewer are enough: 83 80 00 is 3."""
    client = launch(framing=MESSAGES).connect()
    for size in (2, 3, 4, 5):
        for text in (b"", words(rng, 3), rng.randbytes(200)):
            ask(client, request(ECHO, size, string(text, size=size)), echo_reply(size, text))


@claim("05.4", cli=True, hints=STRINGS)
def test_05_lengths_that_do_not_fit(launch, rng):
    """A length of over five bytes, or of over 32 bits, is malformed, whatever follows it."""
    client = launch(framing=MESSAGES).connect()
    text = words(rng, 3)
    for length in (
        *(b"\x83\x80\x80\x80\x80\x00", b"\x83\x80\x80\x80\x80\x80\x00", b"\x80" * 6 + b"\x03"),
        *(b"\x83\x80\x80\x80" + last for last in (b"\x10", b"\x20", b"\x40", b"\x70")),
        *(b"\xff" * size for size in (1, 4, 5, 6, 100)),
    ):
        ask(client, request(ECHO, 7, length, text), reply(ECHO, 7, MALFORMED))
    echo_text(client, text, 8)


@claim("05.4", cli=True, hints=BEYOND)
def test_05_strings_that_lie(launch, rng):
    """A string with a length above or below its bytes is malformed; so is one cut anywhere."""
    client = launch(framing=MESSAGES).connect()
    text = words(rng, 200)
    for says in (201, 256, 199, 0, 0x7FFFFFFF, 0x80000000, 0xFFFFFF38, 0xFFFFFFFE, 0xFFFFFFFF):
        ask(client, request(ECHO, 7, string(text, says)), reply(ECHO, 7, MALFORMED))
    whole = request(ECHO, 7, string(text))
    for size in (*range(4, 12), 100, len(whole) - 1):
        seq = 7 if size >= 8 else NONE
        ask(client, whole[:size], reply(ECHO, seq, MALFORMED))
    ask(client, whole, echo_reply(7, text))


# 05.5 SUM


@claim("05.5", cli=True, hints=SUMS)
def test_05_sum(launch, rng):
    """SUM adds up any number of i64, negative ones too, and none at all."""
    client = launch(framing=MESSAGES).connect()
    for seq, terms in enumerate(
        (*SUMMED, [rng.randrange(-(2**52), 2**52) for _ in range(1000)])
    ):
        ask(client, sum_of(seq, *terms), reply(SUM, seq, OK, i64(sum(terms))))


@claim("05.5", cli=True, hints=SUMS)
def test_05_sum_that_overflows(launch):
    """A sum over 2^63 - 1, or under -2^63, gets status 4, and no field."""
    client = launch(framing=MESSAGES).connect()
    for seq, terms in enumerate(TOO_LARGE):
        ask(client, sum_of(seq, *terms), reply(SUM, seq, OVERFLOW))
    ask(client, sum_of(9, INT64_MAX, -1), reply(SUM, 9, OK, i64(INT64_MAX - 1)))


@claim("05.5", cli=True, hints=BEYOND)
def test_05_sum_whose_count_lies(launch):
    """A count unequal to the numbers is malformed; a negative one is a bad argument."""
    client = launch(framing=MESSAGES).connect()
    for count in (-1, -2, -0x80000000):
        ask(client, sum_of(7, count=count), reply(SUM, 7, BAD_ARGUMENT))
        ask(client, sum_of(7, 1, 2, count=count), reply(SUM, 7, BAD_ARGUMENT))
    for given in ((), (5,), (5, 6)):
        for count in (0, 1, 2, 3, 0x20000000, 0x20000001, 0x20000002, 0x10000000, 0x7FFFFFFF):
            if count != len(given):
                ask(client, sum_of(7, *given, count=count), reply(SUM, 7, MALFORMED))
    whole = sum_of(7, 1, 2)
    for size in range(8, len(whole)):
        ask(client, whole[:size], reply(SUM, 7, MALFORMED))
    ask(client, whole + b"\0", reply(SUM, 7, MALFORMED))
    ask(client, whole, reply(SUM, 7, OK, i64(3)))


@claim("05.5", cli=True, valgrind=True, refusals=True)
def test_05_memory(launch, rng, inherited):
    """Under valgrind: lines, fixed frames, messages good and bad; no byte is misused or kept."""
    _messages_under_valgrind(launch(framing=MESSAGES), rng)
    if inherited:  # each server under valgrind costs a second
        return
    for framing, body, more in (
        (LINE, rng.randbytes(MAX_LINE).replace(b"\n", b"\0") + b"\r\n", b"x" * (MAX_LINE + 1)),
        (Fixed(70_000), rng.randbytes(70_000), b""),
    ):
        server = launch(framing=framing)
        client = server.connect()
        send_in_pieces(client, body * 2, (1, 3, 60_000, MAX_LINE, MAX_LINE + 1, 130_000))
        client.expect_frames([body, body])
        client.send(more or body[:-1])
        if more:
            client.expect_eof()
        server.connect().send(body[:-1])
        burst(server.connect("last"), [body])


def _messages_under_valgrind(server, rng) -> None:
    client = server.connect()
    text = rng.randbytes(300_000)
    client.exchange(length_framing.encode(request(ECHO, 1, string(text))), [echo_reply(1, text)])
    for body, status in (
        (request(ECHO, 7, string(b"abc", 0xFFFFFFFF)), MALFORMED),
        (request(ECHO, 7, b"\xff" * 100), MALFORMED),
        (sum_of(7, 1, count=0x20000001), MALFORMED),
        (sum_of(7, INT64_MAX, 1), OVERFLOW),
    ):
        ask(client, body, reply(struct.unpack_from("<i", body)[0], 7, status))
    whole = request(ECHO, 7, string(b"abc"))
    for size in range(len(whole)):
        client.send_frame(whole[:size])
        client.read_frame()
    data = length_framing.encode(request(ECHO, 1, string(rng.randbytes(40_000))))
    connect_narrow(server).send_some(data * 60, quiet=0.1)
    server.connect().send(data[:-1])
    ask(client, whole, echo_reply(7, b"abc"))
