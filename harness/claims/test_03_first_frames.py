"""Chapter 03: what one tries first. Worth no points: it says once why most claims fail."""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.first_frames import try_out


@claim("03.1", points=0)
def test_03_first_frames(server, rng):
    """Frames of 5, 5, 5,000 and 70,000 bytes, and those of a second client, come back."""
    try_out(server, rng, at_once=True)
