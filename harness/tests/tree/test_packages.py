"""Imports of harness/ run one way, as the docstring of each package says."""

from __future__ import annotations

import ast
import functools
import re
from graphlib import TopologicalSorter
from pathlib import Path

from harness.lab.chapters import ROOT

HARNESS = ROOT / "harness"
PACKAGES = {path.name for path in HARNESS.iterdir() if path.is_dir()} - {"__pycache__"}
SAID = re.compile(r"^Imports: (.*?)\.\Z", re.M | re.S)


@functools.cache
def imported(name: str) -> set[str]:
    """The packages that a package imports something from."""
    return {found for path in (HARNESS / name).rglob("*.py") for found in packages(path)} - {name}


def packages(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    froms = [one for one in nodes if isinstance(one, ast.ImportFrom)]
    found = [f"{one.module}.{alias.name}" for one in froms for alias in one.names]
    found += [alias.name for one in nodes if isinstance(one, ast.Import) for alias in one.names]
    return {word.split(".")[1] for word in found if word.startswith("harness.")} & PACKAGES


def said(name: str) -> set[str]:
    """The packages that the docstring of a package allows."""
    found = SAID.search(ast.get_docstring(ast.parse((HARNESS / name / "__init__.py").read_text())))
    everything = {"nothing": set(), "everything": PACKAGES - {name}}
    return everything.get(found[1]) or set(re.split(r",\s+", found[1])) - {"nothing"}


def test_imports_run_one_way():
    for name in PACKAGES:
        more = imported(name) - said(name)
        assert not more, f"harness/{name} imports {more}, and its __init__.py does not say so"
    TopologicalSorter({name: imported(name) for name in PACKAGES}).prepare()  # or CycleError
