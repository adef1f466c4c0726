"""Chapter 08, its limits by themselves: a program calls the budget and the marks."""

from __future__ import annotations

from harness.claims.marker import claim

# What a general hint means in a claim, see marker.claim.
BUDGET = {"in-the-module": "budget-used-up"}
WATER = {"in-the-module": "water-marks"}


# 08.1 budget


@claim("08.1", chapters="08", module=True, hints=BUDGET)
def test_08_budget_is_spent(program):
    """A turn may do what is left of its budget; then, or with input left, there is another turn."""
    program("08_flow", "budget")


# 08.2 water


@claim("08.2", chapters="08", module=True, hints=WATER)
def test_08_marks_are_exact(program):
    """Output at high-water suspends, at low-water it resumes, and between them nothing changes."""
    program("08_flow", "marks", "wanted")
