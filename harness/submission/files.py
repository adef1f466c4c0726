"""Files that appear whole or not at all: a reader never sees half of one."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.submission.target import WrongUsage


def write(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Writes the file in one step, and makes its directory. `mode`: for open(2). Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{threading.get_native_id()}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(scratch, path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def write_out(path: Path, data: bytes) -> None:
    """Writes a file that a person named. Raises WrongUsage if it cannot be written."""
    try:
        write(path, data)
    except OSError as error:
        raise WrongUsage(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Where a program, such as a compiler, is to make the file: it is at `path` once the block ends
    well. Several processes may make it at once. Makes the directory. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        yield made
        os.replace(made, path)


@contextmanager
def alone(path: Path, wait: bool = True) -> Iterator[None]:
    """Holds the lock of this file, which it makes with its directory: of all processes that want it
    one at a time is in the block. The lock ends with the process, however that ends. Raises
    OSError; BlockingIOError, unless it is to `wait`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
