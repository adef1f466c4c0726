"""Chapter 05, its modules by themselves: what a server cannot be made to show over TCP.

They are linked with programs of the grader (harness/modules), which call them.
"""

from __future__ import annotations

from harness.claims.marker import claim

# What a general hint means in a claim, see marker.claim.
BEYOND = dict.fromkeys(("in-the-module", "module-crashed", "memory-fault"), "beyond-the-message")

AGAIN = {"in-the-module": "line-seen-twice"}

INPUTS, FEWER_INPUTS = 100_000, 20_000  # of the fuzzer: in chapter 05, and later

SANITIZERS = "address,undefined"


# 05.1 lines


@claim("05.1", module=True, hints=AGAIN)
def test_05_line_is_searched_once(program):
    """No byte of a line that arrives in pieces is searched for the LF twice."""
    program("05_line", "searched_once")


# 05.2 the writer


@claim("05.2", module=True)
def test_05_writer_puts_every_byte(program):
    """Integers and strings of all sizes become the right bytes, after the right length."""
    program("05_fields", "fields")


@claim("05.2", module=True)
def test_05_writer_in_a_buffer_that_moves(program):
    """Frames are written correctly after others, in a buffer that moves or cannot grow."""
    program("05_fields", "frames", "no_room")


# 05.3 bytes


@claim("05.3", module=True, hints=BEYOND)
def test_05_reader_stays_within_the_message(program):
    """The reader returns what is in the message and touches no byte after it."""
    program("05_fields", "within", sanitize=SANITIZERS)


# 05.3 numbers


@claim("05.3", module=True)
def test_05_integers_of_all_widths(program):
    """Integers of 16, 32 and 64 bits are read, at any address, negative ones too."""
    program("05_fields", "integers")


# 05.4 strings


@claim("05.4", module=True)
def test_05_lengths_in_leb128(program):
    """Lengths of one to five bytes are read; longer, larger and unfinished ones are refused."""
    program("05_fields", "lengths")


@claim("05.4", module=True, native=True, hints=BEYOND)
def test_05_fuzzed_messages(program, inherited):
    """Random messages by the thousand: right answers, no byte read too far, nothing undefined."""
    inputs = FEWER_INPUTS if inherited else INPUTS
    program("05_fields", "mutated", sanitize=SANITIZERS, inputs=inputs)
