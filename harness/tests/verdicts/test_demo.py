"""The demos show what the handouts say they show, and fit the screen."""

import re
import resource
import shutil

import pytest

from harness.lab.chapters import CHAPTERS
from harness.server.linux import ring
from harness.student.demos import command as demo
from harness.tests import golden, shell

SAME = ("01", "02", "05", "12")  # their demos have the same numbers each time
GROWS = {"04": "MiB", "06": "µs", "10": "KiB"}  # the unit of the last number of lines that show it
NUMBER = re.compile(r"(?<![\w/=.])\d[\d,]*(?:\.\d+)?")
PARTS = [(one.number, "") for one in CHAPTERS] + [("06", "1")]
QUICK = [("01", ""), ("05", ""), ("06", "1")]


def lacking(chapter):
    """The reason why a demo does not show everything here, or ""."""
    if chapter in GROWS and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 5200:
        return "too few descriptors"
    tools = {"11": ["strace"], "12": ["redis-cli", "redis-server"]}.get(chapter, [])
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"{missing[0]} is not installed" if missing else (chapter == "11" and ring.problem())


@pytest.mark.parametrize(
    "chapter, part",
    [pytest.param(*one, marks=[] if one in QUICK else pytest.mark.full("demos")) for one in PARTS],
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
    golden.check(f"demo-{chapter}{part and f'-part-{part}'}", text)


def test_every_part_of_a_handout_has_a_demo():
    for chapter in CHAPTERS:
        text = (chapter.chapter_dir / "README.md").read_text()
        parts = re.findall("^### Part ", text, re.M)
        assert len(parts) == len(demo.parts_of(chapter))
        for number, _ in enumerate(parts, 1):
            assert f"make demo CH={chapter.number} PART={number}" in text
