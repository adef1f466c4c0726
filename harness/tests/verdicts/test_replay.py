"""A failure again, by its ID; and beside a debugger."""

from __future__ import annotations

import re
import shutil

import pytest

from harness.authors.mutants.catalogue import CATALOGUE
from harness.tests.verdicts.test_verdicts import grade, lost
from harness.claims.instruments import gdb
from harness.grading import report
from harness.grading.scoring import Grade
from harness.lab.chapters import ROOT, find
from harness.student import replay as module


def replay(*words, capsys):
    status = module.main(list(words))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def wrong(tmp_path):
    """A server whose failure is the same conversation each time."""
    next(one for one in CATALOGUE if one.id == "01-one-read").write(tmp_path / "wrong")
    return tmp_path / "wrong"


def _steps(text):
    """The conversation, with every byte that it shows."""
    return text.split("  conversation\n")[1].split("  server ")[0]


def test_the_id_of_a_failure_repeats_it(wrong, patient, capsys):
    """The same steps and bytes, though the server has been changed; and then it is right."""
    test = "01_frame_cut_at_every_byte"
    results, _ = grade(patient, "--chapter", "01", "--dir", str(wrong), "--only", test)
    (first,) = lost(results)
    command = re.search(r"again +make replay ID=(\S+) DIR=(\S+)", first)
    assert f"make trace ID={command[1]} DIR={command[2]}" in first
    log = wrong / "log.c"
    log.write_text(log.read_text() + "\n/* changed */\n")
    words = ["--id", command[1], "--dir", command[2]]
    status, out, _ = replay(*words, capsys=capsys)
    assert status == 1
    assert _steps(out) == _steps(first)
    shutil.copytree(find("01").solution_dir, wrong, dirs_exist_ok=True)
    status, out, _ = replay(*words, capsys=capsys)
    assert status == 0
    assert "FAILED" not in out


def test_the_failure_in_the_readme_is_what_its_id_prints(tmp_path, capsys):
    """Byte for byte: a reader may type the command that stands below it."""
    shown = (ROOT / "README.md").read_text().replace("\n    ", "\n")
    identity = re.search(r"again +make replay ID=(\S+)", shown)[1]
    next(one for one in CATALOGUE if one.id == "01-one-read").write(tmp_path / "wrong")
    _, out, _ = replay("--id", identity, "--dir", str(tmp_path / "wrong"), capsys=capsys)
    assert _steps(out) == _steps(shown), "docs/working-on-the-lab.md#timelines: draw it again, too"


GDB = shutil.which("gdb")


def replayed_beside_gdb(identity, commands, directory, monkeypatch) -> int:
    """Replays a test of a solution with these commands for gdb. Returns the exit status."""
    script = directory / "script"
    script.write_text("\n".join(["set pagination off", *commands, "detach\n"]))
    monkeypatch.setenv("LAB_GDB", f"gdb -nx -q -batch -x {script}")
    return module.main(["--id", identity, "--from", "solutions"])


def stop_in(function) -> list[str]:
    """Commands for gdb: it stops there once, and says where it is."""
    return [f"break {function}", "continue", "bt 1", "delete"]


@pytest.mark.skipif(not GDB, reason="gdb is not installed")
def test_gdb_sees_the_first_byte(tmp_path, monkeypatch, capfd):
    """It is attached before anything was sent, and the test passes when it has gone."""
    identity, commands = "04-04_replies_are_batched-5", stop_in("conn_read")
    assert replayed_beside_gdb(identity, commands, tmp_path, monkeypatch) == 0
    out = capfd.readouterr().out
    assert "is stopped" in out
    assert re.search(r"^#0 +conn_read ", out, re.M)
    assert "passed" in out


def test_a_debugger_that_does_not_attach(tmp_path, monkeypatch, capfd):
    """The test is not judged: nobody has seen it."""
    monkeypatch.setattr(gdb, "ATTACH_SECONDS", 0.2)
    monkeypatch.setenv("LAB_GDB", "true")
    monkeypatch.setattr(gdb, "SECONDS", 5)
    with gdb.session("true") as file:
        with pytest.raises(Exception, match="no debugger has attached"):
            gdb.hold(1, file)


@pytest.mark.parametrize(
    "words, says",
    [
        ([], "which failure? Each prints its own"),
        (["--id", "nonsense"], "ID=nonsense: a failure prints one, for instance ID="),
        (["--id", "04-04_x-5", "--chapter", "04"], "leave CH out"),
        (["--id", "04-04_nothing-5"], "chapter 04 has no test of that name"),
        (["--id", "77-04_nothing-5"], "there is no chapter '77'"),
    ],
)
def test_wrong_usage(words, says, capsys):
    status, _, error = replay(*words, capsys=capsys)
    assert status == 2
    assert says in error


def test_a_debugger_that_is_not_installed(monkeypatch, capsys):
    monkeypatch.setenv("LAB_GDB", "no-such-debugger")
    status, _, error = replay("--id", "04-04_replies_are_batched-5", capsys=capsys)
    assert status == 2
    assert "no-such-debugger is not installed" in error


def test_under_valgrind_a_failure_has_one_command():
    """make trace and make replay run without it."""
    grade = Grade(chapter=None, subject="", memcheck=True, again="make memcheck CH=01", seed=7)
    assert report.commands(grade, "test_x") == [("again", "make memcheck CH=01 T=test_x SEED=7")]
