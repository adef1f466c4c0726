"""In which order a server made its calls when a test failed: `make replay` compares that."""

from __future__ import annotations

import json
from pathlib import Path

from harness.grade.request import RESULTS
from harness.grade.scoring import FAILED, Grade
from harness.submission import files


def store(grade: Grade) -> None:
    """Stores the orders of the failures of this grade, instead of those of an earlier one; beside
    them, if it was of the same files with the same seed, and of other tests."""
    if grade.source is None:
        return
    orders = _load(grade)
    for outcome in grade.outcomes:
        orders.pop(outcome.claim.name, None)
        if outcome.verdict == FAILED and outcome.diagnosis.order:
            orders[outcome.claim.name] = outcome.diagnosis.order
    text = json.dumps({**_which(grade), "orders": orders})
    files.write(_file(grade), f"{text}\n".encode())


def of(grade: Grade, test: str) -> str:
    """The order that was stored for this test of the same files and seed; "" if there is none."""
    return _load(grade).get(test, "")


def _file(grade: Grade) -> Path:
    return RESULTS / f"{grade.chapter.number}-orders.json"


def _which(grade: Grade) -> dict:
    return {"source": str(grade.source and grade.source.resolve()), "seed": grade.seed}


def _load(grade: Grade) -> dict[str, str]:
    """Empty if the file is of another grade, does not exist, or cannot be read: it is only a
    help."""
    try:
        found = json.loads(_file(grade).read_text())
        same = _which(grade).items() <= found.items()
        return {name: str(order) for name, order in found["orders"].items()} if same else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
