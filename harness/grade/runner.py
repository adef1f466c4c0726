"""Runs claims in a separate pytest process, and leaves no process behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness.claims.context import gdb
from harness.claims.context.stage import Run
from harness.grade.diagnosis import Diagnosis
from harness.grade.scoring import Claim
from harness.grade.workers import KILLED
from harness.server import scratch
from harness.server.linux import landlock, prctl
from harness.server.process_tree import send, until_gone
from harness.submission.chapters import ROOT
from harness.submission.sizes import KIB, MIB
from harness.waiting import procfs
from harness.waiting.wait import wait_until

TEST_SECONDS = 120  # for one claim: 32 MiB, read a byte at a time
TOTAL_SECONDS = 600  # all claims together, and half as much of CPU time
BUSY_TIMES = 6  # as long at most, while other programs have the processors
SLOWER = 5  # times, under valgrind
LAST_SECONDS = 10  # for pytest to end after the last result
WAKE_SECONDS = 5  # without output; then it is checked whether a server has stopped the grader
HELD_UP_SECONDS, HELD_UP_LOOK = 1.0, 0.011  # in which to see that, and between two looks
TICK_SECONDS = 1  # between two calls of `tick` where nothing happens
# How glibc takes memory from the kernel for pytest: in huge pages, so that the kernel is entered
# once for 2 MiB. And it keeps what is free again: clearing new pages is half the cost of a frame of
# megabytes.
MEMORY = (
    "glibc.malloc.hugetlb=1"
    f":glibc.malloc.mmap_threshold={32 * MIB}"  # a larger one is refused
    f":glibc.malloc.trim_threshold={64 * MIB}"
)

start = subprocess.Popen  # of the process with pytest; a Grader has a quicker way

# (name of the claim, seconds it took, why it has not passed), as it comes
Found = Callable[[str, float, Diagnosis | None], None]


def run_claims(
    claims: list[Claim],
    run: Run,
    *,
    jobs: int,
    log: Path,
    found: Found,
    begun: Callable[[str], None] = str,
    tick: Callable[[], None] = str,
    seconds: float = TOTAL_SECONDS,
) -> str:
    """Runs them and calls `found` for each that is over. Returns "" or why not all of them are.

    `begun` is called with the name of each that begins, `tick` every second without a result. The
    output of pytest, including tracebacks, is added to `log`.
    """

    def tell(line: bytes) -> None:
        said = json.loads(line)
        if "begun" in said:
            begun(said["begun"])
        else:
            told = said["diagnosis"]
            found(said["name"], said["seconds"], Diagnosis(**told) if told else None)

    prctl.adopt_orphans()
    bystanders = {(process.pid, process.started) for process in procfs.below()}
    log.parent.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    try:
        with scratch.directory("lab-") as directory, log.open("ab") as output:
            command = _command(claims, run, directory, jobs, writer)
            process = start(
                command,
                cwd=ROOT,
                env=_environment(directory),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(writer,),
                start_new_session=True,
            )
            os.close(writer)
            try:
                return _follow(process, reader, seconds, tell, tick)
            finally:
                _end_all(bystanders)
    finally:
        os.close(reader)


def _command(claims: list[Claim], run: Run, directory: Path, jobs: int, writer: int) -> list[str]:
    """pytest with our plugins and no others, and without any configuration of the user. It is
    started in ROOT, and finds the claims from there: in the lab's own path it would take a "::" or
    a "$" for something else."""
    run.save(directory / "run.json")
    seconds = gdb.SECONDS if run.debugger else TEST_SECONDS
    seconds *= SLOWER if run.valgrind else 1
    options = "-v --durations=5 --tb=native --capture=no --assert=plain -p no:cacheprovider"
    options += f" -p pytest_timeout --timeout={seconds} --timeout-method=signal"
    options += f" -p harness.grade.plugin --workers={jobs}"
    root = os.path.relpath(os.path.commonpath([one.file.parent for one in claims]), ROOT)
    return [
        *(sys.executable, "-m", "pytest", "-c", os.devnull),
        # Above the claims pytest reads no conftest.py and lists no directory, as version 8 would.
        *("--rootdir", root, "--confcutdir", root),
        *options.split(),
        *("--run", str(directory / "run.json"), "--outcomes", str(writer)),
        *(f"{os.path.relpath(claim.file, ROOT)}::{claim.name}" for claim in claims),
    ]


def _environment(directory: Path) -> dict[str, str]:
    """The environment of pytest. The directory has the files that it and the servers leave, which
    go with it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if not landlock.works():  # then for all servers
        kept[landlock.SWITCH] = "0"
    return {**kept, "GLIBC_TUNABLES": MEMORY, "TMPDIR": str(directory)}


def _follow(
    process: subprocess.Popen,
    reader: int,
    seconds: float,
    tell: Callable[[bytes], None],
    tick: Callable[[], None],
) -> str:
    """Reads the lines that the plugin writes until it ends. Returns "" or what went wrong."""
    began = time.monotonic()
    end = began + seconds
    quiet = 0.0  # seconds without output
    rest = b""
    while True:
        now = time.monotonic()
        if now >= end:
            if now - began >= BUSY_TIMES * seconds or not is_held_up(seconds / 2):
                return f"the grade was stopped after {now - began:.0f} s"
            end = now + TICK_SECONDS
        if not select.select([reader], [], [], min(end - now, TICK_SECONDS))[0]:
            tick()
            quiet += TICK_SECONDS
            if quiet % WAKE_SECONDS == 0:
                _wake(process.pid)
            continue
        quiet = 0.0
        data = os.read(reader, 64 * KIB)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            tell(line)
    try:
        status = process.wait(LAST_SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    if status < 0:
        return KILLED
    return "" if status in (0, 1) else f"pytest ended with status {status}"


def is_held_up(cpu_seconds: float) -> bool:
    """Whether other programs hold up the grade: its processes have had less CPU time than this, and
    one of them stands in line for a processor, as it could run at two looks."""
    before: set[int] = set()

    def could_run() -> bool:
        nonlocal before
        seen, before = before, {one.pid for one in procfs.below() if one.state == "R"}
        return bool(seen & before)

    spent = sum(procfs.cpu_seconds(one.pid) + one.reaped_cpu for one in procfs.below())
    return spent < cpu_seconds and wait_until(could_run, HELD_UP_SECONDS, HELD_UP_LOOK)


def _wake(session: int) -> None:
    """Lets pytest and its workers go on, if a server has stopped them (SIGSTOP)."""
    for process in procfs.below():
        if process.session == session and process.state == "T":
            send(process.pid, signal.SIGCONT)


def _end_all(bystanders: set[tuple[int, int]]) -> None:
    """Kills the processes below this one that were not there before, until none is left."""

    def ours() -> list[procfs.Process]:
        return [one for one in procfs.below() if (one.pid, one.started) not in bystanders]

    until_gone(ours, LAST_SECONDS)
