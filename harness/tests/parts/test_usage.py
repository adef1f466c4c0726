"""Wrong words and variables: each command says in one line what is wrong, and what to do.

The cases are the lines of golden/usage.txt that begin with `make`. A new one is added there,
and its answer by RECORD=1. Words that begin with a dash are for python3 -m harness.
"""

from __future__ import annotations

import os
import re
import shlex

from harness.__main__ import main
from harness.tests import golden
from harness.lab.chapters import ROOT

CASES = re.findall("^make (.*)", (golden.DIRECTORY / "usage.txt").read_text(), re.M)
VARIABLE = re.compile("[A-Z]+=")


def test_wrong_usage(monkeypatch, capsys):
    for name in [name for name in os.environ if name.startswith("LAB_") and name != "LAB_BUILD"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(ROOT)
    told, wrong = [], []
    for case in CASES:
        name, *words = shlex.split(case.replace("-SEED", "-5"))
        with monkeypatch.context() as patch:
            for word in filter(VARIABLE.match, words):
                variable, value = word.split("=", 1)
                patch.setenv(f"LAB_{variable}", value)
            words = [word for word in words if not VARIABLE.match(word)]
            patch.setattr("sys.argv", ["harness", name, *words])
            status, (out, err) = main(), capsys.readouterr()
        told.append(f"make {case}\n   {err}")
        wrong += [told[-1]] if (status, out, err.count("\n")) != (2, "", 1) else []
    assert CASES and not wrong, "".join(wrong)
    golden.check("usage", "".join(told))
