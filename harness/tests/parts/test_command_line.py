"""How a command ends that cannot do its work; files that appear whole or not at all; the answers of
other programs."""

import errno
import os

import pytest

from harness.lab import command_line, files, programs
from harness.lab.target import WrongUsage


def ends(error, capsys):
    """What a command says in which this is raised, and its status."""

    def body():
        raise error

    return command_line.run("grade", body), capsys.readouterr().err


def test_wrong_usage_is_one_line(capsys):
    assert ends(WrongUsage("which chapter?"), capsys) == (2, "grade: which chapter?\n")


@pytest.mark.parametrize(
    "number, in_build, says",
    [
        (errno.EACCES, True, "Permission denied; after a `sudo"),
        (errno.EACCES, True, "sudo chown -R $(id -un) build"),
        (errno.EROFS, True, "LAB_BUILD=/var/tmp/lab make"),
        (errno.ENOSPC, True, "grade: build/x cannot be written: No space left on device; free so"),
        # A disk that fills up during a write: the error of write(2) has no name.
        *((number, False, "free some space") for number in command_line.NO_SPACE),
    ],
)
def test_what_cannot_be_written_is_no_traceback(capsys, number, in_build, says):
    path = [str(command_line.BUILD / "x")] if in_build else []
    status, said = ends(OSError(number, os.strerror(number), *path), capsys)
    assert status == 2
    assert said.startswith("grade: build/x" if in_build else "grade: ")
    assert f" cannot be written: {os.strerror(number)}; " in said and says in said


@pytest.mark.parametrize("name", ["/etc/passwd", None])
def test_what_has_nothing_to_do_with_it_is_a_fault_of_ours(capsys, name):
    with pytest.raises(PermissionError):
        ends(PermissionError(errno.EACCES, "no", name), capsys)


# Files


def test_the_file_and_its_directory_are_made(tmp_path):
    files.write(tmp_path / "new" / "a", b"1")
    files.write(tmp_path / "new" / "a", b"2")
    assert (tmp_path / "new" / "a").read_bytes() == b"2"
    assert os.listdir(tmp_path / "new") == ["a"]


def test_a_file_of_the_owner_is_never_open_to_others(tmp_path):
    files.write(tmp_path / "key", b"", 0o600)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("write, error", [(files.write, OSError), (files.write_out, WrongUsage)])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, write, error):
    def replace(*paths):
        raise OSError(28, "No space left on device")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(error, match="No space left"):
        write(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "command, says",
    [(["/no/such/program"], "No such file"), (["sleep", "60"], "timed out after 0.1 seconds")],
)
def test_a_program_that_gives_no_answer_has_failed(command, says):
    answer = programs.answer(command, 0.1)
    assert answer.returncode == 1 and says in answer.stderr


def test_an_answer_is_what_the_program_printed():
    answer = programs.answer(["sh", "-c", "cat; printf 'caf\\351'; echo no >&2; exit 3"], 60)
    assert (answer.returncode, answer.stdout, answer.stderr) == (
        3,
        "caf\N{REPLACEMENT CHARACTER}",
        "no\n",
    )
