"""The toys: small programs that print what the handouts show."""

from __future__ import annotations

import re
import shlex
import subprocess

from harness.lab.chapters import CHAPTERS, ROOT
from harness.server.linux import ring

DIRECTORY = ROOT / "docs" / "toys"
WARNINGS = shlex.split(re.search(r"^WARNINGS = (.*)$", (ROOT / "Makefile").read_text(), re.M)[1])
SECONDS = 60
# The command, and what it prints: indented lines, up to the first line that is not.
SHOWN = re.compile(
    r"^    \$ (gcc .*docs/toys/(\w+\.c)(?: -l\w+)*) && build/toy\n((?:    .*\n)+)", re.M
)


def test_each_toy_is_in_one_handout_and_prints_what_is_shown_there(tmp_path):
    """No warning is printed, either. The list of the toys names these and no other."""
    handouts = [(chapter.chapter_dir / "README.md").read_text() for chapter in CHAPTERS]
    shown = [found for text in handouts for found in SHOWN.findall(text.split("\n## The TODOs\n")[0])]
    toys = sorted(path.name for path in DIRECTORY.glob("*.c"))
    assert sorted(name for _, name, _ in shown) == toys
    listed = re.findall(r"\| \[(\w+\.c)\]", (DIRECTORY / "README.md").read_text())
    assert sorted(listed) == toys
    program = str(tmp_path / "toy")
    for command, name, output in shown:
        if "-luring" in command and ring.problem():
            continue
        words = [program if word == "build/toy" else word for word in shlex.split(command)]
        built = subprocess.run([*words, *WARNINGS], cwd=ROOT, capture_output=True, text=True)
        assert (built.stderr, built.returncode) == ("", 0)
        done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS)
        expected = re.sub("^    ", "", output, flags=re.M)
        assert (name, done.stdout, done.stderr, done.returncode) == (name, expected, "", 0)
