"""A server whose port is fixed, and that does not set SO_REUSEADDR: PORT= with what that costs."""

import shlex
import sys
from pathlib import Path

import pytest

from harness.tests import submissions
from harness.claims.stage import stage
from harness.claims.stage.stage import Run, Stage
from harness.server import spawn
from harness.server.linux import network, procfs

NO_REUSE = Path(__file__).parent / "servers" / "no_reuse.py"
CLAIMS = """
from harness.claims.marker import claim  # noqa: F401
from harness.grading.plugin import launch, rng, run, server  # noqa: F401

@claim("01.1", points=1)
def test_01_a_the_server_closes_first(server):
    '''So its end of the connection is in TIME_WAIT.'''
    client = server.connect()
    client.send(b"q")
    client.expect_eof()
    client.close()

@claim("01.1", points=1)
def test_01_b_the_next_claim(server):
    '''It is not disturbed by that.'''
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")
"""


@pytest.fixture
def grade(patient):
    """grade(*options) -> Graded, on a port that the server is told, and nobody else."""

    def run(*options):
        port = spawn.free_port()
        command = shlex.join([sys.executable, "-S", str(NO_REUSE), str(port)])
        words = ["--chapter", "01", "--server", command, "--port", str(port)]
        return patient.grade([*words, *options])

    return run


def test_it_costs_the_claim_that_is_about_it(grade):
    graded = grade("--only", "test_01_restarts_at_once_on_the_same_port")
    assert graded.status == 1
    assert "started again on port" in graded.stdout
    assert "the server exited" in graded.stdout
    assert "SO_REUSEADDR, set before bind()" in graded.stdout


def test_it_costs_no_other_claim(grade, tmp_path):
    graded = grade("--claims", str(submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)))
    assert graded.status == 0, graded.stdout


def test_where_there_is_no_network_of_its_own_it_waits(monkeypatch):
    port = spawn.free_port()
    tried = iter([{port}, {port}, {port}, set()])
    monkeypatch.setattr(network, "enter_new", lambda: False)
    monkeypatch.setattr(procfs, "connected_ports", lambda: next(tried))
    monkeypatch.setattr(stage, "TIME_WAIT_LOOK_SECONDS", 0.01)
    server = Stage(Run(["server"], mode="port", port=port))
    assert server._make_port_free()
    assert "TIME_WAIT" in server.conversation.render()
    assert next(tried, None) is None
