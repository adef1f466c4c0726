"""Which programs of others are on this machine. Each problem() says "" or what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 60  # for Python to start, on a busy machine


@dataclass(frozen=True)
class Other:
    """`problem()`: why it cannot be used here, "" if it can. `remedy`: what mends that."""

    name: str
    problem: Callable[[], str]
    remedy: str


def program(name: str) -> str:
    """The command for a program of Redis, such as redis-cli, or for that of Valkey; "" without
    both."""
    names = (name, name.replace("redis", "valkey"))
    return next((one for one in names if shutil.which(one)), "")


def _program(name: str) -> Callable[[], str]:
    return lambda: "" if program(name) else f"{name} is not installed"


def _python_client() -> str:
    command = [sys.executable, "-c", "import redis"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, timeout=SECONDS)
    return "redis-py is not installed for this Python" if done.returncode else ""


# By the mark of a claim, see `needs` in claims/marker.py.
OTHERS = {
    "redis-cli": Other("redis-cli", _program("redis-cli"), "`make setup` (redis-tools)"),
    "redis-benchmark": Other(
        "redis-benchmark", _program("redis-benchmark"), "`make setup` (redis-tools)"
    ),
    "redis-py": Other("redis-py", _python_client, "`make setup` (python3-redis)"),
}
