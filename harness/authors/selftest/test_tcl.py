"""make tcl, with a small suite that takes the place of Redis' own; most tests need no tclsh."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from harness.authors.selftest.shell import check_refused, lab, script
from harness.client.redis import left_out, suite
from harness.client.redis.suite import FAILED, LEFT_OUT, PASSED, Outcome, Suite, Unusable
from harness.lab.chapters import CHAPTERS
from harness.student import tcl

UNIT = "unit/quit"  # any that is run
MISSING = "|".join(left_out.MISSING)
CHAPTER = next(chapter.number for chapter in CHAPTERS if chapter.name == tcl.CHAPTER)

# A test client in Python: it says hello, gets its order, and reports what follows.
CLIENT = """
import socket, sys
words = sys.argv
peer = socket.create_connection(("127.0.0.1", int(words[words.index("--client") + 1])))
def send(*fields):
    data = "\\x1f".join(fields).encode()
    peer.sendall(b"%d\\n%s" % (len(data), data))
send("ready 1 0")
assert peer.recv(100) == b"13\\nrun unit/quit"
"""

# The suite of Redis as far as suite.tcl knows it. A unit is Tcl, too.
HELPER = """
set ::all_tests {
    unit/quit
}
source tests/support/redis.tcl
source tests/support/server.tcl
proc send_data_packet {fd status data {elapsed 0}} {
    puts $fd [string length $data]
    puts -nonewline $fd $data
    flush $fd
}
proc r args {
    if {[lindex $args 0] eq {function}} { error {ERR unknown command 'function'} }
    set file [open tests/replies]
    set reply [redis::redis_read_line $file]
    close $file
    error $reply
}
set port [lindex $argv [expr {[lsearch $argv --client] + 1}]]
set ::test_server_fd [socket 127.0.0.1 $port]
send_data_packet $::test_server_fd ready 1
gets $::test_server_fd
read $::test_server_fd 13
source tests/unit/quit.tcl
send_data_packet $::test_server_fd done unit/quit
"""
SUPPORT = {
    "redis.tcl": "namespace eval redis {}\nproc redis::redis_read_line fd {gets $fd}\n",
    "server.tcl": (
        "proc run_external_server_test {code overrides} {\nr function flush\neval $code\n}\n"
    ),
}
TESTS = """
proc test {name code} {
    send_data_packet $::test_server_fd testing $name
    if {[catch {eval $code} why]} {
        send_data_packet $::test_server_fd err "$name in this file\\n$why"
    } else {
        send_data_packet $::test_server_fd ok $name
    }
}
run_external_server_test {
    test {is right} {}
    test "is w\\u00f6rong" {error "Expected 'a' to be 'b'"}
    test {needs more} {r sadd s a}
    test {is wrong again} {error "one\\ntwo"}
} {}
"""


@pytest.fixture
def source(tmp_path):
    """The source of a Redis that has one unit."""
    for name, text in SUPPORT.items():
        path = tmp_path / "redis" / "tests" / "support" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    tests = tmp_path / "redis" / "tests"
    (tests / "unit").mkdir()
    (tests / "test_helper.tcl").write_text(HELPER)
    (tests / "unit" / "quit.tcl").write_text(TESTS)
    (tests / "replies").write_text("ERR unknown command 'sadd'\n")
    (tmp_path / "redis" / "src").mkdir()
    (tmp_path / "redis" / "src" / "version.h").write_text('#define REDIS_VERSION "7.0.99"\n')
    return tmp_path / "redis"


@pytest.fixture
def reported(source, tmp_path, monkeypatch):
    """reported(python) -> the outcomes of a unit whose test client goes on with these lines."""

    def run(lines: str) -> list[Outcome]:
        (tmp_path / "client.py").write_text(CLIENT + lines)
        script(tmp_path / "bin" / "tclsh", f'exec {sys.executable} {tmp_path}/client.py "$@"')
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        return _run(Suite(source))

    return run


def _run(tests: Suite) -> list[Outcome]:
    return list(tests.run(UNIT, ("127.0.0.1", 1), MISSING, left_out.TAGS, []))


def test_what_is_wrong_is_one_line(source, monkeypatch):
    check_refused(lab("tcl"), says="which chapter?")
    check_refused(lab("tcl", "--chapter", CHAPTER), says="where is the source of Redis?")
    check_refused(lab("tcl", "--chapter", "11", "--redis", source), says="does not speak")
    check_refused(lab("tcl", "--chapter", CHAPTER, "--redis", "/no"), says="apt-get source redis")
    monkeypatch.setattr(suite, "SHELLS", ("no-such-tclsh",))
    with pytest.raises(Unusable, match="apt-get install tcl"):
        Suite(source)


def test_each_kind_of_outcome(reported):
    lines = """
