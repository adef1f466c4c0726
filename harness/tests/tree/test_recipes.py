"""docs/recipes: what their scripts do, with other programs in place of the grade and of setup."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.lab.chapters import ROOT
from harness.tests import shell
from harness.tests.parts.test_exports import GRADES

RECIPES = ROOT / "docs" / "recipes"
# In place of Python: a grade ends with the next status of a list; without the last one it leaves
# no result.
PYTHON = """
[ "$1" = - ] && exit 0
echo "$*" >>{0}/calls
[ "$2 $3" = "harness grade" ] || exec {1} "$@"
while [ "$1" != --results ]; do shift; done
read -r status result <{0}/next
sed -i 1d {0}/next
[ -z "$result" ] || printf '%s' "$result" >"$2"
echo "text of the grade"
exit $status
"""
FAILED = f"1 {json.dumps(GRADES['does not compile'])}"
UNJUDGED = f"2 {json.dumps(GRADES['not judged'])}"
NONE = "2"


@pytest.fixture
def repository(tmp_path) -> Path:
    """A repository with the lab, in which tools note their calls."""
    top = tmp_path / "repository"
    shutil.copytree(RECIPES, top / "docs" / "recipes")
    (top / "harness").symlink_to(ROOT / "harness")
    shell.script(tmp_path / "its-python", PYTHON.format(tmp_path, sys.executable))
    for name in ("apt-get", "make", "sudo"):
        shell.script(tmp_path / name, f'echo "{name} $*" >>{tmp_path}/calls')
    return top


def run(top: Path, line: str, *grades: str, **given: str) -> tuple[int, str, str]:
    """Runs a line in the repository with these grades: its status, its output, and the calls."""
    for name, text in {"next": "".join(f"{one}\n" for one in grades), "calls": ""}.items():
        (top.parent / name).write_text(text)
    tools = {"PATH": f"{top.parent}:{os.environ['PATH']}", "LAB_PYTHON": f"{top.parent}/its-python"}
    how = {"cwd": top, "env": shell.environment(**tools, **given), "timeout": 60, "text": True}
    ended = subprocess.run(
        ["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how
    )
    return ended.returncode, ended.stdout, (top.parent / "calls").read_text()


def test_a_grade_becomes_three_files_and_is_tried_again(repository):
    for grades, status in (
        ([FAILED], 1),
        ([UNJUDGED, FAILED], 1),
        ([UNJUDGED, UNJUDGED], 2),
        ([UNJUDGED, NONE], 2),
    ):
        words = {"DIR": "a b", "OUT": "x y"}
        ended = run(repository, "sh docs/recipes/grade.sh 04", *grades, **words)
        once_more = "text of the grade\ngrade.sh: not everything was judged; once more\n"
        assert ended[:2] == (status, once_more * (len(grades) - 1) + "text of the grade\n")
        assert " --dir a b " in ended[2]
        found = sorted(path.name for path in (repository / "x y").iterdir())
        assert found == ["04.json", "04.txt", "04.xml"] if NONE not in grades else ["04.txt"]
    ended = run(repository, "sh docs/recipes/grade.sh")
    assert ended[0] == 2 and "which chapter?" in ended[1]


def test_the_lines_of_the_services(repository):
    for name in ("github-actions.yml", "gitlab-ci.yml", "pages.yml"):
        text = (RECIPES / name).read_text()
        lines = re.findall(r"^ +- (?:run: )?((?:apt-get|make|sh) .*)$", text, re.M)
        words = {"GITHUB_REPOSITORY": "school/lab", "GITHUB_SERVER_URL": "https://github.com"}
        ended = [run(repository, line, FAILED, CHAPTER="04", **words) for line in lines]
        calls = "".join(one[2] for one in ended)
        assert [one[0] for one in ended] == [0] * (len(ended) - 1) + [int(name != "pages.yml")]
        if name == "pages.yml":
            site = "make site BASE=/lab/ REPO=https://github.com/school/lab"
            assert calls == f"make setup SITE=1\n{site}\n" and "path: build/site" in text
        else:
            assert "make setup\n" in calls and " --chapter 04 " in calls
            assert (repository / "build" / "ci" / "04.xml").exists() and "build/ci" in text
