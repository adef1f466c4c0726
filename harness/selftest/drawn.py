"""The number that draws what is tried where not all is: SEED of make test."""

from __future__ import annotations

import pytest

from harness.lab.target import setting

_given = setting("SEED") or "1"
if not _given.isdigit():
    raise pytest.UsageError(f"SEED={_given}: that is not a whole number")
SEED = int(_given)
