"""Threads that wait for a mutex for ever."""

from __future__ import annotations

import subprocess

import pytest

from harness.claims.instruments import locks
from harness.server.linux import prctl
from harness.server.waiting.syscalls import sleeps_for_ever
from harness.server.waiting.wait import wait_until
from harness.student import needed

HEAD = """#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void *other(void *unused)
{
    (void)unused;
    take();
    return NULL;
}

static void *pauses(void *unused)
{
    (void)unused;
    pause();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    (void)thread, (void)other, (void)pauses;
"""
TAKEN_AT = "stuck.c:8"


def stuck(tmp_path, body):
    source = tmp_path / "stuck.c"
    source.write_text(f"{HEAD}{body}\n}}\n")
    binary = tmp_path / "stuck"
    subprocess.run(["gcc", "-g", "-Og", "-pthread", source, "-o", binary], check=True)
    return subprocess.Popen([binary], preexec_fn=prctl.allow_debuggers)


@pytest.fixture(scope="module")
def debugger():
    if needed.debugger():
        pytest.skip(needed.debugger())


@pytest.mark.parametrize(
    "body, says",
    [
        ("take(); take();", f"waits for a mutex at {TAKEN_AT} (locked by itself)"),
        (
            "take(); pthread_create(&thread, NULL, other, NULL); pause();",
            f"waits for a mutex at {TAKEN_AT} (locked by another thread)",
        ),
        (
            "pthread_create(&thread, NULL, other, NULL); pthread_join(thread, NULL); take();",
            f"waits for a mutex at {TAKEN_AT} (locked by a thread that has ended)",
        ),
        ("take(); pthread_create(&thread, NULL, pauses, NULL); pthread_join(thread, NULL);", ""),
        ("pause();", ""),
    ],
)
def test_it_says_where_and_who_has_it(debugger, tmp_path, body, says):
    process = stuck(tmp_path, body)
    try:
        assert wait_until(lambda: sleeps_for_ever(process.pid), 30)
        # One that still starts may wait for its pages in a read(), and be taken for asleep.
        assert wait_until(lambda: locks.held(process.pid, ["stuck.c"]) == says, 60)
        assert locks.held(process.pid, ["another.c"]) == ""
    finally:
        process.kill()
        process.wait()
