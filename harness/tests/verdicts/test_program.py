"""The grader's programs that call a module: what they find, whatever the module does to them.

programs/sample.c has a check for every way to end, programs/module.c does what it is told.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.tests.drawn import some
from harness.tests.shell import script
from harness.claims.instruments import sanitizers, valgrind
from harness.claims.stage import linking
from harness.claims.stage.linking import PROGRAMS
from harness.claims.stage.program import Programs
from harness.claims.stage.stage import Run, Stage
from harness.failures.failure import Failure, NotJudged
from harness.grading.diagnosis import diagnose
from harness.lab import chapters, sources
from harness.server import build
from harness.server.linux import landlock, procfs
from harness.server.shim import shim_library
from harness.server.waiting.wait import Patience

SAMPLE = Path(__file__).parent / "programs"
MODULE, HEADER = ((SAMPLE / name).read_text() for name in ("module.c", "module.h"))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A directory with the sample, in the place of harness/claims/programs."""
    directory = tmp_path_factory.mktemp("programs")
    for name in ("check.c", "check.h"):
        shutil.copy(PROGRAMS / name, directory)
    shutil.copy(SAMPLE / "sample.c", directory)
    return directory


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return module(tmp_path_factory.mktemp("module"), MODULE)


@pytest.fixture
def check(programs, directory, monkeypatch):
    """check(name, ...) -> values: runs a check of the sample with the module above, or another."""
    monkeypatch.setattr(linking, "PROGRAMS", programs)
    stages = []

    def run(name, where=directory, valgrind=False, **options):
        stages.append(stage(where, patient=valgrind or "sanitize" in options, valgrind=valgrind))
        return Programs(stages[-1], 1).run("sample", name, **options)

    run.diagnosis = lambda error: diagnose(error, stages[-1])
    run.stage = lambda: stages[-1]
    yield run
    for one in stages:
        one.clear()


def module(where: Path, text: str, header: str = HEADER) -> Path:
    where.mkdir(exist_ok=True)
    (where / "module.c").write_text(text)
    (where / "module.h").write_text(header)
    return where


def stage(directory: Path, patient: bool = False, valgrind: bool = False) -> Stage:
    """`patient`: as with a submission. A sanitizer takes its time to find the lines of a report."""
    preload = str(shim_library())
    run = Run([], sources=["module.c"], directory=str(directory), preload=preload)
    made = Stage(run, valgrind)
    if not patient:
        made.patience = Patience(0.5)
    return made


def failure(check, name: str, **options) -> tuple[Failure, dict]:
    with pytest.raises(Failure) as caught:
        check(name, **options)
    return caught.value, check.diagnosis(caught.value)


# What a check finds


def test_a_check_that_passes(check):
    """The values of a check come back. It has three descriptors, and chance that can be
    repeated."""
    values = check("passes", option=-5)
    assert values["a third"] == 1 / 3
    assert values["option"] == -5
    assert values["first descriptor"] == 3
    assert check("passes")["chance"] == values["chance"] != check("passes", seed=2)["chance"]


def test_a_check_that_fails(check):
    error, found = failure(check, "fails")
    assert (error.message, error.hint) == ("2 is not below 1", "number-bytes")
    assert found.steps.splitlines() == [
        "   1  the program does this",
        "-> 2  the program and that, with 2 bytes: 01 ff",
    ]
    assert found.server == "ended by the check, which failed"


def test_numbers_and_reasons_in_words(check):
    """A count of 1 is "once", and errno 0 is not told as "Success"."""
    error, _ = failure(check, "fails_in_words")
    assert error.message == "once, 3 times; No such file or directory, errno is 0"


def test_bytes_that_differ(check):
    error, found = failure(check, "differs")
    assert error.message == "byte 2 of the frame is 58 instead of 63"
    assert (error.expected, error.received) == (b"abcd", b"abXd")
    assert "^^ first difference at byte 2" in found.compare


def test_the_machine_is_to_blame(check):
    with pytest.raises(NotJudged, match="no memory for 7 bytes"):
        check("blames")


def test_steps_of_two_threads(check):
    _, found = failure(check, "threads")
    steps = [step.text for step in check.stage().conversation.steps]
    assert sorted(steps) == sorted(f"{who} {i}" for who in ("main", "other") for i in range(300))
    assert "left out" in found.steps


