"""Single faults: the solutions survive every one, each tried on a server of its own."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from harness.lab import chapters
from harness.lab.chapters import CHAPTERS
from harness.scenarios.single_faults import FAULTS, Party, single_faults
from harness.selftest.drawn import slug, some
from harness.server import build
from harness.shim import Group, shim_library
from harness.stage.stage import Run, Stage

POINTS = 60  # a server that makes fewer calls than this does not serve three clients


@pytest.fixture
def stage(request):
    """Starts the solution of the chapter that the test is called with."""
    binary = build.cached_server(request.getfixturevalue("chapter").solution_dir).binary
    stage = Stage(Run([str(binary), "-p", "0"], preload=str(shim_library())))
    yield stage
    stage.clear()


def scenario(chapter):
    party = Party(random.Random(1))
    return party.in_turn if chapter.number == "01" else party.together


@pytest.mark.parametrize("chapter", some(CHAPTERS, 2, "solutions, fault by fault", slug))
def test_solutions_survive_every_point(chapter, stage):
    assert single_faults(stage.launch, scenario(chapter), allocations=True, alone=True) > POINTS


@pytest.mark.parametrize("chapter", some(CHAPTERS, 2, "solutions and every fault", slug))
def test_every_fault_happens(chapter, stage, monkeypatch):
    """Where one cannot (EAGAIN in a server that waits in read) the list of points is empty."""
    impossible = set()
    for fault in FAULTS:
        monkeypatch.setattr("harness.scenarios.single_faults.FAULTS", (fault,))
        if not single_faults(stage.launch, scenario(chapter), allocations=True):
            impossible.add((fault.group, str(fault)))
    again = {(group, "fails with EAGAIN") for group in (Group.INPUT, Group.OUTPUT, Group.ACCEPT)}
    waits = {(Group.WAIT, "fails with EINTR")}
    assert impossible == (again | waits if chapter.number == "01" else set())


def test_no_memory_while_it_starts_is_its_own_affair(tmp_path, monkeypatch):
    """It says where it listens, and is held up before it makes its tables."""
    solution = chapters.find("03").solution_dir
    source = Path(shutil.copytree(solution, tmp_path / "server"))
    text = (source / "server.c").read_text()
    busy = "for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)\n        continue;\n"
    changed = text.replace("    if (!resize(&s, 16))", f"    {busy}    if (!resize(&s, 16))")
    assert changed != text
    (source / "server.c").write_text(f"#include <time.h>\n{changed}")
    binary = build.cached_server(source).binary
    stage = Stage(Run([str(binary), "-p", "0"], preload=str(shim_library())))
    allocation = [fault for fault in FAULTS if fault.group == Group.ALLOCATION]
    monkeypatch.setattr("harness.scenarios.single_faults.FAULTS", allocation)
    try:
        assert single_faults(stage.launch, Party(random.Random(1)).together, allocations=True)
    finally:
        stage.clear()
