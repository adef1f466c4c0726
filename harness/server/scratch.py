"""Directories that servers write to: made, and removed with all their contents."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """A new directory, removed when the block ends."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield made
    finally:
        remove(made)


def remove(top: Path) -> None:
    """Removes the directory, however deep it is and whatever rights a server has removed.

    A directory within is moved up to `top` before it is emptied, so that no path gets long.
    Anything that cannot be removed is left.
    """
    _open(top)
    waiting, prefix, number = [top], f".{secrets.token_hex(8)}-", 0
    while waiting:
        current = waiting.pop()
        try:
            entries = list(os.scandir(current))
        except OSError:
            continue
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                _try(os.unlink, entry.path)
                continue
            _open(Path(entry.path))
            if current != top:
                number += 1
                moved = top / f"{prefix}{number}"
                _try(os.rename, entry.path, moved)
                waiting.append(moved)
            else:
                waiting.append(Path(entry.path))
        if current != top:
            _try(os.rmdir, current)
    _try(os.rmdir, top)


def _open(path: Path) -> None:
    """Gives us the rights that are needed to empty a directory."""
    _try(os.chmod, path, 0o700)


def _try(function, *arguments) -> None:
    try:
        function(*arguments)
    except OSError:
        pass
