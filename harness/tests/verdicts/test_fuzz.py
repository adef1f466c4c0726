"""make fuzz: what it finds, and what it says where libFuzzer is missing."""

import re
import shutil

import pytest

from harness.student import fuzz
from harness.submission import chapters

SOLUTION = chapters.find("05").solution_dir
LIMIT = "if (i == LEB128_MAX_BYTES - 1 && *byte.data > LEB128_LAST_MAX)"


@pytest.fixture
def fuzzed(monkeypatch, tmp_path, capsys):
    """Fuzzes a directory, with a make variable. Returns the status, and what was printed."""
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")

    def one(directory, name, value):
        with monkeypatch.context() as here:
            for key, text in {"CH": "05", "DIR": str(directory), name: value, "SEED": "1"}.items():
                here.setenv(f"LAB_{key}", text)
            return fuzz.main([]), capsys.readouterr()

    return one


@pytest.mark.full("libFuzzer")
def test_a_planted_fault_is_found(fuzzed, tmp_path):
    """A reader lets the last byte of a length be anything. The input that is printed goes wrong
    again, and passes in the solution, in which nothing is found."""
    wrong = shutil.copytree(SOLUTION, tmp_path / "wrong")
    text = (wrong / "reader.c").read_text()
    assert LIMIT in text
    (wrong / "reader.c").write_text(text.replace(LIMIT, "if (false)"))
    status, (out, _) = fuzzed(wrong, "SECONDS", "20")
    assert status == 1
    assert "reader_string() returned true, but the message does not have this field" in out
    found = re.search(r"  again      make fuzz CH=05 DIR=\S+ INPUT=([0-9a-f]+)\n", out)[1]
    assert fuzzed(wrong, "INPUT", found)[0] == 1
    assert fuzzed(SOLUTION, "INPUT", found)[1].out == "this input passes\n"
    status, (out, _) = fuzzed(SOLUTION, "SECONDS", "1")
    assert status == 0 and re.search(r"^[1-9][\d,]* messages, and none fails", out, re.M)


def test_without_libfuzzer(fuzzed, monkeypatch):
    monkeypatch.setattr(fuzz, "COMPILER", "none")
    status, (_, err) = fuzzed(SOLUTION, "SECONDS", "1")
    assert status == 2 and "make fuzz needs clang with libFuzzer" in err
