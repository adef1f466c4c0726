"""Runs a client that others wrote against a server under test."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.client.redis import here
from harness.feedback.failure import Failure
from harness.feedback.printable import harmless
from harness.server.linux import prctl
from harness.waiting import procfs
from harness.waiting.wait import Deadline

LOOK_SECONDS = 0.005  # between two looks at the client
MOVES_SECONDS = 0.01  # of CPU: one that uses less only looks whether something has come
MOST_STEPS = 60  # of a client, in a failure
STEP, WRONG = "step ", "wrong "  # begin the lines of our own programs
PYTHON_CLIENT = [sys.executable, str(here.HERE / "python_client.py")]  # made of redis-py


class Said(NamedTuple):
    """How it ended, and what it printed: stdout, and stderr."""

    status: int
    out: str
    err: str


def run(server, words: Sequence[str], data: bytes = b"") -> Said:
    """Runs a program that is a client of this server, with `data` as its input, to its end.

    A step of the conversation. Raises Failure if it hangs: if for as long as a wait for the server
    may take it uses next to no CPU time.
    """
    name = Path(words[0]).name
    with tempfile.TemporaryDirectory(prefix="event-loop-lab-") as home:
        files = [Path(home, one) for one in ("in", "out", "err")]
        files[0].write_bytes(data)
        with files[0].open("rb") as source, files[1].open("wb") as out, files[2].open("wb") as err:
            process = subprocess.Popen(
                words,
                cwd=home,
                stdin=source,
                stdout=out,
                stderr=err,
                preexec_fn=prctl.die_with_parent,
            )
            try:
                stuck = _attend(process, server)
            finally:
                process.kill()
                process.wait()
        said = Said(
            process.returncode, *(harmless(one.read_text(errors="replace")) for one in files[1:])
        )
    if stuck:
        text = f"{name} waits for the server, and nothing has moved for {stuck:g} s"
        raise Failure(f"{text}{_last(said)}", hint="others-wait")
    return said


def _attend(process: subprocess.Popen, server) -> float:
    """Waits for its end. Returns 0, or for how many seconds it has waited in vain."""
    deadline, used = Deadline(server.patience, others=True), 0.0
    while True:
        try:
            process.wait(LOOK_SECONDS)
            return 0
        except subprocess.TimeoutExpired:
            pass
        now = procfs.cpu_seconds(process.pid)
        if now - used > MOVES_SECONDS:
            used = now
            deadline.restart()
        elif not deadline.left():
            return deadline.seconds


def _last(said: Said) -> str:
    lines = (said.out + said.err).strip().splitlines()
    return f'; it printed last: "{lines[-1][:100]}"' if lines else ""


def run_ours(server, name: str, words: Sequence[str]) -> None:
    """Runs one of our programs that use a library of others. Its lines are steps, or what is wrong.

    Raises Failure if one says that something is wrong, or if it ends otherwise than with 0.
    """
    host, port = server.address[:2]
    try:
        said = run(server, [*words, host, str(port)])
    except Failure as failure:
        failure.message = failure.message.replace(Path(words[0]).name, name, 1)
        raise
    lines = said.out.splitlines()
    for line in [line for line in lines if line.startswith(STEP)][-MOST_STEPS:]:
        server.conversation.note(name, line[len(STEP) :])
    wrong = [line[len(WRONG) :] for line in lines if line.startswith(WRONG)]
    if wrong:
        raise Failure(f"{name}: {wrong[0]}", hint="others-client")
    if said.status:
        raise Failure(f"{name} ended with status {said.status}{_last(said)}", hint="others-client")
