"""docs/recipes: what their scripts do, with another program in place of the grade."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

from harness.lab.chapters import ROOT
from harness.tests import shell
from harness.tests.parts.test_exports import GRADES

RECIPES = ROOT / "docs" / "recipes"
# In place of Python: the first grade is not judged, the second one is.
PYTHON = """
[ "$1" = - ] && exit 0
[ "$2 $3" = "harness grade" ] || exec {1} "$@"
echo "$*" >>{0}/calls
while [ "$1" != --results ]; do shift; done
cp {0}/result "$2"
echo "text of the grade"
exit $((3 - $(wc -l <{0}/calls)))
"""


def test_a_grade_becomes_three_files_and_is_tried_again(tmp_path):
    top = tmp_path / "repository"
    shutil.copytree(ROOT / "docs" / "recipes", top / "docs" / "recipes")
    (top / "harness").symlink_to(ROOT / "harness")
    python = shell.script(tmp_path / "its-python", PYTHON.format(tmp_path, sys.executable))
    (tmp_path / "result").write_text(json.dumps(GRADES["does not compile"]))
    env = shell.environment(LAB_PYTHON=str(python), DIR="a b", OUT="x y")
    words = ["sh", top / "docs" / "recipes" / "grade.sh", "04"]
    ended = subprocess.run(words, env=env, capture_output=True, text=True)
    text = "text of the grade\n"
    said = f"{text}grade.sh: not everything was judged; once more\n{text}"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, said, "")
    names = {path.name for path in (top / "x y").iterdir()}
    assert names == {"04.json", "04.txt", "04.xml"}
    assert (tmp_path / "calls").read_text().count(" --dir a b ") == 2
