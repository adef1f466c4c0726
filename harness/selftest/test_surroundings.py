"""What surrounds a grade decides nothing: the path of the lab, and how its checkout was made."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.evidence.failure import NotJudged
from harness.lab.chapters import ROOT, find
from harness.mutants.catalogue import select
from harness.selftest.shell import run
from harness.server.process import ServerProcess
from harness.shim import shim_library

SERVERS = Path(__file__).with_name("servers")
# Characters that ld.so, sh, make, pytest or a format take for something else.
ODD = ("my lab", "week:1", "$LIB", "%p,;#", "it's", "new\nline", "[1]::", os.fsdecode(b"\xff"))
FAULTS = ["T=single_faults", "CH=01"]


@pytest.fixture(scope="module")
def announcing(tmp_path_factory):
    """announcing(*flags) -> a program that announces itself as a server does"""
    directory = tmp_path_factory.mktemp("announcing")

    def build(*flags):
        program = directory / f"server{''.join(flags)}"
        subprocess.run(["cc", *flags, "-o", program, SERVERS / "announce.c"], check=True)
        return [str(program)]

    return build


# The path


@pytest.mark.parametrize("name", ODD)
def test_the_library_is_loaded_from_any_path(tmp_path, monkeypatch, announcing, name):
    place = tmp_path / name
    place.mkdir()
    library = Path(shutil.copy(shim_library(), place))
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with ServerProcess().start(announcing(), preload=[library], linked_here=True) as server:
        assert server.calls() is not None


@pytest.mark.parametrize("linked_here", [True, False])
def test_a_library_that_is_not_loaded_is_not_judged(tmp_path, announcing, linked_here):
    """Only a program that the lab has not linked may do without."""
    library = tmp_path / "shim.so"
    library.write_text("no library\n" * 100)
    starting = ServerProcess()
    if linked_here:
        with pytest.raises(NotJudged, match=r"do not load the lab's own library: .*invalid ELF"):
            starting.start(announcing(), preload=[library], linked_here=True)
        return
    with starting.start(announcing(), preload=[library]) as server:
        assert server.calls() is None


def test_a_static_program_of_the_lab_is_not_judged(announcing):
    with pytest.raises(NotJudged, match="ld.so does not say why"):
        ServerProcess().start(announcing("-static"), preload=[shim_library()], linked_here=True)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A copy of the lab at an odd path."""
    copy = tmp_path_factory.mktemp("a") / "my lab:1 [$LIB]::"
    left_out = shutil.ignore_patterns("build", ".git", "__pycache__", "node_modules")
    shutil.copytree(ROOT, copy, ignore=left_out)
    return copy


def make(directory, *words):
    """What a make prints there."""
    return run("make", "-C", str(directory), *words, PYTHONDONTWRITEBYTECODE="").stdout


def test_a_wrong_and_a_right_server_in_an_odd_place(elsewhere):
    (wrong,) = select("01", "full-table-is-the-end")
    wrong.write(elsewhere / "wrong one")
    assert "2 of 2 points" in make(elsewhere, "grade", *FAULTS, "FROM=solutions")
    assert "0 of 2 points" in make(elsewhere, "grade", *FAULTS, "DIR=wrong one")


@pytest.mark.full("commands in an odd place")
def test_other_commands_in_an_odd_place(elsewhere):
    """An empty frame is lost. Its failure can be replayed, traced and sent."""
    (wrong,) = select("01", "empty-frame-no-reply")
    wrong.write(elsewhere / "wrong two")
    given = ["CH=01", "T=01_empty_frames", "DIR=wrong two"]
    found = re.search(r"make replay ID=(\S+)", make(elsewhere, "grade", *given))
    assert "0 of 3 points" in make(elsewhere, "replay", f"ID={found[1]}", given[-1])
    assert "read" in make(elsewhere, "trace", *given)
    assert "wrote" in make(elsewhere, "handin", "CH=01", "OUT=hand in.tar.gz")
    assert "3.1 of 3.1" in make(elsewhere, "memcheck", *given[:2], "FROM=solutions")
    shutil.copytree(elsewhere / "solutions" / find("01").slug, elsewhere / "all of us" / "ada b")
    for isolation in ("bubblewrap", "landlock"):
        out = make(elsewhere, "class", "CH=01", "SUB=all of us", f"ISOLATE={isolation}")
        assert re.search(r"ada b +100 ", out), out
        shutil.rmtree(elsewhere / "build" / "class")


# The checkout


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the lab has no history")
def test_a_clone_of_git_for_windows_has_the_same_bytes(tmp_path):
    clone = ["git", "-c", "core.autocrlf=true", "clone", "--quiet", "--depth=1", f"file://{ROOT}"]
    subprocess.run([*clone, tmp_path / "lab"], check=True)
    shutil.rmtree(tmp_path / "lab" / ".git")
    files = [path for path in (tmp_path / "lab").rglob("*") if path.is_file()]
    assert [path for path in files if b"\r\n" in path.read_bytes()] == []
