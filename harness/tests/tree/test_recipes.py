"""docs/recipes: what their scripts do, with another program in place of the grade."""

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


def test_a_grade_becomes_three_files_and_is_tried_again(tmp_path):
    top = tmp_path / "repository"
    shutil.copytree(ROOT / "docs" / "recipes", top / "docs" / "recipes")
    (top / "harness").symlink_to(ROOT / "harness")
    python = shell.script(tmp_path / "its-python", PYTHON.format(tmp_path, sys.executable))
    env = shell.environment(LAB_PYTHON=str(python), DIR="a b", OUT="x y")
    for grades, status in (
        ([FAILED], 1),
        ([UNJUDGED, FAILED], 1),
        ([UNJUDGED, UNJUDGED], 2),
        ([UNJUDGED, NONE], 2),
    ):
        (tmp_path / "next").write_text("".join(f"{one}\n" for one in grades))
        words = ["sh", top / "docs" / "recipes" / "grade.sh", "04"]
        ended = subprocess.run(words, env=env, capture_output=True, text=True)
        once_more = "text of the grade\ngrade.sh: not everything was judged; once more\n"
        said = once_more * (len(grades) - 1) + "text of the grade\n"
        assert (ended.returncode, ended.stdout, ended.stderr) == (status, said, "")
        found = sorted(path.name for path in (top / "x y").iterdir())
        assert found == (["04.txt"] if NONE in grades else ["04.json", "04.txt", "04.xml"])
    assert " --dir a b " in (tmp_path / "calls").read_text()


def test_the_services_call_what_is_there():
    for name in ("github-actions.yml", "gitlab-ci.yml"):
        text = (ROOT / "docs" / "recipes" / name).read_text()
        lines = re.findall(r"^ +- (?:run: )?((?:make|sh) .*)$", text, re.M)
        assert lines == ["make setup", 'sh docs/recipes/grade.sh "$CHAPTER"']
        assert "build/ci" in text and 'CHAPTER: "04"' in text
