"""make fuzz: what it finds, with an engine and by chance."""

import re
import shutil

import pytest

from harness.student import fuzz
from harness.submission import chapters

SOLUTION = chapters.find("05").solution_dir
LIMIT = "if (i == LEB128_MAX_BYTES - 1 && *byte.data > LEB128_LAST_MAX)"
FULL = pytest.mark.full("libFuzzer")


@pytest.mark.parametrize("compiler", ["none", pytest.param(fuzz.COMPILER, marks=FULL)])
def test_a_planted_fault_is_found(compiler, tmp_path, monkeypatch, capsys):
    """A reader lets the last byte of a length be anything. The input that is printed goes wrong
    again, and passes in the solution, in which nothing is found."""
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(fuzz, "COMPILER", compiler)

    def fuzzed(directory, name, value):
        with monkeypatch.context() as here:
            for key, text in {"CH": "05", "DIR": str(directory), name: value, "SEED": "1"}.items():
                here.setenv(f"LAB_{key}", text)
            return fuzz.main([]), capsys.readouterr().out

    wrong = shutil.copytree(SOLUTION, tmp_path / "wrong")
    text = (wrong / "reader.c").read_text()
    assert LIMIT in text
    (wrong / "reader.c").write_text(text.replace(LIMIT, "if (false)"))
    status, out = fuzzed(wrong, "SECONDS", "20")
    assert status == 1
    assert "reader_string() returned true, but the message does not have this field" in out
    found = re.search(r"  again      make fuzz CH=05 DIR=\S+ INPUT=([0-9a-f]+)\n", out)[1]
    assert fuzzed(wrong, "INPUT", found)[0] == 1
    assert fuzzed(SOLUTION, "INPUT", found) == (0, "this input passes\n")
    status, out = fuzzed(SOLUTION, "SECONDS", "1")
    assert status == 0 and re.search(r"^[1-9][\d,]* messages, and none fails", out, re.M)
