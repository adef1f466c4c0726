"""Chapter 02, with the fault library in the server: see test_01_faults.py."""

from __future__ import annotations

from harness.claims.marker import claim
from harness.claims.scenarios.single_faults import ThreeClients, single_faults

# 02.5 any number of clients


@claim("02.5", points=3, sees_calls=True)
def test_02_single_faults(launch, run, rng):
    """When any one of its calls fails, the server continues and serves the other clients."""
    single_faults(launch, ThreeClients(rng).together, allocations=bool(run.sources))