@pytest.mark.parametrize("count", [10, 3_000, 50_000])
def test_the_last_of_many_steps(check, count):
    """The last step is always kept, and each step is kept or counted."""
    failure(check, "many_steps", count=count)
    steps = [step.text for step in check.stage().conversation.steps]
    assert steps[-1] == f"does this, number {count - 1}"
    forgotten = re.fullmatch(r"has made (\d+) steps", steps[0])
    assert bool(forgotten) == (count > 10)
    first = int(forgotten[1]) if forgotten else 0
    kept = steps[1:] if forgotten else steps
    assert kept == [f"does this, number {number}" for number in range(first, count)]


# What a module does


@pytest.mark.parametrize(
    "what, says",
    [
        ("crash", "the program was killed by SIGSEGV in the marked step"),
        ("exit", "the program exited with status 0 in the marked step"),
        ("late crash", "the program was killed by SIGSEGV after the check"),
        ("loop", "the program made no progress for 0.5 s and is busy in the marked step"),
        ("wait", "the program made no progress for 0.5 s and waits in the marked step"),
    ],
)
def test_the_module_ends_it(check, what, says):
    error, found = failure(check, "told", what=what)
    assert error.message == says
    assert error.hint == ("module-crashed" if "crash" in what else "in-the-module")
    assert found.steps == f'-> 1  the program calls module() with "{what}"'
    if what == "crash":
        assert found.crashed.startswith("module.c:25, crash(), called from module()")
    elif what != "late crash":  # that has no callers in the module
        assert found.crashed == ""


def test_the_module_ends_it_before_it_begins(check, tmp_path):
    text = MODULE + "__attribute__((constructor)) static void first(void) { _exit(0); }\n"
    error, _ = failure(check, "passes", where=module(tmp_path / "m", text))
    assert error.message == "the program exited with status 0 before its first step"


@pytest.mark.parametrize("what", ["print", "close"])
def test_whatever_the_module_prints_or_closes(check, what):
    """What looks like a report is none, and what is one gets through."""
    assert check("told", what=what) == {"child": 0}
    assert check.stage().ending()[0] == "exited with status 0"


def test_what_the_module_leaves_running_is_ended(check):
    child = int(check("told", what="child")["child"])
    assert child > 0 and procfs.read_process(child) is None


def test_a_byte_behind_the_end(check):
    assert check("touches", at=0) == check("touches", at=2) == {}
    error, _ = failure(check, "touches", at=3)
    assert error.message == "the program was killed by SIGSEGV in the marked step"


@pytest.mark.skipif(not landlock.works(), reason="this kernel cannot confine")
def test_the_module_is_confined(check):
    assert check("told", what="write") == {"child": 0}
    assert not os.path.exists("/dev/shm/event-loop-lab-test")


# Building


@pytest.mark.parametrize(
    "text, says",
    [
        (MODULE.replace("module_touch", "other"), "module_touch() is not defined"),
        (MODULE.replace("return 0;\n}", "return 0\n}"), "error: expected ';'"),
        ("int main(void) { return 0; }\n" + MODULE, "multiple definition of `main'"),
        (None, "there is no module.c"),
    ],
    ids=["lacks a function", "syntax", "has a main", "no file"],
)
def test_a_module_that_does_not_build(check, tmp_path, text, says):
    where = module(tmp_path / "m", text or "")
    if text is None:
        (where / "module.c").unlink()
    error, found = failure(check, "passes", where=where)
    assert error.hint == "module-not-built"
    assert says in error.message and str(PROGRAMS) not in error.message
    assert found.steps == ""


def test_a_module_in_several_files(check, tmp_path):
    """Functions that the files named by the program lack are found in the other files."""
    where = module(
        tmp_path / "m",
        MODULE.replace("return *byte;", "return touch(byte);"),
        HEADER + "int touch(const unsigned char *byte);\n",
    )
    (where / "other.c").write_text(
        "int touch(const unsigned char *b) { return *b; }\n"
        "void missing(void);\nvoid unused(void) { missing(); }\n"
    )
    (where / "main.c").write_text("int main(void) { return 1; }\n")
    assert check("touches", where=where, at=0) == {}


