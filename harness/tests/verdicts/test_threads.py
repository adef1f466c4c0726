"""The solution with threads, under what sees a race whether it does harm or not: silence."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from harness.claims.instruments import sanitizers
from harness.claims.scenarios.rpc_talk import broadcasts_in_flight, storm
from harness.client.client import Client
from harness.failures.conversation import Conversation
from harness.lab import chapters
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.process_tree import ExitStatus
from harness.server.waiting.wait import Patience

SOLUTION = chapters.find("09").solution_dir
OPTIONS = ("-p", "0", "--app", "rpc", "--threads", "4", "--max-conns", "500")
ROUNDS = {"the thread sanitizer": 200, "helgrind": 50}  # of one storm
TIMES = 3
PATIENCE = Patience(60.0)  # valgrind runs one thread at a time, fifty times as slow
HELGRIND = ["valgrind", "--tool=helgrind", "--quiet", "--error-exitcode=9", "--vgdb=no"]


@pytest.mark.full("storms of clients for threads")
@pytest.mark.parametrize("by", ROUNDS)
def test_no_race(by):
    rng = random.Random(9)
    if by == "helgrind":
        if shutil.which("valgrind") is None:
            pytest.skip("valgrind is not installed")
        binary, wrapper = build.cached_server(SOLUTION).binary, HELGRIND
    else:
        try:
            built = build.cached_server(SOLUTION, extra_flags=sanitizers.flags("thread"))
        except build.BuildFailed:
            pytest.skip("the compiler has no thread sanitizer")
        binary, wrapper = built.binary, []
    for _ in range(TIMES):
        assert one_storm(binary, wrapper, rng, ROUNDS[by]) == ("", ExitStatus(code=0))


def one_storm(
    binary: Path, wrapper: list[str], rng: random.Random, rounds: int
) -> tuple[str, ExitStatus | None]:
    """Starts the server, and stops it with broadcasts on their way. Returns what else than its log
    it has printed, and how it has ended."""
    process = ServerProcess()
    try:
        process.start(
            [str(binary), *OPTIONS],
            wrapper=wrapper,
            patience=PATIENCE,
            environment=sanitizers.environment(),
        )
        clients = storm(
            lambda: Client(process.address, Conversation(), patience=PATIENCE), rng, rounds
        )
        broadcasts_in_flight(clients)
        process.stop_gently(PATIENCE.seconds)
        process.settle()
        for client in clients:
            client.abandon()
    finally:
        process.destroy()
    lines = process.stderr.text().splitlines()
    said = "\n".join(line for line in lines if not line.startswith("fd "))
    return said, process.status
