"""A failure again, by its ID; and beside a debugger."""

from __future__ import annotations

import re
import shutil

import pytest

from harness.authors.mutants.catalogue import CATALOGUE
from harness.lab.chapters import ROOT, find
from harness.student import replay


def conversation(text):
    """What happened, with every byte of it."""
    return text.split("  conversation\n")[1].split("  server ")[0]


def test_the_failure_in_the_readme_can_be_repeated(tmp_path, patient, capsys):
    """The grade, and the replay of a server that has changed meanwhile, show what the README shows,
    byte for byte. Then the server is right, and passes."""
    readme = (ROOT / "README.md").read_text().replace("\n    ", "\n")
    identity, test, seed = re.search(r"make replay ID=(01-(\w+)-(\d+))", readme).groups()
    wrong = tmp_path / "wrong"
    next(one for one in CATALOGUE if one.id == "01-one-read").write(wrong)
    words = ["--chapter", "01", "--dir", str(wrong), "--only", test, "--seed", seed]
    (failed,) = [one for one in patient.grade(words).results["tests"] if one["status"] == "failed"]
    assert f"make replay ID={identity} DIR={wrong}" in failed["output"]
    with (wrong / "log.c").open("a") as file:
        file.write("/* changed */\n")
    assert replay.main(["--id", identity, "--dir", str(wrong)]) == 1
    shown = [conversation(text) for text in (readme, failed["output"], capsys.readouterr().out)]
    assert shown[1:] == shown[:1] * 2, "docs/working-on-the-lab.md#timelines: draw it again, too"
    shutil.copytree(find("01").solution_dir, wrong, dirs_exist_ok=True)
    assert replay.main(["--id", identity, "--dir", str(wrong)]) == 0


def replayed_beside_gdb(identity, commands, directory, monkeypatch) -> int:
    """Replays a test of a solution with these commands for gdb. Returns the exit status."""
    script = directory / "script"
    script.write_text("\n".join(["set pagination off", *commands, "detach\n"]))
    monkeypatch.setenv("LAB_GDB", f"gdb -nx -q -batch -x {script}")
    return replay.main(["--id", identity, "--from", "solutions"])


def stop_in(function) -> list[str]:
    """Commands for gdb, which stops there once and says where the program is."""
    return [f"break {function}", "continue", "bt 1", "delete"]


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_sees_the_first_byte(tmp_path, monkeypatch, capfd):
    """gdb is attached before anything was sent, and the test passes when it has gone."""
    identity = "04-04_replies_are_batched-5"
    assert replayed_beside_gdb(identity, stop_in("conn_read"), tmp_path, monkeypatch) == 0
    out = capfd.readouterr().out
    assert "is stopped" in out and re.search(r"^#0 +conn_read ", out, re.M) and "passed" in out
