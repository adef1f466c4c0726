"""The make targets: what they pass on, which Python they find, what lint compiles."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from harness.__main__ import COMMANDS
from harness.tests.shell import run, script
from harness.lab.chapters import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()


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
    targets = re.search(r"^\.PHONY:(.*)\$", MAKEFILE, re.M)[1].split()
    for target in {*targets, *COMMANDS} - {"help", "english", "own"}:
        assert re.search(rf"\bmake {target}\b", text), target
    assert max(map(len, text.splitlines())) <= 80, "it does not fit the terminal"


def test_a_handout_lists_what_a_student_needs(tmp_path):
    """It has no solutions."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    listed = run("make", "-C", str(tmp_path)).stdout
    assert "make grade CH=03" in listed and "make bench" in listed
    assert not re.search("make (class|lesson|mutants)", listed)
    assert "make class" in run("make").stdout


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
    assert arguments == "-m harness grade"
    assert variables == {f"LAB_{name}": value for name, value in typed.items()}


def test_variables_of_the_environment_mean_nothing(told):
    own = {"CH": "1", "DIR": "/x", "T": "y", "V": "1", "FROM": "z", "PORT": "1", "LAB_DIR": "w"}
    assert told("grade", "SEED=5", **own) == ("-m harness grade", {"LAB_SEED": "5"})


@pytest.mark.parametrize(
    "target, command",
    [
        ("memcheck", "-m harness grade --memcheck"),
        ("run", "-m harness run"),
        ("fuzz", "-m harness fuzz"),
        ("demo", "-m harness demo"),
        ("diff", "-m harness diff"),
        ("lesson", "-m harness lesson"),
        ("skeletons", "-m harness skeletons"),
        ("site", "-m harness site"),
        ("mutants", "-m harness mutants"),
        ("test", "-m pytest harness/tests -n 5"),
    ],
)
def test_what_a_target_runs(told, target, command):
    assert told(target, "CH=02")[0] == command


@pytest.mark.parametrize("target", ["demo", "diff", "lesson", "run"])
def test_a_chapter_is_asked_for(target):
    assert f"which chapter? For instance: make {target} CH=03" in run("make", target).stderr


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


# .ci/run


@pytest.fixture
def ci(tmp_path):
    """Runs a copy of .ci/run whose commands note their arguments. `fresh`, `make`: scripts."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")

    def run_it(fresh: str, make: str = ""):
        for place, text in ((".ci/fresh", fresh), ("make", make)):
            script(tmp_path / place, f'echo "{place} $*" >>"{tmp_path}/calls"\n{text}')
        result = run(f"{tmp_path}/.ci/run", path=f"{tmp_path}:{os.environ['PATH']}")
        return result, (tmp_path / "calls").read_text().splitlines()

    return run_it


@pytest.mark.parametrize("closing, status", [("3 passed in 1.20s", 0), ("1 failed in 1.20s", 2)])
def test_ci_runs_on_bare_systems_and_ends_with_the_closing_line(ci, closing, status):
    tests = f"echo '=== {closing} ==='; echo noise; exit {status}"
    result, calls = ci(f'case "$*" in *test*) {tests} ;; esac')
    assert result.returncode == status
    systems = [line.split()[1] for line in calls]
    assert systems == ["bookworm", "trixie", "bookworm", "trixie"][: 3 if status else 4]
    assert calls[2].endswith(" -u make setup test")
    assert status or calls[3] == ".ci/fresh trixie make setup SITE=1 make test FULL=1 SITE=1"
    assert result.stdout.splitlines()[-1] == f"=== {closing} ==="


def test_ci_runs_here_where_no_bare_system_can_be_made(ci):
    result, calls = ci("echo that takes root >&2; exit 3", "echo 3 passed in 1.20s")
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "3 passed in 1.20s")
    assert "everything runs on this machine as it is" in result.stdout
    commands = [line.removeprefix("make ") for line in calls if line.startswith("make ")]
    assert commands == ["setup test", "setup SITE=1", "test FULL=1 SITE=1"]


def test_a_bare_system_takes_root(tmp_path):
    script(tmp_path / "id", "echo 1000")
    result = run(".ci/fresh", "bookworm", "true", path=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == 3
    assert result.stderr == "fresh: no bare Debian can be made here: that takes root\n"


# lint


@pytest.fixture
def lint_for_arm64(tmp_path):
    """Runs that command of `make lint` with a cross-compiler that notes its arguments, or fails."""
    recipe = run("make", "-n", "lint").stdout
    command = next(part for part in re.split(r"(?<!\\)\n", recipe) if "aarch64" in part)

    def lint(compiler: str):
        script(tmp_path / "aarch64-linux-gnu-gcc", f"{compiler}\necho $@ >>{tmp_path}/compiled")
        result = run("sh", "-c", command, path=f"{tmp_path}:{os.environ['PATH']}")
        log = tmp_path / "compiled"
        return result, log.read_text() if log.exists() else ""

    return lint


def test_lint_compiles_everything_for_arm64(lint_for_arm64):
    result, compiled = lint_for_arm64("")
    assert (result.returncode, result.stdout) == (0, "")
    for place in ("chapters", "solutions"):
        for source in (ROOT / place).glob("*/main.c"):
            assert f" {source.relative_to(ROOT)} " in compiled
    for source in [*ROOT.glob("docs/toys/*.c"), *ROOT.glob("harness/server/shim/*.c")]:
        assert f" {source.relative_to(ROOT)} " in compiled
    assert len(re.findall(r"-shared harness/server/shim/", compiled)) == 2  # and a program


def test_lint_leaves_arm64_out_where_it_cannot_be_compiled(lint_for_arm64):
    """Fedora has the compiler without a C library."""
    result, compiled = lint_for_arm64("exit 1")
    assert (result.returncode, compiled) == (0, "")
    assert result.stdout == "aarch64-linux-gnu-gcc and its C library are not installed: left out\n"


@pytest.mark.parametrize("source", ["01-blocking/main.c", "toys/wake.c", "alloc.c", "crash.c"])
def test_lint_fails_where_arm64_fails(lint_for_arm64, source):
    result, _ = lint_for_arm64(f'case "$*" in *{source}*) exit 1 ;; esac')
    assert result.returncode == 1
