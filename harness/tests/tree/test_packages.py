"""The rooms of harness/ are those of its README, and import only from the rooms above them."""

from __future__ import annotations

import ast
import re

from harness.submission.chapters import ROOT

HARNESS = ROOT / "harness"
ROOMS = re.findall(r"^\| `(\w+)/` \|", (HARNESS / "README.md").read_text(), re.M)


def imported(room: str) -> set[str]:
    """The rooms that a room imports something from."""
    trees = [ast.parse(path.read_text()) for path in (HARNESS / room).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    from_imports = [one for one in nodes if isinstance(one, ast.ImportFrom)]
    found = [f"{one.module}.{alias.name}" for one in from_imports for alias in one.names]
    found += [alias.name for one in nodes if isinstance(one, ast.Import) for alias in one.names]
    return {one.split(".")[1] for one in found if one.startswith("harness.")} & {*ROOMS}


def test_imports_run_up():
    there = {path.name for path in HARNESS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert there == {*ROOMS}, "harness/README.md has a line for each directory"
    for place, room in enumerate(ROOMS):
        below = imported(room) & {*ROOMS[place + 1 :]}
        assert not below, f"harness/{room} imports {below}, which the README has below it"
