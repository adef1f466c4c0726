"""The benchmark: what the load generator says is true, and what is printed of it."""

from __future__ import annotations

import ctypes
import json
import shutil
import socket
import subprocess
import sys
import threading

import pytest

from harness.client import length_framing
from harness.lab import chapters
from harness.lab.chapters import ROOT
from harness.lab.units import MIB
from harness.student.bench import command as bench
from harness.student.bench import (
    curves,
    idle,
    measure,
    plot,
    redis_benchmark,
    redis_memory,
    rounds,
    subjects,
    table,
    threads,
)
from harness.student.bench.curves import SWEEPS, Line
from harness.student.bench.measure import Bench, Failed, Figures, Place, Timing
from harness.student.bench.rounds import Cell
from harness.student.bench.rows import ROWS, Load
from harness.student.bench.subjects import LIMIT, PEER, SOLUTION, Subject

SHORT = Timing(warm=20, measured=100)
LONG = Timing(warm=20, measured=2000)  # for frames that take a busy machine a while
HERE = Place(0, 0)
ODD = ROOT / "harness" / "tests" / "verdicts" / "servers" / "odd.py"
ECHO = Subject("echo", PEER, (sys.executable, str(ODD), "forgets_to_say", "{port}"))
BODY = 8  # of the frames in the tests with a server of their own


@pytest.fixture(scope="module")
def generator():
    return subjects.load_generator()


@pytest.fixture(scope="module")
def solution():
    return subjects.solution(chapters.find("04"))


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def ask(generator, port, *options):
    """Exit status and JSON of the load generator."""
    words = ["-p", port, "-w", 10, "-t", 50, "-s", BODY, *options]
    done = subprocess.run([generator, *map(str, words)], capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout)


# The load generator


@pytest.mark.parametrize(
    "load",
    [
        Load(),
        Load(3, 5, 0),
        Load(2, 2, 300_000),
        Load(4, 1000, 16),
        Load(1, 1, 64, idle=50, spoke=True),
        Load(1, 2, 33_554_432),
    ],
)
def test_a_right_server_is_measured(generator, solution, load):
    timing = SHORT if load.size < MIB else LONG
    found = measure.run(Bench(generator, HERE, timing), solution, load).found
    assert found["errors"] == 0
    assert found["requests_per_s"] > 0 < found["server_cpu_s"]
    times = [us for _, us in found["quantiles"]]
    assert times == sorted(times) and times[0] > 0
    assert found["resident_after"] > 0


FRAME = length_framing.HEADER + BODY


