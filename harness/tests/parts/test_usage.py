"""Wrong words and variables: each command says in one line what is wrong, and what to do;
also where it cannot write.

The cases are the lines of golden/usage.txt that begin with `make`. A new one is added there,
and its answer by RECORD=1. Words that begin with a dash are for python3 -m harness.
"""

from __future__ import annotations

import errno
import os
import re
import shlex

import pytest

from harness.commands import main
from harness.submission import command_line, files
from harness.submission.chapters import ROOT
from harness.submission.target import WrongUsage
from harness.tests import golden

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


def test_what_cannot_be_written_is_one_line(capsys, monkeypatch):
    """A disk that fills up during a write: the error of write(2) has no name."""
    monkeypatch.setattr(command_line, "BUILD", ROOT / "build")
    own = [str(ROOT / "build" / "x")]
    advice = ["sudo chown -R", "LAB_BUILD", *["free some space"] * 3]

    def body():
        raise error

    for number, path in (
        *((errno.EACCES, own), (errno.EROFS, own), (errno.ENOSPC, own)),
        *((errno.ENOSPC, []), (errno.EDQUOT, [])),
    ):
        error = OSError(number, os.strerror(number), *path)
        assert command_line.run("grade", body) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and advice.pop(0) in said
    error = PermissionError(errno.EACCES, "a fault of ours", "/etc/passwd")
    with pytest.raises(PermissionError):
        command_line.run("grade", body)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "new" / "a"
    files.write(place, b"old", 0o600)
    assert place.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(os, "replace", lambda *_: open("/no/space/left"))
    for write, error in ((files.write, OSError), (files.write_out, WrongUsage)):
        with pytest.raises(error, match="No such file"):
            write(place, b"new")
        assert place.read_bytes() == b"old" and os.listdir(place.parent) == ["a"]
