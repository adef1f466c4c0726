"""What `make doctor` says of a machine that lacks something: each instrument is hidden once."""

from __future__ import annotations

import ast
import os
import resource
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.tests.shell import script
from harness.claims.instruments import observe
from harness.claims.marker import Mark
from harness.client.redis.here import OTHERS
from harness.failures.failure import NotJudged
from harness.grading import plugin, scoring
from harness.lab.units import MIB
from harness.server import build, limits, shim
from harness.server.linux import cgroup, landlock, network, ring
from harness.server.waiting import sockdiag
from harness.student import doctor, needed

CLAIMS = scoring.load()


# What hides an instrument: functions of monkeypatch and a directory.


def has(place, name: str, value):
    """This attribute has another value."""
    return lambda monkeypatch, _: monkeypatch.setattr(place, name, value)


def variable(name: str, value: str = "/no/where"):
    return lambda monkeypatch, _: monkeypatch.setenv(name, value)


def refuses(words: str):
    """A compiler that fails where its command line has these words."""

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
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "start" and access(path, mode)
    )
    monkeypatch.setattr(shim, "_starter", lambda: str(shim.starter()))


def no_program(name: str):
    hidden = (name, name.replace("redis", "valkey"))

    def hide(monkeypatch, tmp_path):
        which = shutil.which
        monkeypatch.setattr(shutil, "which", lambda one, **_: one not in hidden and which(one))

    return hide


def no_python_client(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(script(tmp_path / "python", "exit 1")))


def another_redis(monkeypatch, tmp_path):
    script(tmp_path / "redis-server", "echo Redis server v=6.0.16 sha=00000000:0")
    monkeypatch.setenv("PATH", str(tmp_path))


few_descriptors = has(resource, "getrlimit", lambda _: (1024, 4096))
no_ring = has(ring, "_SETUP", 1_000_000)  # a call that no kernel has
no_loopback = has(needed.socket, "create_server", fails(OSError(99, os.strerror(99))))
no_library = has(needed.shim, "shim_library", fails(NotJudged("the shim cannot be built: hidden")))
no_sock_diag = has(sockdiag, "_ask", fails(sockdiag.Unavailable("error 2")))
large_sockets = has(observe, "kernel_bytes", lambda: 16 * MIB)
# The compiler writes nothing for debuggers, which run and find no lines.
blind = has(build, "FLAGS", (*build.FLAGS, "-g0"))
no_namespaces = has(needed, "_in_a_child", lambda works: works is not network.enter_new)
no_space = has(needed.shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * MIB))

# What is hidden: the instrument, one claim that it costs, one that it does not.
NEEDED = [
    ("C compiler", variable("CC"), "01_first_frames", None),
    ("C compiler", no_program_runs, "01_first_frames", None),
    ("loopback", no_loopback, "01_first_frames", "09_tasks_of_many_threads"),
    ("shim library", no_library, "01_first_frames", None),
    ("valgrind", variable("PATH"), "10_memory", "01_first_frames"),
    ("valgrind", blind, "10_memory", "01_first_frames"),
    ("descriptors", few_descriptors, "10_ten_thousand_clients", "03_idle_clients_use_no_cpu"),
    ("AddressSanitizer", refuses("-fsanitize=address"), "01_sanitized", "09_no_data_races"),
    ("ThreadSanitizer", refuses("-fsanitize=thread"), "09_no_data_races", "01_sanitized"),
    ("sock_diag", no_sock_diag, "08_slow_reader_gets_everything", "01_first_frames"),
    ("io_uring", no_ring, "11_operations_complete", "10_memory"),
    ("socket buffers", large_sockets, "07_every_waits_for_its_client", "01_first_frames"),
    ("redis-cli", no_program("redis-cli"), "12_redis_cli_pipe", "12_redis_benchmark"),
    ("redis-benchmark", no_program("redis-benchmark"), "12_redis_benchmark", "12_redis_cli"),
    ("redis-server", no_program("redis-server"), "12_same_replies_as_redis", "12_redis_cli"),
    ("redis-server", another_redis, "12_same_replies_as_redis", "12_redis_cli"),
    ("redis-py", no_python_client, "12_redis_py", "12_hiredis"),
    ("hiredis", refuses("hiredis"), "12_hiredis", "12_redis_py"),
]
# What no claim needs: the instrument, and what is said without it.
OPTIONAL = [
    ("Landlock", has(landlock, "works", lambda: False), "write to the files"),
    ("control groups", has(cgroup, "enter_new", lambda *_: None), "a fraction of a second"),
    ("network namespace", no_namespaces, "waits for the port"),
    ("gdb", variable("PATH"), "`make replay GDB=1` does not work"),
    ("gdb", blind, "does not find the lines of a program built here"),
    ("disk", no_space, "build/ has 5 MiB left"),
    ("cores", has(os, "sched_getaffinity", lambda _: {0}), "takes longer"),
    ("IPv6", has(needed, "_connects", lambda *_: "::1 cannot be used"), "no claim needs it"),
]


@pytest.fixture
def only(monkeypatch):
    """only(name): that instrument alone is tried."""
    every = doctor.all_instruments

    def choose(name):
        monkeypatch.setattr(
            doctor,
            "all_instruments",
            lambda claims: [one for one in every(claims) if one.name == name],
        )

    return choose


def asked(capsys, *words: str) -> tuple[int, str]:
    status = doctor.main(list(words))
    return status, capsys.readouterr().out


