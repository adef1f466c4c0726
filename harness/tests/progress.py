"""A line that says how far the tests are and how long they will take, in place of dots."""

from __future__ import annotations

import sys
import time

import pytest

CACHE = "lab/seconds"  # what each test took the last time, in pytest's own cache
UNKNOWN = {"verdicts": 2.0, "parts": 0.3, "tree": 0.5}  # seconds, before the first time
LONG = 22.0  # the same, of a test that begins before the others
# Before the first tests have ended: five at a time take four seconds in one, for so many seconds.
RATE, BEFORE = 4.0, 20.0
SELDOM = 15  # seconds between two lines where the line cannot be written over


class Progress:
    """A plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._took: dict[str, float] = {}  # of the tests that have ended
        self._seconds: dict[str, float] = {}  # that each test is said to take
        self._began = self._said = time.monotonic()
        self._is_terminal = sys.stdout.isatty()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        known = self._config.cache.get(CACHE, {})
        for item in session.items:
            unknown = LONG if item.get_closest_marker("long") else self._unknown(item.nodeid)
            self._seconds[item.nodeid] = known.get(item.nodeid) or unknown
        self._began = self._said = time.monotonic()

    @staticmethod
    def _unknown(name: str) -> float:
        return next((s for folder, s in UNKNOWN.items() if f"/{folder}/" in name), 1.0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter; and the name of what has failed, at once."""
        if report.failed:
            self._write(f"FAILED {report.nodeid}\n")
            return "failed" if report.when == "call" else "error", "", ""
        if report.when == "call" or report.skipped:
            return ("skipped" if report.skipped else "passed"), "", ""
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[report.nodeid] = self._took.get(report.nodeid, 0.0) + report.duration

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        now = time.monotonic()
        if self._is_terminal or now - self._said >= SELDOM:
            self._said = now
            self._write(self._line(now - self._began))

    def _line(self, elapsed: float) -> str:
        done = sum(self._seconds.get(name, 0.0) for name in self._took)
        left = sum(self._seconds.values()) - done
        more = left * (elapsed + BEFORE) / (done + RATE * BEFORE)
        ended = f"{len(self._took)} of {len(self._seconds)} tests"
        line = f"{ended}, {elapsed:.0f} s, about {more:.0f} s more"
        return line.ljust(60) if self._is_terminal else f"{line}\n"

    def _write(self, text: str) -> None:
        start = "\r" if self._is_terminal else ""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        reporter.write(start + text, flush=True)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        known = self._config.cache.get(CACHE, {})
        self._config.cache.set(CACHE, {**known, **self._took})
