"""Claims that fail one call of the server after the other: what they try, and whom they blame."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from harness.claims.context.stage import Run, Stage
from harness.claims.scenarios.single_faults import FAULTS, single_faults
from harness.feedback.failure import Failure
from harness.server import build
from harness.server.preload import shim_library
from harness.submission import chapters

ACCEPTS = "    int fd;\n    while ((fd = net_accept(s->listen_fd)) >= 0)\n"
ACCEPTS_FEW = """
    static int left = 3;
    int fd = NET_NONE;
    while (left-- > 0 && (fd = net_accept(s->listen_fd)) >= 0)
"""


@pytest.fixture
def stage(tmp_path):
    """stage(before, after): one with the solution of 03 after this change of server.c."""
    stages = []

    def make(before: str = "", after: str = "") -> Stage:
        source = Path(shutil.copytree(chapters.find("03").solution_dir, tmp_path / "server"))
        text = (source / "server.c").read_text()
        assert before in text
        (source / "server.c").write_text(text.replace(before, after, 1))
        command = [str(build.cached_server(source).binary), "-p", "0"]
        stages.append(Stage(Run(command, preload=str(shim_library()), sources=["server.c"])))
        return stages[-1]

    yield make
    for one in stages:
        one.clear()


@pytest.mark.full("kinds of faults")
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_kind_of_fault_happens(stage, fault, monkeypatch):
    """Otherwise the claim passes every server."""
    monkeypatch.setattr("harness.claims.scenarios.single_faults.FAULTS", (fault,))
    assert single_faults(stage().launch, random.Random(1), allocations=True)


def test_what_goes_wrong_without_a_fault_is_told_so(stage):
    """A third client is never accepted."""
    with pytest.raises(Failure) as caught:
        single_faults(stage(ACCEPTS, ACCEPTS_FEW).launch, random.Random(1), allocations=False)
    assert caught.value.message.startswith("although no call fails: ")
