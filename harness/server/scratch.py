"""Directories that servers write to: made, and removed with all their contents."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    prefix, emptied = f".{secrets.token_hex(8)}-", [top]
    with suppress(OSError):
        os.chmod(top, 0o700)
    for current in emptied:  # grows while it is walked
        with suppress(OSError):
            for entry in list(os.scandir(current)):
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        moved = top / f"{prefix}{len(emptied)}"
                        os.chmod(entry.path, 0o700)
                        os.rename(entry.path, moved)
                        emptied.append(moved)
                    else:
                        os.unlink(entry.path)
    for current in reversed(emptied):
        with suppress(OSError):
            os.rmdir(current)
