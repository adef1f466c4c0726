"""A failure again, by its ID; and beside a debugger."""

import re
import shutil

import pytest

from harness.authors.mutants.catalogue import CATALOGUE
from harness.lab.chapters import ROOT, find
from harness.student import replay


def test_the_failure_in_the_readme_can_be_repeated(tmp_path, patient, capsys):
    """The grade, and the replay of a server that has changed meanwhile, show what the README shows,
    byte for byte. Then the server is right, and passes."""
    readme, wrong = (ROOT / "README.md").read_text(), tmp_path / "wrong"
    identity, test, seed = re.search(r"make replay ID=(01-(\w+)-(\d+))", readme).groups()
    next(one for one in CATALOGUE if one.id == "01-one-read").write(wrong)
    words = ["--chapter", "01", "--dir", str(wrong), "--only", test, "--seed", seed]
    (failed,) = [one for one in patient.grade(words).results["tests"] if one["status"] == "failed"]
    assert f"make replay ID={identity} DIR={wrong}" in failed["output"]
    (wrong / "more.h").write_text("/* changed */\n")
    assert replay.main(["--id", identity, "--dir", str(wrong)]) == 1
    texts = (readme.replace("\n    ", "\n"), failed["output"], capsys.readouterr().out)
    steps = {re.search(r"  conversation\n(.*?)  server ", text, re.S)[1] for text in texts}
    assert len(steps) == 1, "docs/working-on-the-lab.md#timelines: draw it again, too"
    shutil.copytree(find("01").solution_dir, wrong, dirs_exist_ok=True)
    assert replay.main(["--id", identity, "--dir", str(wrong)]) == 0


def replayed_beside_gdb(identity, commands, directory, monkeypatch) -> int:
    """Replays a test of a solution with these commands for gdb. Returns the exit status."""
    (directory / "script").write_text("\n".join(["set pagination off", *commands, "detach\n"]))
    monkeypatch.setenv("LAB_GDB", f"gdb -nx -q -batch -x {directory / 'script'}")
    return replay.main(["--id", identity, "--from", "solutions"])


def stop_in(function) -> list[str]:
    """Commands for gdb, which stops there once and says where the program is."""
    return [f"break {function}", "continue", "bt 1", "delete"]


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_sees_the_first_byte(tmp_path, monkeypatch, capfd):
    identity = "04-04_replies_are_batched-5"
    assert replayed_beside_gdb(identity, stop_in("conn_read"), tmp_path, monkeypatch) == 0
    out = capfd.readouterr().out
    assert re.search(r"is stopped.*^#0 +conn_read .*passed", out, re.M | re.S)
