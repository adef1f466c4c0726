"""The demos show what the handouts say they show, and fit the screen."""

import re
import resource
import shutil

import pytest

from harness.lab.chapters import CHAPTERS
from harness.server.linux import ring
from harness.student.demos import command as demo
from harness.student.demos import shown
from harness.tests import golden, shell

SAME = ("01", "02", "05", "12")  # chapters whose demos have the same numbers each time
QUICK = ("01", "05")
NUMBER = re.compile(r"(?<![\w/=.])\d[\d,]*(?:\.\d+)?")
# The demos that show how a number grows: the lines end like this, and the number is their last.
GROWS = {"04": "MiB", "06": "µs", "10": "KiB"}
MOST_CLIENTS = 5200  # descriptors


def show(chapter, part=""):
    """What the demo of the chapter prints, without what depends on the machine."""
    result = shell.lab("demo", chapter, LAB_PART=part)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    chance = r"[\d,]+( \+ [\d,]+)+( \+ \.\.\.)?|[\d,]+ reads|(?<=ERR unknown ).*"
    text = re.sub(chance, "#", result.stdout)
    if chapter in GROWS:
        rows = [NUMBER.findall(line) for line in lines if line.endswith(GROWS[chapter])]
        least, most = (float(row[-1].replace(",", "")) for row in (rows[0], rows[-1]))
        assert most > 3 * least
    return text if chapter in SAME else re.sub(" +", " ", NUMBER.sub("#", text))


def lacking(chapter):
    """The reason why a demo does not show everything here, or ""."""
    if chapter in ("06", "10") and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < MOST_CLIENTS:
        return "too few descriptors"
    if chapter == "12" and not (shutil.which("redis-cli") and shutil.which("redis-server")):
        return "redis is not installed"
    if chapter == "11":
        return ring.problem() or ("" if shutil.which("strace") else "strace is not installed")
    return ""


@pytest.mark.parametrize(
    "chapter",
    [
        pytest.param(one.number, marks=[] if one.number in QUICK else pytest.mark.full("demos"))
        for one in CHAPTERS
    ],
)
def test_the_demo_of_a_chapter(chapter):
    if reason := lacking(chapter):
        pytest.skip(reason)
    golden.check(f"demo-{chapter}", show(chapter))


def test_part_one_of_06_closes_the_wrong_client():
    golden.check("demo-06-part-1", show("06", part="1"))


def test_every_part_of_a_handout_has_a_demo():
    for chapter in CHAPTERS:
        text = (chapter.chapter_dir / "README.md").read_text()
        parts = re.findall("^### Part ", text, re.M)
        assert len(parts) == len(demo.parts_of(chapter))
        for number, _ in enumerate(parts, 1):
            assert f"make demo CH={chapter.number} PART={number}" in text


def test_a_handout_says_which_server_has_to_work_first(monkeypatch, capsys):
    """There are no solutions to be shown instead."""
    monkeypatch.setattr(shown.Shown, "works", lambda self, together: False)
    assert demo.main(["02"]) == 2
    assert "make grade CH=01" in capsys.readouterr().err
