"""Which programs of others are on this machine. Each problem() says "" or what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.server import build

HERE = Path(__file__).parent
HIREDIS = "hiredis_client.c"
VERSION = "7.0."  # of Redis, whose replies are due
SECONDS = 60  # for Python to start, on a busy machine


@dataclass(frozen=True)
class Other:
    """`problem()`: why it cannot be used here, "" if it can. `remedy`: what mends that."""

    name: str
    problem: Callable[[], str]
    remedy: str


def _program(name: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(name) else f"{name} is not installed"


def _server() -> str:
    """Others reply otherwise here and there, and so no claim compares with them."""
    if not shutil.which("redis-server"):
        return "redis-server is not installed"
    command = ["redis-server", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    found = re.search(r"\bv=([\d.]+)", done.stdout)
    if found and found[1].startswith(VERSION):
        return ""
    return f"redis-server is {found[1] if found else 'another one'} here, and not {VERSION}x"


def _python_client() -> str:
    command = [sys.executable, "-c", "import redis"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, timeout=SECONDS)
    return "redis-py is not installed for this Python" if done.returncode else ""


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
    "redis-server": Other(
        f"redis-server {VERSION}x", _server, "Debian 12, whose redis-server `make setup` installs"
    ),
}
