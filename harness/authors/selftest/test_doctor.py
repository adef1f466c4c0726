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

from harness.claims.instruments import observe
from harness.claims.marker import Mark
from harness.client.redis.here import OTHERS
from harness.failures.failure import NotJudged
from harness.grading import plugin, scoring
from harness.lab.units import MIB
from harness.server import build, limits, shim
from harness.server.linux import cgroup, landlock, network, ring, sockdiag
from harness.student import doctor, needed

CLAIMS = scoring.load()


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def refuses(names: str):
    """A compiler that lacks these sanitizers."""

    def hide(monkeypatch, tmp_path):
        refusing = f'case "$*" in *-fsanitize={names}*) exit 1;; esac\nexec gcc "$@"'
        monkeypatch.setenv("CC", str(script(tmp_path / "cc", refusing)))

    return hide


def no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "/no/such/compiler")


def no_program_runs(monkeypatch, tmp_path):
    """No program below build/ runs, as on a file system that is mounted with noexec."""
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "start" and access(path, mode)
    )
    monkeypatch.setattr(build.starter, "_program", lambda: str(shim.starter()))


def no_loopback(monkeypatch, tmp_path):
    def refused(*_, **__):
        raise OSError(99, os.strerror(99))

    monkeypatch.setattr(needed.socket, "create_server", refused)


def no_library(monkeypatch, tmp_path):
    def fails():
        raise NotJudged("the shim cannot be built: hidden")

    monkeypatch.setattr(needed.shim, "shim_library", fails)


def no_valgrind(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


def blind_valgrind(monkeypatch, tmp_path):
    """It runs, and cannot read what the compiler has written for debuggers."""
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-g0"))


def few_descriptors(monkeypatch, tmp_path):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))


def no_sock_diag(monkeypatch, tmp_path):
    def refused(_):
        raise sockdiag.Unavailable("error 2")

    monkeypatch.setattr(sockdiag, "_ask", refused)


def large_sockets(monkeypatch, tmp_path):
    monkeypatch.setattr(observe, "kernel_bytes", lambda: 16 * MIB)


def no_ring(monkeypatch, tmp_path):
    monkeypatch.setattr(ring, "_SETUP", 1_000_000)  # a call that no kernel has


def no_program(name: str):
    hidden = (name, name.replace("redis", "valkey"))

    def hide(monkeypatch, tmp_path):
        which = shutil.which
        monkeypatch.setattr(shutil, "which", lambda one, **_: one not in hidden and which(one))

    return hide


def another_redis(monkeypatch, tmp_path):
    script(tmp_path / "redis-server", "echo Redis server v=6.0.16 sha=00000000:0")
    monkeypatch.setenv("PATH", str(tmp_path))


def no_python_client(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(script(tmp_path / "python", "exit 1")))


def no_hiredis(monkeypatch, tmp_path):
    refusing = 'case "$*" in *hiredis*) exit 1;; esac\nexec gcc "$@"'
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", refusing)))


# What is hidden: the instrument, one claim that it costs, one that it does not.
NEEDED = [
    ("C compiler", no_compiler, "01_first_frames", None),
    ("C compiler", no_program_runs, "01_first_frames", None),
    ("loopback", no_loopback, "01_first_frames", "09_tasks_of_many_threads"),
    ("shim library", no_library, "01_first_frames", None),
    ("valgrind", no_valgrind, "10_memory", "01_first_frames"),
    ("valgrind", blind_valgrind, "10_memory", "01_first_frames"),
    ("descriptors", few_descriptors, "10_ten_thousand_clients", "03_idle_clients_use_no_cpu"),
    ("AddressSanitizer", refuses("address"), "01_sanitized", "09_no_data_races"),
    ("ThreadSanitizer", refuses("thread"), "09_no_data_races", "01_sanitized"),
    ("sock_diag", no_sock_diag, "08_slow_reader_gets_everything", "01_first_frames"),
    ("io_uring", no_ring, "11_operations_complete", "10_memory"),
    ("socket buffers", large_sockets, "07_every_waits_for_its_client", "01_first_frames"),
    ("redis-cli", no_program("redis-cli"), "12_redis_cli_pipe", "12_redis_benchmark"),
    ("redis-benchmark", no_program("redis-benchmark"), "12_redis_benchmark", "12_redis_cli"),
    ("redis-server", no_program("redis-server"), "12_same_replies_as_redis", "12_redis_cli"),
    ("redis-server", another_redis, "12_same_replies_as_redis", "12_redis_cli"),
    ("redis-py", no_python_client, "12_redis_py", "12_hiredis"),
    ("hiredis", no_hiredis, "12_hiredis", "12_redis_py"),
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


def without_confinement(monkeypatch):
    monkeypatch.setattr(landlock, "works", lambda: False)


def without_groups(monkeypatch):
    monkeypatch.setattr(cgroup, "enter_new", lambda *_: None)


def without_namespaces(monkeypatch):
    monkeypatch.setattr(needed, "_in_a_child", lambda works: works is not network.enter_new)


def without_gdb(monkeypatch):
    monkeypatch.setenv("PATH", "/no/where")


def with_blind_gdb(monkeypatch):
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-g0"))


def without_space(monkeypatch):
    usage = SimpleNamespace(free=5 * MIB)
    monkeypatch.setattr(needed.shutil, "disk_usage", lambda _: usage)


def with_one_core(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})


def without_ipv6(monkeypatch):
    monkeypatch.setattr(needed, "_connects", lambda *_: "::1 cannot be used")


OPTIONAL = [
    ("Landlock", without_confinement, "write to the files"),
    ("control groups", without_groups, "a fraction of a second"),
    ("network namespace", without_namespaces, "waits for the port"),
    ("gdb", without_gdb, "`make replay GDB=1` does not work"),
    ("gdb", with_blind_gdb, "does not find the lines of a program built here"),
    ("disk", without_space, "build/ has 5 MiB left"),
    ("cores", with_one_core, "takes longer"),
    ("IPv6", without_ipv6, "no claim needs it"),
]


@pytest.mark.parametrize("name, hide, text", OPTIONAL, ids=[row[0] for row in OPTIONAL])
def test_what_no_claim_needs_is_no_failure(name, hide, text, only, monkeypatch, capsys):
    only(name)
    hide(monkeypatch)
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
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert asked(capsys, "--chapter", "05")[0] == 0
    assert asked(capsys, "--chapter", "06")[0] == 1


def test_a_grade_leaves_open_what_doctor_says(monkeypatch):
    """The same function decides both."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    mark = Mark("01.1", points=1, descriptors=5000)
    config = SimpleNamespace(lab_run=SimpleNamespace(seed=1, valgrind=False, trace=None))
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
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
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
            if path.name == "test_12_clients.py":
                assert mark in OTHERS, f"{path}: {node.name}: needs="
                continue
            kind = "sanitize" if mark in ("thread", "address,undefined") else mark
            assert needed_by(node) == ({kind} if mark else set()), f"{path}: {node.name}: needs="
