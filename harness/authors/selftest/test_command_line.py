"""How a command ends that cannot do what it was told to."""

import errno
import os

import pytest

from harness.lab import command_line
from harness.lab.target import WrongUsage


def ends(error, capsys):
    """What a command says in which this is raised, and its status."""

    def body():
        raise error

    return command_line.run("grade", body), capsys.readouterr().err


def test_wrong_usage_is_one_line(capsys):
    assert ends(WrongUsage("which chapter?"), capsys) == (2, "grade: which chapter?\n")


def test_a_build_directory_of_root_is_no_traceback(capsys):
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(command_line.BUILD / "x"))
    status, said = ends(error, capsys)
    assert status == 2
    assert said.startswith("grade: build/x cannot be written: Permission denied; after a `sudo")
    assert "sudo chown -R $(id -un) build" in said


def test_a_full_disk_is_no_traceback(capsys):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(command_line.BUILD / "x"))
    status, said = ends(error, capsys)
    text = "grade: build/x cannot be written: No space left on device; free some space\n"
    assert (status, said) == (2, text)


@pytest.mark.parametrize("number", command_line.NO_SPACE)
def test_a_disk_that_fills_up_during_a_write_is_no_traceback(capsys, number):
    """The error of write(2) has no name."""
    status, said = ends(OSError(number, os.strerror(number)), capsys)
    assert status == 2
    assert said.endswith(f" cannot be written: {os.strerror(number)}; free some space\n")


def test_a_build_directory_that_is_read_only_can_be_elsewhere(capsys):
    error = OSError(errno.EROFS, os.strerror(errno.EROFS), str(command_line.BUILD / "x"))
    status, said = ends(error, capsys)
    assert (status, "LAB_BUILD=/var/tmp/lab make" in said) == (2, True)


@pytest.mark.parametrize("name", ["/etc/passwd", None])
def test_what_has_nothing_to_do_with_it_is_a_fault_of_ours(capsys, name):
    with pytest.raises(PermissionError):
        ends(PermissionError(errno.EACCES, "no", name), capsys)
