"""Files that appear whole or not at all."""

from __future__ import annotations

import os

import pytest

from harness.lab import files
from harness.lab.target import WrongUsage


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
