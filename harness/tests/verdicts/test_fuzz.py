"""make fuzz: what it finds, with an engine and by chance."""

from __future__ import annotations

import re
import shutil

import pytest

from harness.lab import chapters
from harness.student import fuzz

SOLUTION = chapters.find("05").solution_dir
LIMIT = "if (i == LEB128_MAX_BYTES - 1 && *byte.data > LEB128_LAST_MAX)"


@pytest.fixture
def wrong(tmp_path):
    """The solution, with a reader that lets the last byte of a length be anything."""
    shutil.copytree(SOLUTION, tmp_path / "wrong")
    reader = tmp_path / "wrong" / "reader.c"
    text = reader.read_text()
    assert LIMIT in text
    reader.write_text(text.replace(LIMIT, "if (false)"))
    return tmp_path / "wrong"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """run(CH=..., ...) -> (status, out, err) of `make fuzz` with these variables."""
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")

    def fuzzed(**variables):
        for name, text in variables.items():
            monkeypatch.setenv(f"LAB_{name}", text)
        status = fuzz.main([])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return fuzzed


class Absent(fuzz.LibFuzzer):
    tools = ("no-such-compiler",)


class AbsentAfl(fuzz.Afl):
    tools = ("no-such-compiler",)


@pytest.fixture
def no_engine(monkeypatch):
    monkeypatch.setattr(fuzz, "ENGINES", (Absent, AbsentAfl))


def test_an_engine_finds_what_is_wrong(run, wrong):
    """The input that it prints goes wrong again."""
    status, out, _ = run(CH="05", DIR=str(wrong), SECONDS="20")
    if "s of random messages" in out:
        pytest.skip("neither libFuzzer nor AFL++ is installed")
    assert status == 1
    assert "reader_string() returned true, but the message does not have this field" in out
    found = re.search(r"  again      make fuzz CH=05 DIR=\S+ INPUT=([0-9a-f]+)\n", out)
    assert run(INPUT=found[1])[0] == 1
    assert run(DIR=str(SOLUTION))[:2] == (0, "this input passes\n")


@pytest.mark.full("runs of a fuzzing engine")
def test_an_engine_finds_nothing_in_the_solution(run):
    status, out, _ = run(CH="05", FROM="solutions", SECONDS="2")
    assert status == 0
    assert re.search(r"^[1-9][\d,]* messages, and none fails", out, re.M)


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_chance_finds_it(run, wrong):
    status, out, _ = run(CH="05", DIR=str(wrong), SECONDS="20", SEED="1")
    assert status == 1
    assert "20 s of random messages; libFuzzer" in out
    assert " INPUT=" in out
    status, out, _ = run(CH="05", DIR=str(SOLUTION), SECONDS="1")
    assert status == 0
    assert re.search(r"^[\d,]+00,000 messages, and none fails", out, re.M)


def test_a_module_that_does_not_build(run, wrong):
    (wrong / "reader.c").write_text("int i\n")
    status, out, _ = run(CH="05", DIR=str(wrong))
    assert status == 1
    assert "reader.c:1:" in out
    assert out.endswith(f"  again      make fuzz CH=05 DIR={wrong}\n")


@pytest.mark.parametrize(
    "variables, says",
    [
        ({}, "which chapter? For instance CH=05"),
        ({"CH": "04"}, "chapter 04 has no reader of messages; 05-framing is the first that has"),
        ({"CH": "05", "SERVER": "x"}, "SERVER= has no source files to fuzz; give DIR="),
        ({"CH": "05", "INPUT": "0x3"}, "INPUT=0x3: that is not hex, such as 0003ff"),
        ({"CH": "05", "SECONDS": "1m"}, "SECONDS=1m: that is not a whole number"),
    ],
)
def test_wrong_usage(run, variables, says):
    assert run(**variables) == (2, "", f"fuzz: {says}\n")
