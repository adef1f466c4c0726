"""Both outputs of a server, drained for as long as any process can write to them.

A server may print any amount, and a full pipe never stops it; the beginning and the end of the
output are kept.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import termios
import threading
import time
from collections.abc import Callable
from typing import IO

from harness.submission.sizes import KIB

KEPT = 64 * KIB  # bytes, of the beginning and again of the end
LAST_SECONDS = 10.0  # at most, for what is still in the pipes at the end
_READ = 64 * KIB  # bytes, what a pipe holds


class Output:
    """What was printed so far: its first bytes, its last bytes, and how many there were."""

    def __init__(self) -> None:
        self.head = b""  # at most KEPT
        self.total = 0
        self.closed = False  # no process can print any more, or nothing reads it
        self._recent = b""

    @property
    def tail(self) -> bytes:
        """The last bytes, at most KEPT."""
        return self._recent[-KEPT:]

    def end(self, lines: int = 10) -> str:
        """The last lines as text; what is not UTF-8 is replaced."""
        return "\n".join(self.tail.decode(errors="replace").splitlines()[-lines:])

    def text(self) -> str:
        """The kept output as text."""
        known = self.head if self.total <= KEPT else self.head + self.tail
        return known.decode(errors="replace")

    def add(self, data: bytes) -> None:
        """Adds bytes. Only the draining thread calls this; other threads see the old bytes or the
        new ones."""
        if len(self.head) < KEPT:
            self.head += data[: KEPT - len(self.head)]
        self._recent = (self._recent[-KEPT:] + data) if len(data) < KEPT else data
        self.total += len(data)


class Drain(threading.Thread):
    """Reads the pipes until EOF, sets `activity` at each piece, and calls `watch` regularly."""

    def __init__(
        self,
        pipes: dict[IO[bytes], Output],
        activity: threading.Event,
        watch: Callable[[], None],
        period: float,
    ) -> None:
        """Takes over the pipes, and closes each at its end. `period`: seconds between two calls of
        `watch`."""
        super().__init__(name="drain", daemon=True)
        self._pipes = pipes
        self._activity = activity
        self._watch = watch
        self._period = period
        self._finish = threading.Event()
        self._unread: set[Output] = set()
        self.dry = threading.Event()  # set when nobody can print any more

    def run(self) -> None:
        with selectors.PollSelector() as selector:
            for pipe in self._pipes:
                selector.register(pipe, selectors.EVENT_READ)
            watched = time.monotonic()
            while selector.get_map():
                ready = selector.select(self._period)
                for key, _ in ready:
                    self._read(key.fileobj, selector)
                if self._unread:
                    self._close_unread(selector)
                if not ready and self._finish.is_set():
                    break  # a process out of our reach still holds the other end
                if time.monotonic() - watched >= self._period:
                    self._look()
                    watched = time.monotonic()
        for pipe in self._pipes:
            pipe.close()
        self.dry.set()
        self._activity.set()
        while not self._finish.wait(self._period):
            self._look()

    def has_unread(self) -> bool:
        """Whether bytes are in the pipes that the thread has not read yet. Any thread may ask."""
        return any(map(_has_bytes, self._pipes))

    def leave(self, output: Output) -> None:
        """Lets the thread close the pipe of this output, as a reader that ends does: soon,
        `output.closed` is true."""
        self._unread.add(output)

    def finish(self) -> None:
        """Reads the remaining output of a server whose processes are all gone.

        If a process out of our reach still prints, the thread goes on until that ends.
        """
        self._finish.set()
        if self.is_alive():  # not if it could not be started
            self.join(LAST_SECONDS)

    def _read(self, pipe: IO[bytes], selector: selectors.BaseSelector) -> None:
        data = os.read(pipe.fileno(), _READ)
        if data:
            self._pipes[pipe].add(data)
        else:
            self._close(pipe, selector)
        self._activity.set()

    def _close_unread(self, selector: selectors.BaseSelector) -> None:
        for pipe in [key.fileobj for key in selector.get_map().values()]:
            if self._pipes[pipe] in self._unread:
                self._close(pipe, selector)

    def _close(self, pipe: IO[bytes], selector: selectors.BaseSelector) -> None:
        selector.unregister(pipe)
        pipe.close()
        self._pipes[pipe].closed = True

    def _look(self) -> None:
        """Whatever happens to the watch, a full pipe must not stop the server."""
        try:
            self._watch()
        except OSError:  # no descriptor is free for /proc; a later call will have one
            pass


def _has_bytes(pipe: IO[bytes]) -> bool:
    try:
        return fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)) != bytes(4)
    except (OSError, ValueError):  # it is closed
        return False
