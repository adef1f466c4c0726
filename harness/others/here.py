"""Which programs of others are on this machine. Each problem() says "" or what is missing."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.server import build

HERE = Path(__file__).parent
HIREDIS = "hiredis_client.c"
SECONDS = 60  # for Python to start, on a busy machine


@dataclass(frozen=True)
class Other:
    """`problem()`: why it cannot be used here, "" if it can. `remedy`: what mends that."""

    name: str
    problem: Callable[[], str]
    remedy: str


def _program(name: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(name) else f"{name} is not installed"


@functools.lru_cache(maxsize=None)
def _python_client() -> str:
    command = [sys.executable, "-c", "import redis"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, timeout=SECONDS)
    return "redis-py is not installed for this Python" if done.returncode else ""


@functools.lru_cache(maxsize=None)
def _c_client() -> str:
    try:
        hiredis_client()
    except (build.NoCompiler, build.BuildFailed) as error:
        return str(error).splitlines()[0]
    return ""


def hiredis_client() -> Path:
    """A program that uses hiredis, built. Raises as build.cached_program does."""
    return build.cached_program(HERE, "hiredis_client", (HIREDIS,), ("-Werror",))


# By the mark of a claim, see `needs` in grading/plugin.py.
OTHERS = {
    "redis-cli": Other("redis-cli", _program("redis-cli"), "`make setup` (redis-tools)"),
    "redis-benchmark": Other(
        "redis-benchmark", _program("redis-benchmark"), "`make setup` (redis-tools)"
    ),
    "redis-py": Other("redis-py", _python_client, "`make setup` (python3-redis)"),
    "hiredis": Other("hiredis", _c_client, "`make setup` (libhiredis-dev)"),
    "redis-server": Other("redis-server", _program("redis-server"), "`make setup` (redis-server)"),
}
