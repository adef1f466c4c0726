"""Which claims may run at the same time: what computes, a few; what mostly sleeps, beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.grading.scoring import Claim

SLEEPERS = 5  # workers at most for what mostly sleeps: 42 seconds of it in a grade of 10
HOPELESS = 3  # waits that ran out: a grade with so many is itself mostly asleep


@dataclass(frozen=True)
class Deal:
    """`jobs` workers run every claim. Further ones, `sleepers` of them, run those in `waits`, the
    longest first; and once the server is found to hang, all but those in `native` as well.

    Both come to those in `slowed` last: a server that hangs is waited for the longest where
    something slows it down, and the more it has hung, the shorter are the waits. When these are as
    short as they get, the further ones begin with `slowed`."""

    jobs: int
    sleepers: int
    waits: tuple[str, ...]
    native: tuple[str, ...]
    slowed: tuple[str, ...]

    @classmethod
    def of(cls, claims: Sequence[Claim], jobs: int) -> Deal:
        """For `jobs` at the same time: 0 is without workers, and with 1 nothing runs beside it."""
        waiting = sorted((claim for claim in claims if claim.waits), key=lambda claim: -claim.waits)
        return cls(
            jobs,
            min(SLEEPERS, len(waiting)) if jobs > 1 else 0,
            tuple(claim.name for claim in waiting),
            tuple(claim.name for claim in claims if claim.native and not claim.valgrind),
            tuple(claim.name for claim in claims if claim.valgrind),
        )

    @property
    def workers(self) -> int:
        return self.jobs + self.sleepers

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: str) -> Deal:
        return cls(**json.loads(Path(path).read_text()))
