"""A failure again, by its ID: replayed, traced, and beside a debugger."""

import re
import shutil

import pytest

from harness.maintain.wrong_servers.catalogue import CATALOGUE
from harness.student import replay
from harness.student.trace import command as trace
from harness.submission.chapters import ROOT, find
from harness.tests import golden


def by_side(text):
    """The trace without times, the server's lines last: nobody knows whether the server reads
    before the client has returned from its send()."""
    late = r".*(nothing happens|  in accept\(\)|has not returned for .*)\n"  # on a busy machine
    text = re.sub(r"[\d.]+ MB", "#", re.sub(late, "", text))
    rows = re.sub(r"^(->|  ) +\d+\.\d+  ", r"\1 ", text, flags=re.M).splitlines()
    return "\n".join(sorted(rows, key=lambda row: bool(re.match("(->|  ) [^ ] {7}", row))))


def test_the_failure_in_the_readme_can_be_repeated(tmp_path, patient, capsys, monkeypatch):
    """The grade, and the replay of a server that has changed meanwhile, show what the README shows,
    byte for byte. It is traced; then the server is right, and passes."""
    monkeypatch.setattr(trace, "PAGES", tmp_path)
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
    assert len(steps) == 1, "docs/working-on-the-lab.md#timelines: make it again, too"
    assert trace.main(["--id", identity, "--dir", str(wrong)]) == 1
    shutil.copytree(find("01").solution_dir, wrong, dirs_exist_ok=True)
    right = ["--chapter", "01", "--only", "01_urgent_data_is_no_part_of_the_stream", "--seed", "7"]
    assert trace.main([*right, "--dir", str(wrong)]) == 0
    golden.check("trace-of-servers", by_side(capsys.readouterr().out), tmp_path)
    assert replay.main(["--id", identity, "--dir", str(wrong)]) == 0


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_sees_the_first_byte(tmp_path, monkeypatch, capfd):
    commands = ["set pagination off", "break conn_read", "continue", "bt 1", "delete", "detach"]
    (tmp_path / "script").write_text("\n".join([*commands, ""]))
    monkeypatch.setenv("LAB_GDB", f"gdb -nx -q -batch -x {tmp_path / 'script'}")
    assert replay.main(["--id", "04-04_replies_are_batched-5", "--from", "solutions"]) == 0
    out = capfd.readouterr().out
    assert re.search(r"is stopped.*^#0 +conn_read .*passed", out, re.M | re.S)
