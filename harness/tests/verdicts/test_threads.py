"""The solution with threads, under what sees a race whether it does harm or not: silence."""

from __future__ import annotations

import random
import re
import shutil
import time
from pathlib import Path

import pytest

from harness.tests.drawn import FULL
from harness.claims.instruments import sanitizers
from harness.claims.scenarios.rpc_talk import broadcasts_in_flight, storm
from harness.claims.scenarios.timed import expect_at
from harness.claims.stage.program import Programs
from harness.claims.stage.stage import Run, Stage
from harness.client.client import Client
from harness.client.messages import MESSAGES, after, rung
from harness.failures.conversation import Conversation
from harness.grading.diagnosis import diagnose
from harness.lab import chapters
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.process_tree import ExitStatus
from harness.server.shim import shim_library
from harness.server.waiting.wait import Patience

SOLUTION = chapters.find("09").solution_dir
OPTIONS = ("-p", "0", "--app", "rpc", "--threads", "4", "--max-conns", "500")
# Of all storms together, each of a server that is started and stopped.
SECONDS = 10.0 if FULL else 2.0
ROUNDS = 200  # of one storm
PATIENCE = Patience(60.0)  # valgrind runs one thread at a time, fifty times as slow

HELGRIND = ["valgrind", "--tool=helgrind", "--quiet", "--error-exitcode=9", "--vgdb=no"]


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


def storms(binary: Path, wrapper: list[str], rounds: int) -> None:
    rng = random.Random(9)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert one_storm(binary, wrapper, rng, rounds) == ("", ExitStatus(code=0))


def test_the_thread_sanitizer_is_silent():
    try:
        built = build.cached_server(SOLUTION, extra_flags=sanitizers.flags("thread"))
    except build.BuildFailed:
        pytest.skip("the compiler has no thread sanitizer")
    storms(built.binary, [], ROUNDS)


@pytest.mark.full("runs of helgrind")
def test_helgrind_is_silent():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    storms(build.cached_server(SOLUTION).binary, HELGRIND, ROUNDS // 4)


def test_a_race_is_shown_with_both_sides(tmp_path):
    """What a student is told of one: who did what to the memory, on which lines."""
    source = tmp_path / "wrong"
    shutil.copytree(SOLUTION, source)
    counted = source / "server" / "stats.c"
    text = re.sub(r"\bpthread_mutex_(un)?lock\(", "(void)(", counted.read_text())
    counted.write_text(text)
    stage = Stage(Run(["server", "-p", "0"], sources=["stats.c"], directory=str(source)))
    try:
        server = stage.launch(("--app", "rpc", "--threads", "4"), sanitize="thread")
        with pytest.raises(Exception) as caught:
            broadcasts_in_flight(storm(server.connect, random.Random(1), 1000))
        found = diagnose(caught.value, stage)
    finally:
        stage.clear()
    if not found.failed:
        pytest.skip(found.message)
    lines = found.message.splitlines()
    assert lines[0] == "ThreadSanitizer: data race"
    assert found.hint == "data-race"
    assert sum(" of size 8 by " in line for line in lines) == 2
    assert sum(line.startswith("  in ") and "(stats.c:" in line for line in lines) >= 2


@pytest.mark.parametrize("number", ["09", "12"])
def test_a_queue_is_tried_in_hundreds_of_orders(number):
    """A claim cannot require it: a right queue without a lock has fewer calls, and so fewer
    orders."""
    source = chapters.find(number).solution_dir
    stage = Stage(Run(["no server"], sources=["main.c"], directory=str(source)))
    try:
        assert Programs(stage, 1).run("09_orders", "of_wakes")["orders"] > 300
    finally:
        stage.clear()


@pytest.mark.parametrize("names", ["address,undefined", "thread"])
def test_a_server_with_a_sanitizer_keeps_the_clock_of_the_machine(names):
    """It is served with a time limit as ever: the library with the clock is not loaded into it."""
    binary, library = build.cached_server(SOLUTION).binary, str(shim_library())
    run = Run([str(binary)], sources=["main.c"], directory=str(SOLUTION), preload=library)
    stage = Stage(run)
    try:
        server = stage.launch(framing=MESSAGES, clock=True, sanitize=names)
        client, began = server.connect(), server.clock.now_ms
        client.send_frame(after(1, 100, b"ring"))
        expect_at(server, client, [rung(1, b"ring")], began, 100)
        assert not server.clock.ours
    finally:
        stage.clear()
