"""The make targets: what they pass on, which Python they find, what setup installs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.lab.chapters import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


def run(*command: str, path: str = "", **environment: str):
    """Without the variables that a make around these tests has set."""
    theirs = ("MAKE", "MFLAGS", "LAB_", "DEBIAN")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(theirs)}
    kept["PATH"] = path or kept["PATH"]
    return subprocess.run(
        command, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def told(tmp_path):
    """told("grade", "CH=01") -> (arguments of Python, variables LAB_* that it was given)"""
    python = script(
        tmp_path / "its bin" / "python",
        '[ "$1" = - ] && exit 0\necho "$@"\nenv | grep "^LAB_" | grep -v "=$"',
    )

    def ask(*arguments: str, **environment: str):
        lines = run("make", *arguments, f"PYTHON={python}", **environment).stdout.splitlines()
        variables = dict(line.split("=", 1) for line in lines[1:])
        return lines[0], {k: v for k, v in variables.items() if k != "LAB_PYTHON"}

    return ask


def test_help_lists_every_target():
    text = run("make").stdout
    targets = re.search(r"^\.PHONY:(.*)$", MAKEFILE, re.M)[1].split()
    for target in set(targets) - {"help"}:
        assert re.search(rf"\bmake {target}\b", text), target


def test_help_fits_the_terminal():
    assert max(map(len, run("make").stdout.splitlines())) <= 80


@pytest.mark.parametrize("word", ["ch=03", "CHAPTER=03", "From=solutions"])
def test_a_variable_that_there_is_not_starts_nothing(word):
    """`make grade ch=03` would grade all chapters."""
    result = run("make", "grade", word)
    assert result.returncode == 2
    assert (
        f"{word.split('=')[0]}= is no variable of this Makefile; `make` lists them" in result.stderr
    )


def test_variables_reach_python_as_they_were_typed(told):
    typed = {"CH": "3", "DIR": "a b/it's", "T": "a$b|c", "V": "1"}
    typed["SERVER"] = "sh -c 'x \"$0\" {port}'"
    arguments, variables = told("grade", *(f"{k}={v}" for k, v in typed.items()))
    assert arguments == "-m harness.grade"
    assert variables == {f"LAB_{name}": value for name, value in typed.items()}


def test_variables_of_the_environment_mean_nothing(told):
    own = {"CH": "1", "DIR": "/x", "T": "y", "V": "1", "FROM": "z", "PORT": "1", "LAB_DIR": "w"}
    assert told("grade", "SEED=5", **own) == ("-m harness.grade", {"LAB_SEED": "5"})


@pytest.mark.parametrize(
    "target, command",
    [
        ("memcheck", "-m harness.grade --memcheck"),
        ("run", "-m harness.run"),
        ("fuzz", "-m harness.fuzz"),
        ("demo", "-m harness.demo 02"),
        ("diff", "-m harness.skeleton diff 02"),
        ("lesson", "-m harness.skeleton lesson 02"),
        ("skeletons", "-m harness.skeleton write"),
        ("mutants", "-m harness.mutants"),
        ("test", "-m pytest harness/selftest -n 5"),
    ],
)
def test_what_a_target_runs(told, target, command):
    assert told(target, "CH=02")[0] == command


@pytest.mark.parametrize("target", ["demo", "diff", "lesson"])
def test_a_chapter_is_asked_for(target):
    assert f"which chapter? For instance: make {target} CH=03" in run("make", target).stderr


def test_run_asks_for_a_chapter_too():
    assert "run: which chapter? For instance: make run CH=03" in run("make", "run").stderr


def test_wrong_usage_is_status_two():
    result = run("make", "grade", "CH=99")
    assert result.returncode == 2
    assert "there is no chapter '99'" in result.stderr


# The Python


def test_a_python_without_pytest_is_passed_over(tmp_path):
    script(tmp_path / "python3", "exit 1")
    found = run("sh", "harness/find-python.sh", path=f"{tmp_path}:{os.environ['PATH']}")
    if found.returncode:
        pytest.skip("no Python outside of PATH has pytest")
    assert found.stdout.strip() in ("/usr/bin/python3", "/usr/local/bin/python3")


def test_without_any_python_setup_is_named(tmp_path):
    finder = tmp_path / "find-python.sh"
    text = (ROOT / "harness/find-python.sh").read_text()
    finder.write_text(re.sub(r"/usr/(local/)?bin/python3", "/no/python3", text))
    shell = shutil.which("sh")
    result = run(shell, str(finder), path=str(tmp_path))
    assert result.returncode == 1
    assert 'run "make setup"' in result.stderr


# setup


@pytest.fixture
def machine(tmp_path):
    """A PATH with next to nothing on it, and an apt-get that only writes down what it is told."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "env", "dirname", "mktemp", "rm", "gcc", "as", "ld"):
        (tools / name).symlink_to(shutil.which(name))
    script(tools / "apt-get", f'echo "$@ $DEBIAN_FRONTEND" >>{tmp_path}/apt')
    script(tools / "id", "echo 0")
    return tools


