"""The benchmark: what the load generator says is true, and what is printed of it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from contextlib import suppress

import pytest

from harness.client import length_framing
from harness.lab import chapters
from harness.student.bench import command as bench
from harness.student.bench import curves, redis_benchmark, redis_memory, subjects, table
from harness.student.bench.rounds import Cell
from harness.student.bench.rows import ROWS, Load
from harness.student.bench.subjects import LIMIT, PEER, SOLUTION, Subject
from harness.tests import golden

BODY = 8  # bytes
FRAME = length_framing.HEADER + BODY


def asked(answer, frames=1):
    """What the load generator finds of a server, and how often it was asked. `answer`: the reply to
    so many frames, which the one client has in flight."""
    came = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with listener.accept()[0] as connection, suppress(OSError):
                while data := connection.recv(frames * FRAME, socket.MSG_WAITALL):
                    came.append(data)
                    connection.sendall(answer(data))

        threading.Thread(target=serve, daemon=True).start()
        words = ["-p", listener.getsockname()[1], "-w", 0, "-t", 100, "-s", BODY, "-d", frames]
        command = [subjects.load_generator(), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout), len(came)


def test_the_load_generator_counts_what_comes_back_and_finds_what_is_wrong():
    found, count = asked(lambda data: data)
    counted = round(found["requests_per_s"] * found["seconds"])
    assert count - 2 <= counted <= count  # the first reply and the last one are not counted
    assert found["errors"] == 0 and found["quantiles"] == sorted(found["quantiles"])
    for frames, answer, says in (
        (1, lambda data: data[:-1] + bytes([data[-1] ^ 1]), f"byte {FRAME - 1} of what came back"),
        (2, lambda data: data[FRAME:] + data[:FRAME], "what came back is wrong"),
        (1, lambda data: data * 2, "more came back than was sent"),
    ):
        assert says in asked(answer, frames)[0]["error"]


def test_what_is_printed():
    """The cells: as measured, disturbed by other load, failed, large, small."""
    kinds = {"04": SOLUTION, "ev": PEER, "limit": LIMIT}
    servers = [Subject(name, kind, ()) for name, kind in kinds.items()]
    first = [Cell([90, 100, 120], disturbed=1), Cell([80, 80, 80]), Cell([200])]
    second = [Cell(why="no reply"), Cell([4_361_000]), Cell([0.046])]
    cells = {(name, "a"): cell for name, cell in zip(kinds, first)}
    cells |= {(name, "b"): cell for name, cell in zip(kinds, second)}
    pair = [Subject("12", SOLUTION, ()), Subject("redis", PEER, ())]
    cpu = {("12", "ping"): Cell([5], cpu_us=[2, 4]), ("redis", "ping"): Cell([4], cpu_us=[6])}
    memory = {"12": redis_memory.Memory(2 << 20, 4 << 20), "redis": redis_memory.Memory(why="gone")}
    curve = curves.Curve("key", "µs", lambda figures, _: figures.cpu_us, twice="frames")
    sweep = curves.Sweep("title", "frames", (1, 2, 4, 16), Load, (curve,))
    line = curves.Line("04", [(1, 1.0), (2, 1.0), (4, 1.5), (16, 1)])
    csv = '"test","rps","avg"\n"LPUSH","50000.00","0.5"\n"LPOP","40816.33","0.503"\n'
    parts = [
        *(part(servers, ROWS[:2], cells) for part in (table.ratios, table.notes)),
        table.table("title", servers, ROWS[:2], cells),
        table.cpu_ratios("CPU", pair, redis_benchmark.ROWS[:1], cpu),
        redis_memory.table(memory),
        table.growth(sweep, curve, [line]),
        f"the last row of redis-benchmark: {redis_benchmark._rate(csv, '')}",
    ]
    golden.check("bench", "\n\n".join(parts))


@pytest.mark.full("benchmarks")
def test_your_server_is_in_the_table(monkeypatch, capsys):
    monkeypatch.setattr(bench, "RESULTS", subjects.BUILT / "test.json")
    own = str(chapters.find("01").solution_dir)
    words = ["--chapter", "01", "--rows", "a", "--cores", "1", "--rounds", "1", "--dir", own]
    assert bench.main(words) == 0
    rows = re.findall(r"^(\w+) +\d", capsys.readouterr().out, re.M)
    assert {"yours", "01", "limit"} <= set(rows)
