"""The toys: small programs that print what the handouts show."""

import re
import shlex
import subprocess

from harness.lab.chapters import CHAPTERS, ROOT
from harness.server.linux import ring

WARNINGS = shlex.split(re.search(r"^WARNINGS = (.*)$", (ROOT / "Makefile").read_text(), re.M)[1])
# The command, and what it prints: indented lines, up to the first line that is not.
SHOWN = re.compile(
    r"^    \$ (gcc .*docs/toys/(\w+\.c)(?: -l\w+)*) && build/toy\n((?:    .*\n)+)", re.M
)


def test_each_toy_is_in_one_handout_and_prints_what_is_shown_there(tmp_path):
    """The compiler prints no warning. The list of the toys names these and no other."""
    texts = [(chapter.chapter_dir / "README.md").read_text() for chapter in CHAPTERS]
    shown = [found for text in texts for found in SHOWN.findall(text.split("\n## The TODOs\n")[0])]
    listed = re.findall(r"\| \[(\w+\.c)\]", (ROOT / "docs/toys/README.md").read_text())
    toys = sorted(path.name for path in (ROOT / "docs/toys").glob("*.c"))
    assert sorted(name for _, name, _ in shown) == sorted(listed) == toys
    for command, name, output in shown:
        if "-luring" in command and ring.problem():
            continue
        words = shlex.split(command.replace("build/toy", str(tmp_path / "toy")))
        subprocess.run([*words, *WARNINGS], cwd=ROOT, check=True)
        done = subprocess.run([tmp_path / "toy"], capture_output=True, text=True, timeout=60)
        expected = re.sub("^    ", "", output, flags=re.M)
        assert (name, done.stdout, done.stderr, done.returncode) == (name, expected, "", 0)
