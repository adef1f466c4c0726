"""Cuts: that all of them are there, in their order, and what is said of one."""

from __future__ import annotations

import errno
import random

import pytest

from harness.claims.scenarios.cuts import Cut, every_cut, of_several, random_plan
from harness.client import length_framing
from harness.client.framing import LINE, Fixed
from harness.server.shim import Group, fail, piece

FRAME, FRAMES = (b"ab",), (b"", b"a")
IN, OUT = Group.INPUT, Group.OUTPUT
LINES = (b"a\r\n", b"bc\n")


def test_every_way_is_there_once():
    """6 bytes can be cut in 2^5 - 1 ways, and all with up to 3 cuts are tried twice."""
    cuts = list(every_cut(FRAME, IN))
    assert len(cuts) == len({(cut.at, cut.disturbed) for cut in cuts}) == 31 + 25
    assert {offset for cut in cuts for offset in cut.at} == set(range(1, 6))


def test_fewest_cuts_come_first():
    cuts = list(every_cut(FRAME, IN))
    assert [len(cut.at) for cut in cuts] == sorted(len(cut.at) for cut in cuts)
    assert [cut.disturbed for cut in cuts] == [False, True] * 25 + [False] * 6
    assert (cuts[0].at, cuts[-1].at) == ((1,), (1, 2, 3, 4, 5))


def test_of_several_streams_too():
    """A frame of 6 bytes and two of 9 together have 5 and 8 places for a single cut."""
    cuts = of_several([FRAME, FRAMES])
    assert [len(cut.at) for cut in cuts] == sorted(len(cut.at) for cut in cuts)
    assert [len(cut.at) for cut in cuts].count(1) == 2 * 2 * (5 + 8)


def test_of_other_framings():
    """Two lines, 3 and 3 bytes; two frames of 2 bytes."""
    for framing, bodies, size in ((LINE, LINES, 6), (Fixed(2), (b"ab", b"cd"), 4)):
        cuts = of_several([bodies], framing)
        assert {offset for cut in cuts for offset in cut.at} == set(range(1, size))
        assert {cut.stream for cut in cuts} == {cut.due for cut in cuts} == {b"".join(bodies)}


def test_answers_are_cut_on_their_way_out():
    """The input of 4 bytes is cut, or the output of 6."""
    for way, size in ((IN, 4), (OUT, 6)):
        cuts = list(every_cut([b""], way, answers=FRAME))
        assert max(offset for cut in cuts for offset in cut.at) == size - 1
        assert {(cut.stream, cut.due) for cut in cuts} == {
            (length_framing.encode(b""), length_framing.encode(b"ab"))
        }


def test_a_stream_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="too long"):
        sum(1 for _ in every_cut([bytes(30)], IN))


def test_plan():
    """Bytes after the last cut are left alone."""
    assert list(Cut(FRAME, (2, 3), IN).plan(5).steps) == [piece(2), piece(1)]
    disturbed = Cut(FRAME, (2,), OUT, disturbed=True).plan(5)
    assert list(disturbed.steps) == [piece(2), fail(errno.EAGAIN), fail(errno.EINTR)]
    assert (disturbed.groups, disturbed.connection) == (OUT, 5)


def test_random_plans_follow_from_the_chance():
    plans = [random_plan(IN, random.Random(seed), 0, 9) for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]
    assert plans[0].seed


@pytest.mark.parametrize(
    "cut, words",
    [
        (Cut(FRAME, (1,), IN), "when the input is cut after byte 1 of the length"),
        (Cut(FRAME, (4,), IN), "when the input is cut after byte 4 of the length"),
        (Cut(FRAME, (5,), OUT), "when the output is cut after byte 1 of the body"),
        (Cut(FRAME, (2, 3), IN), "when byte 3 of the length arrives alone"),
        (Cut(FRAME, (4, 5), OUT), "when byte 1 of the body is sent alone"),
        (
            Cut(FRAME, (1, 3), IN),
            "when the input is cut after byte 1 of the length and byte 3 of the length",
        ),
        (
            Cut(FRAMES, (3, 4, 5), IN),
            "when the input is cut after byte 3 of the length of frame 1, frame 1"
            " and byte 1 of the length of frame 2",
        ),
        (
            Cut(FRAME, (1, 2, 3, 5), OUT),
            "when the output is cut into pieces of 1 + 1 + 1 + 2 + 1 bytes",
        ),
        (
            Cut(FRAME, (2, 3), IN, disturbed=True),
            "when byte 3 of the length arrives alone, and calls between meet EAGAIN or EINTR",
        ),
        (
            Cut(FRAMES, (8, 9), OUT, answers=(b"a", b"")),
            "when byte 4 of the length of frame 2 is sent alone",
        ),
        (Cut(LINES, (2,), IN, framing=LINE), "when the input is cut after the CR of line 1"),
        (Cut(LINES, (2, 3), IN, framing=LINE), "when the LF of line 1 arrives alone"),
        (Cut(LINES, (3, 4), IN, framing=LINE), "when byte 1 of line 2 arrives alone"),
        (
            Cut((b"abc",), (1, 3), OUT, framing=Fixed(3)),
            "when the output is cut after byte 1 of frame 1 and frame 1",
        ),
    ],
)
def test_words(cut, words):
    assert str(cut) == words
