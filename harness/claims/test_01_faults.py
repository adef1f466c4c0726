"""Chapter 01, with the fault library in the server: what seldom happens, made to happen.

A server that does not load the library passes: it is judged by the other claims.
"""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.cuts import every_cut, of_several
from harness.claims.scenarios.single_faults import ThreeClients, single_faults
from harness.claims.scenarios.try_cuts import try_alone, try_at_random, try_together
from harness.server.preload import Group

LONGEST_PIECES = (1, 2, 5, 20, 100, 1000, 5000)  # bytes

# What a general hint means in a claim, see marker.claim.
LONG = dict.fromkeys(
    ("silence", "stalled-reply", "replies-missing", "closed-early", "closed-in-reply")
    + ("reset-early", "wrong-header", "wrong-body", "extra-bytes", "not-taken"),
    "long-stream-lost",
)


# 01.3 read_full, 01.4 write_all: later chapters are cut with several frames, below


@claim("01.3", points=2, chapters="01", native=True, sees_calls=True)
def test_01_every_cut_on_the_way_in(launch, rng):
    """A short frame comes back however it is cut on arrival: in all 31 ways."""
    try_alone(launch, every_cut([rng.randbytes(2)], Group.INPUT))


@claim("01.4", points=2, chapters="01", native=True, sees_calls=True)
def test_01_every_cut_on_the_way_out(launch, rng):
    """A short frame comes back however the kernel cuts the reply: in all 31 ways."""
    try_alone(launch, every_cut([rng.randbytes(2)], Group.OUTPUT))


# 01.6 one client after the other


@claim("01.6", points=2, sees_calls=True)
def test_01_every_cut_of_several_frames(launch, rng, inherited):
    """One or two frames come back however they are cut, on arrival and in the reply."""
    first = rng.randbytes(1 if inherited else 2)  # a byte more makes twice as many ways
    streams = ([rng.randbytes(1)], [first, b""], [b"", b""])
    try_together(launch, of_several(streams))


@claim("01.6", points=2, hints=LONG, sees_calls=True)
def test_01_random_cuts_of_long_streams(launch, rng):
    """Long streams come back when they move in pieces of random size, in both directions."""
    try_at_random(launch, rng, LONGEST_PIECES)


@claim("01.6", points=2, chapters="01", sees_calls=True)
def test_01_single_faults(launch, run, rng):
    """When any one of its calls fails, the server continues and serves the other clients."""
    single_faults(launch, ThreeClients(rng).in_turn, allocations=bool(run.sources))
