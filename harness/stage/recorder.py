"""What was seen of one test, saved for a process that draws it."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from harness.evidence.conversation import Conversation
from harness.server.process import ServerProcess
from harness.shim import Entry

LOOK_SECONDS = 0.02  # between two looks: a record is full after some thousands of calls
MOST_CALLS = 100_000  # kept of the beginning, and as many of the end


class Recorder:
    """Empties the record of a server's calls again and again, in a thread, before it is full."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self._last = 0
        self._first_calls: list[Entry] = []
        self._last_calls: deque[Entry] = deque(maxlen=MOST_CALLS)
        self._repeated: dict[int, Entry] = {}  # by number, as they were when one looked last
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        if process.shim is not None:
            process.shim.record_what_is_watched()
            self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        found, last = self.process.shim.record_after(self._last)
        self._repeated.update((call.number, call) for call in found if call.repeated)
        calls = [call for call in found if call.number > self._last]
        self._last = last
        room = max(0, MOST_CALLS - len(self._first_calls))
        self._first_calls += calls[:room]
        self._last_calls.extend(calls[room:])

    def seen(self) -> dict:
        """All of it, as JSON has it. Ends the thread."""
        if self.process.shim is None:
            return {"calls": [], "left_out": 0, "under_way": None, "fate": self.process.describe()}
        if self._thread.is_alive():
            self._over.set()
            self._thread.join()
        self._look()
        calls = [*self._first_calls, *self._last_calls]
        calls = [self._repeated.get(call.number, call) for call in calls]
        return {
            "calls": [call._asdict() for call in calls],
            "left_out": self._last - len(calls),
            "under_way": self.process.shim.under_way(),
            "fate": self.process.describe(),
        }


def begin(conversation: Conversation) -> None:
    """From now on what the clients' sockets do is kept."""
    conversation.moves = []


def save(path: Path, conversation: Conversation, recorders: Sequence[Recorder]) -> None:
    """Writes all that was seen; to be called before the servers are ended."""
    seen = {
        "steps": [dataclasses.asdict(step) for step in conversation.steps],
        "moves": [
            {**dataclasses.asdict(move), "data": move.data.hex()}
            for move in conversation.moves or []
        ],
        "servers": [recorder.seen() for recorder in recorders],
    }
    path.write_text(json.dumps(seen))
