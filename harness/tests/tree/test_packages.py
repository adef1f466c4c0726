"""The packages of harness/: each imports what its __init__ says, and imports run one way."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from harness.__main__ import COMMANDS
from harness.lab.chapters import ROOT

HARNESS = ROOT / "harness"
MAP = "docs/working-on-the-lab.md"
MOST = 9  # packages: so many a newcomer can keep in the head
PACKAGES = sorted(path.parent.name for path in HARNESS.glob("*/__init__.py"))
SAID = re.compile(r"^Imports: (.*?)\.\Z", re.M | re.S)


def package(path: Path) -> str:
    """The package that a file is in."""
    return path.relative_to(HARNESS).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The modules of harness/ that a file imports, with their dots: "harness.lab.units"."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "harness":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("harness.")}
    return found


def packages(path: Path) -> set[str]:
    """The packages that a file imports something from: all but its own."""
    return {name.split(".")[1] for name in imports(path)} - {package(path), "__main__"}


def files(name: str) -> list[Path]:
    """The Python files of a package."""
    return sorted((HARNESS / name).rglob("*.py"))


def imported(name: str) -> set[str]:
    """The packages that a package imports."""
    return set().union(*map(packages, files(name)))


def said(name: str) -> set[str]:
    """What the __init__ of a package says that it may import."""
    text = ast.get_docstring(ast.parse((HARNESS / name / "__init__.py").read_text())) or ""
    found = SAID.search(text)
    where = f"harness/{name}/__init__.py"
    assert found, f"{where}: the docstring has to end with a line such as 'Imports: lab, server.'"
    if found[1] in ("nothing", "everything"):
        return {"nothing": set(), "everything": set(PACKAGES) - {name}}[found[1]]
    return set(re.split(r",\s+", found[1]))


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_imports_what_it_says(name):
    found, allowed = imported(name), said(name)
    where = f"harness/{name}/__init__.py"
    for path in files(name):
        more = packages(path) - allowed
        assert not more, (
            f"{path.relative_to(ROOT)} imports {', '.join(sorted(more))}, and {where} does not "
            f"say so: move the code where it may, or add the name there"
        )
    unused = allowed - found if allowed < set(PACKAGES) - {name} else set()
    assert not unused, f"{where} says {', '.join(sorted(unused))}, and nothing there imports it"


def test_imports_run_one_way():
    """Raises graphlib.CycleError, which names the packages of a cycle."""
    TopologicalSorter({name: imported(name) for name in PACKAGES}).prepare()


def test_there_are_few_packages():
    there = {path.name for path in HARNESS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert there == set(PACKAGES), "each package has an __init__.py, which says what may be in it"
    assert len(PACKAGES) <= MOST


def test_every_package_is_on_the_map():
    """docs/working-on-the-lab.md is what a newcomer reads first."""
    text = (ROOT / MAP).read_text()
    missing = ", ".join(name for name in PACKAGES if f"`{name}/`" not in text)
    assert not missing, f"{MAP} does not name {missing}: add it below 'The packages of harness/'"


def test_make_calls_every_command():
    """A target for each, and no command that is not there."""
    listed = re.search(r"^COMMANDS = ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    assert set(listed.replace("\\", " ").split()) == set(COMMANDS) - {"english", "own"}
