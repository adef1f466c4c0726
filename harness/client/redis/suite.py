"""Redis' own test suite, the directory tests/ of its source: runs it against a server, a unit at a
time.

The suite has a test server, which tells test clients what to run, and collects results. We take the
place of the test server; suite.tcl makes a program of the test client.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.client.redis.here import HERE
from harness.failures.printable import harmless
from harness.server.linux import prctl

SHELLS = ("tclsh", "tclsh8.6", "tclsh8.7", "tclsh8.5")
CLIENT = HERE / "suite.tcl"
HELPER, VERSION = Path("tests/test_helper.tcl"), Path("src/version.h")
QUIET_SECONDS = 120  # without a word of the suite: some tests take half a minute
LOOK_SECONDS = 0.1  # between two looks whether it has connected
FIELD = "\x1f"
# One database, since SELECT 9 would not show in the replies; a failed test is not the end; how a
# value is kept, and DEBUG DIGEST, are no part of the protocol.
OPTIONS = ("--singledb", "--durable", "--ignore-encoding", "--ignore-digest")

PASSED, FAILED, LEFT_OUT = "passed", "failed", "left out"


class Outcome(NamedTuple):
    """What came of one test. `text`: what was expected and what came, or why it is left out."""

    name: str
    verdict: str
    text: str = ""


class Unusable(Exception):
    """The suite cannot be run. The message is one line: what is missing, and what to do."""


class Suite:
    """The suite in the source of Redis, a directory. Raises Unusable."""

    def __init__(self, source: Path) -> None:
        self.source = source.expanduser().resolve()
        self._shell = next(filter(None, map(shutil.which, SHELLS)), "")
        if not (self.source / HELPER).is_file():
            text = f"there is no {HELPER}: give the source of Redis, `apt-get source redis`"
            raise Unusable(f"{source}: {text}")
        if not self._shell:
            raise Unusable("tclsh is not installed: apt-get install tcl")

    @property
    def version(self) -> str:
        """The version of Redis ("7.0.15"), "" if it is not known."""
        try:
            text = (self.source / VERSION).read_text(errors="replace")
        except OSError:
            return ""
        return "".join(re.findall(r'REDIS_VERSION "([\w.]+)"', text)[:1])

    def units(self) -> list[str]:
        """The names of all units: "unit/type/string"."""
        text = (self.source / HELPER).read_text(errors="replace")
        found = re.search(r"^set ::all_tests \{(.*?)\}", text, re.M | re.S)
        return found[1].split() if found else []

    def run(
        self, unit: str, address: tuple[str, int], missing: str, tags: str, skip: Sequence[str]
    ) -> Iterator[Outcome]:
        """Runs a unit against the server there.

        A test that fails is left out if a reply matched the pattern `missing`. `tags`: the option
        --tags of the suite. `skip`: the names of tests that are not run.
        """
        with socket.create_server(("127.0.0.1", 0)) as listener:
            words = [self._shell, str(CLIENT), "--host", address[0], "--port", str(address[1])]
            words += [*OPTIONS, "--tags", tags, "--client", str(listener.getsockname()[1])]
            for name in skip:
                words += ["--skiptest", name]
            with tempfile.TemporaryFile() as said:
                process = subprocess.Popen(
                    words,
                    cwd=self.source,
                    env={**os.environ, "LAB_SUITE_MISSING": missing},
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    preexec_fn=prctl.die_with_parent,
                )
                try:
                    yield from _outcomes(unit, _connection(listener, process))
                except (OSError, EOFError, ValueError) as error:
                    process.kill()
                    process.wait()
                    said.seek(0)
                    lines = said.read().decode(errors="replace").strip().splitlines()
                    reason = "\n".join(map(harmless, lines[-3:]))
                    yield Outcome("the rest of the unit", FAILED, reason or _told(error))
                finally:
                    process.kill()
                    process.wait()


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing has moved for {QUIET_SECONDS} s"
    return str(error) or "the test client has ended"


def _connection(listener: socket.socket, process: subprocess.Popen) -> socket.socket:
    """The connection of the test client. Raises EOFError if it ends before, TimeoutError."""
    listener.settimeout(LOOK_SECONDS)
    end = time.monotonic() + QUIET_SECONDS
    while True:
        try:
            return listener.accept()[0]
        except TimeoutError:
            if process.poll() is not None:
                raise EOFError from None
            if time.monotonic() > end:
                raise


def _outcomes(unit: str, peer: socket.socket) -> Iterator[Outcome]:
    """Tells a test client to run the unit, and yields what it reports. Raises OSError, EOFError,
    ValueError."""
    with peer, peer.makefile("rb") as stream:
        peer.settimeout(QUIET_SECONDS)
        _packet(stream)  # "ready"
        order = f"run {unit}".encode()
        peer.sendall(b"%d\n%s" % (len(order), order))
        test = ""
        while True:
            status, text, missing = [*_packet(stream), "", ""][:3]
            if status == "testing":
                test = text
                continue
            if status == "done":
                return
            yield from _outcome(status, text, missing, test)
            if status == "exception":
                return
            if status in ("ok", "err"):
                test = ""


def _outcome(status: str, text: str, missing: str, test: str) -> Iterator[Outcome]:
    if status == "ok":
        yield Outcome(text, PASSED)
    elif status == "skip":
        yield Outcome(text, LEFT_OUT)
    elif status == "ignore":
        name, _, why = text.rpartition(": Tag: ")
        name, _, why = (name, "", f"Tag: {why}") if name else text.rpartition(": ")
        yield Outcome(name or "a group of tests", LEFT_OUT, why)
    elif status in ("err", "exception"):
        name = test or "outside of the tests"
        if missing:
            yield Outcome(name, LEFT_OUT, missing)
        else:
            yield Outcome(name, FAILED, _detail(text, name))


def _detail(text: str, name: str) -> str:
    """What the suite says of a failure, without the name of the test."""
    first, _, rest = text.partition("\n")
    return (rest if first.startswith(f"{name} in ") else text).strip()


def _packet(stream) -> list[str]:
    """The fields of the next message, which is its length, and after a line break its bytes. Raises
    EOFError, ValueError, OSError."""
    line = stream.readline(64)
    if not line.endswith(b"\n"):
        raise EOFError
    size = int(line)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return [harmless(field) for field in data.decode(errors="replace").split(FIELD)]
