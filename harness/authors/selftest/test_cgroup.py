"""Control groups: where one can be made, what it bounds, and that it goes away."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.lab.units import MIB
from harness.server.linux import cgroup

V1 = "8:pids:/user\n4:cpu,memory:/user/me\n0::/elsewhere\n"
V2 = "0::/user.slice/me.slice/shell.scope\n"


def test_version_1_has_a_hierarchy_for_each_controller():
    mounted = {"pids": Path("/p"), "cpu": Path("/m"), "memory": Path("/m"), "": Path("/u")}
    assert cgroup.places(V1, mounted) == {
        cgroup.MEMORY: (Path("/m"), Path("/m/user/me")),
        cgroup.TASKS: (Path("/p"), Path("/p/user")),
    }


def test_version_2_has_one():
    both = (Path("/g"), Path("/g/user.slice/me.slice/shell.scope"))
    assert cgroup.places(V2, {"": Path("/g")}) == {cgroup.MEMORY: both, cgroup.TASKS: both}


def test_what_is_not_mounted_is_not_found():
    assert cgroup.places(V1, {}) == {}


@pytest.mark.parametrize(
    "shared, home",
    [
        ({"": "memory pids", "user.slice": "cpu memory pids"}, "user.slice"),
        ({"": "memory pids", "user.slice": "cpu"}, ""),
        ({"": "cpu", "user.slice": "cpu"}, None),
    ],
)
def test_a_group_is_made_where_its_controllers_are_shared(tmp_path, shared, home):
    """In version 2, a directory that has processes shares none with groups below it."""
    own = tmp_path / "user.slice" / "shell.scope"
    own.mkdir(parents=True)
    for name, controllers in {**shared, "user.slice/shell.scope": ""}.items():
        (tmp_path / name / "cgroup.subtree_control").write_text(controllers + "\n")
    found = cgroup._home(cgroup.MEMORY, tmp_path, own)
    assert found == (None if home is None else tmp_path / home)


BOUNDED = f"""
import os, subprocess, sys
from harness.server.linux import cgroup

group = cgroup.enter_new({64 * MIB}, 20)
if group is None:
    sys.exit("no group can be made")
greedy = [sys.executable, "-c", "b = bytearray({200 * MIB})"]
print(subprocess.run(greedy).returncode, group.killed())
pids = []
try:
    while len(pids) < 100:
        pids.append(os.fork())
        if not pids[-1]:
            os.execlp("sleep", "sleep", "60")
except BlockingIOError:
    pass
for pid in pids:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
print(len(pids) < 20)
group.leave()
print(group.memory.exists(), group.tasks.exists(), cgroup.enter_new({64 * MIB}, 20) is not None)
"""


def test_the_kernel_bounds_what_is_in_it():
    """Memory by ending a process, threads by refusing them; after leave() the group is gone."""
    ran = subprocess.run(
        [sys.executable, "-c", BOUNDED], capture_output=True, text=True, timeout=60, check=False
    )
    if "no group can be made" in ran.stderr:
        pytest.skip("no control group can be made here")
    assert ran.stdout.split("\n") == ["-9 1", "True", "False False True", ""], ran.stderr


def test_another_process_may_remove_an_empty_group(monkeypatch):
    """Before we have entered it. Then it is made again."""
    right, tries = cgroup._enter, []

    def enter(group) -> bool:
        tries.append(group)
        if len(tries) == 1:
            group.memory.rmdir()
        return right(group)

    monkeypatch.setattr(cgroup, "_enter", enter)
    group = cgroup.enter_new(1 << 30, 1000)
    if not tries:
        pytest.skip("no control group can be made here")
    assert group is not None and len(tries) == 2
    group.leave()
