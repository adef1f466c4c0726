"""make bench: the servers of the lab beside those on libuv, libevent and libev, and the limit.

CH=12: redis-benchmark asks the server of chapter 12, and redis-server beside it.

Exit status: 0 measured, 1 a server did not answer as it should, 2 wrong usage or not built.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import signal
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

from harness.failures.failure import NotJudged
from harness.lab import command_line, target
from harness.lab.chapters import CHAPTERS, ROOT, find
from harness.lab.numbers import is_whole
from harness.lab.target import WrongUsage, setting
from harness.server import build
from harness.student.bench import (
    curves,
    plot,
    redis_benchmark,
    redis_memory,
    rounds,
    subjects,
    table,
)
from harness.student.bench.measure import Bench, Place
from harness.student.bench.rows import ROWS, Row
from harness.student.bench.subjects import Subject

RESULTS = subjects.BUILT / "bench.json"
ROUNDS = 5
MOST_ROUNDS = 100
WIDTH = 80  # of a screen
# Of TCP, such as "cubic". bbr sends at a pace of its own, on loopback too: large frames are slower.
CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; what is not given comes from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    target.add_options(parser, chapter="your server, and this solution")
    add = parser.add_argument
    add("--rows", metavar="ROWS", default=setting("ROWS"), help="for instance abc; default: all")
    add("--cores", metavar="N", default=setting("CORES"), help="1 or 2; default: one, then two")
    add("--rounds", metavar="N", default=setting("N") or str(ROUNDS), help=f"1 to {MOST_ROUNDS}")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parse(arguments)
    return command_line.run("bench", lambda: run(options), NotJudged, build.BuildFailed)


def run(options: argparse.Namespace) -> int:
    """Measures what the options name, prints it and saves it."""
    check_rounds(options.rounds)
    places = places_of(options.cores)
    if options.chapter and find(options.chapter).name == redis_benchmark.CHAPTER:
        return _run_redis(options, places)
    rows = _rows(options.rows)
    wanted = _curves(setting("PLOT"))
    chosen = _subjects(options)
    peers, missing = subjects.peers()
    chosen += [*peers, subjects.limit()]
    generator = subjects.load_generator()
    _print_head(options, missing)
    saved, failed = [], False
    for place in places:
        title = f"\nrequests a second, server and load on {place.name}"
        here = [*chosen, *([subjects.spin()] if place.load != place.server else [])]
        bench = Bench(generator, place)
        cells = rounds.rounds(bench, here, rows, int(options.rounds), _progress)
        _progress("")
        parts = [table.table(title, here, rows, cells), table.ratios(here, rows, cells)]
        _print_parts(*parts, table.notes(here, rows, cells))
        saved.append(_as_json(place, cells))
        failed |= any(cell.why for cell in cells.values())
        if wanted:
            _draw(bench, chosen, int(options.rounds), wanted)
    RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
    return 1 if failed else 0


def check_rounds(text: str) -> None:
    """Raises WrongUsage unless N= can be this."""
    if not is_whole(text) or not 1 <= int(text) <= MOST_ROUNDS:
        raise WrongUsage(f"N={text}: a number from 1 to {MOST_ROUNDS}")


def _run_redis(options: argparse.Namespace, places: list[Place]) -> int:
    """Measures, prints and saves the chapter that redis-benchmark measures."""
    rows, with_memory = _redis_rows(options.rows)
    if setting("PLOT"):
        raise WrongUsage("PLOT: there are no curves of this chapter")
    program = redis_benchmark.find()
    chosen, peer = _subjects(options, redis_benchmark.OPTIONS), redis_benchmark.redis_server()
    chosen += [peer] if peer else []
    _print_head(options, [] if peer else [redis_benchmark.SERVER])
    saved, failed = [], False
    for place in places if rows else []:
        bench = Bench(program, place, ask=redis_benchmark.ask)
        for depth in redis_benchmark.DEPTHS:
            here = [redis_benchmark.at_depth(row, depth) for row in rows]
            cells = rounds.rounds(bench, chosen, here, int(options.rounds), _progress)
            _progress("")
            name = f"-P {depth}, server and load on {place.name}"
            _print_parts(
                table.table(f"\nrequests a second, redis-benchmark {name}", chosen, here, cells),
                table.ratios(chosen, here, cells, redis_benchmark.RIVALS),
                table.cpu_ratios(redis_benchmark.CPU, chosen, here, cells),
                table.notes(chosen, here, cells),
            )
            saved.append({"depth": depth, **_as_json(place, cells)})
            failed |= any(cell.why for cell in cells.values())
    if with_memory:
        found = redis_memory.measure(chosen, places[0], _progress)
        _progress("")
        print(f"\n{redis_memory.table(found)}", flush=True)
        saved.append({name: dataclasses.asdict(memory) for name, memory in found.items()})
        failed |= any(memory.why for memory in found.values())
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
    return 1 if failed else 0


def _print_head(options: argparse.Namespace, missing: list[str]) -> None:
    print(f"{machine()}\nmedians of {options.rounds} rounds; below: the minimum and the maximum")
    for name in missing:
        print(f"without {name}: make setup BENCH=1 installs it")


def _print_parts(*parts: str) -> None:
    print("\n\n".join(filter(None, parts)), flush=True)


def _draw(bench: Bench, chosen: list[Subject], count: int, wanted: set[str]) -> None:
    """Measures the curves and draws them, and prints how cost grows."""
    bench = dataclasses.replace(bench, timing=curves.TIMING)
    for sweep in curves.SWEEPS:
        drawn = [curve for curve in sweep.curves if curve.key in wanted]
        found = curves.measure(bench, sweep, chosen, count, _progress) if drawn else {}
        _progress("")
        for curve in drawn:
            lines, path = curves.lines(sweep, curve, chosen, found), _picture(bench, curve.key)
            if curve.twice:
                print(f"\n{table.growth(sweep, curve, lines)}\n")
            plot.curve(sweep, curve, lines, path)
            print(f"drawn: {path.relative_to(ROOT)}", flush=True)
    if curves.POLITE_KEY in wanted:
        latencies = curves.polite(bench, chosen, count, _progress)
        path = _picture(bench, curves.POLITE_KEY)
        _progress("")
        plot.latencies("a polite client beside four greedy ones; dotted: alone", latencies, path)
        print(f"drawn: {path.relative_to(ROOT)}", flush=True)


def _picture(bench: Bench, key: str) -> Path:
    return subjects.BUILT / f"{bench.place.name.replace(' ', '-')}-{key}.svg"


def _rows(text: str | None) -> list[Row]:
    wanted = [key for key in (text or "").lower() if key not in ", "]
    known = {row.key: row for row in ROWS}
    for key in wanted:
        if key not in known:
            raise WrongUsage(f"ROWS={text}: there is no row {key!r}; they are {''.join(known)}")
    return [row for row in ROWS if not wanted or row.key in wanted]


def _redis_rows(text: str | None) -> tuple[list[Row], bool]:
    """The rows that ROWS=set,get,memory names, and whether memory is one of them."""
    wanted = {key for key in (text or "").lower().replace(",", " ").split()}
    known = [*(row.key for row in redis_benchmark.ROWS), redis_memory.ROW]
    for key in sorted(wanted - set(known)):
        raise WrongUsage(f"ROWS={text}: there is no row {key!r}; they are {', '.join(known)}")
    rows = [row for row in redis_benchmark.ROWS if not wanted or row.key in wanted]
    return rows, not wanted or redis_memory.ROW in wanted


def _curves(text: str | None) -> set[str]:
    """What PLOT names: "1" every curve, else some of them."""
    known = [curve.key for sweep in curves.SWEEPS for curve in sweep.curves] + [curves.POLITE_KEY]
    wanted = set(known) if text == "1" else {key for key in (text or "").split(",") if key}
    for key in sorted(wanted - set(known)):
        raise WrongUsage(f"PLOT={text}: there is no curve {key!r}; they are {', '.join(known)}")
    return wanted


def places_of(text: str | None) -> list[Place]:
    """The places that CORES= names. Raises WrongUsage."""
    if text not in (None, "1", "2"):
        raise WrongUsage(f"CORES={text}: 1 for server and load on the same core, or 2")
    ours = sorted(os.sched_getaffinity(0))
    if text == "2" and len(ours) < 2:
        raise WrongUsage("CORES=2: this process may use one core only")
    one, two = Place(ours[0], ours[0]), Place(ours[0], ours[-1])
    if text:
        return [one if text == "1" else two]
    return [one, two] if len(ours) > 1 else [one]


def _subjects(options: argparse.Namespace, words: Sequence[str] = ()) -> list[Subject]:
    """The server that the options name, and the solutions, each started with these words."""
    chosen: list[Subject] = []
    wanted = [find(options.chapter)] if options.chapter else CHAPTERS
    if options.server or options.dir or (options.chapter and options.origin != "solutions"):
        given = target.resolve(
            wanted[-1], options.origin, options.dir, options.server, options.port
        )
        chosen.append(subjects.yours(given, words))
    return chosen + [subjects.solution(c, words) for c in wanted if c.solution_dir.is_dir()]


def machine() -> str:
    """What it was measured on, and when; lines of WIDTH at most, as a processor's name is long."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    control = CONGESTION_CONTROL.read_text().strip()
    system = f"Linux {platform.release()}, {control}"
    text = f"{model}, {cores} cores; {system}; {time.strftime('%Y-%m-%d')}"
    return textwrap.fill(text, WIDTH)


def _progress(text: str) -> None:
    if command_line.knows_escapes(sys.stderr):
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _as_json(place: Place, cells: rounds.Cells) -> dict:
    found = [
        {"server": name, "row": key, **dataclasses.asdict(cell)}
        for (name, key), cell in cells.items()
    ]
    return {"place": place.name, "cells": found}