def run_setup(tools: Path, **environment: str):
    log = tools.parent / "apt"
    log.unlink(missing_ok=True)
    result = run("sh", "harness/setup.sh", path=str(tools), **environment)
    return result, log.read_text().splitlines() if log.exists() else []


EVERYTHING = ("python3", "clang", "clang-format", "flake8", "valgrind", "gdb", "strace", "ss", "nc")


def have(tools: Path, *names: str) -> None:
    for name in names:
        script(tools / name, "exit 0")


def test_setup_installs_what_is_missing(machine):
    have(machine, "python3", "clang", "gdb")
    result, calls = run_setup(machine)
    assert result.returncode == 0
    assert calls == [
        "update -q ",
        "install -y -q --no-install-recommends valgrind strace iproute2 netcat-openbsd"
        " clang-format flake8 noninteractive",
    ]
    assert "missing: valgrind (make memcheck)" in result.stdout


def test_setup_does_nothing_when_all_is_there(machine):
    have(machine, *EVERYTHING)
    result, calls = run_setup(machine)
    assert (result.stdout, calls) == ("setup: everything is here\n", [])


def test_setup_finds_a_compiler_without_its_library(machine):
    have(machine, *EVERYTHING)
    (machine / "gcc").unlink()
    script(machine / "gcc", "exit 1")
    assert run_setup(machine)[1][1].endswith("recommends gcc libc6-dev noninteractive")


def test_setup_without_root(machine):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    script(machine / "id", "echo 1000")
    result, calls = run_setup(machine)
    assert (result.returncode, calls) == (1, [])
    assert "run as root: apt-get install valgrind" in result.stderr
    script(machine / "sudo", 'exec "$@"')
    assert len(run_setup(machine)[1]) == 2


def test_setup_without_apt(machine):
    have(machine, *set(EVERYTHING) - {"valgrind"})
    (machine / "apt-get").unlink()
    result, _ = run_setup(machine)
    assert result.returncode == 1
    assert "missing: valgrind" in result.stdout
    assert "no apt-get" in result.stderr


# .ci/run


@pytest.mark.parametrize("closing, status", [("3 passed in 1.20s", 0), ("1 failed in 1.20s", 2)])
def test_ci_ends_with_the_closing_line(tmp_path, closing, status):
    lines = f"echo '=== {closing} ==='; echo \"$@\" noise; exit {status}"
    script(tmp_path / "make", lines)
    result = run(".ci/run", path=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == status
    asked = [line for line in result.stdout.splitlines() if line.endswith(" noise")]
    assert asked == ["setup test noise", "test FULL=1 noise"][: 1 if status else 2]
    assert result.stdout.splitlines()[-1] == f"=== {closing} ==="
