"""make soak: it finds a fault that was planted, and a right server is silent."""

from __future__ import annotations

import shutil

import pytest

from harness.authors import soak
from harness.authors.random_clients import REDIS
from harness.authors.selftest.shell import check_refused, lab
from harness.lab import chapters

SOLUTION = chapters.find("08").solution_dir
LAST_FREE = "    free(c);\n}\n"


@pytest.fixture
def soaked(capsys):
    """soaked(*options) -> (status, what is printed) of two seconds, always with the same server."""

    def run(*options):
        status = soak.main(["--chapter", "08", "--seconds", "2", "--seed", "2", *options])
        printed = capsys.readouterr()
        if status == 2 and "-fsanitize" in printed.err:
            pytest.skip("the compiler has no sanitizers")
        assert printed.err == ""
        return status, printed.out

    return run


def test_a_use_after_free_is_found(soaked, tmp_path):
    source = tmp_path / "wrong"
    shutil.copytree(SOLUTION, source)
    conn = source / "server" / "conn.c"
    text = conn.read_text()
    assert text.count(LAST_FREE) == 1
    conn.write_text(text.replace(LAST_FREE, "    free(c);\n    c->closing = NULL;\n}\n"))
    status, printed = soaked("--dir", str(source))
    assert status == 1
    assert printed.startswith("FAILED --backend epoll --app rpc")
    assert "ERROR: AddressSanitizer: heap-use-after-free" in printed
    assert "in free_conn server/conn.c:" in printed
    assert f"  again: make soak CH=08 DIR={source} WITH=address,undefined SEED=2\n" in printed


def test_a_right_server_is_silent(soaked):
    status, printed = soaked()
    assert status == 0
    assert printed.startswith("08  address,undefined  ") and printed.endswith(
        " requests: 0 failed\n"
    )
    assert printed.count("\n") == 1


def test_each_backend_meets_each_protocol():
    lives = [soak.drawn(12, number) for number in range(24)]
    kinds = {(life.options[1], life.talk.options) for life in lives}
    assert len(kinds) == 4 * 5
    assert not any("--threads" in life.options for life in lives if life.talk is REDIS)
    assert not any("--io" in soak.drawn(10, number).options for number in range(24))


@pytest.mark.parametrize(
    "options, said",
    [
        ([], "which chapter, of 08 and later? For instance: make soak CH=09"),
        (["--chapter", "07"], "which chapter, of 08 and later? For instance: make soak CH=09"),
        (["--chapter", "08", "--server", "x"], "SERVER= has no source files to build; give DIR="),
        (["--chapter", "08", "--with", "x"], "WITH=x: one of address,undefined thread memcheck"),
        (["--chapter", "08", "--seconds", "0"], "SECONDS=0: a number from 1 to 36000"),
        (["--chapter", "08", "--seed", "x"], "SEED=x: that is not a whole number"),
    ],
)
def test_wrong_usage_is_one_line(options, said):
    check_refused(lab("soak", *options), said)
