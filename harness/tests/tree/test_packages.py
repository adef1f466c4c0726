"""Imports of harness/ run one way, as the docstring of each package says."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter

from harness.submission.chapters import ROOT

HARNESS = ROOT / "harness"
PACKAGES = {path.name for path in HARNESS.iterdir() if path.is_dir()} - {"__pycache__"}
SAID = re.compile(r"^Imports: (.*?)\.\Z", re.M | re.S)


def imported(name: str) -> set[str]:
    """The packages that a package imports something from."""
    trees = [ast.parse(path.read_text()) for path in (HARNESS / name).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    froms = [one for one in nodes if isinstance(one, ast.ImportFrom)]
    found = [f"{one.module}.{alias.name}" for one in froms for alias in one.names]
    found += [alias.name for one in nodes if isinstance(one, ast.Import) for alias in one.names]
    return {one.split(".")[1] for one in found if one.startswith("harness.")} & PACKAGES - {name}


def test_imports_run_one_way():
    imports = {name: imported(name) for name in PACKAGES}
    for name in PACKAGES:
        text = ast.get_docstring(ast.parse((HARNESS / name / "__init__.py").read_text()))
        said = SAID.search(text)[1]
        allowed = PACKAGES if said == "everything" else set(re.split(r",\s+", said))
        more = imports[name] - allowed
        assert not more, f"harness/{name} imports {more}, and its __init__.py does not say so"
    TopologicalSorter(imports).prepare()  # or CycleError
