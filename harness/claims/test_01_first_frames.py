"""Chapter 01: what one tries first. Worth no points: it says once why most claims fail."""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.first_frames import try_out


@claim("01.2", points=0, chapters="01-02")
def test_01_first_frames(server, rng):
    """Frames of 5, 5, 5,000 and 70,000 bytes, and one of another client after it, come back."""
    try_out(server, rng, at_once=False)
