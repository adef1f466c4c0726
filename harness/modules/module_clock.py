"""Checks of a module, on the clock of a machine that has run for weeks: fake_clock.h in
harness/modules."""

from __future__ import annotations

from collections.abc import Callable

from harness.feedback.failure import Failure

BITS = "time-in-32-bits"


def near_wraps(program: Callable, name: str, *checks: str, **options) -> None:
    """Runs checks whose cases begin just before a time in 32 bits of milliseconds wraps: 24.8 days
    after the machine was started, and 49.7 days. If a check fails on the first day, too, that is
    the failure."""
    for check in checks:
        try:
            program(name, check, wraps=1, **options)
            continue
        except Failure:
            program(name, check, **options)
        try:
            program(name, check, wraps=1, **options)  # again: its steps are those that are shown
        except Failure as failure:
            failure.hint = BITS
            raise
