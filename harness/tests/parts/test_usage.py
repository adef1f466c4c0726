"""Wrong words and variables: each command says in one line what is wrong, and what to do."""

from __future__ import annotations

import os
import re
import shlex

from harness.__main__ import main
from harness.tests import golden
from harness.lab.chapters import ROOT

VARIABLE = re.compile("[A-Z]+=")
# As one types them after `make`; words that begin with a dash are for python3 -m harness.
CASES = """
nonsense
grade CH=99
grade CH=01 DIR=/no/where
grade CH=01 DIR=Makefile
grade CH=01 DIR=harness
grade CH=01 FROM=nowhere
grade CH=01 SERVER=cat
grade CH=01 SERVER='nosuch {port}'
grade CH=01 SERVER="cat '" PORT=1
grade CH=01 SERVER=cat PORT=x
grade CH=01 SERVER=cat PORT=0
grade CH=01 PORT=80
grade CH=01 DIR=x SERVER=y
grade CH=01 SEED=x
grade CH=01 T=xyz
grade CH=02 T=01.9,02.1
grade CH=01 SERVER='cat {port}' T=01_says_what
grade CH=01 SERVER='cat {port}' ERRORS=1
grade DIR=harness
grade T=01.1
grade ERRORS=1
run
run CH=01 PORT=70000
watch
watch CH=02 SERVER='cat {port}'
watch CH=02 DIR=/nonsense
replay
replay ID=nonsense
replay ID=04-04_x-5 CH=04
replay ID=04-04_nothing-5
replay ID=77-04_nothing-5
replay ID=04-04_replies_are_batched-5 GDB=no-such-debugger
trace CH=04
trace T=04.1
trace CH=04 T=nonsense
trace CH=77 T=x
demo
demo 77
demo CH=05 PART=4
demo CH=08 PART=4
demo CH=01 DIR=x
fuzz
fuzz CH=04
fuzz CH=05 SERVER=x
fuzz CH=05 INPUT=0x3
fuzz CH=05 SECONDS=1m
tcl
tcl CH=11 REDIS=x
tcl CH=12 FROM=solutions
answers CH=99
bench CH=04 FROM=solutions ROWS=ax
bench CH=04 FROM=solutions CORES=3
bench N=0
bench CH=77
bench CH=12 FROM=solutions ROWS=set,zadd
bench N=x
bench PLOT=nonsense
diff
diff CH=77
lesson
handout CH=99
handout OUT=x.zip
handout ANSWERS=2
handin
handin CH=01 DIR=/no/where
handin CH=01 OUT=chapters/01-blocking/x.tar.gz
appeal
appeal ID=nonsense
appeal ID=01-01_empty_frames-5 OUT=x.tar
appeal ID=01-01_none-5
appeal ID=01-01_empty_frames-5 SERVER='cat {port}'
class
class CH=04 SUB=nowhere
class CH=04 SUB=docs JOBS=0
class CH=99 SUB=docs/pictures
class CH=04 SUB=docs ENGINE=magic
class CH=04 SUB=docs SSHLOGIN=a
class CH=04 SUB=docs LATE=nowhere
class CH=04 SUB=docs BENCH=x
class CH=04 SUB=docs ISOLATE=magic
similar
similar CH=04
similar CH=04 SUB=nowhere
similar CH=44 SUB=docs
export
export CH=04
export CH=04 FORMAT=x
export CH=04 FORMAT=csv --results /no/none.json
export CH=04 FORMAT=csv --results LICENSE
export CH=04 FORMAT=canvas
export CH=04 FORMAT=canvas COLUMN=L GRADEBOOK=/no/g.csv --grades docs
gradescope
gradescope CH=99
gradescope CH=01 OUT=/proc/x/y.zip
site BASE=lab
mutants CH=77
mutants T=no_such_server
mutants nonsense
steady N=0
soak
soak CH=09 SERVER=x
soak CH=09 WITH=x
soak CH=09 SECONDS=x
soak CH=09 SEED=x
"""


def test_wrong_usage(monkeypatch, capsys):
    for name in [name for name in os.environ if name.startswith("LAB_") and name != "LAB_BUILD"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(ROOT)
    told, wrong = [], []
    for case in CASES.strip().splitlines():
        name, *words = shlex.split(case)
        given = [word.split("=", 1) for word in words if VARIABLE.match(word)]
        words = [word for word in words if not VARIABLE.match(word)]
        with monkeypatch.context() as patch:
            for variable, value in given:
                patch.setenv(f"LAB_{variable}", value)
            patch.setattr("sys.argv", ["harness", name, *words])
            status, (out, err) = main(), capsys.readouterr()
        told.append(f"make {case}\n   {err}")
        wrong += [told[-1]] if (status, out, err.count("\n")) != (2, "", 1) else []
    assert not wrong, "".join(wrong)
    golden.check("usage", "".join(told))
