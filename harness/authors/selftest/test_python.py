"""The Python of the lab runs on the version that README promises, and flake8 has nothing to say."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from harness.lab.chapters import ROOT

PROMISED = (3, 10)
VERSION = ".".join(map(str, PROMISED))
FILES = sorted((ROOT / "harness").rglob("*.py"))

# What came after PROMISED, by module ("" has the built-in names): not all of it, but what is
# tempting here. "What's new in Python 3.11" and its successors have the rest.
LATER = {
    "": {"BaseExceptionGroup", "ExceptionGroup"},
    "asyncio": {"Runner", "TaskGroup", "timeout", "timeout_at"},
    "collections.abc": {"Buffer"},
    "contextlib": {"chdir"},
    "copy": {"replace"},
    "datetime": {"UTC"},
    "enum": {"ReprEnum", "StrEnum", "member", "nonmember", "verify"},
    "hashlib": {"file_digest"},
    "itertools": {"batched"},
    "math": {"cbrt", "exp2", "fma", "sumprod"},
    "mmap": {"MAP_NORESERVE", "MAP_STACK"},
    "operator": {"call"},
    "os": {"login_tty", "posix_openpt", "process_cpu_count", "setns", "timerfd_create", "unshare"},
    "pathlib": {"UnsupportedOperation"},
    "queue": {"ShutDown"},
    "random": {"binomialvariate"},
    "re": {"NOFLAG"},
    "sys": {"exception", "monitoring"},
    "threading": {"setprofile_all_threads", "settrace_all_threads"},
    "typing": {"LiteralString", "Never", "NotRequired", "ReadOnly", "Required", "Self", "TypeIs"}
    | {"Unpack", "assert_never", "assert_type", "override", "reveal_type"},
    "warnings": {"deprecated"},
}
LATER_MODULES = {"tomllib"}
LATER_METHODS = {"add_note", "full_match", "is_junction", "walk"}  # Path.walk
LATER_KEYWORDS = {"delete_on_close", "onexc", "process_group"}
WALKS = {"ast", "os"}  # modules whose walk() is old


def too_new(text: str) -> Iterator[str]:
    """What a source uses that PROMISED does not have, each with its line."""
    tree = ast.parse(text, feature_version=PROMISED)
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
    for node in ast.walk(tree):
        for name in _too_new(node, modules):
            yield f"line {node.lineno}: {name}"


def _too_new(node: ast.AST, modules: dict[str, str]) -> Iterator[str]:
    """What one node uses that PROMISED does not have. `modules`: the imported ones, by their names
    here."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in LATER_MODULES)
    elif isinstance(node, ast.ImportFrom):
        if node.module in LATER_MODULES:
            yield node.module
        new = LATER.get(node.module or "", set())
        yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name in new)
    elif isinstance(node, ast.Name):
        if node.id in LATER[""]:
            yield node.id
    elif isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        module = modules.get(owner, "")
        if module and node.attr in LATER.get(module, ()):
            yield f"{module}.{node.attr}"
        elif node.attr in LATER_METHODS and module not in WALKS:
            yield f".{node.attr}()"
    elif isinstance(node, ast.keyword):
        if node.arg in LATER_KEYWORDS:
            yield f"{node.arg}="


def test_one_version_is_promised():
    """README.md and harness/find-python.sh say it, and the latter looks for it."""
    finder = (ROOT / "harness" / "find-python.sh").read_text()
    said = re.findall(r"(\d\.\d+) or later", (ROOT / "README.md").read_text() + finder)
    asked = re.findall(r"version_info < \((\d), (\d+)\)", finder)
    assert said == [VERSION, VERSION], f"README.md and harness/find-python.sh have to say {VERSION}"
    assert asked == [tuple(map(str, PROMISED))], "harness/find-python.sh asks for another one"


def test_nothing_is_newer_than_promised():
    """All syntax is that of the promised version, and so are the names that are used."""
    found = []
    for path in FILES:
        try:
            found += [f"{path.relative_to(ROOT)}, {use}" for use in too_new(path.read_text())]
        except SyntaxError as error:
            found.append(f"{path.relative_to(ROOT)}, line {error.lineno}: {error.msg}")
    lines = "\n".join(found)
    assert not found, f"not in Python {VERSION}, which README.md promises:\n{lines}"


@pytest.mark.full("runs of flake8")
def test_flake8_has_nothing_to_say():
    """The command is that of `make lint`; its settings are in .flake8."""
    if not shutil.which("flake8"):
        pytest.skip("flake8 is not installed: make setup")
    done = subprocess.run(["flake8", "harness"], cwd=ROOT, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and not said, f"flake8 harness says:\n{said}"


# The check can fail


@pytest.mark.parametrize(
    "text, says",
    [
        ("import tomllib", "line 1: tomllib"),
        ("from tomllib import load", "line 1: tomllib"),
        ("from enum import Enum, StrEnum", "line 1: enum.StrEnum"),
        ("import itertools\nitertools.batched(x, 2)", "line 2: itertools.batched"),
        ("import datetime as dt\ndt.UTC", "line 2: datetime.UTC"),
        ("import collections.abc\ncollections.abc.Buffer", "line 2: collections.abc.Buffer"),
        ("raise ExceptionGroup('', [])", "line 1: ExceptionGroup"),
        ("from pathlib import Path\nPath('x').walk()", "line 2: .walk()"),
        ("run(words, process_group=0)", "line 1: process_group="),
    ],
)
def test_a_later_name_is_found(text, says):
    assert list(too_new(text)) == [says]


@pytest.mark.parametrize(
    "text", ["try:\n    x()\nexcept* OSError:\n    pass", "type X = int", "def f[T](x: T): pass"]
)
def test_later_syntax_is_found(text):
    with pytest.raises(SyntaxError):
        list(too_new(text))


@pytest.mark.parametrize(
    "text",
    [
        "import itertools\nitertools.pairwise(x)",
        "import ast, os\nast.walk(x)\nos.walk('.')",
        "from contextlib import ExitStack\nself.timeout",
        "match x:\n    case 1: pass",
    ],
)
def test_what_is_old_enough_is_not(text):
    assert list(too_new(text)) == []
