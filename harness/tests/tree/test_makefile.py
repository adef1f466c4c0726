"""The make targets: what each runs and passes on, and which Python they find."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from harness.__main__ import COMMANDS
from harness.tests import golden
from harness.tests.shell import run, script
from harness.lab.chapters import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
NAMES = re.findall(r"^export LAB_(\w+) +=.*call given", MAKEFILE, re.M)
ODD = """a b 'c' "d" $HOME $(x)"""  # no shell and no make may touch it


def test_what_the_targets_run(tmp_path):
    """Variables count on the command line, and not in the environment."""
    targets = [*COMMANDS, "memcheck", "check", "test"]
    given = [f"{name}={name.lower()}" for name in NAMES]
    ours = dict(line.split("=") for line in given)
    told = 'env | grep "^LAB_[A-Z]*=." | grep -v ^LAB_PYTHON | sort'
    python = f'case "$1" in -) ;; *) echo "$@"; {told} ;; esac'
    fake = f"PYTHON={script(tmp_path / 'its bin' / 'python', python)}"
    parts = [run("make", "-s", *targets[:-1], "-k", fake).stdout]
    parts.append(run("make", "grade", fake, "CH=1", f"SERVER={ODD}", **ours).stdout)
    parts.append(run("make", "test", fake, "TESTARGS=-k x", "RECORD=1", *given).stdout)
    for word in ("ch=03", "From=solutions"):
        refused = run("make", "grade", word)
        assert (refused.returncode, refused.stdout) == (2, "")
        parts.append(refused.stderr.partition("*** ")[2])
    golden.check("makefile", "\n".join(parts), tmp_path)


def test_help_lists_every_target(tmp_path):
    """In a handout, which has no solutions, what a student needs."""
    text = run("make").stdout
    targets = re.search(r"^\.PHONY:(.*)\$", MAKEFILE, re.M)[1].split()
    for target in {*targets, *COMMANDS} - {"help", "own"}:
        assert re.search(rf"\bmake {target}\b", text), target
    assert max(map(len, text.splitlines())) <= 80, "it does not fit the terminal"
    shutil.copy(ROOT / "Makefile", tmp_path)
    listed = run("make", "-C", str(tmp_path)).stdout
    assert "make grade CH=03" in listed and "make bench" in listed
    assert not re.search("make (class|lesson|mutants)", listed)


def test_which_python_is_found(tmp_path):
    """One without pytest is passed over; where there is no other, make setup is named."""
    script(tmp_path / "python3", "exit 1")
    found = run("sh", "harness/find-python.sh", path=f"{tmp_path}:{os.environ['PATH']}")
    if found.returncode:
        pytest.skip("no Python outside of PATH has pytest")
    assert found.stdout.strip() in ("/usr/bin/python3", "/usr/local/bin/python3")
    text = (ROOT / "harness/find-python.sh").read_text()
    finder = tmp_path / "find-python.sh"
    finder.write_text(re.sub(r"/usr/(local/)?bin/python3", "/no/python3", text))
    result = run(shutil.which("sh"), str(finder), path=str(tmp_path))
    assert result.returncode == 1 and 'run "make setup"' in result.stderr


@pytest.mark.parametrize("closing, status", [("3 passed in 1.20s", 0), ("1 failed in 1.20s", 2)])
def test_ci_ends_with_the_status_and_the_closing_line_of_the_tests(tmp_path, closing, status):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    tests = f"echo '=== {closing} ==='; echo noise; exit {status}"
    script(tmp_path / ".ci/fresh", f'case "$*" in *test*) {tests} ;; esac')
    result = run(f"{tmp_path}/.ci/run")
    assert (result.returncode, result.stdout.splitlines()[-1]) == (status, f"=== {closing} ===")
