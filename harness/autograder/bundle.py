"""The zip that is uploaded to Gradescope.

Its top has the two programs that Gradescope calls:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from harness.lab.chapters import ROOT, Chapter

HERE = Path(__file__).parent
# What a grade reads. Wrong servers quote the solutions, and so do some of the lab's own tests.
TAKEN = ("LICENSE", "harness")
LEFT_OUT = {"mutants", "selftest", "__pycache__"}
TIME = (1980, 1, 1, 0, 0, 0)  # of each entry, so that the same lab gives the same bytes


def packed(chapter: Chapter) -> bytes:
    """The zip for this chapter: the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as pack:
        _add(pack, "setup.sh", (HERE / "setup.sh").read_bytes(), 0o755)
        _add(pack, "run_autograder", (HERE / "run_autograder.py").read_bytes(), 0o755)
        _add(pack, "chapter", f"{chapter.slug}\n".encode(), 0o644)
        for path in files():
            name = path.relative_to(ROOT).as_posix()
            _add(pack, f"lab/{name}", path.read_bytes(), 0o644)
    return out.getvalue()


def files() -> Iterator[Path]:
    """The files of the lab that a grade needs: no solution, no answer, no chapter."""
    for name in TAKEN:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            parts = path.relative_to(ROOT).parts
            hidden = any(part.startswith(".") for part in parts)
            if path.is_file() and not hidden and not LEFT_OUT & set(parts):
                yield path


def _add(pack: zipfile.ZipFile, name: str, data: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(name, TIME)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    pack.writestr(entry, data)
