"""The benchmark: what the load generator says is true, and what is printed of it."""

import json
import os
import re
import socket
import subprocess
import threading
from contextlib import suppress

import pytest

from harness.client import length_framing
from harness.student.bench import command as bench, measure, plot, subjects, table
from harness.student.bench.measure import Cell, Failed, Figures, Place
from harness.student.bench.subjects import LIMIT, PEER, ROWS, SOLUTION, Subject
from harness.submission.chapters import find
from harness.tests import golden

BODY = 8  # bytes
FRAME = length_framing.HEADER + BODY


def asked(answer, frames=1):
    """What is said of a server that answers so many frames at once, and how often it was asked."""
    came = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with listener.accept()[0] as connection, suppress(OSError):
                while data := connection.recv(frames * FRAME, socket.MSG_WAITALL):
                    came.append(data)
                    connection.sendall(answer(data))

        threading.Thread(target=serve, daemon=True).start()
        words = map(str, [listener.getsockname()[1], os.getpid(), 1, frames, BODY, 0, 0, 0, 100])
        done = subprocess.run([subjects.load_generator(), *words], capture_output=True, text=True)
    return done.stderr or json.loads(done.stdout), len(came)


def test_the_load_generator_counts_what_comes_back_and_finds_what_is_wrong():
    for frames in (1, 70_000):
        found, count = asked(lambda data: data, frames)
        assert (count - 2) * frames <= found["requests"] <= count * frames  # but for the ends
    for frames, answer, says in (
        (1, lambda data: data[:-1] + bytes([data[-1] ^ 1]), f"byte {FRAME - 1} of what came back"),
        (2, lambda data: data[FRAME:] + data[:FRAME], "what came back is wrong"),
        (1, lambda data: data * 2, "more came back than was sent"),
    ):
        assert says in asked(answer, frames)[0]


def test_a_server_is_measured():
    measuring = measure.Bench(subjects.load_generator(), bench.places_of("1")[0])
    assert measure.run(measuring, subjects.limit(), ROWS[0].load).value(ROWS[0]) > 0
    servers = [subjects.of_binary("", SOLUTION, find(number), "x") for number in ("08", "09")]
    assert ["--threads" in one.command for one in servers] == [False, True]


@pytest.mark.parametrize("wrong", (None, (0, "yours", "a"), (0, "limit", "b"), (1, "limit", "b")))
def test_one_wrong_answer_at_any_place_is_a_failure(wrong, monkeypatch, tmp_path):
    def run(one, subject, load):
        if wrong == (one.place.load, subject.name, "a" if load == ROWS[0].load else "b"):
            raise Failed("a wrong byte")
        return Figures({"requests": 1, "seconds": 1}, 0)

    monkeypatch.setattr(measure, "run", run)
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "bench.json")
    monkeypatch.setattr(bench, "places_of", lambda _: [Place(0, 0), Place(0, 1)])
    words = ["--chapter=01", "--rows=ab", "--rounds=1", "--server=true {port}"]
    assert bench.main(words) == (1 if wrong else 0)


def test_what_is_printed():
    """The cells: as measured, disturbed by other load, failed, large, small."""
    kinds = {"04": SOLUTION, "ev": PEER, "limit": LIMIT}
    servers = [Subject(name, kind, ()) for name, kind in kinds.items()]
    a = [Cell([90, 100, 120], disturbed=1), Cell([80, 80, 80]), Cell([200])]
    b = [Cell(why="no reply"), Cell([4_361_000]), Cell([0.046])]
    cells = {(name, row): cell for row in "ab" for name, cell in zip(kinds, {"a": a, "b": b}[row])}
    shown = [part(servers, ROWS[:2], cells) for part in (table.ratios, table.notes)]
    golden.check("bench", "\n\n".join([table.table("title", servers, ROWS[:2], cells), *shown]))
    drawn = plot.table("title", servers, ROWS[:2], cells)
    assert re.findall('width="(.*?)"', drawn) == ["40.0", "32.0", "80.0", "80.0", "0.0"]
