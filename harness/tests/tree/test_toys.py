"""The toys: they are short, compile without a warning, and print what the handouts show."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from harness.lab.chapters import CHAPTERS, ROOT
from harness.server.linux import ring

DIRECTORY = ROOT / "docs" / "toys"
TOYS = sorted(DIRECTORY.glob("*.c"))
INDEX = DIRECTORY / "README.md"
WARNINGS = shlex.split(re.search(r"^WARNINGS = (.*)$", (ROOT / "Makefile").read_text(), re.M)[1])
FORTIFIED = "-D_FORTIFY_SOURCE=2"  # as Ubuntu's gcc has it: it also warns about unused results
SHORTEST, LONGEST = 20, 40  # lines that are not empty
SECONDS = 60

# The command, and what it prints: indented lines, up to the first line that is not.
SHOWN = re.compile(
    r"^    \$ (gcc .*docs/toys/(\w+\.c)(?: -l\w+)*) && build/toy\n((?:    .*\n)+)", re.M
)

each_toy = pytest.mark.parametrize("toy", TOYS, ids=lambda path: path.name)


def shown(toy):
    """(the chapter, the command, the output) for each handout that shows this toy."""
    found = []
    for chapter in CHAPTERS:
        text = (chapter.chapter_dir / "README.md").read_text()
        for command, name, output in SHOWN.findall(text):
            if name == toy.name:
                found.append((chapter, command, re.sub("^    ", "", output, flags=re.M)))
    return found


@each_toy
def test_one_handout_shows_it_before_the_todos(toy):
    ((chapter, command, _),) = shown(toy)
    handout = (chapter.chapter_dir / "README.md").read_text()
    assert handout.index(command) < handout.index("\n## The TODOs\n")
    assert f"(../../docs/toys/{toy.name})" in handout


@each_toy
def test_it_prints_what_the_handout_shows(toy, tmp_path):
    ((_, command, output),) = shown(toy)
    if "-luring" in command and (unusable := ring.problem()):
        pytest.skip(unusable)
    program = str(tmp_path / "toy")
    words = [program if word == "build/toy" else word for word in shlex.split(command)]
    subprocess.run(words, cwd=ROOT, check=True, timeout=SECONDS)
    done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS)
    assert (done.stdout, done.stderr, done.returncode) == (output, "", 0)


@each_toy
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_compiles_without_a_warning(toy, compiler, tmp_path):
    ((_, command, _),) = shown(toy)
    libraries = re.findall(r"-l\w+", command)
    words = [compiler, *WARNINGS, FORTIFIED, str(toy), *libraries, "-o", str(tmp_path / "toy")]
    subprocess.run(words, check=True, timeout=SECONDS)


@each_toy
def test_it_is_short(toy):
    lines = [line for line in toy.read_text().splitlines() if line.strip()]
    assert SHORTEST <= len(lines) <= LONGEST


@each_toy
def test_the_list_of_the_toys_has_it(toy):
    ((chapter, _, _),) = shown(toy)
    (row,) = [line for line in INDEX.read_text().splitlines() if f"| [{toy.name}]" in line]
    assert f"[{chapter.number}](../../chapters/{chapter.slug}/README.md#" in row


def test_the_list_names_no_other():
    assert set(re.findall(r"\| \[(\w+\.c)\]", INDEX.read_text())) == {toy.name for toy in TOYS}