@pytest.mark.parametrize("name, hide, lost, kept", NEEDED, ids=[row[0] for row in NEEDED])
def test_a_hidden_instrument_costs_its_claims(
    name, hide, lost, kept, only, monkeypatch, tmp_path, capsys
):
    only(name)
    hide(monkeypatch, tmp_path)
    status, text = asked(capsys)
    assert status == 1
    assert f"  NO    {name}" in text
    assert "this helps: " in text and "cannot be judged here" in text
    assert max(map(len, text.splitlines())) <= 80
    if "any claim" in text:
        return
    assert lost in text
    assert not kept or kept not in text


@pytest.mark.parametrize("name, hide, text", OPTIONAL, ids=[row[0] for row in OPTIONAL])
def test_what_no_claim_needs_is_no_failure(name, hide, text, only, monkeypatch, tmp_path, capsys):
    only(name)
    hide(monkeypatch, tmp_path)
    status, printed = asked(capsys)
    assert status == 0
    assert f"  no    {name}" in printed
    assert text in " ".join(printed.split())
    assert "claims can be judged here." in printed


def test_what_is_here_is_one_line(only, monkeypatch, capsys):
    only("cores")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    status, text = asked(capsys, "--chapter", "01")
    assert status == 0
    assert "\n  yes   cores\n" in text


REDIS = [
    ({"redis-server": "Redis server v=8.0.2"}, "Redis 8.0.2 (redis-server)"),
    ({"valkey-server": "Valkey server v=8.1.1"}, "Valkey 8.1.1 (valkey-server)"),
    ({"redis-server": "Valkey server v=8.1.1"}, "Valkey 8.1.1 (redis-server)"),  # Arch: a link
    (
        {"redis-server": "Redis server v=6.0.16", "valkey-server": "Valkey server v=8.0.1"},
        "Valkey 8.0.1 (valkey-server)",
    ),
]


@pytest.mark.parametrize("programs, used", REDIS, ids=[row[1] for row in REDIS])
def test_which_redis_is_used(programs, used, only, monkeypatch, tmp_path, capsys):
    only("redis-server")
    for name, version in programs.items():
        script(tmp_path / name, f"echo {version} sha=00000000:0")
    monkeypatch.setenv("PATH", str(tmp_path))
    status, text = asked(capsys)
    assert status == 0
    assert f"\n  yes   redis-server      {used}\n" in text


def test_a_chapter_has_its_own_claims(only, monkeypatch, capsys):
    only("descriptors")
    few_descriptors(monkeypatch, None)
    assert asked(capsys, "--chapter", "05")[0] == 0
    assert asked(capsys, "--chapter", "06")[0] == 1


def test_a_grade_leaves_open_what_doctor_says(monkeypatch):
    """The same function decides both."""
    few_descriptors(monkeypatch, None)
    mark = Mark("01.1", points=1, descriptors=5000)
    run = SimpleNamespace(seed=1, valgrind=False, trace=None)
    config = SimpleNamespace(lab_run=run, lab_own_clock="")
    item = SimpleNamespace(config=config, function=SimpleNamespace(claim=mark))
    monkeypatch.setattr(plugin, "Stage", lambda *_: None)
    with pytest.raises(NotJudged, match="fewer than 5000 descriptors"):
        plugin.pytest_runtest_setup(item)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8192, 8192))
    no_ring(monkeypatch, None)
    item.function.claim = replace(mark, needs="io_uring")
    with pytest.raises(NotJudged, match="does not have io_uring.*this helps: "):
        plugin.pytest_runtest_setup(item)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    item.function.claim = replace(mark, needs="redis-cli")
    with pytest.raises(NotJudged, match="redis-cli is not installed; this helps: .*redis-tools"):
        plugin.pytest_runtest_setup(item)


def test_descriptors_are_counted(monkeypatch):
    few_descriptors(monkeypatch, None)
    assert limits.lacking_descriptors(5000) and not limits.lacking_descriptors(4096)


# The marks of the claims


def calls(function: ast.FunctionDef) -> list[ast.Call]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Call)]


def told(call: ast.Call, name: str) -> bool:
    return any(word.arg == name for word in call.keywords)


def needed_by(function: ast.FunctionDef) -> set[str]:
    """The kinds of marks that the body of a claim shows."""
    found = set()
    for call in calls(function):
        name = getattr(call.func, "id", "")
        if name == "launch" and told(call, "sanitize"):
            found.add("sanitize")
        if told(call, "certain") or name == "leaves_at_once":
            found.add("queues")
        if "ways=(RING,)" in ast.unparse(call):
            found.add("io_uring")
        if name == "NotJudged" and "tcp_wmem" in ast.unparse(call):
            found.add("small-sockets")
    return found


def test_every_claim_is_marked_with_what_it_needs():
    marks = {claim.name: claim.needs for claim in CLAIMS}
    assert set(marks.values()) - {""} == set(needed.MARKED)
    for path in {claim.file for claim in CLAIMS}:
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name not in marks:
                continue
            mark = marks[node.name]
            if path.name.startswith("test_11_"):
                assert mark == "io_uring", f"{path}: {node.name}: needs="
                continue
            if path.name in ("test_12_clients.py", "test_12_watch.py") and mark:
                assert mark in OTHERS, f"{path}: {node.name}: needs="
                continue
            kind = "sanitize" if mark in ("thread", "address,undefined") else mark
            assert needed_by(node) == ({kind} if mark else set()), f"{path}: {node.name}: needs="
