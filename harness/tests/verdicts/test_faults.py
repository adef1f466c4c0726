"""Single faults: the solutions survive every one, each tried on a server of its own."""

from __future__ import annotations

import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from harness.tests.drawn import slug, some
from harness.claims.scenarios.cuts import Cut
from harness.claims.scenarios.single_faults import FAULTS, ThreeClients, single_faults
from harness.claims.scenarios.try_cuts import try_together
from harness.claims.stage.stage import Run, Stage
from harness.failures.failure import Failure
from harness.lab import chapters
from harness.lab.chapters import CHAPTERS
from harness.server import build
from harness.server.shim import Group, shim_library

TRIES = 5
POINTS = 60  # a server that makes fewer calls than this does not serve three clients


@pytest.fixture
def stage(request):
    """Starts the solution of the chapter that the test is called with, so that it makes calls."""
    chapter = request.getfixturevalue("chapter")
    binary = build.cached_server(chapter.solution_dir).binary
    command = [str(binary), "-p", "0", *chapter.by_calls.split()]
    stage = Stage(Run(command, preload=str(shim_library())))
    yield stage
    stage.clear()


def scenario(chapter):
    three = ThreeClients(random.Random(1))
    return three.in_turn if chapter.number == "01" else three.together


@pytest.mark.parametrize("chapter", some(CHAPTERS, 1, "solutions, fault by fault", slug))
def test_solutions_survive_every_point(chapter, stage):
    assert single_faults(stage.launch, scenario(chapter), allocations=True, alone=True) > POINTS


@pytest.mark.parametrize("chapter", some(CHAPTERS, 1, "solutions and every fault", slug))
def test_every_fault_happens(chapter, stage, monkeypatch):
    """Where one cannot (EAGAIN in a server that waits in read) the list of points is empty.

    02 waits only when nothing moves, and something may move all the time: hence TRIES.
    """
    impossible = set()
    for fault in FAULTS:
        monkeypatch.setattr("harness.claims.scenarios.single_faults.FAULTS", (fault,))
        play = partial(single_faults, stage.launch, scenario(chapter), allocations=True)
        if not any(play() for _ in range(TRIES)):
            impossible.add((fault.group, str(fault)))
    again = {(group, "fails with EAGAIN") for group in (Group.INPUT, Group.OUTPUT, Group.ACCEPT)}
    waits = {(Group.WAIT, "fails with EINTR")}
    assert impossible == (again | waits if chapter.number == "01" else set())


@pytest.fixture
def changed(tmp_path):
    """changed(file, before, after): a Stage with the solution of 03 after this change."""
    stages = []

    def make(name: str, before: str, after: str) -> Stage:
        source = Path(shutil.copytree(chapters.find("03").solution_dir, tmp_path / "server"))
        text = (source / name).read_text()
        assert before in text
        (source / name).write_text("#include <time.h>\n" + text.replace(before, after))
        command = [str(build.cached_server(source).binary), "-p", "0"]
        stages.append(Stage(Run(command, preload=str(shim_library()), sources=[name])))
        return stages[-1]

    yield make
    for stage in stages:
        stage.clear()


def test_no_memory_while_it_starts_is_its_own_affair(changed, monkeypatch):
    """It says where it listens, and is held up before it makes its tables."""
    busy = "for (clock_t end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)\n        continue;\n"
    stage = changed("server.c", "    if (!resize(&s, 16))", f"    {busy}    if (!resize(&s, 16))")
    allocation = [fault for fault in FAULTS if fault.group == Group.ALLOCATION]
    monkeypatch.setattr("harness.claims.scenarios.single_faults.FAULTS", allocation)
    assert single_faults(stage.launch, ThreeClients(random.Random(1)).together, allocations=True)


def test_an_end_that_is_wrong_anyhow_is_for_other_claims_to_say(changed):
    stage = changed("main.c", "return EXIT_SUCCESS;", "return EXIT_FAILURE;")
    three = ThreeClients(random.Random(1))
    assert single_faults(stage.launch, three.together, allocations=False) > POINTS


ACCEPTS = "    int fd;\n    while ((fd = net_accept(s->listen_fd)) >= 0)\n"
ACCEPTS_FEW = """
    static int left = {};
    int fd = NET_NONE;
    while (left-- > 0 && (fd = net_accept(s->listen_fd)) >= 0)
"""


def test_what_goes_wrong_without_a_fault_is_told_so(changed):
    """A third client is never accepted."""
    stage = changed("server.c", ACCEPTS, ACCEPTS_FEW.format(3))
    with pytest.raises(Failure) as caught:
        single_faults(stage.launch, ThreeClients(random.Random(1)).together, allocations=False)
    assert caught.value.message.startswith("although no call fails: ")


def test_what_goes_wrong_without_a_cut_is_told_so(changed):
    """Each client is served when it is alone, and some are not beside others."""
    stage = changed("server.c", ACCEPTS, ACCEPTS_FEW.format(3))
    cuts = [Cut((bytes(size),), (1,), Group.INPUT) for size in range(8)]
    with pytest.raises(Failure, match="it fails although nothing is cut, with 8 clients") as caught:
        try_together(stage.launch, cuts)
    assert caught.value.hint == "not-accepted"
