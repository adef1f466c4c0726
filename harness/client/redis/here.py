"""Which programs of others are on this machine. Each problem() says "" or what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SECONDS = 60  # for Python to start, on a busy machine

# The replies of Redis 7.0 are due. By the name of a server, the major versions that give them as
# well. Tried were 7.0, 7.2 and 8.0; 8.0, 8.1 and 9.1.
COMPARED = {"Redis": ("7.", "8."), "Valkey": ("8.", "9.")}


@dataclass(frozen=True)
class Other:
    """`problem()`: why it cannot be used here, "" if it can. `remedy`: what mends that. `used()`:
    which of several programs it is here."""

    name: str
    problem: Callable[[], str]
    remedy: str
    used: Callable[[], str] = str


class Redis(NamedTuple):
    """A server. `name` is what it says itself: redis-server may be a link to that of Valkey."""

    program: str
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.program})"


def program(name: str) -> str:
    """The command for a program of Redis, such as redis-cli, or for that of Valkey; "" without
    both."""
    names = (name, name.replace("redis", "valkey"))
    return next((one for one in names if shutil.which(one)), "")


def redis_server() -> Redis | None:
    """The server whose replies a claim compares with; None if there is none."""
    compared = (one for one in _servers() if one.version.startswith(COMPARED.get(one.name, ())))
    return next(compared, None)


def _servers() -> Iterator[Redis]:
    for name in ("redis-server", "valkey-server"):
        if shutil.which(name):
            command = [name, "--version"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            found = re.search(r"(\w+) server v=([\d.]+)", done.stdout)
            yield Redis(name, *(found.groups() if found else ("a program", "of no known version")))


def _program(name: str) -> Callable[[], str]:
    return lambda: "" if program(name) else f"{name} is not installed"


def _server() -> str:
    if redis_server():
        return ""
    others = " and ".join(map(str, _servers()))
    return f"its replies are not known: {others}" if others else "redis-server is not installed"


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
    "redis-server": Other(
        "redis-server",
        _server,
        "Redis 7 or 8, or Valkey 8 or 9: `make setup` installs what this system has of them",
        lambda: str(redis_server() or ""),
    ),
}
