"""A student's evening in a handout: a grade, a hand-in, an appeal; and the same failure here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from harness.submission import seed
from harness.submission.chapters import find
from harness.tests.shell import lab, run

TEST = "01_empty_frames"


def shown(text: str) -> str:
    """What happened, with every byte that is shown."""
    return text.split("  what happened\n")[1].split("  server ")[0]


@pytest.mark.full("whole grades")
def test_an_evening_in_a_handout(tmp_path):
    for number in ("01", "02"):
        assert lab("handout", "--chapter", number, "--out", tmp_path / f"{number}.tar.gz").stdout
    home, theirs = tmp_path / "a student", tmp_path / "a student" / "lab"
    shutil.unpack_archive(tmp_path / "01.tar.gz", home)
    (chapter,) = (theirs / "chapters").iterdir()

    def make(words: str, **given: object) -> subprocess.CompletedProcess[str]:
        more = [f"{name}={value}" for name, value in given.items()]
        return run("make", "-C", theirs, f"PYTHON={sys.executable}", *words.split(), *more)

    source = chapter / "frame.c"
    source.write_text(source.read_text() + "/* my work */\n")
    graded = make(f"grade CH=01 T={TEST}")
    results = json.loads((theirs / "build/results/01-selected.json").read_text())
    assert results["extra_data"]["verdict"] == "failed", graded.stdout + graded.stderr
    assert results["extra_data"]["not_judged"] == 0

    handed_in = make("handin CH=01", OUT=tmp_path / "in.tar.gz")
    number = seed.of_files(chapter)
    assert f"seed    {number}\n" in handed_in.stdout, handed_in.stderr
    shutil.unpack_archive(tmp_path / "in.tar.gz", tmp_path / "collected")
    assert seed.of_files(tmp_path / "collected" / chapter.name) == number

    identity = f"01-{TEST}-{number}"
    asked = make(f"appeal ID={identity}", OUT=tmp_path / "appeal.zip")
    assert "the test ran again and failed" in asked.stdout, asked.stderr
    shutil.unpack_archive(tmp_path / "appeal.zip", tmp_path / "elsewhere")
    top = tmp_path / "elsewhere" / identity
    wanted = {"README.md", "sources", "result.json", "failure.txt", "trace.html"}
    assert {path.name for path in top.iterdir()} == wanted
    text = (top / "README.md").read_text()
    command = re.search(r"^    make replay ID=(\S+) DIR=path/to/(\S+)$", text, re.M)
    again = lab("replay", "--id", command[1], "--dir", tmp_path / "elsewhere" / command[2])
    assert again.returncode == 1
    assert shown(again.stdout) == shown((top / "failure.txt").read_text())

    source.write_text(source.read_text() + "\n")
    assert "they have changed since that grade" in make(f"appeal ID={identity}").stderr

    command = re.search(r"^    (tar .*) lab.tar.gz$", (theirs / "HANDOUT.md").read_text(), re.M)
    subprocess.run([*command[1].split(), tmp_path / "02.tar.gz"], cwd=home, check=True)
    assert "/* my work */" in source.read_text()
    assert (theirs / "chapters" / find("02").slug / "conn.c").is_file()
