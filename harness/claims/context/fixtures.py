"""What a claim can ask for by the name of a parameter: pytest calls these."""

from __future__ import annotations

import random

import pytest

from harness.claims.context.draws import Draws
from harness.modules.program import Programs


@pytest.fixture
def launch(request):
    """launch(argv_extra=(), nofile=32, ...) -> Server, see Options."""
    stage = request.node.lab_stage
    yield stage.launch
    try:
        if stage.body_passed:
            stage.check_servers()
    finally:
        stage.clear()


@pytest.fixture
def server(launch):
    """A started server of its own for every test."""
    return launch()


@pytest.fixture
def inherited(request):
    """Whether a later chapter is graded than that of the claim, which may then do less."""
    own = request.node.name[len("test_") :][:2]
    return request.config.lab_run.chapter > own


@pytest.fixture
def server_for_each(launch, inherited):
    """server_for_each() -> Server, for one client. In chapter 01 it is a new one each time, as a
    server may not serve a second client yet. Later it is the same, without its earlier clients."""
    servers = []

    def one():
        if not servers or not inherited:
            servers.append(launch())
        for client in servers[-1].clients:
            client.close()
        return servers[-1]

    return one


@pytest.fixture
def rng(request):
    """Random numbers that are the same for every run with the same SEED."""
    return Draws(f"{request.config.lab_run.seed} {request.node.name}")


@pytest.fixture
def run(request):
    """How the server is started, for a claim that has to start it itself."""
    return request.config.lab_run


@pytest.fixture
def program(request, launch):
    """program(name, check, ...) -> values, see Programs.run. What `launch` does in the end is done
    for programs, too."""
    stage = request.node.lab_stage
    seed = random.Random(f"{stage.run.seed} {request.node.name}").getrandbits(48)
    return Programs(stage, seed).run
