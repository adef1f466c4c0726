"""A hostile submission reaches nothing outside its grade."""

from __future__ import annotations

import pytest

from harness.isolation.choice import choose
from harness.lab.target import WrongUsage


def test_a_wish_that_does_not_exist():
    with pytest.raises(WrongUsage, match="ISOLATE=jail: it can be one of auto"):
        choose("jail")


def test_nothing_says_what_is_open(tmp_path):
    nothing = choose("none")
    assert nothing.name == "none" and nothing.open
    assert nothing.command(["true"], tmp_path, tmp_path, tmp_path) == ["true"]
