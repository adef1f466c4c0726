"""The record of one test, saved for a process that draws it."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from harness.feedback.conversation import Conversation
from harness.server.preload import Entry
from harness.server.process import ServerProcess
from harness.waiting import procfs
from harness.waiting.wait import wait_until

LOOK_SECONDS = 0.02  # between two reads: a record is full after some thousands of calls
CALL_SECONDS = 0.5  # for calls that a client has seen the effect of, and that have not returned
LATE = 256  # entries: one that a thread was writing during a read comes out of order
MOST_CALLS = 400_000  # kept of the beginning, and as many of the end: hardly ever reached


class Recorder:
    """Empties the record of a server's calls again and again, in a thread, before it is full.

    The server has been started as one that is traced.
    """

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self._last = 0
        self._late: set[int] = set()  # numbers below it that may still come
        self._first: list[Entry] = []
        self._latest: deque[Entry] = deque(maxlen=MOST_CALLS)
        self._repeated: dict[int, Entry] = {}  # by number, as they were at the last read
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        if process.shim is not None:
            self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        before = self._last
        found, self._last = self.process.shim.record_after(max(0, before - LATE))
        self._repeated.update((call.number, call) for call in found if call.repeated)
        new = [call for call in found if call.number > before or call.number in self._late]
        for call in new:
            (self._first if len(self._first) < MOST_CALLS else self._latest).append(call)
        found_now = {call.number for call in new}
        recent = range(max(0, self._last - LATE) + 1, self._last + 1)
        missing = (n for n in recent if n > before or n in self._late)
        self._late = {number for number in missing if number not in found_now}

    def seen(self) -> dict:
        """The whole record, ready for JSON. Ends the thread."""
        seen = {"calls": [], "under_way": None, "waits": [], "fate": self.process.describe()}
        seen["at_ns"] = time.monotonic_ns()
        if self.process.shim is None:
            return seen
        if self._thread.is_alive():
            self._over.set()
            self._thread.join()
        wait_until(lambda: "R" not in procfs.thread_states(self.process.pid), CALL_SECONDS)
        self._look()
        seen["under_way"] = self.process.shim.under_way()
        waiters = self.process.shim.waiters()
        seen["waits"] = [(one.tid, one.function) for one in waiters if one.waits]
        calls = sorted([*self._first, *self._latest], key=lambda call: call.number)
        seen["calls"] = [self._repeated.get(call.number, call) for call in calls]
        return seen


def save(path: Path, conversation: Conversation, recorders: Sequence[Recorder]) -> None:
    """Writes the record; to be called before the servers are ended."""
    seen = {
        "steps": [step.told() for step in conversation.steps],
        "moves": [
            {**dataclasses.asdict(move), "data": move.data.hex()}
            for move in conversation.moves or []
        ],
        "servers": [recorder.seen() for recorder in recorders],
    }
    path.write_text(json.dumps(seen))