send("testing", "a", ""), send("ok", "a", "ERR unknown command 'x'")
send("testing", "b", ""), send("err", "b in b.tcl\\nExpected 1\\nto be 2", "")
send("testing", "c", ""), send("err", "c in b.tcl\\nno", "ERR unknown command 'x'")
send("ignore", "d: Tag: needs:debug denied", ""), send("skip", "e", "")
send("err", "g\\nh", ""), send("done", "unit/quit", "")
"""
    assert reported(lines) == [
        ("a", PASSED, ""),
        ("b", FAILED, "Expected 1\nto be 2"),
        ("c", LEFT_OUT, "ERR unknown command 'x'"),
        ("d", LEFT_OUT, "Tag: needs:debug denied"),
        ("e", LEFT_OUT, ""),
        ("outside of the tests", FAILED, "g\nh"),
    ]


def test_a_client_that_ends_is_a_failure(reported):
    """What it has printed says why."""
    (outcome,) = reported("print('no such thing')")
    assert outcome == ("the rest of the unit", FAILED, "no such thing")
    assert reported("peer.sendall(b'x\\\\n')")[0].verdict == FAILED


def test_a_client_that_never_connects_is_a_failure(source, tmp_path, monkeypatch):
    script(tmp_path / "bin" / "tclsh", "echo no package; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert _run(Suite(source)) == [("the rest of the unit", FAILED, "no package")]


def test_a_client_that_hangs_is_a_failure(reported, monkeypatch):
    monkeypatch.setattr(suite, "QUIET_SECONDS", 0.2)
    (outcome,) = reported("peer.recv(1)")
    assert outcome.verdict == FAILED and "nothing has moved for 0.2 s" in outcome.text


needs_tclsh = pytest.mark.skipif(
    not any(map(shutil.which, suite.SHELLS)), reason="tclsh is not installed"
)


@needs_tclsh
def test_the_test_client_of_a_suite(source):
    """suite.tcl changes it in memory: FUNCTION FLUSH does not end the unit."""
    tests = Suite(source)
    assert (tests.version, tests.units()) == ("7.0.99", [UNIT])
    assert _run(tests) == [
        ("is right", PASSED, ""),
        ("is wörong", FAILED, "Expected 'a' to be 'b'"),
        ("needs more", LEFT_OUT, "ERR unknown command 'sadd'"),
        ("is wrong again", FAILED, "one\ntwo"),
    ]


@needs_tclsh
def test_the_command(source):
    """It starts the server, runs the units that the source has, and says what came of them."""
    ended = lab("tcl", "--chapter", CHAPTER, "--from", "solutions", "--redis", source)
    assert ended.returncode == 1 and "Redis 7.0.99: solutions/" in ended.stdout
    assert f"FAILED  is wrong again  (tests/{UNIT}.tcl)\n  one\n  two" in ended.stdout
    assert ended.stdout.endswith("1 passed, 2 failed, 1 left out\n")


def test_each_failure_is_shown(capsys):
    wrong = Outcome("b", FAILED, "Expected 1\nto be 2")
    outcomes = [(UNIT, Outcome("a", PASSED)), (UNIT, wrong), (UNIT, Outcome("c", LEFT_OUT, "x"))]
    assert tcl._sum_up(outcomes) == 1
    printed = capsys.readouterr().out
    assert f"FAILED  b  (tests/{UNIT}.tcl)\n  Expected 1\n  to be 2\n" in printed
    assert "1 passed, 1 failed, 1 left out" in printed
    assert tcl._sum_up(outcomes[:1]) == 0
    assert tcl._sum_up(outcomes[2:]) == 2


def test_no_unit_is_both_run_and_left_out():
    others = [name for names in left_out.NOT_RUN.values() for name in names]
    assert not tcl._not_run(list(left_out.UNITS)).keys() & left_out.NOT_RUN.keys()
    assert len(set(others)) == len(others)
