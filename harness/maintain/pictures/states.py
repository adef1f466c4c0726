"""The states of one connection in the server of chapter 03, step by step: docs/states/03.json.

    python3 -m harness.maintain.pictures.states          writes it again

The solution itself runs. states.c is linked with it, and tells after each call what is in struct
conn and in the entry of the connection in the array of poll(). The lab's library lets the first
send() take 4 bytes only, as a full buffer of the kernel would.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.server import build, preload
from harness.server.preload import Group, Plan, Shim, piece
from harness.submission import chapters, command_line, sources
from harness.submission.chapters import ROOT
from harness.waiting.wait import wait_until

FILE = ROOT / "docs" / "states" / "03.json"
SOURCE = chapters.find("03").solution_dir
HOOK = Path(__file__).with_name("states.c")
WRAPPED = "poll conn_new conn_read conn_write conn_free io_read io_write".split()
TAKEN = 4  # bytes, by the first send()
SECONDS = 30
CALLS = {"io_read": "read", "io_write": "send"}  # the one call that each of them makes
RESULTS = {"IO_EOF": "0", "IO_AGAIN": "EAGAIN", "IO_ERROR": "-1"}

# What the client does, how it is told, and how many steps of the server follow.
FRAME = b"\5\0\0\0hello"
ACTIONS = (
    ("connects", None, 1),
    ("sends half of the header", FRAME[:2], 1),
    ("sends the other half, and 2 bytes of the body", FRAME[2:6], 2),
    ("sends the remainder of the body", FRAME[6:], 3),
    ("half-closes: it sends no more", b"", 1),
)


def steps() -> list[dict]:
    """A run of the solution, as the steps of its connection. Raises BuildFailed, NoCompiler."""
    with tempfile.TemporaryDirectory(prefix="lab-states-") as scratch:
        told = Path(scratch) / "told"
        with _server(Path(scratch), told) as address:
            found = _conversation(address, told)
    return found


def text(found: list[dict]) -> str:
    """The text of the file: one line for each step."""
    return "[\n" + ",\n".join(json.dumps(step) for step in found) + "\n]\n"


@contextmanager
def _server(scratch: Path, told: Path) -> Iterator[tuple[str, int]]:
    """Runs the server, and yields its address."""
    shared = Shim(scratch / "shim")
    shared.schedule(Plan(Group.OUTPUT, [piece(TAKEN)], connection=0))
    environment = preload.environment([preload.shim_library()], shared.path)
    process = subprocess.Popen(
        [_built(scratch), "-p", "0"],
        env={**os.environ, **environment, "LAB_STATES": str(told)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        port = int(re.search(r":(\d+)$", process.stdout.readline().strip())[1])
        yield "127.0.0.1", port
    finally:
        process.terminate()
        process.wait(SECONDS)
        process.stdout.close()


def _built(scratch: Path) -> Path:
    """The server with states.c in front of its functions."""
    wrap = "-Wl," + ",".join(f"--wrap={name}" for name in WRAPPED)
    program = scratch / "server"
    files = [*map(str, sources.c_files(SOURCE)), str(HOOK)]
    flags = [*build.FLAGS, "-iquote", str(SOURCE), wrap]
    command = [*build.find_compiler(), *flags, "-o", str(program), *files]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise build.BuildFailed(done.stderr)
    return program


def _conversation(address: tuple[str, int], told: Path) -> list[dict]:
    """One action of the client after the other, each when the server waits again."""
    found: list[dict] = []
    with socket.socket() as client:
        for action, data, count in ACTIONS:
            if data is None:
                client.connect(address)
            elif data:
                client.sendall(data)
            else:
                client.shutdown(socket.SHUT_WR)
            wanted = len(found) + count
            came = wait_until(lambda: len(_steps(told)) >= wanted, SECONDS)
            assert came, f"the server does not go on when the client {action}"
            new = _steps(told)[len(found) :]
            new[0]["client"] = f"A {action}"
            if data:
                new[0]["client"] += f": {data.hex(' ')}"
            found += new
    return found


def _steps(told: Path) -> list[dict]:
    """What the server has told so far; a step is complete when the next poll() is entered."""
    found: list[dict] = []
    step: dict = {}
    for line in told.read_text().splitlines(keepends=True) if told.exists() else ():
        entry = json.loads(line) if line.endswith("\n") else {}
        if "interest" in entry and "state" in step:
            found.append(_step(step, entry["interest"]))
            step = {}
        step.update(entry)
    return found


def _step(told: dict, interest: str) -> dict:
    """One row: what was ready, the call, and what is then true of the connection."""
    call, moved = CALLS.get(told.get("call")), told.get("moved", "")
    result = RESULTS.get(told.get("result"), len(moved.split()))
    return {
        "client": "",
        "ready": told.get("ready", "") if call else "the listener",
        "call": f"{call}({told['asked']}) = {result}" if call else "accept()",
        "in": moved if call == "read" else "",
        "buffer": told["buffer"],
        "sent": told["sent"],
        "state": told["state"],
        "interest": interest,
        "out": moved if call == "send" else "",
    }


def main() -> int:
    """Returns the exit status."""
    try:
        found = steps()
    except (build.BuildFailed, build.NoCompiler) as error:
        print(f"states: {error}", file=sys.stderr)
        return 2
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(found))
    return 0


if __name__ == "__main__":
    sys.exit(command_line.program(main))
