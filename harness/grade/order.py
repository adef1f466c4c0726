"""The order in which the claims of a grade are run."""

from __future__ import annotations

from harness.grade.scoring import Claim, Grade


def in_order(grade: Grade) -> list[Claim]:
    """The claims of a grade in the order in which they are run.

    First the claim that explains why others fail. The chapter's own claims come before inherited
    ones. Claims under valgrind take the longest, so they come between the two: at the end they
    would keep one processor busy while another has nothing to do.
    """
    return sorted(
        (outcome.claim for outcome in grade.outcomes),
        key=lambda claim: (
            not claim.explains,
            claim.valgrind or 2 * (claim.chapter != grade.chapter and not claim.module),
            not claim.module,
        ),
    )