def test_a_compiler_without_sanitizers(check, tmp_path, monkeypatch):
    text = 'case "$*" in *-fsanitize*) exit 1 ;; esac\nexec gcc "$@"'
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", text)))
    linking.built.cache_clear()
    error, _ = failure(check, "touches", at=3, sanitize="address,undefined")
    assert error.hint == "module-crashed"
    linking.built.cache_clear()


# The last chapter of the claim, for a program that is not for all later ones.
LAST = {"06_again": "09", "07_limits": "09", "08_flow": "08", "08_quota": "08", "09_server": "09"}


def with_solutions() -> list[tuple[str, Path]]:
    """Each file of the grader's programs, with the first and the last solution that it is for."""
    wanted = set()
    for program in PROGRAMS.glob("[0-9]*.c"):
        last = LAST.get(program.stem, chapters.CHAPTERS[-1].number)
        later = [one for one in chapters.CHAPTERS if program.stem[:2] <= one.number <= last]
        for file in linking.own_files(program.stem):
            wanted |= {(file, chapter.solution_dir) for chapter in (later[0], later[-1])}
    return sorted(wanted)


@pytest.mark.parametrize("compiler", some(["gcc", "clang"], 0, "compilers of programs", str))
def test_programs_compile_without_a_warning(compiler):
    """With the first and the last solution that they are for."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    assert {file for file, _ in with_solutions()} == {path.name for path in PROGRAMS.glob("*.c")}
    for file, solution in with_solutions():
        path = str(PROGRAMS / file)
        words = [*build.FLAGS, "-Werror", *build.others(solution), "-c", path, "-o", os.devnull]
        done = subprocess.run([compiler, *words], cwd=solution, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_header_brings_its_source(tmp_path, monkeypatch):
    """A header that another header includes does so, too; a header of the module does not."""
    for name, text in {
        "05_own.c": '#include <string.h>\n#include "outer.h"\n#include "module.h"\n',
        "outer.h": '#include "inner.h"\n',
        "outer.c": '#include "outer.h"\n#include "module.h"\n',
        "inner.h": "int inner(void);\n",
        "inner.c": '#include "inner.h"\n',
        "other.c": "",
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(linking, "PROGRAMS", tmp_path)
    assert linking.own_files("05_own") == ["05_own.c", "outer.c", "inner.c"]


def test_headers_of_programs_only_declare():
    for header in PROGRAMS.glob("*.h"):
        text = header.read_text()
        assert not re.search(r"^(static|\{)", text, re.M), header.name


def test_files_of_programs_are_not_taken_for_those_of_a_module():
    """Both are included by their names, and their guards meet in one program."""
    solutions = [chapter.solution_dir for chapter in chapters.CHAPTERS]
    names = {path.name for solution in solutions for path in sources.files(solution)}
    for path in PROGRAMS.iterdir():
        assert path.name not in names
        if path.suffix == ".h":
            guard = f"GRADER_{path.stem.upper()}_H"
            assert f"#ifndef {guard}\n#define {guard}\n" in path.read_text(), path.name


# Sanitizers and valgrind


def test_a_sanitizer_names_the_line(check):
    line = 1 + MODULE.splitlines().index("    return *byte;")
    error, found = failure(check, "touches", at=3, sanitize="address,undefined")
    if error.hint == "module-crashed":
        pytest.skip("this machine has no sanitizers")
    assert error.hint == "memory-fault"
    first, second = error.message.splitlines()
    assert first == "AddressSanitizer: heap-buffer-overflow, READ of size 1"
    assert second == f"  in module_touch (module.c:{line})"
    assert found.server == "ended by a sanitizer of the compiler"
    assert found.stderr == ""


OF_CLANG = """hello
AddressSanitizer:DEADLYSIGNAL
=================================================================
==7==ERROR: AddressSanitizer: SEGV on unknown address 0x7f00 (pc 0x1 bp 0x2 sp 0x3 T0)
==7==The signal is caused by a READ memory access.
    #0 0x55a in read_bits /tmp/a b/reader.c:33:20
    #1 0x55b in reader_i16 /tmp/a b/reader.c:42:10
    #2 0x55c in integers /lab/harness/claims/programs/05_reader.c:9:1

allocated by thread T0 here:
    #0 0x55d in reader_string /tmp/a b/reader.c:99:1
