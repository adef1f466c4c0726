"""Claims about modules in whole grades: how they are told, replayed, debugged, or left out."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest

from harness.tests import shell
from harness.tests import submissions
from harness.tests.verdicts.test_replay import replayed_beside_gdb, stop_in
from harness.lab import chapters
from harness.server import build

SOLUTION = chapters.find("05").solution_dir

CLAIMS = '''
from harness.claims.marker import claim

@claim("01.1", points=60)
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2", points=40, module=True)
def test_01_reads(program):
    """Integers are read."""
    program("05_reader", "integers")
'''


@pytest.fixture
def grade(tmp_path):
    """grade(MODULE, *words) -> (status, text, results) of a command with the claims above."""
    claims = submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)
    results = tmp_path / "results.json"

    def run(what, *words):
        printed = shell.lab(what, *words, "--claims", claims, "--results", results)
        assert printed.stderr == ""
        return printed.returncode, printed.stdout, json.loads(results.read_text())

    return run


@pytest.fixture
def wrong(tmp_path):
    """The solution, with a reader that drops the highest byte."""
    shutil.copytree(SOLUTION, tmp_path / "wrong")
    reader = tmp_path / "wrong" / "reader.c"
    reader.write_text(reader.read_text().replace("i < size; i++", "i + 1 < size; i++"))
    return tmp_path / "wrong"


def test_a_wrong_module_in_a_grade(grade, wrong):
    """The six parts of a failure; and nothing but its own claim fails."""
    status, text, results = grade("grade", "--chapter", "01", "--dir", str(wrong))
    assert (status, results["score"]) == (1, 60)
    assert "FAILED  01.2  Integers are read." in text
    seed = results["extra_data"]["seed"]
    for part in (
        "  what happened\n     reader_i16() gave 1 instead of 513\n  steps\n",
        "-> 2  the program calls reader_i16() on 2 bytes: 01 02\n",
        "  program    ended by the check, which failed\n  hint       ",
        f"  again      make replay ID=01-01_reads-{seed} DIR={shlex.quote(str(wrong))}\n",
        f"  see        make replay ID=01-01_reads-{seed} DIR={shlex.quote(str(wrong))} GDB=1\n",
    ):
        assert part in text


def test_a_failure_is_replayed_and_not_traced(grade, wrong):
    words = ["--id", "01-01_reads-7", "--dir", str(wrong)]
    for what in ("replay", "trace"):
        status, text, _ = grade(what, *words)
        assert status == 1
        assert "reader_i16() gave 1 instead of 513" in text
        assert ("This test has no server, and so no timeline" in text) == (what == "trace")


def test_without_sources_there_is_no_module(grade):
    binary = build.cached_server(SOLUTION).binary
    server = f"{shlex.quote(str(binary))} -p {{port}}"
    status, text, results = grade("grade", "--chapter", "01", "--server", server)
    assert (status, results["score"]) == (0, 100)
    assert [test["extra_data"]["test"] for test in results["tests"]] == ["test_01_connects"]


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_stops_before_the_check(tmp_path, monkeypatch, capfd):
    identity, commands = "05-05_integers_of_all_widths-5", stop_in("reader_i16")
    assert replayed_beside_gdb(identity, commands, tmp_path, monkeypatch) == 0
    out = capfd.readouterr().out
    assert "has not called the module yet" in out
    assert "#0  reader_i16" in out and "passed" in out


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_is_started_on_each_program_of_a_test(tmp_path, monkeypatch, capfd):
    identity = "05-05_writer_in_a_buffer_that_moves-5"
    assert replayed_beside_gdb(identity, [], tmp_path, monkeypatch) == 0
    out = capfd.readouterr().out
    assert out.count("has not called the module yet") > 1 and "passed" in out
