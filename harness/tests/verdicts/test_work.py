"""Work that is counted: what small programs do, and a server beside other programs."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from harness.tests import submissions
from harness.claims.instruments.observe import steps_of, unread_bytes
from harness.claims.scenarios.cost import GROWTH, GROWTH_COPIED, grows
from harness.claims.scenarios.exchanges import burst
from harness.claims.stage.stage import Run, Stage
from harness.client import length_framing
from harness.failures.failure import Failure
from harness.lab.chapters import CHAPTERS
from harness.server import build
from harness.server.linux import procfs
from harness.server.waiting.wait import wait_until
from harness.server.work import BLOCKS, BYTES_A_STEP, CALL_STEPS, JOINED_STEPS, Work

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char bytes[1 << 20];
static volatile long sum;
static void loop(long n) { for (long i = 0; i < n; i++) sum++; }
static void *thread(void *n) { loop((long)n); return NULL; }
static void work(const char *what, long n)
{
    pthread_t other;
    if (strcmp(what, "linear") == 0) loop(n);
    if (strcmp(what, "loop") == 0) for (long i = 0; i < n; i++) loop(i);
    if (strcmp(what, "memmove") == 0)
        for (long i = 1; i < n; i++) memmove(bytes, bytes + 1, 16 * i);
    if (strcmp(what, "calls") == 0)
        for (long i = 0; i < n; i++)
            for (long k = 0; k < i / 10; k++) sum += write(1, bytes, 0);
    if (strcmp(what, "move") == 0) memmove(bytes, bytes + 1, (size_t)n);
    if (strcmp(what, "length") == 0) { memset(bytes, 'x', (size_t)n); sum += strlen(bytes); }
    if (strcmp(what, "call") == 0) for (; n > 0; n--) sum += write(1, bytes, 0);
    if (strcmp(what, "thread") == 0) {
        pthread_create(&other, NULL, thread, (void *)n);
        pthread_join(other, NULL);
    }
    if (strcmp(what, "free") == 0) {
        void **blocks = calloc((size_t)n, sizeof *blocks);
        for (long i = 0; i < n; i++) blocks[i] = malloc(32);
        for (long i = 0; i < n; i++) free(blocks[i]);
        sum += write(1, bytes, 0);
        free(malloc(8192)); /* which joins them */
        sum += write(1, bytes, 0);
    }
    if (strcmp(what, "fork") == 0) { if (fork() == 0) { loop(n); _exit(0); } wait(NULL); }
}
int main(int count, char **words) { if (count > 2) work(words[1], atol(words[2])); return 0; }
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """steps(what, n): of the program that does so much of that, without those of its start."""
    place = tmp_path_factory.mktemp("work")
    (place / "main.c").write_text(PROGRAM)
    binary = build.counted_server(place)

    def run(what: str, n: int, **more: str) -> int:
        work = Work(place / "file")
        environment = {**os.environ, **work.environment(), **more}
        subprocess.run([binary, what, str(n)], env=environment, check=True)
        return work.steps()

    return lambda what, n, **more: run(what, n, **more) - run(what, 0, **more)


def test_linear_work_is_linear(steps):
    assert steps("linear", 20_000) == pytest.approx(2 * steps("linear", 10_000), rel=0.001)
    grows(lambda n: steps("linear", n), 1000, "{:,} turns", GROWTH, "quadratic")


@pytest.mark.parametrize("how", ["loop", "memmove", "calls"])
def test_quadratic_work_is_not(steps, how):
    with pytest.raises(Failure, match=r"^2,000 turns took .*: [34]\.\d times as many$") as caught:
        grows(lambda n: steps(how, n), 500, "{:,} turns", GROWTH, "quadratic")
    assert caught.value.hint == "quadratic"


def test_a_block_that_grows_makes_one_doubling_dear():
    """2 MiB took the block that was there, 4 MiB a new one: then it is as it should be."""
    found = {1: 100, 2: 299, 4: 598}
    grows(found.__getitem__, 1, "{:,} MiB", GROWTH, "quadratic")


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.6, 0.9, 1, 2])
def test_a_buffer_may_grow_by_any_part(part):
    """Each byte comes and goes, and is copied whenever the block grows."""

    def steps(size: int) -> float:
        block, copied = 65536.0, 0.0
        while block < size:
            copied, block = copied + block, block * (1 + part)
        return 2 * size + copied

    for size in range(1 << 20, 1 << 22, 1 << 16):
        grows(steps, size, "{:,} bytes", GROWTH_COPIED, "quadratic")


def test_a_buffer_must_not_grow_by_a_fixed_amount():
    with pytest.raises(Failure):
        grows(lambda n: 2 * n + sum(range(0, n, 65536)), 1 << 21, "", GROWTH_COPIED, "quadratic")


@pytest.mark.parametrize("how", ["linear", "loop", "memmove", "calls", "thread", "fork"])
def test_the_same_again(steps, how):
    assert len({steps(how, 300) for _ in range(5)}) == 1


def test_what_is_a_step(steps):
    assert steps("move", 160_000) == 160_000 // BYTES_A_STEP
    assert steps("length", 160_000) == 2 * 160_000 // BYTES_A_STEP
    assert steps("call", 100) >= 100 * CALL_STEPS
    assert steps("linear", 1000) >= 1000


def test_blocks_that_malloc_joins_count_on_request(steps):
    of_free_and_join = steps("free", 10_000, **BLOCKS) - steps("free", 10_000)
    assert 9_900 * JOINED_STEPS <= of_free_and_join <= 10_000 * JOINED_STEPS


@pytest.mark.parametrize("where", ["thread", "fork"])
def test_all_threads_and_processes_count(steps, where):
    assert steps(where, 10_000) == steps("linear", 10_000)


def _stage(source: Path) -> Stage:
    names = [path.name for path in source.glob("*.c")]
    binary = build.cached_server(source).binary
    return Stage(Run([str(binary)], sources=names, directory=str(source)))


def test_a_server_takes_the_same_steps_again(tmp_path):
    source = submissions.submission(tmp_path / "submission", submissions.right())
    taken = []
    for _ in range(3):
        stage = _stage(source)
        server = stage.launch(steps=True)
        client = server.connect()
        burst(client, [b"x" * 16])
        taken.append(steps_of(server, lambda: [burst(client, [b"x" * 16]) for _ in range(50)]))
        stage.clear()
    assert len(set(taken)) == 1


def test_a_server_that_cannot_be_built_for_it_is_judged_by_its_cpu_time(tmp_path):
    """It has a function of the name that the compiler calls."""
    source = submissions.submission(tmp_path / "submission", submissions.right())
    own = "void __sanitizer_cov_trace_pc(void);\nvoid __sanitizer_cov_trace_pc(void)\n{\n}\n"
    (source / "own.c").write_text(own)
    stage = _stage(source)
    assert stage.launch(steps=True).process.steps() is None
    stage.clear()


def test_a_server_without_sources_is_judged_by_its_cpu_time(tmp_path):
    source = submissions.submission(tmp_path / "submission", submissions.right())
    stage = Stage(Run([str(build.cached_server(source).binary)]))
    assert stage.launch(steps=True).process.steps() is None
    stage.clear()


MIB = 1 << 20
BY_CALLS = [(chapter, chapter.by_calls.split()) for chapter in CHAPTERS[3:]]
BY_RING = [(chapter, ["--io", "uring"]) for chapter in CHAPTERS[10:]]
COPIED_MIB = 0.5  # of a frame of 1 MiB; some replies are copied while they wait for their client


@contextlib.contextmanager
def serving(chapter, options, **environment):
    """The server of a solution, built so that its work is counted, and its port."""
    server = subprocess.Popen(
        [build.counted_server(chapter.solution_dir), "-p", "0", *options],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield server, int(server.stdout.readline().rsplit(":", 1)[1])
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.parametrize("apart", [False, True], ids=["together", "header apart"])
@pytest.mark.parametrize("chapter, options", BY_CALLS + BY_RING)
def test_a_large_frame_is_hardly_copied(chapter, options, apart, tmp_path):
    """Four clients send frames of 1 MiB: four at a time, or one whose header comes first. With -s
    this prints how many MiB of a frame are copied in the server."""
    copied = _copied(chapter, options, apart, Work(tmp_path / "file"))
    print(f"{chapter.number} {' '.join(options)}: {copied:.2f} MiB copied for a frame of 1 MiB")
    assert copied <= COPIED_MIB


def _copied(chapter, options, apart: bool, work: Work) -> float:
    frames = 4 * 4 * 4
    with serving(chapter, options, **work.environment()) as (_, port):
        clients = [threading.Thread(target=_echo, args=(port, apart)) for _ in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    by_the_kernel = 0 if "uring" in options else 2  # it reads the frame, and sends it
    return work.moved() / frames / MIB - by_the_kernel


@pytest.mark.parametrize("chapter, options", BY_CALLS + BY_RING)
def test_memory_of_large_frames_goes_back(chapter, options):
    """Otherwise malloc() keeps the memory of the largest one below 32 MiB."""
    with serving(chapter, options) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            before = procfs.resident_bytes(server.pid)
            for mib in (3, 9, 9, 17, 17):
                _take_back(client, length_framing.encode(bytes(mib * MIB)))
            limit = before + 8 * MIB
            assert wait_until(lambda: procfs.resident_bytes(server.pid) <= limit, 30)


def _echo(port: int, apart: bool) -> None:
    """Sends 16 frames of 1 MiB, and takes the replies."""
    frame = length_framing.encode(bytes(MIB))
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(16 if apart else 4):
            if apart:
                client.sendall(frame[:4])
                assert wait_until(lambda: not unread_bytes(client), 30)
            _take_back(client, frame[4:] if apart else 4 * frame, len(frame) if apart else None)


def _take_back(client: socket.socket, data: bytes, size: int | None = None) -> None:
    """Sends `data` and takes `size` bytes back at the same time, by default as many."""
    sender = threading.Thread(target=client.sendall, args=(data,))
    sender.start()
    left = size or len(data)
    while left > 0:
        left -= len(client.recv(MIB))
    sender.join()