@pytest.mark.parametrize(
    "frames, answer, says",
    [
        (1, lambda came: came[:-1] + bytes([came[-1] ^ 1]), f"client 0: byte {FRAME - 1} of what"),
        (2, lambda came: came[FRAME:] + came[:FRAME], "what came back is wrong"),
        (1, lambda came: came * 2, "client 0: more came back than was sent"),
        (1, lambda _: b"", "client 0: "),
    ],
    ids=["a wrong byte", "a reply to another frame", "too much", "an end"],
)
def test_a_wrong_server_is_found(generator, frames, answer, says):
    """A server that answers the first frames of its one client with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with listener.accept()[0] as connection:
                came = connection.recv(frames * FRAME, socket.MSG_WAITALL)
                if due := answer(came):
                    connection.sendall(due)
                    connection.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        status, found = ask(generator, listener.getsockname()[1], "-d", frames)
    assert (status, found["errors"]) == (1, 1)
    assert says in found["error"]


def test_nobody_listens(generator):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert ask(generator, port)[1]["error"].startswith("client 0: connect: ")


@pytest.mark.parametrize("words", [[], ["-p", "0"], ["-p", "1", "-c", "x"], ["-p", "1", "more"]])
def test_wrong_options(generator, words):
    done = subprocess.run([generator, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "usage: load -p PORT" in done.stderr


def test_quantiles_are_those_of_the_values(tmp_path):
    source = ROOT / "harness/student/bench/load/histogram.c"
    library = tmp_path / "histogram.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    code = ctypes.CDLL(str(library))
    code.histogram_quantile.restype = ctypes.c_uint64
    histogram = ctypes.create_string_buffer(64 * 42 * 8 + 16)
    for value in range(1, 100_001):
        code.histogram_add(histogram, ctypes.c_uint64(value), ctypes.c_uint64(1))
    for part in (0.0001, 0.01, 0.5, 0.9, 0.999, 1):
        found = code.histogram_quantile(histogram, ctypes.c_double(part))
        assert 1 <= found / (part * 100_000) <= 1 + 1 / 64


# One server, one load


def test_a_server_that_does_not_start(generator):
    broken = Subject("broken", PEER, ("false",))
    with pytest.raises(Failed, match="ended before it listened"):
        measure.run(Bench(generator, HERE, SHORT), broken, Load())


def test_a_server_in_another_language(generator):
    assert measure.run(Bench(generator, HERE, SHORT), ECHO, Load()).requests > 0


def test_greedy_clients_are_beside_it(generator, solution):
    beside = Bench(generator, HERE, SHORT, greedy=curves.GREEDY)
    assert measure.run(beside, solution, curves.POLITE).requests > 0


def test_latencies_are_medians_of_the_rounds(monkeypatch):
    us = iter([[1, 9], [5, 50], [2, 7], [7, 30], [4, 8], [6, 40]])

    def quiet_run(*_):
        return Figures({"quantiles": list(zip((0.5, 1), next(us)))}, 0), False

    monkeypatch.setattr(curves, "quiet_run", quiet_run)
    lines = curves.polite(Bench(None, HERE), [ECHO], 3, lambda _: None)
    assert lines == [Line("echo alone", [(0.5, 2), (1, 8)]), Line("echo", [(0.5, 6), (1, 40)])]


@pytest.mark.parametrize(
    "shares, best, disturbed", [([0.5, 0.2, 0.01], 0.01, False), ([0.5, 0.2, 0.4], 0.2, True)]
)
def test_a_disturbed_run_is_repeated(monkeypatch, shares, best, disturbed):
    """The least disturbed run stands."""
    foreign = iter([*shares, 0.3])
    monkeypatch.setattr(measure, "run", lambda *_: Figures({}, next(foreign)))
    figures, found = rounds.quiet_run(None, ECHO, Load())
    assert (figures.foreign, found) == (best, disturbed)


def test_one_client_at_a_time(monkeypatch):
    seven = Figures({"requests_per_s": 7, "server_us_per_request": 1}, 0)
    monkeypatch.setattr(rounds, "quiet_run", lambda *_: (seven, False))
    one = Subject("01", SOLUTION, (), one_client=True)
    cells = rounds.rounds(Bench(None, HERE), [one], ROWS[:2], 2, print)
    assert cells["01", "a"].values == [7, 7]
    assert cells["01", "b"] == Cell(skipped=True)


# What is printed

SERVERS = [Subject("04", SOLUTION, ()), Subject("ev", PEER, ()), Subject("limit", LIMIT, ())]
CELLS = {
    ("04", "a"): Cell([90, 100, 120], disturbed=1),
    ("ev", "a"): Cell([80, 80, 80]),
    ("limit", "a"): Cell([200, 200, 200]),
    ("04", "b"): Cell(why="no reply"),
    ("ev", "b"): Cell([4_361_000]),
    ("limit", "b"): Cell([4_361_000]),
}


def test_the_table():
    lines = table.table("title", SERVERS, ROWS[:2], CELLS).splitlines()
    assert lines[2].split() == ["a", "b"]
    assert lines[3].split() == ["04", "100", "-"]
    assert lines[4].split() == ["-10", "+20%"]
    assert lines[5].split() == ["ev", "80", "4.36M"]


def test_the_ratios():
    lines = table.ratios(SERVERS, ROWS[:2], CELLS).splitlines()
    assert [line.split() for line in lines if line.startswith("04")] == [
        ["04", "1.25", "-"],
        ["04", "0.50", "-"],
    ]


def test_the_notes():
    text = table.notes(SERVERS, ROWS[:2], CELLS)
    assert "04, b: no reply" in text
    assert "rounds of 04 that other load disturbed: a 1" in text


def test_all_rows_fit():
    cells = {("04", row.key): Cell([4.4e6, 3e6, 5e6]) for row in ROWS}
    assert max(map(len, table.table("", SERVERS[:1], ROWS, cells).splitlines())) <= 100


@pytest.mark.parametrize(
    "value, text",
    [(0.046, "0.046"), (20.52, "20.5"), (937.4, "937"), (1021, "1.02k"), (999_999, "1000k")],
)
def test_numbers(value, text):
    assert table.number(value) == text


def test_powers_of_two():
    assert [
        plot.short(2**power) for power in (0, 6, 10, 14, 25)
    ] == "1,64,1 Ki,16 Ki,32 Mi".split(",")


def test_growth():
    line = Line("04", [(1, 1.0), (2, 1.0), (4, 1.5), (16, 1)])
    assert line.growth() == [(1, 2.0), (2, 3.0)]
    curve = curves.Curve("key", "µs", lambda figures, _: figures.cpu_us, twice="frames")
    sweep = curves.Sweep("title", "frames", (1, 2, 4, 16), Load, (curve,))
    assert table.growth(sweep, curve, [line]).splitlines()[-1].split() == ["04", "2.00", "3.00"]


def test_a_server_that_gives_up_ends_its_line_there(monkeypatch):
    asked = []

    def run(_bench, subject, load):
        asked.append((subject.name, load.connections))
        if subject.name == "04" and load.connections >= 2:
            raise Failed("no reply")
        return Figures({"server_us_per_request": 10.0 * len(asked)}, 0.0)

    monkeypatch.setattr(measure, "run", run)
    cost = curves.Curve("key", "µs", lambda figures, _: figures.cpu_us)
    sweep = curves.Sweep("title", "connections", (1, 2, 4), Load, (cost,))
    found = curves.measure(None, sweep, SERVERS[:2], 2, lambda _: None)
    here, other = (subject.name for subject in SERVERS[:2])
    first = [(here, 1), (other, 1), (here, 2), (other, 2), (other, 4)]
    assert asked == first + [pair for pair in first if pair != (here, 2)]
    lines = curves.lines(sweep, cost, SERVERS[:2], found)
    assert lines == [Line(here, [(1, 35.0)]), Line(other, [(1, 45.0), (2, 60.0), (4, 70.0)])]


@pytest.mark.parametrize(
    "chapter, words, says",
    [
        ("04", ["--rows", "ax"], "there is no row 'x'; they are abcdefghij"),
        ("04", ["--cores", "3"], "CORES=3"),
        ("04", ["--rounds", "0"], "N=0: a number from 1 to 100"),
        ("77", [], "there is no chapter '77'"),
        ("12", ["--rows", "set,zadd"], "there is no row 'zadd'; they are ping, set, get"),
        ("12", ["--rounds", "x"], "N=x: a number"),
    ],
)
def test_wrong_usage(chapter, words, says, capsys):
    assert bench.main(["--from", "solutions", "--chapter", chapter, *words]) == 2
    assert says in capsys.readouterr().err


# redis-benchmark

ASKED = '"test","rps","avg_latency_ms"\n"LPUSH","50000.00","0.5"\n"LPOP","40816.33","0.503"\n'
A_ROW = redis_benchmark.ROWS[:1]
PAIR = [Subject("12", SOLUTION, ()), Subject("redis", PEER, ())]


def redis_bench(*words):
    return bench.main(["--chapter", "12", "--from", "solutions", *words])


def test_the_last_line_of_redis_benchmark_has_the_rate():
    assert redis_benchmark._rate(ASKED, "") == 40816.33
    with pytest.raises(Failed, match="Could not connect"):
        redis_benchmark._rate("", "Could not connect to Redis\n")
    with pytest.raises(Failed, match="printed nothing"):
        redis_benchmark._rate("", "")


def test_what_a_row_reads_is_put_in_before():
    get, lrange = (row for row in redis_benchmark.ROWS if row.key in ("get", "lrange"))
    deep = redis_benchmark.at_depth(get, 16).load
    assert deep.options == "-c 50 -P 16 -n 400000 -r 100000 --csv -t get".split()
    assert deep.before.options == "-c 50 -P 16 -n 400000 -r 100000 --csv -t set".split()
    plain = redis_benchmark.at_depth(lrange, 1).load
    assert plain.options[-4:] == "lrange mylist 0 99".split()
    assert plain.before.count == 1000


def test_a_subscriber_that_is_closed_early(monkeypatch):
    """The figure would be one of a server that has not sent everything."""
    load = redis_benchmark.Load(("publish",), (10, 10), subscribers=1)
    ours, servers = socket.socketpair()
    monkeypatch.setattr(redis_benchmark, "_subscriber", lambda _port: ours)
    servers.sendall(redis_benchmark.MESSAGE)
    servers.close()
    with pytest.raises(Failed, match="have not got 10 messages each"):
        with redis_benchmark._subscribed(Bench(ROOT, Place(0, 0)), 1, load):
            pass


def test_cpu_beside_redis():
    cells = {("12", "ping"): Cell([5, 5], cpu_us=[2, 4]), ("redis", "ping"): Cell([4], cpu_us=[6])}
    lines = table.cpu_ratios("title", PAIR, A_ROW, cells).splitlines()
    assert lines[-1].split() == ["12", "2.00"]
    assert table.cpu_ratios("title", PAIR[:1], A_ROW, cells) == ""
    failed = {**cells, ("12", "ping"): Cell(why="no reply")}
    assert table.cpu_ratios("title", PAIR, A_ROW, failed).splitlines()[-1].split() == ["12", "-"]


def test_memory_for_a_key(monkeypatch):
    monkeypatch.setattr(redis_memory, "KEYS", 1000)
    found = {"12": redis_memory.Memory(2 << 20, 4 << 20), "redis": redis_memory.Memory(why="gone")}
    lines = redis_memory.table(found).splitlines()
    assert lines[-2].split() == "12 2.0 MiB 4.0 MiB 2097 B".split()
    assert lines[-1].split() == ["redis", "gone"]


def test_without_redis_benchmark(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert redis_bench() == 2
    assert capsys.readouterr().err == "bench: redis-benchmark is not installed: make setup\n"


@pytest.mark.skipif(not shutil.which("redis-benchmark"), reason="redis-benchmark is not installed")
@pytest.mark.full("benchmarks")
def test_redis_benchmark_asks_the_solution(monkeypatch, capsys):
    monkeypatch.setattr(bench, "RESULTS", subjects.BUILT / "test.json")
    monkeypatch.setattr(redis_memory, "KEYS", 2000)
    assert redis_bench("--rows", "mset,publish,memory", "--cores", "1", "--rounds", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("12 ") for line in lines) >= 3
    assert any(line.split() == ["mset", "publish"] for line in lines)


@pytest.mark.parametrize("module", [idle, threads])
def test_a_handout_has_no_solutions_to_measure(module, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    assert module.main([]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "is not here: this copy of the lab came without solutions" in said.err


def test_some_curves(monkeypatch, capsys):
    assert bench._curves(None) == set()
    assert bench._curves("frames,polite") == {"frames", "polite"}
    assert {"size", "bytes", "polite"} < bench._curves("1")
    monkeypatch.setenv("LAB_PLOT", "size,what")
    assert bench.main(["--rows", "a"]) == 2
    assert "there is no curve 'what'; they are idle-requests" in capsys.readouterr().err


@pytest.mark.full("benchmarks")
def test_your_server_is_in_the_table(monkeypatch, capsys):
    monkeypatch.setattr(bench, "RESULTS", subjects.BUILT / "test.json")
    words = ["--chapter", "01", "--rows", "a", "--cores", "1", "--rounds", "1"]
    assert bench.main([*words, "--dir", "solutions/01-blocking"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert {"yours", "01", "limit"} <= set(names)


@pytest.mark.full("benchmarks")
def test_curves_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plot.curve(
        SWEEPS[0], SWEEPS[0].curves[0], [Line("04", [(0, 2.0), (250, 3.0)])], tmp_path / "a.svg"
    )
    pair = [Line(name, [(0, 2.0), (0.5, 3.0), (1, 4)]) for name in ("04 alone", "04")]
    plot.latencies("t", pair, tmp_path / "b.svg")
    for name in ("a.svg", "b.svg"):
        text = (tmp_path / name).read_text()
        assert "prefers-color-scheme: dark" in text
        assert f": {plot.INK}; stroke: var(--ink)" in text  # librsvg takes the first one
        assert text.count("var(--ink)") == text.count(plot.INK) - 1  # STYLE has the other one
