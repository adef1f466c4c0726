"""The make targets: what each runs and passes on."""

import re
import shutil

from harness.__main__ import COMMANDS
from harness.submission.chapters import ROOT
from harness.tests import golden
from harness.tests.shell import run, script

NAMES = re.findall(r"^export LAB_(\w+) +=.*call given", (ROOT / "Makefile").read_text(), re.M)
ODD = """a b 'c' "d" $HOME $(x)"""  # no shell and no make may touch it


def test_what_the_targets_run(tmp_path):
    """Variables count on the command line, and not in the environment."""
    given = [f"{name}={name.lower()}" for name in NAMES]
    told = 'env | grep "^LAB_[A-Z]*=." | grep -v ^LAB_PYTHON | sort'
    python = f'case "$1" in -) ;; *) echo "$@"; {told} ;; esac'
    fake = f"PYTHON={script(tmp_path / 'its bin' / 'python', python)}"
    parts = [run("make", *COMMANDS, "memcheck", "check", "-k", fake).stdout]
    ours = dict(line.split("=") for line in given)
    parts.append(run("make", "grade", fake, "CH=1", f"SERVER={ODD}", **ours).stdout)
    parts.append(run("make", "test", fake, "TESTARGS=-k x", "RECORD=1", *given).stdout)
    refused = run("make", "grade", "ch=03")
    assert (refused.returncode, refused.stdout) == (2, "")
    golden.check("makefile", "\n".join([*parts, refused.stderr.partition("*** ")[2]]), tmp_path)


def test_help_lists_every_target(tmp_path):
    """In a handout, which has no solutions, what a student needs."""
    text = run("make").stdout
    for target in {*COMMANDS, "setup", "check", "test", "clean", "lint"} - {"own"}:
        assert re.search(rf"\bmake {target}\b", text), target
    assert max(map(len, text.splitlines())) <= 80, "it does not fit the terminal"
    shutil.copy(ROOT / "Makefile", tmp_path)
    listed = run("make", "-C", str(tmp_path)).stdout
    assert "make bench" in listed and not re.search("make (class|lesson|wrong_servers)", listed)
