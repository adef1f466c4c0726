"""Chapter 07, whatever a connection waits for: how its client leaves, or what it is owed."""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.waiting import every_end
from harness.claims.scenarios.waiting_states import TIMER_STATES

# 07.6 timeouts


@claim("07.6", points=4, chapters="07-08", cli=True, native=True, refusals=True)
def test_07_every_state_and_each_end(launch, rng):
    """In each state in which it waits, a client that closes, resets, half-closes or does nothing is
    forgotten or served, with every backend."""
    every_end(launch, rng, TIMER_STATES)
