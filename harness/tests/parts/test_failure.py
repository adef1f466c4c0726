"""How a difference and a conversation are shown."""

import contextlib

import pytest

from harness.claims.scenarios.waiting import (
    HALF_CLOSE,
    LOST,
    RST,
    SILENCE,
    Cell,
    Outcome,
    State,
    Waiting,
)
from harness.failures.compare import compare, first_difference
from harness.failures.conversation import Conversation, describe_bytes
from harness.failures.failure import HINT_KEYS, Failure
from harness.lab.units import MIB

BIG = 32 * MIB


def caret_column(text):
    line = next(line for line in text.splitlines() if "^^" in line)
    return line.index("^^")


@pytest.mark.parametrize(
    "one, other, at",
    [
        (b"", b"", None),
        (b"same", b"same", None),
        (b"", b"a", 0),
        (b"abc", b"xbd", 0),
        (b"abc", b"abcde", 3),
        (b"abcde", b"abc", 3),
    ],
)
def test_first_difference(one, other, at):
    assert first_difference(one, other) == at


@pytest.mark.parametrize(
    "size, places",
    [*((size, range(size)) for size in range(1, 40)), (BIG, (0, 1, BIG // 2, BIG - 1))],
)
def test_first_difference_at_every_place(size, places):
    one = bytes(size)
    for at in places:
        assert first_difference(one, one[:at] + b"\1" + one[at + 1 :]) == at


def test_compare_short():
    assert compare(b"\5\0\0\0hello", b"\5\0\0\0hella") == (
        "expected   05 00 00 00 68 65 6c 6c 6f   |....hello|\n"
        "received   05 00 00 00 68 65 6c 6c 61   |....hella|\n"
        "                                   ^^ first difference at byte 8, counting from 0\n"
        "           expected 9 bytes, received 9 bytes"
    )


@pytest.mark.parametrize(
    "expected, received, says",
    [
        (b"\5\0\0\0hello", b"\5\0\0\0he", "^^ byte 6 did not come"),
        (b"\5\0\0\0hello", b"\5\0\0\0he", "expected 9 bytes, received 6 bytes"),
        (b"\1\0\0\0a", b"", "received   (nothing here)"),
        (b"\1\0\0\0a", b"", "^^ byte 0 did not come"),
        (b"abc", b"abcd", "^^ byte 3: nothing was expected here"),
        (b"abc", b"abcd", "expected 3 bytes, received 4 bytes"),
    ],
)
def test_compare_says_what_is_missing_or_too_much(expected, received, says):
    assert says in compare(expected, received)


def test_compare_the_same():
    assert compare(b"abc", b"abc") == "expected and received are the same 3 bytes"


@pytest.mark.parametrize("width", [40, 60, 74, 80])
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 33, 1000])
def test_the_caret_is_under_the_difference_wherever_it_is(size, width):
    expected = bytes(size)
    for at in range(size):
        received = bytearray(expected)
        received[at] = 0xEE
        text = compare(expected, bytes(received), width)
        row = text.splitlines()[1]
        column = caret_column(text)
        assert row[column : column + 2] == "ee"
        assert max(map(len, text.splitlines()[:2])) <= width


@pytest.mark.parametrize("kept", range(0, 50))
def test_what_was_cut_off_is_shown_at_its_place(kept):
    expected = bytes(range(1, 51))
    text = compare(expected, expected[:kept])
    row = text.splitlines()[0]
    column = caret_column(text)
    assert row[column : column + 2] == f"{expected[kept]:02x}"
    assert f"byte {kept} did not come" in text


def test_compare_a_big_body_shows_the_place_and_both_lengths():
    expected = b"a" * BIG
    received = expected[: BIG - 3] + b"b"
    text = compare(expected, received)
    assert f"first difference at byte {BIG - 3:,}" in text
    assert f"expected {BIG:,} bytes, received {BIG - 2:,} bytes" in text
    assert len(text.splitlines()) == 4


def test_describe_bytes():
    assert describe_bytes(b"") == "0 bytes"
    assert describe_bytes(b"\5\0") == "2 bytes: 05 00"
    assert describe_bytes(b"h") == '1 byte: 68 "h"'
    assert describe_bytes(bytes(17)) == "17 bytes"
    assert describe_bytes(bytes(33_554_436)) == "33,554,436 bytes"


def conversation(*steps, failed=None):
    talk = Conversation()
    for who, text in steps:
        talk.note(who, text)
    if failed is not None:
        talk.steps[failed].failed = True
    return talk


@pytest.mark.parametrize(
    "steps, failed, shown",
    [
        ([], None, []),
        ([("A", "connects"), ("A", "waits")], None, ["   1  A connects", "-> 2  A waits"]),
        (
            [("A", "connects"), ("B", "waits"), ("A", "closes")],
            *(1, ["   1  A connects", "-> 2  B waits", "   3  A closes"]),
        ),
        (
            [("A", "sends 1 byte")] * 1000 + [("A", "waits")],
            *(None, ["   1-1000  A sends 1 byte   (1,000 times)", "->   1001  A waits"]),
        ),
        (
            [(name, "connects") for name in "ABC"],
            None,
            ["-> 1-3  each of 3 clients, A to C: connects"],
        ),
        (
            [(name, "sends 1 byte") for name in "EFGCABH"],
            None,
            ["-> 1-7  each of 7 clients, A to C, E to H: sends 1 byte"],
        ),
        (
            [(name, "leaves") for name in ("Z", "AA", "D", "AC", "AE", "AG", "AI")],
            None,
            ["-> 1-7  each of 7 clients, D, Z to AA, AC, AE, and others: leaves"],
        ),
        (
            [(name, "connects") for name in ("stays", "B", "other", "A")],
            None,
            ["-> 1-4  each of 4 clients, A to B, stays, other: connects"],
        ),
    ],
    ids=[
        *("no steps", "the last is marked", "the failed is marked", "repeated", "many clients"),
        *("out of order", "many gaps", "names of their own"),
    ],
)
def test_a_conversation(steps, failed, shown):
    assert conversation(*steps, failed=failed).render().splitlines() == shown


@pytest.mark.parametrize("limit", [4, 5, 8, 16])
@pytest.mark.parametrize("failed", [0, 1, 3, 50, 97, 98, 99])
def test_a_long_conversation_loses_its_middle_never_the_failed_step(failed, limit):
    talk = conversation(*((f"A{i}", f"does {i}") for i in range(100)), failed=failed)
    lines = talk.render(limit).splitlines()
    assert len(lines) <= limit
    assert [line for line in lines if line.startswith("->")] == [
        f"-> {failed + 1:>3}  A{failed} does {failed}"
    ]
    left_out = sum(int(line.split()[1]) for line in lines if "..." in line)
    assert left_out + sum("..." not in line for line in lines) == 100


def failing(step, error):
    with contextlib.suppress(Failure), step:
        raise error


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_failure_that_was_expected_has_no_arrow(wrapped):
    """The test went on after it, and failed later."""
    talk, last = conversation(("A", "reads"), ("A", "closes"), ("B", "waits")), Failure("nothing")
    failing(talk.steps[0], Failure("closed"))
    failing(talk.steps[2], last)
    if wrapped:
        last, last.__context__ = Failure("nothing came to B"), last
    talk.blame(last)
    assert talk.render().splitlines() == ["   1  A reads", "   2  A closes", "-> 3  B waits"]


def test_a_failure_outside_of_all_steps_changes_no_arrow():
    talk = conversation(("A", "reads"), ("A", "closes"), failed=0)
    talk.blame(Failure("the log is too long"))
    assert talk.render().splitlines() == ["-> 1  A reads", "   2  A closes"]


def test_all_hint_keys_are_told_apart():
    assert len(set(HINT_KEYS)) == len(HINT_KEYS)


@pytest.mark.parametrize(
    "end, outcome, owed, ended, means",
    [
        (HALF_CLOSE, Outcome.ANSWERED, True, True, LOST),
        (HALF_CLOSE, Outcome.ANSWERED, True, False, {}),
        (SILENCE, Outcome.ANSWERED, True, True, LOST),
        (SILENCE, Outcome.SERVED, True, True, {}),
        (RST, Outcome.FORGOTTEN, False, True, None),
    ],
    ids=["owed", "before the end", "owed in silence", "served", "forgotten"],
)
def test_replies_are_lost_only_where_some_were_owed_at_the_end(end, outcome, owed, ended, means):
    """A silent server is another matter; None leaves it to the claim."""
    row = dict.fromkeys(("fin", "rst", "half_close", "silence"), outcome)
    cell = Cell(State("idle", enter=Waiting, **row), end, outcome)
    client = Waiting(None, [b"reply"] if owed else [])
    failure = Failure("nothing came back", hint="silence", asleep=True)
    told = cell.told(failure, client if ended else None, "--io epoll")
    assert (told.hint, told.asleep, told.means) == ("silence", True, means)
    assert (end in told.message) == ended
