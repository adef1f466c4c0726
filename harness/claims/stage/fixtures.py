"""What a claim can ask for by the name of a parameter: pytest calls these."""

from __future__ import annotations

import random

import pytest

from harness.claims.stage.draws import Draws
from harness.claims.stage.program import Programs


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
