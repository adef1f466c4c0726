"""The shim: how it is built and loaded, and what it counts in a C program."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.tests.drawn import some
from harness.client.client import Client, Conversation
from harness.failures.failure import LabFault, NotJudged
from harness.server import shim
from harness.server.linux import procfs
from harness.server.process import ServerProcess
from harness.server.shim import Calls, Shim, alloc_library, layout, shim_library
from harness.server.waiting.wait import wait_until

SERVERS = Path(__file__).with_name("servers")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = [flag for flag in shim.FLAGS if flag != "-O2"] + ["-Werror"]
SOURCES = sorted(shim.DIRECTORY.glob("*.c"))

# What calls.c makes, once in itself and once in a child.
EVERY_CALL = Calls(outputs=2 * 8, inputs=2 * 6, waits=2 * 6, accepts=2 * 2)


def compiled(tmp_path, source, *flags, compiler="cc"):
    program = tmp_path / "program"
    subprocess.run([compiler, *flags, "-o", program, SERVERS / source, "-pthread"], check=True)
    return program


def run_with_shim(tmp_path, *command, traced=False):
    """The exit status of the program, and what the library has counted and recorded of it."""
    shared = Shim(tmp_path / "shim")
    if traced:
        shared.record_what_is_watched()
    environment = shim.environment([shim_library()], shared.path)
    return subprocess.run(command, env=environment, timeout=30).returncode, shared


def counted(program, tmp_path):
    """The exit status of the program, and the calls it made."""
    status, shared = run_with_shim(tmp_path, program)
    return status, shared.calls()


def odd(name, **options):
    """A started server of odd.py."""
    command = [sys.executable, "-S", str(SERVERS / "odd.py"), name]
    return ServerProcess().start(command, **options)


@pytest.mark.parametrize("level", some(["-O0", "-O2", "-O3"], 1, "builds of the shim", str))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_it_builds_without_a_warning(tmp_path, compiler, level):
    for source in SOURCES:
        command = [compiler, *STRICT, level, "-c", source, "-o", tmp_path / "object"]
        subprocess.run([word for word in command if word != "-shared"], check=True)


@pytest.mark.parametrize(
    "flags",
    some(["-O0", "-O2", "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"], 1, "builds of calls", str),
)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_call_is_counted(tmp_path, compiler, flags):
    """Each call is passed on as well: calls.c exits with 0 if arguments and results are right."""
    program = compiled(tmp_path, "calls.c", *flags.split(), compiler=compiler)
    assert counted(program, tmp_path) == (0, EVERY_CALL)


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_it_goes_with_a_sanitizer(tmp_path, sanitizer):
    program = compiled(tmp_path, "calls.c", "-g", f"-fsanitize={sanitizer}")
    assert counted(program, tmp_path) == (0, EVERY_CALL)


def recorded(tmp_path, way, source="rounds.c", traced=True):
    """The record of that program, at its end: the harness has not looked before."""
    status, shared = run_with_shim(tmp_path, compiled(tmp_path, source), way, traced=traced)
    assert status == 0
    return shared.record()


def test_a_spin_is_counted_and_not_recorded_again_and_again(tmp_path):
    """Earlier events are still there, however fast the server spins."""
    record = recorded(tmp_path, "spin")
    (counter,) = [entry for entry in record if entry.repeated]
    told = [entry.function for entry in record if not entry.repeated]
    assert told[:2] == ["write", "accept"]
    assert told.count("poll") == 1 + 2 * 2  # what it is for, once; then what is ready, and the wait
    assert (counter.size, counter.result) == (3, 3 * (100_000 - 2))
    # What moves a byte is no part of the spin.
    assert [(entry.function, entry.result) for entry in record[-2:]] == [("read", 1), ("close", 0)]


def test_a_spin_is_recorded_as_it_is_where_no_trace_is_wanted(tmp_path):
    record = recorded(tmp_path, "spin", traced=False)
    assert len([entry for entry in record if not entry.is_major]) == layout.RECORD_ENTRIES
    assert not any(entry.repeated for entry in record)


INPUT, END, HANGUP = layout.IN, layout.END, layout.HANGUP
ENDED = INPUT | END | HANGUP
OF_POLL = [layout.URGENT, INPUT | END, ENDED, HANGUP, ENDED | layout.ERROR]
OF_SELECT = [layout.URGENT, INPUT, INPUT, INPUT]
WAYS = {
    "poll": [*OF_POLL, layout.CLOSED],
    "ppoll": [*OF_POLL, layout.CLOSED],
    "select": OF_SELECT,
    "pselect": OF_SELECT,
    "epoll_wait": OF_POLL,
    "epoll_pwait": OF_POLL,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_wait_has_reported_is_recorded(tmp_path, way):
    """Urgent data, a half-close, a hang-up, a reset, and a descriptor that is closed. The listener
    is ready before each connection is accepted."""
    record = recorded(tmp_path, way, "reported.c")
    listener = next(entry.fd for entry in record if entry.function == "accept")
    found = [entry for entry in record if entry.watched and entry.result]
    assert [entry.result for entry in found if entry.fd != listener] == WAYS[way]
    assert [entry.result for entry in found if entry.fd == listener] == [INPUT] * 4
    asked = INPUT | layout.URGENT | (0 if "select" in way else END)
    assert {entry.size for entry in found if entry.result != HANGUP} == {asked}


def moving(record):
    return [entry.function for entry in record if entry.is_major and not entry.repeated]


def test_a_long_round_is_counted_too(tmp_path):
    """Every descriptor that is ready has an entry: fifty of them, and the wait."""
    record = recorded(tmp_path, "many")
    (counter,) = [entry for entry in record if entry.repeated]
    assert (counter.size, counter.result) == (51, 51 * (20_000 - 2))


def test_what_moves_bytes_is_not_pushed_out(tmp_path):
    """A hundred thousand calls that get nothing, each different from the one before, leave it in
    the record."""
    record = recorded(tmp_path, "failures")
    assert moving(record) == ["write", "accept", "read", "close"]
    assert record[-1].number > 10 * layout.RECORD_ENTRIES


def test_bytes_that_move_faster_than_one_looks_are_counted(tmp_path):
    """None is missing, and what was before them is there."""
    record = recorded(tmp_path, "bytes")
    told = sum(entry.result for entry in record if entry.repeated)
    read = [e for e in record if e.function == "read" and not e.repeated and e.connection < 0]
    assert told + len(read) == 100_000
    assert len(read) < layout.RECORD_ENTRIES
    assert moving(record)[:3] == ["write", "accept", "read"]
    assert moving(record)[-1] == "close"


@pytest.mark.parametrize(
    "code, timers",
    [
        ("signal.pause", 0),
        ("signal.alarm(60)", 1),
        ("signal.setitimer(signal.ITIMER_REAL, 60)", 1),
        ("ctypes.CDLL(None).timer_create(1, None, ctypes.byref(ctypes.c_void_p()))", 1),
    ],
)
def test_timers_of_the_kernel_are_counted(tmp_path, code, timers):
    command = [sys.executable, "-S", "-c", f"import ctypes, signal; {code}"]
    status, shared = run_with_shim(tmp_path, *command)
    assert (status, shared.kernel_timers()) == (0, timers)


def test_without_the_variable_it_does_nothing(tmp_path):
    """Not even the handler is there: SIGUSR1 kills."""
    environment = {"LD_PRELOAD": str(shim_library())}
    command = ["sh", "-c", "kill -USR1 $$"]
    assert subprocess.run(command, env={}).returncode == -signal.SIGUSR1
    assert subprocess.run(command, env=environment).returncode == -signal.SIGUSR1
    good = shim.environment([shim_library()], Shim(tmp_path / "shim").path)
    assert subprocess.run(command, env=good).returncode == 0


@pytest.mark.parametrize("content", [None, b"", b"short", b"\0" * 4096])
def test_a_file_that_is_not_as_expected_is_left_alone(tmp_path, content):
    shared = tmp_path / "shim"
    if content is not None:
        shared.write_bytes(content)
    environment = shim.environment([shim_library()], shared)
    result = subprocess.run(["cat", "/dev/null"], env=environment, capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")
    assert content is None or shared.read_bytes() == content


def test_another_version_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "VERSION", layout.VERSION + 1)
    _, calls = counted(compiled(tmp_path, "calls.c"), tmp_path)
    assert calls == Calls(0, 0, 0, 0)


def test_spoilt_counters_are_not_judged(tmp_path):
    shared = Shim(tmp_path / "shim")
    with shared.path.open("r+b") as file:
        file.write(bytes(40))
    with pytest.raises(NotJudged, match="overwritten"):
        shared.calls()


def test_calls_of_a_server():
    with odd("is_right", preload=[shim_library()]) as server:
        before = server.calls()
        with Client(server.address, Conversation()) as client:
            client.exchange(b"\0\0\0\0", [b""])
            client.half_close()
            client.expect_eof()
        assert wait_until(lambda: server.calls().accepts == 2, 10)  # for the next client
        after = server.calls()
        assert after.outputs - before.outputs == 1
        assert after.inputs - before.inputs == 2
        server.destroy()
        assert server.calls() == after


def test_a_signal_interrupts_a_call():
    """Python calls accept again when it was interrupted, and nothing else would make it do so."""
    with odd("is_right", preload=[shim_library()]) as server:

        def interrupted():
            server.signal(signal.SIGUSR1)
            return server.calls().accepts >= 3

        assert wait_until(interrupted, 10, 0.001)
        assert server.alive()


@pytest.mark.parametrize("by_signal", [False, True])
def test_a_pause_interrupts_no_call(by_signal):
    """Without the library epoll_wait(2) fails with EINTR when a process goes on. A signal that
    comes meanwhile still interrupts it."""
    with odd("waits_with_epoll", preload=[shim_library()]) as server:
        with Client(server.address, Conversation()) as client:
            for number in range(3):
                client.exchange(b"\0\0\0\0", [b""])
                assert wait_until(lambda: procfs.thread_states(server.pid) == {"S"}, 10)
                server.pause()
                if by_signal:
                    server.signal(signal.SIGTERM)
                server.resume()
                if by_signal:
                    told = (number + 1) * b"interrupted\n"
                    assert wait_until(lambda: server.stdout.head.endswith(told), 10)
            client.exchange(b"\0\0\0\0", [b""])
            assert by_signal or b"interrupted" not in server.stdout.head


def test_no_calls_without_the_shim():
    with odd("is_right") as server:
        assert server.calls() is None


def test_no_calls_of_a_static_program(tmp_path):
    program = compiled(tmp_path, "announce.c", "-static")
    with ServerProcess().start([str(program)], preload=[shim_library()]) as server:
        assert server.calls() is None


def test_several_build_it_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(shim, "LIBRARIES", tmp_path / "new")
    built = []
    threads = [threading.Thread(target=lambda: built.append(shim_library())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [tmp_path / "new" / "shim.so"] * 4
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["shim.so"]


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the sources, which is built into a directory of its own."""
    copy = tmp_path / "sources"
    shutil.copytree(shim.DIRECTORY, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(shim, "DIRECTORY", copy)
    monkeypatch.setattr(shim, "LIBRARIES", tmp_path / "built")
    return copy


@pytest.mark.parametrize("changed", ["calls.c", "shim.h"])
def test_it_is_built_again_when_a_source_is_younger(sources, changed):
    first = shim_library().stat()
    assert shim_library().stat().st_ino == first.st_ino
    later = first.st_mtime_ns + 1_000_000_000
    os.utime(sources / changed, ns=(later, later))
    assert shim_library().stat().st_ino != first.st_ino


def test_libraries_that_others_have_built_are_used(sources, monkeypatch):
    """Unless they are older than their sources: then this process builds its own."""
    ready = sources.parent / "ready"
    shim.build_into(ready)
    monkeypatch.setenv(shim.READY, str(ready))
    assert [shim_library(), alloc_library()] == [ready / "shim.so", ready / "alloc.so"]
    os.utime(ready / "alloc.so", (0, 0))
    assert alloc_library() == sources.parent / "built" / "alloc.so"
    kept = {name: (ready / name).stat().st_ino for name in shim.NAMES}
    shim.build_into(ready, again=False)
    changed = [name for name in shim.NAMES if (ready / name).stat().st_ino != kept[name]]
    assert changed == ["alloc.so"]


def test_no_compiler_is_not_the_students_fault(sources, monkeypatch):
    monkeypatch.setattr(shim, "COMPILERS", ("no-such-compiler",))
    with pytest.raises(NotJudged, match="no C compiler"):
        shim_library()


def test_a_source_that_does_not_compile_is_not_the_students_fault(sources):
    (sources / "alloc.c").write_text("this is no C\n")
    assert shim_library().exists()
    with pytest.raises(LabFault, match="alloc.so .*fault of the lab.*alloc.c:1:1: error"):
        alloc_library()


def test_a_file_system_that_runs_no_programs_is_named(tmp_path, monkeypatch):
    """For access(2) a program on it may not be executed, whatever its mode says."""
    shim.build_into(tmp_path)
    monkeypatch.setenv(shim.READY, str(tmp_path))
    assert shim.starter() == tmp_path / "start"
    (tmp_path / "start").chmod(0o644)
    with pytest.raises(NotJudged, match="runs no programs .*noexec.*LAB_BUILD="):
        shim.starter()


def test_names_of_a_server_are_its_own():
    """A server may call its functions as it likes: the library exports what it replaces only."""
    for library, own in ((shim_library(), {"shim_allocation_fails"}), (alloc_library(), set())):
        words = ["nm", "-D", "--defined-only", "--format=posix", str(library)]
        names = {line.split()[0] for line in subprocess.check_output(words, text=True).splitlines()}
        others = {"calloc", "free", "malloc", "realloc", "reallocarray", "sigaction", "signal"}
        others |= {"sleep", "usleep"}
        others |= {name for name in names if name.lstrip("_").startswith("io_uring_")}
        assert names - own <= {*layout.FUNCTIONS, *others}


def test_both_sides_name_the_functions_alike():
    header = (shim.DIRECTORY / "shim.h").read_text()
    assert re.findall(r"^    X\((\w+), ", header, re.MULTILINE) == layout.FUNCTIONS
