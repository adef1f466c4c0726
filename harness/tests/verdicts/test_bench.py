"""The benchmark: what the load generator says is true, and what is printed of it."""

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
from harness.student.bench import subjects, table
from harness.student.bench.rounds import Cell
from harness.student.bench.rows import ROWS
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
    a = [Cell([90, 100, 120], disturbed=1), Cell([80, 80, 80]), Cell([200])]
    b = [Cell(why="no reply"), Cell([4_361_000]), Cell([0.046])]
    cells = {(name, row): cell for row in "ab" for name, cell in zip(kinds, {"a": a, "b": b}[row])}
    shown = [part(servers, ROWS[:2], cells) for part in (table.ratios, table.notes)]
    golden.check("bench", "\n\n".join([table.table("title", servers, ROWS[:2], cells), *shown]))


@pytest.mark.full("benchmarks")
def test_your_server_is_in_the_table(monkeypatch, capsys):
    monkeypatch.setattr(bench, "RESULTS", subjects.BUILT / "test.json")
    own = str(chapters.find("01").solution_dir)
    words = ["--chapter", "01", "--rows", "a", "--cores", "1", "--rounds", "1", "--dir", own]
    assert bench.main(words) == 0
    assert re.search(r"^yours +\d.*^01 +\d.*^limit +\d", capsys.readouterr().out, re.M | re.S)
