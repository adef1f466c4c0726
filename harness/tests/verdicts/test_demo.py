"""The demos and the toys show what the handouts say they show."""

import re
import resource
import shlex
import shutil
import subprocess

import pytest

from harness.server.linux import prctl
from harness.student.demos import ch06_to_08
from harness.submission.chapters import CHAPTERS, ROOT
from harness.tests import golden, shell

SAME = ("01", "02", "05", "12")  # their demos have the same numbers each time
GROWS = {"04": "MiB", "06": "µs", "10": "KiB"}  # the unit of the last number of lines that show it
NUMBER = re.compile(r"(?<![\w/=.])\d[\d,]*(?:\.\d+)?")
HANDOUTS = [(chapter.chapter_dir / "README.md").read_text() for chapter in CHAPTERS]
DEMOS = sorted(set(re.findall(r"make demo CH=(\d\d)(?: PART=(\d))?", "".join(HANDOUTS))))
QUICK = [("01", ""), ("05", ""), ("06", "1")]
# The command, and what it prints: indented lines, up to the first line that is not.
TOY = re.compile(r"^    \$ (gcc .*docs/toys/(\w+\.c).*) && build/toy\n((?:    .*\n)+)", re.M)


def lacking(chapter):
    """The reason why a demo does not show everything here, or ""."""
    if chapter in GROWS and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 5200:
        return "too few descriptors"
    tools = {"11": ["strace"], "12": ["redis-cli", "redis-server"]}.get(chapter, [])
    missing = [f"{tool} is not installed" for tool in tools if not shutil.which(tool)]
    return missing[0] if missing else (chapter == "11" and prctl.ring_problem())


@pytest.mark.parametrize(
    "chapter, part",
    [pytest.param(*one, marks=[] if one in QUICK else pytest.mark.full("demos")) for one in DEMOS],
)
def test_the_demo_of_a_chapter(chapter, part):
    if reason := lacking(chapter):
        pytest.skip(reason)
    result = shell.lab("demo", chapter, LAB_PART=part)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    if chapter in GROWS and not part:
        rows = [NUMBER.findall(line)[-1] for line in lines if line.endswith(GROWS[chapter])]
        assert float(rows[-1].replace(",", "")) > 3 * float(rows[0].replace(",", ""))
    chance = r"[\d,]+( \+ [\d,]+)+( \+ \.\.\.)?|[\d,]+ reads|(?<=ERR unknown ).*"
    text = re.sub(chance, "#", result.stdout)
    text = text if chapter in SAME else re.sub(" +", " ", NUMBER.sub("#", text))
    golden.check(f"demos/{chapter}{part and f'-part-{part}'}", text)


def test_numbers_that_demos_show(monkeypatch):
    monkeypatch.setattr(ch06_to_08, "DEADLINE_SECONDS", 0.01)
    assert ch06_to_08.until_deadline(0.001)[1] >= 0


def test_each_toy_prints_what_its_handout_shows(tmp_path):
    """The compiler prints no warning. The list of the toys names these and no other."""
    shown = TOY.findall("".join(HANDOUTS))
    listed = re.findall(r"\| \[(\w+\.c)\]", (ROOT / "docs/toys/README.md").read_text())
    toys = sorted(path.name for path in (ROOT / "docs/toys").glob("*.c"))
    assert sorted(name for _, name, _ in shown) == sorted(listed) == toys
    for command, name, output in shown:
        if "-luring" in command and prctl.ring_problem():
            continue
        words = shlex.split(command.replace("build/toy", str(tmp_path / "toy")))
        subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], cwd=ROOT, check=True)
        done = subprocess.run([tmp_path / "toy"], capture_output=True, text=True, timeout=60)
        expected = re.sub("^    ", "", output, flags=re.M)
        assert (name, done.stdout, done.stderr, done.returncode) == (name, expected, "", 0)
