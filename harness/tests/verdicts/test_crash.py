"""Where a program has crashed: what the shim notes, and what is told of it."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.tests.drawn import some
from harness.tests.verdicts.test_shim import COMPILERS
from harness.claims.instruments import crash, valgrind
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.shim import shim_library
from harness.server.spawn import Command
from harness.server.waiting.wait import wait_until

SOURCE = Path(__file__).with_name("servers") / "crashes.c"
SECONDS = 60  # at most: a test waits for an event, never for so long


@pytest.fixture(scope="module", params=some(COMPILERS, 1, "compilers of what crashes", str))
def program(request, tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("crash"), compiler=request.param)


def compiled(directory, *flags, compiler="cc", without=()):
    program = directory / "program"
    usual = [flag for flag in build.FLAGS if flag not in without]
    subprocess.run([compiler, *usual, *flags, "-o", program, SOURCE], check=True)
    return program


@contextmanager
def ended(program, way, **options):
    """The program, when it has crashed in this way."""
    with ServerProcess() as process:
        process.begin(Command([str(program), way], preload=(shim_library(),), **options))
        process.wait(SECONDS)
        process.settle()
        yield process


def told(process, sources=("crashes.c",)):
    found = process.crash()
    return crash.place(found, sources) if found else ""


def line(mark):
    """The place of the line that has this comment."""
    lines = SOURCE.read_text().splitlines()
    (number,) = [i for i, text in enumerate(lines, 1) if text.endswith(f"/* {mark} */")]
    return f"crashes.c:{number}"


NULL = "; it used address 0x8: a null pointer"


@pytest.mark.parametrize(
    "way, fate, where",
    [
        ("null", "SIGSEGV", "{null}, use_null(), called from main() at .*" + NULL),
        ("last", "SIGSEGV", "{null}, use_null(), called from call_last() at {last}, .*" + NULL),
        ("inlined", "SIGSEGV", "{inlined}, in_another(), called from use_inlined() at {caller}.*"),
        ("call", "SIGSEGV", "{call}, call_null(); it called address 0x0, where .* no function"),
        ("assert", "SIGABRT", "{assert}, fail_assertion(), called from main() at .*"),
        ("library", "SIGABRT", "{library}, free_twice(), called from main() at .*"),
        ("divide", "SIGFPE", "{divide}, divide(), called from main() at .*"),
        ("overflow", "SIGSEGV", ".*{overflow}.*; its stack is used up"),
        ("thread", "SIGSEGV", "{null}, use_null(), called from in_a_thread() at .*" + NULL),
        ("coroutine", "SIGSEGV", "{null}, use_null(), called from .* at {coroutine}" + NULL),
        ("back", "SIGSEGV", "{null}, use_null(), called from .* at {back}, .*" + NULL),
    ],
)
def test_the_line_of_a_crash(program, way, fate, where):
    """The program ends by the signal, as it would have done without the shim."""
    marks = {name: line(name) for name in re.findall(r"\{(\w+)\}", where)}
    pattern = where.replace("()", "..").format(**marks)
    with ended(program, way) as process:
        assert process.describe() == f"killed by {fate}"
        assert re.fullmatch(pattern, told(process))


def test_a_handler_of_the_program_is_left_alone(program):
    """It is called, and what the program sees before is the default action."""
    with ended(program, "own handler") as process:
        assert process.describe() == "exited with status 7"
        assert process.stderr.text() == "handler\n"
        assert process.crash() is None


def test_the_crash_of_a_child_is_told_while_the_server_runs(program):
    with ServerProcess() as process:
        process.begin(Command([str(program), "child"], preload=(shim_library(),)))
        assert wait_until(lambda: process.stdout.total, SECONDS)
        assert re.match(f"{line('null')}, .* at {line('child')}", told(process))
        process.signal(9)
        process.wait(SECONDS)
        assert process.crash() is None  # that is not what has ended the server


def test_without_debug_information_nothing_is_told(tmp_path):
    """Rather than a name without a line, or a line of something else."""
    debug = [flag for flag in build.FLAGS if flag.startswith("-g")]
    with ended(compiled(tmp_path, without=debug), "null") as process:
        assert process.crash() is not None
        assert told(process) == ""


def test_without_addr2line_nothing_is_told(program, monkeypatch, tmp_path):
    with ended(program, "null") as process:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert told(process) == ""


def test_frames_of_others_are_left_out_where_there_are_own_ones(program):
    with ended(program, "null") as process:
        assert told(process, sources=("other.c",)).startswith(line("null"))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_sanitizer_has_the_signal_to_itself(tmp_path, compiler):
    with ended(compiled(tmp_path, "-fsanitize=address", compiler=compiler), "null") as process:
        assert "AddressSanitizer: SEGV" in process.stderr.text()
        assert process.crash() is None


@pytest.mark.skipif(valgrind.missing(), reason="valgrind is not installed")
def test_valgrind_has_the_signal_to_itself(program):
    with ended(program, "null", wrapper=("valgrind",)) as process:
        assert "Invalid write" in process.stderr.text()
        assert process.crash() is None
