"""make run: which port it takes, and what it leaves behind for clients and debuggers."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from harness import run
from harness.lab.target import WrongUsage
from harness.server.build import Compiled


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """runs(CH="01", ...) -> (the options of the server, what is in build/port, in build/pid)"""
    told = []
    monkeypatch.setattr(run, "BUILD", tmp_path)
    monkeypatch.setattr(run, "cached_server", lambda source: Compiled(Path("server"), ""))
    monkeypatch.setattr(os, "execv", lambda binary, words: told.append(words[1:]))

    def ask(**variables: str):
        for name in ("CH", "FROM", "DIR", "ARGS", "PORT"):
            monkeypatch.delenv(f"LAB_{name}", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(f"LAB_{name}", value)
        run.run()
        port, pid = ((tmp_path / name).read_text() for name in ("port", "pid"))
        return told[-1], int(port), int(pid)

    return ask


def test_the_port_is_the_one_that_was_asked_for(runs):
    assert runs(CH="01", PORT="4321") == (["-p", "4321"], 4321, os.getpid())
    assert runs(CH="01", PORT="4321", ARGS="-v")[:2] == (["-p", "4321", "-v"], 4321)


@pytest.mark.parametrize("options", ["-p 4321", "-p4321", "-v -p 4321", "-vp4321", "-vp 4321 -v"])
def test_a_port_among_the_options_counts(runs, options):
    assert runs(CH="01", PORT="5", ARGS=options)[:2] == (options.split(), 4321)


def test_a_port_that_is_taken_is_left_alone(runs, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        taken = somebody.getsockname()[1]
        monkeypatch.setattr(run, "USUAL_PORT", taken)
        (_, text), port, _ = runs(CH="01")
        assert int(text) == port != taken
    assert runs(CH="01")[:2] == (["-p", str(taken)], taken)


def test_a_port_that_is_none(runs):
    with pytest.raises(WrongUsage, match="PORT=70000: a port is a number from 1 to 65535"):
        runs(CH="01", PORT="70000")
