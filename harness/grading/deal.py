"""Which claims may run at the same time: a few that compute, and beside them some that mostly
sleep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.grading.scoring import Claim

# Workers at most for claims that mostly sleep. There may be fewer such claims: a worker costs next
# to nothing, and if the server hangs all workers wait beside each other.
SLEEPERS = 5

HOPELESS = 3  # waits that ran out: a grade with this many is itself mostly asleep
MANY_FAILED = 10  # claims: as a rule that of a skeleton, whose claims mostly wait as well


@dataclass(frozen=True)
class Deal:
    """`jobs` workers run every claim. Further ones, `sleepers` of them, run those in `waits`, the
    longest first. Then the first of them goes on with all but those in `native`, as waits are in
    every claim; and all of them do, once the server is found to hang, or fails many claims.

    Both kinds of workers run the claims in `slowed` last: there the waits for a server that hangs
    are the longest, and the more it has hung, the shorter they become. Once they are as short as
    they get, the further workers begin with `slowed`."""

    jobs: int
    sleepers: int
    waits: tuple[str, ...]
    native: tuple[str, ...]
    slowed: tuple[str, ...]

    @classmethod
    def of(cls, claims: Sequence[Claim], jobs: int) -> Deal:
        """The deal for `jobs` tests at the same time: 0 means no workers, and with 1 nothing runs
        beside it."""
        waiting = sorted((claim for claim in claims if claim.waits), key=lambda claim: -claim.waits)
        return cls(
            jobs,
            min(SLEEPERS, len(claims)) if waiting and jobs > 1 else 0,
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
