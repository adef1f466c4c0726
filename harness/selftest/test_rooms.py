"""The packages of harness/: each imports what its __init__ says, and imports run one way."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from harness.lab.chapters import ROOT

HARNESS = ROOT / "harness"
MAP = "docs/working-on-the-lab.md"
# Nobody imports these: they may import everything.
ROOFS = ("claims", "selftest")
PACKAGES = sorted(path.parent.name for path in HARNESS.glob("*/__init__.py"))
TOP = sorted(path.stem for path in HARNESS.glob("*.py") if path.stem != "__init__")
SAID = re.compile(r"^Imports: (.*?)\.\Z", re.M | re.S)


def room(path: Path) -> str:
    """The package that a file is in, or the name of a module at the top."""
    return path.relative_to(HARNESS).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The packages that a file imports something from: all but its own."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "harness":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("harness.")}
    return found - {room(path)}


def files(name: str) -> list[Path]:
    """The Python files of a package."""
    module = HARNESS / f"{name}.py"
    return [module] if module.exists() else sorted((HARNESS / name).rglob("*.py"))


def imported(name: str) -> set[str]:
    """The packages that a package imports."""
    return set().union(*map(imports, files(name)))


def said(package: str) -> set[str]:
    """What the __init__ of a package says that it may import."""
    text = ast.get_docstring(ast.parse((HARNESS / package / "__init__.py").read_text())) or ""
    found = SAID.search(text)
    where = f"harness/{package}/__init__.py"
    assert found, f"{where}: the docstring has to end with a line such as 'Imports: lab, server.'"
    return set() if found[1] == "nothing" else set(re.split(r",\s+", found[1]))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_what_it_says(package):
    found, allowed = imported(package), said(package)
    where = f"harness/{package}/__init__.py"
    for path in files(package):
        more = imports(path) - allowed
        assert not more, (
            f"{path.relative_to(ROOT)} imports {', '.join(sorted(more))}, and {where} does not "
            f"say so: move the code where it may, or add the name there"
        )
    unused = allowed - found
    assert not unused, f"{where} says {', '.join(sorted(unused))}, and nothing there imports it"


def test_imports_run_one_way():
    """Raises graphlib.CycleError, which names the packages of a cycle."""
    order = TopologicalSorter({name: imported(name) for name in (*PACKAGES, *TOP)})
    rooms = list(order.static_order())
    wrong = set(ROOFS) & set(rooms)
    assert not wrong, f"{', '.join(wrong)} is imported, and nobody may import it"


def test_every_directory_with_python_says_what_it_is():
    found = {room(path) for path in HARNESS.glob("*/**/*.py")}
    missing = found - set(PACKAGES) - set(ROOFS)
    assert not missing, f"{', '.join(missing)}: an __init__.py has to say what may be in it"


def test_every_room_is_on_the_map():
    """docs/working-on-the-lab.md is what a newcomer reads first."""
    text = (ROOT / MAP).read_text()
    directories = {path.relative_to(HARNESS).parts[0] for path in HARNESS.glob("*/*.*")}
    names = {f"{name}/" for name in directories - {"__pycache__"}} | {f"{name}.py" for name in TOP}
    missing = ", ".join(sorted(name for name in names if f"`{name}`" not in text))
    assert not missing, f"{MAP} does not name {missing}: add it below 'The packages of harness/'"


@pytest.mark.parametrize("module", TOP)
def test_at_the_top_stands_what_make_calls(module):
    called = re.search(rf"-m harness\.{module}\b", (ROOT / "Makefile").read_text())
    assert called, f"no target of the Makefile calls harness/{module}.py: it belongs in a package"
