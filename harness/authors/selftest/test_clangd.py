"""What an editor with clangd shows in the chapters: no error, with the settings in .clangd."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.authors.selftest.drawn import some
from harness.lab import sources
from harness.lab.chapters import CHAPTERS, ROOT

FILES = [
    one
    for chapter in CHAPTERS
    for one in some(
        sources.files(chapter.chapter_dir),
        2,
        "files that clangd reads",
        ids=lambda path: f"{path.parent.name}/{path.name}",
    )
]


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    """What clangd finds in the whole file; it tries its other features on the first line only."""
    if not shutil.which("clangd"):
        pytest.skip("clangd is not installed: sudo apt-get install clangd")
    words = ["clangd", f"--check={path}", "--check-lines=1", "--log=error"]
    return subprocess.run(words, cwd=ROOT, timeout=120, capture_output=True, text=True)


@pytest.mark.parametrize("path", FILES)
def test_clangd_finds_no_error_in_a_chapter(path):
    done = checked(path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name, text", [("a.c", "int main(void) { return gone; }\n"), ("a.h", ";x")]
)
def test_clangd_finds_an_error_below_the_first_line(tmp_path, name, text):
    (tmp_path / name).write_text(f"/* */\n\n{text}")
    assert checked(tmp_path / name).returncode != 0


def test_clangd_reads_a_header_as_c(tmp_path):
    """Below a directory with the lab's settings."""
    shutil.copy(ROOT / ".clangd", tmp_path)
    (tmp_path / "a.h").write_text("\nstatic inline int *a(void *class) { return class; }\n")
    assert checked(tmp_path / "a.h").returncode == 0
