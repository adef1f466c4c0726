"""Chapter 05: the bytes have no borders but those you draw. Lines, and frames of a fixed size.

Length framing is graded by the claims of the earlier chapters; the messages of --app rpc are in
test_05_rpc.py.
"""

from __future__ import annotations

from itertools import zip_longest

from harness.claims.context.observe import until_read
from harness.claims.marker import claim
from harness.claims.scenarios.cost import burst_is_cheap
from harness.claims.scenarios.exchanges import burst, echo, echo_in_pieces, words
from harness.client.framing import LINE, MAX_FIXED, MAX_LINE, Fixed

# What a general hint means in a claim, see marker.claim.
CUT = (
    *("silence", "stalled-reply", "replies-missing", "not-taken", "closed-early", "reset-early"),
    *("closed-in-reply", "wrong-body", "extra-bytes", "waits-for-more", "one-read-one-message"),
)
IN_FLIGHT = 5_000  # lines

FIXED = dict.fromkeys(CUT, "fixed-size")
PIECES_OF_LINES = dict.fromkeys(CUT, "line-in-pieces")
LIMIT = dict.fromkeys(("not-closed", "closed-early", "closed-in-reply"), "line-limit")
LIMIT.update(dict.fromkeys(("reset-early", "silence", "stalled-reply"), "line-limit"))
LIMIT["refused-as-too-long"] = "line-limit"
TOO_LONG = {
    **dict.fromkeys(("not-closed", "extra-bytes"), "line-limit"),
    **dict.fromkeys(("closed-early", "closed-in-reply", "reset-early"), "replies-lost-at-eof"),
}
PARTIAL = {
    "extra-bytes": "partial-frame-answered",
    **dict.fromkeys(("closed-early", "closed-in-reply", "reset-early"), "replies-lost-at-eof"),
}


def inner(size: int) -> range:
    """The places where a stream of so many bytes can be cut."""
    return range(1, size)


def text_of(rng, size: int) -> bytes:
    """A body of a line: any bytes but LF, the last of them no CR."""
    return rng.randbytes(size - 1).replace(b"\n", b"\r") + b"x"


# 05.1 frames of a fixed size


@claim("05.1", fatal="bytes", cli=True, hints=FIXED)
def test_05_fixed_frames_cut_anywhere(launch, rng):
    """A frame of fixed size is answered at once when its last byte arrives, and not before."""
    for size, count in ((7, 2), (1, 5), (3, 4)):
        server = launch(framing=Fixed(size))
        bodies = [words(rng, size) for _ in range(count)]
        for cut in inner(size * count):
            echo_in_pieces(server, server.connect(), bodies, [cut])
        echo_in_pieces(server, server.connect(), bodies, inner(size * count))


@claim("05.1", fatal="bytes", cli=True, hints=FIXED)
def test_05_fixed_frames_of_all_sizes(launch, rng):
    """Frames of 1, 7, 1,000 and 1,048,576 bytes come back, many in one go, and one by one."""
    for size, count in ((1, 1000), (7, 1000), (1000, 1000), (MAX_FIXED, 2)):
        client = launch(framing=Fixed(size)).connect()
        bodies = [rng.randbytes(size) for _ in range(count)]
        burst(client, bodies)
        for body in bodies[:5]:
            burst(client, [body])


# 05.1 lines


@claim("05.1", fatal="bytes", cli=True, hints=PIECES_OF_LINES)
def test_05_lines_cut_anywhere(launch, rng):
    """A line is answered at once when its LF arrives, and not before, however it was cut."""
    server = launch(framing=LINE)
    bodies = [words(rng, 3) + b"\r\n", b"\n", words(rng, 4) + b"\n", b"\r\n"]
    size = len(b"".join(bodies))
    for cut in inner(size):
        echo_in_pieces(server, server.connect(), bodies, [cut])
    echo_in_pieces(server, server.connect(), bodies, inner(size))


@claim("05.1", fatal="bytes", cli=True, hints=PIECES_OF_LINES)
def test_05_lines_of_several_clients(launch, rng):
    """Three clients in turn send one byte of their lines; each gets its own lines back."""
    server = launch(framing=LINE)
    bodies = [words(rng, size) + b"\n" for size in (9, 2, 14)]
    clients = [server.connect() for _ in bodies]
    for pieces in zip_longest(*bodies):
        for client, piece in zip(clients, pieces):
            if piece is not None:
                client.send(bytes([piece]))
                until_read(client)
    for client, body in zip(clients, bodies):
        client.expect_frame(body)


@claim("05.1", fatal="bytes", cli=True, hints=dict.fromkeys(CUT, "line-terminator"))
def test_05_lines_of_any_bytes(launch, rng):
    """Lines of any bytes come back with their own terminator: 0 and CR are ordinary bytes."""
    client = launch(framing=LINE).connect()
    values = bytes(value for value in rng.sample(range(256), 256) if value != ord("\n"))
    texts = (b"", words(rng, 5), b"\0", b"a\0b", b"\r", b"\r\ra\r", values, bytes(300), b"\xff" * 9)
    bodies = [text + end for text in texts for end in (b"\n", b"\r\n")]
    for body in bodies:
        echo(client, body)
    burst(client, bodies)


@claim("05.1", cli=True, hints=LIMIT)
def test_05_longest_line(launch, rng):
    """A body of 65,536 bytes comes back, with LF and with CR LF, and when CR and LF are cut."""
    server = launch(framing=LINE)
    client = server.connect()
    text = text_of(rng, MAX_LINE)
    for body in (text + b"\n", text + b"\r\n", text[1:] + b"\r\r\n"):
        burst(client, [body])
        echo_in_pieces(server, client, [body], range(MAX_LINE, len(body)))
    burst(client, [text + b"\n", b"\n", text + b"\r\n", words(rng, 5) + b"\n"])


@claim("05.1", cli=True, hints=TOO_LONG, refusals=True)
def test_05_line_too_long(launch, rng):
    """When 65,537 bytes of a body have arrived, it sends the replies it owes and closes."""
    server = launch(framing=LINE)
    text = text_of(rng, MAX_LINE)
    for count in (0, 1, 100):
        bodies = [words(rng, number) + b"\r\n" for number in range(count)]
        client = server.connect()
        with server.paused():  # so that one read can take the lines and what is too long
            client.send(b"".join(bodies) + text + b"x")
        client.expect_closed_after(bodies)
    for more in (b"x\n", b"x\r\n", b"\r\r\n", b"\rx"):
        client = server.connect()
        client.send(text + more)
        client.expect_eof()


@claim("05.1", cli=True, hints=PARTIAL)
def test_05_partial_line_is_dropped(launch, rng):
    """At the end of the input, owed replies are sent and a line without LF is dropped."""
    server = launch(framing=LINE)
    for bodies, rest in (
        ([], words(rng, 3)),
        ([], b"ab\rcd\r"),
        ([words(rng, 2) + b"\n", b"\r\n"], words(rng, 1)),
        ([words(rng, number) + b"\n" for number in range(100)], b"\r"),
    ):
        client = server.connect()
        client.send(b"".join(bodies) + rest)
        until_read(client)
        client.half_close()
        client.expect_closed_after(bodies)


@claim("05.1", cli=True, native=True, sees_calls=True)
def test_05_burst_of_lines(launch, rng):
    """A line takes no more work when thousands are in flight than when 64 are."""
    server = launch(framing=LINE, steps=True)
    bodies = [words(rng, number % 16) + b"\r\n"[number % 2 :] for number in range(IN_FLIGHT)]
    burst_is_cheap(server, server.connect(), bodies, "line-search")
