"""Chromium without a window, told by its DevTools protocol what to do.

The protocol goes through a pipe, so no library for WebSockets is needed: a message is JSON, and a
NUL ends it.
"""

from __future__ import annotations

import fcntl
import functools
import http.server
import json
import os
import select
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.authors.pictures.timeline import BROWSERS

SECONDS = 120  # for one answer, on a busy machine
# It opens pages of ours only: without its sandbox it also runs as root.
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    "--remote-debugging-pipe",
)


def found() -> str | None:
    """The program, None if none is installed."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def _spawn(command: list[str], to_browser: int, from_browser: int) -> int:
    """The process, which has its two pipes where the protocol wants them: at 3 and 4."""
    at_3, at_4 = (fcntl.fcntl(ours, fcntl.F_DUPFD, 10) for ours in (to_browser, from_browser))
    pipes = {3: at_3, 4: at_4}
    silent = os.open(os.devnull, os.O_WRONLY)
    moves = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in {2: silent, **pipes}.items()]
    closed = [(os.POSIX_SPAWN_CLOSE, ours) for ours in pipes.values()]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[*moves, *closed])
    for ours in (silent, *pipes.values()):
        os.close(ours)
    return pid


class Browser:
    """One page, which is opened, looked at and used."""

    def __init__(self, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [found(), *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._pid = _spawn(command, to_browser, from_browser)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, None
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        self._call("Page.enable")

    def close(self) -> None:
        self._session = None
        self._call("Browser.close")
        os.waitpid(self._pid, 0)
        os.close(self._out)
        os.close(self._in)

    def _call(self, method: str, **parameters: object) -> dict:
        """The answer; events that come before it are dropped."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _message(self) -> dict:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], SECONDS)
            assert ready, "the browser does not answer"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        one, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(one)

    def size(self, width: int, height: int = 900, dark: bool = False) -> None:
        """The size of the window, and the colours that the system asks for."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1}
        self._call("Emulation.setDeviceMetricsOverride", mobile=width < 600, **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def print_media(self, on: bool) -> None:
        """Shows the page as on paper, in colours of the window that was asked for last."""
        self._call("Emulation.setEmulatedMedia", media="print" if on else "")

    def open(self, url: str) -> None:
        """Opens a page, and returns when it is complete."""
        self._call("Page.navigate", url=url)
        here = json.dumps(url.split("#")[0])
        self.until(f"document.readyState === 'complete' && location.href.startsWith({here})")

    def run(self, script: str) -> object:
        """The value of an expression in the page; of a promise, what it comes to."""
        answer = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> object:
        """Waits until the script's value is true, and returns it."""
        deadline = time.monotonic() + SECONDS
        while not self.run(f"Boolean({script})"):  # an element is no value
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.02)
        return self.run(script)

    def type(self, text: str) -> None:
        """Types into what has the focus."""
        self._call("Input.insertText", text=text)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The address at which the files of a directory are served meanwhile."""
    handler = functools.partial(_Quiet, directory=directory)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
