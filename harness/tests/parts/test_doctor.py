"""What `make doctor` says of a machine that lacks something: each instrument is hidden once."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.claims.instruments import observe
from harness.claims.marker import Mark
from harness.failures.failure import NotJudged
from harness.grading import plugin
from harness.lab.command_line import BUILD
from harness.lab.units import MIB
from harness.server import build, shim
from harness.server.linux import cgroup, landlock, network, ring
from harness.server.waiting import sockdiag
from harness.student import doctor, needed
from harness.tests import golden
from harness.tests.shell import script


def has(place, name: str, value):
    """Hides by another value of this attribute."""
    return lambda monkeypatch, _: monkeypatch.setattr(place, name, value)


def variable(name: str):
    return lambda monkeypatch, _: monkeypatch.setenv(name, "/no/where")


def refuses(words: str):
    """Hides by a compiler that fails if its command line contains these words."""

    def hide(monkeypatch, tmp_path):
        refusing = f'case "$*" in *{words}*) exit 1;; esac\nexec gcc "$@"'
        monkeypatch.setenv("CC", str(script(tmp_path / "cc", refusing)))

    return hide


def fails(error: BaseException):
    def function(*_, **__):
        raise error

    return function


def no_program_runs(monkeypatch, tmp_path):
    """No program below build/ runs, as on a file system that is mounted with noexec."""
    access = os.access
    runs = lambda path, mode: Path(path).name != "start" and access(path, mode)  # noqa: E731
    monkeypatch.setattr(os, "access", runs)
    monkeypatch.setattr(shim, "_starter", lambda: str(shim.starter()))


def no_program(*names: str):
    which = shutil.which
    return has(shutil, "which", lambda one, **_: one not in names and which(one))


def no_python_client(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(script(tmp_path / "python", "exit 1")))


def another_redis(version: str):
    def hide(monkeypatch, tmp_path):
        script(tmp_path / "redis-server", f"echo {version} sha=00000000:0")
        monkeypatch.setenv("PATH", str(tmp_path))

    return hide


few_descriptors = has(resource, "getrlimit", lambda _: (1024, 4096))
no_ring = has(ring, "_SETUP", 1_000_000)  # a call that no kernel has
HIDDEN = [
    ("C compiler", variable("CC")),
    ("C compiler", no_program_runs),
    ("loopback", has(needed.socket, "create_server", fails(OSError(99, "no address")))),
    ("shim library", has(needed.shim, "shim_library", fails(NotJudged("it cannot be built")))),
    ("valgrind", variable("PATH")),
    ("descriptors", few_descriptors),
    ("AddressSanitizer", refuses("-fsanitize=address")),
    ("ThreadSanitizer", refuses("-fsanitize=thread")),
    ("sock_diag", has(sockdiag, "_ask", fails(sockdiag.Unavailable("error 2")))),
    ("io_uring", no_ring),
    ("socket buffers", has(observe, "kernel_bytes", lambda: 16 * MIB)),
    ("redis-cli", no_program("redis-cli", "valkey-cli")),
    ("redis-benchmark", no_program("redis-benchmark", "valkey-benchmark")),
    ("redis-server", no_program("redis-server", "valkey-server")),
    ("redis-server", another_redis("Redis server v=6.0.16")),
    ("redis-server", another_redis("Valkey server v=8.1.1")),  # Arch has it by this name: all well
    ("redis-py", no_python_client),
    ("hiredis", refuses("hiredis")),
    ("Landlock", has(landlock, "works", lambda: False)),
    ("control groups", has(cgroup, "enter_new", lambda *_: None)),
    ("network namespace", has(needed, "_in_a_child", lambda works: works is not network.enter_new)),
    ("gdb", variable("PATH")),
    ("disk", has(needed.shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * MIB))),
    ("cores", has(os, "sched_getaffinity", lambda _: {0})),
    ("IPv6", has(needed, "_connects", lambda *_: "::1 cannot be used")),
]


def without(name, hide, tmp_path, capsys) -> str:
    """What doctor says of this instrument; of the claims that are not judged, the first one."""
    every = doctor.all_instruments
    with pytest.MonkeyPatch.context() as monkeypatch:
        chosen = lambda claims: [one for one in every(claims) if one.name == name]  # noqa: E731
        monkeypatch.setattr(doctor, "all_instruments", chosen)
        hide(monkeypatch, tmp_path)
        status = doctor.main([])
    text = capsys.readouterr().out.split("\n\n")[1]
    assert max(map(len, text.splitlines())) <= 80
    text = re.sub("(not judged: [^,]*), .*(?= this helps)", r"\1, ...", " ".join(text.split()))
    return f"{status} {text}"


def test_each_instrument_is_missed(tmp_path, capsys):
    found = [without(*row, tmp_path / str(i), capsys) for i, row in enumerate(HIDDEN)]
    golden.check("doctor", "\n".join(found), tmp_path, BUILD)


@pytest.mark.parametrize("name", ["valgrind", "gdb"])
def test_an_instrument_that_sees_nothing_is_missed(name, tmp_path, capsys):
    """The compiler writes nothing for debuggers: both run, and find no lines."""
    blind = has(build, "FLAGS", (*build.FLAGS, "-g0"))
    if "yes" not in without(name, lambda *_: None, tmp_path, capsys):
        pytest.skip(f"{name} does not work here")
    assert "does not find" in without(name, blind, tmp_path, capsys)


def test_a_grade_leaves_open_what_doctor_says(monkeypatch):
    """The same function decides both."""
    few_descriptors(monkeypatch, None)
    no_ring(monkeypatch, None)
    no_program("redis-cli", "valkey-cli")(monkeypatch, None)
    monkeypatch.setattr(plugin, "Stage", lambda *_: None)
    run = SimpleNamespace(seed=1, valgrind=False, trace=None)
    config = SimpleNamespace(lab_run=run, lab_own_clock="")
    for lacks, says in (
        ({"descriptors": 5000}, "fewer than 5000 descriptors"),
        ({"needs": "io_uring"}, "does not have io_uring.*this helps: "),
        ({"needs": "redis-cli"}, "redis-cli is not installed; this helps: .*redis-tools"),
    ):
        function = SimpleNamespace(claim=Mark("01.1", points=1, **lacks))
        with pytest.raises(NotJudged, match=says):
            plugin.pytest_runtest_setup(SimpleNamespace(config=config, function=function))