"""
OF_THREADS = """==================
WARNING: ThreadSanitizer: data race (pid=12)
  Write of size 4 at 0x55 by thread T1:
    #0 events_wake /tmp/x/events.c:70 (prog+0x1)

  Previous read of size 8 at 0x55 by main thread (mutexes: write M1):
    #0 read_bits /tmp/x/reader.c:3:1 (prog+0x2)
    #1 main /tmp/x/main.c:4:2 (prog+0x3)
"""
OF_FREE = """==================
WARNING: ThreadSanitizer: heap-use-after-free (pid=12)
  Read of size 4 at 0x55 by thread T2:
    #0 reader_string /tmp/x/reader.c:7 (prog+0x1)

  Previous write of size 8 at 0x55 by {thread}:
    #0 free ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:706 (libtsan.so.2+0x4)
    #1 events_free /tmp/x/events.c:5 (prog+0x2)
"""
UNDEFINED = "reader.c:33:20: runtime error: left shift of 255 by 24 places\n"


@pytest.mark.parametrize(
    "printed, says, hint, rest",
    [
        (
            OF_CLANG,
            "AddressSanitizer: SEGV, READ\n"
            "  in read_bits (reader.c:33)\n  in reader_i16 (reader.c:42)",
            "memory-fault",
            "hello\n",
        ),
        (
            OF_THREADS,
            "ThreadSanitizer: data race\n"
            "  write of size 4 by thread T1\n  in events_wake (events.c:70)\n"
            "  previous read of size 8 by main thread\n  in read_bits (reader.c:3)",
            "data-race",
            "",
        ),
        *(
            (
                OF_FREE.format(thread=thread),
                "ThreadSanitizer: heap-use-after-free\n"
                "  read of size 4 by thread T2\n  in reader_string (reader.c:7)\n"
                f"  previous write of size 8 by {thread}\n  in events_free (events.c:5)",
                hint,
                "",
            )
            for thread, hint in (("thread T1", "data-race"), ("thread T2", "memory-fault"))
        ),
        (
            f"hello\n{UNDEFINED}",
            "undefined behaviour: reader.c:33: left shift of 255 by 24 places",
            "undefined-behaviour",
            "hello\n",
        ),
        (
            "hello\n==7==ThreadSanitizer: dup thread with used id 0x0\n",
            "ThreadSanitizer: pthread_join() was called for a thread that was not started, or for "
            "one twice",
            "told-one-by-one",
            "hello\n",
        ),
    ],
    ids=["clang", "threads", "freed-by-another", "freed-by-itself", "undefined", "joined"],
)
def test_reports_are_cut_down(printed, says, hint, rest):
    fault = sanitizers.fault(printed, ["reader.c", "events.c"])
    assert (fault.message, fault.hint) == (says, hint)
    assert sanitizers.without_reports(printed) == rest


@pytest.mark.parametrize(
    "printed",
    [
        "FATAL: ThreadSanitizer: unexpected memory mapping 0x5f7e9d2ad000-0x5f7e9d2ae000",
        "==7==WARNING\nThreadSanitizer: CHECK failed: tsan_platform_linux.cpp:282 "
        '"((personality(old_personality | ADDR_NO_RANDOMIZE))) != ((-1))" (0x0, 0x0) (tid=7)',
    ],
)
def test_a_sanitizer_that_finds_no_room_says_what_helps(printed):
    """This happens on a kernel with vm.mmap_rnd_bits=32, and in a container that forbids
    personality(2)."""
    said = sanitizers.unusable(f"log\n{printed}\nmore\n")
    assert "ThreadSanitizer: " in said
    assert "sudo sysctl vm.mmap_rnd_bits=28" in said
    assert not sanitizers.unusable("WARNING: ThreadSanitizer: data race (pid=7)")
    assert sanitizers.fault("all is well\n", ["reader.c"]) is None


@pytest.mark.skipif(valgrind.missing(), reason="valgrind is not installed")
def test_valgrind_sees_a_leak(check):
    check("told", what="leak", valgrind=True)
    with pytest.raises(Failure, match="100 bytes in 1 blocks") as caught:
        check.stage().check_servers()
    assert caught.value.hint == "memory-leak"
    assert "module (module.c:" in caught.value.message
