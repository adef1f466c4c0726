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
from dataclasses import dataclass
from pathlib import Path

from harness.feedback.failure import NotJudged
from harness.server import build
from harness.student.bench import measure, plot, redis_benchmark, subjects, table
from harness.student.bench.measure import Bench, Cells, Place
from harness.student.bench.subjects import ROWS, Row, Subject
from harness.submission import command_line, target
from harness.submission.chapters import CHAPTERS, ROOT, find
from harness.submission.target import WrongUsage, is_whole, setting

RESULTS = subjects.BUILT / "bench.json"
ROUNDS = 5
MOST_ROUNDS = 100
WIDTH = 80  # of a screen
# Of TCP, such as "cubic". bbr sends at a pace of its own, on loopback too: large frames are slower.
CONGESTION_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")


@dataclass(frozen=True)
class Contest:
    """Servers that are asked together: a table for each place, and each number of requests in
    flight where redis-benchmark asks."""

    title: str
    picture: str  # the name of its file
    bench: Bench
    subjects: Sequence[Subject]
    rows: Sequence[Row]
    rivals: table.Rivals = table.RIVALS


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
    places, drawn = places_of(options.cores), _is_drawn(setting("PLOT"))
    redis = options.chapter and find(options.chapter).name == redis_benchmark.CHAPTER
    contests, missing = (_of_redis if redis else _of_all)(options, places)
    print(f"{machine()}\nmedians of {options.rounds} rounds; below: the minimum and the maximum")
    for name in missing:
        print(f"without {name}: make setup BENCH=1 installs it")
    found = [(contest, _measured(contest, int(options.rounds), drawn)) for contest in contests]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps([_as_json(*one) for one in found], indent=1) + "\n")
    return 1 if any(cell.why for _, cells in found for cell in cells.values()) else 0


def check_rounds(text: str) -> None:
    """Raises WrongUsage unless N= can be this."""
    if not is_whole(text) or not 1 <= int(text) <= MOST_ROUNDS:
        raise WrongUsage(f"N={text}: a number from 1 to {MOST_ROUNDS}")


def _is_drawn(text: str | None) -> bool:
    """Returns true if PLOT asks for pictures. Raises WrongUsage."""
    if text not in (None, "", "1"):
        raise WrongUsage(
            f"PLOT={text}: PLOT=1 draws the table; for a curve, ask build/bench/load once for each"
            " number (its arguments: harness/student/bench/load.c)"
        )
    return text == "1"


Contests = tuple[list[Contest], list[str]]  # and the names of programs that are not installed


def _of_all(options: argparse.Namespace, places: Sequence[Place]) -> Contests:
    rows = subjects.chosen_rows(options.rows or "", ROWS)
    chosen = _subjects(options)
    peers, missing = subjects.peers()
    chosen += [*peers, subjects.limit()]
    generator = subjects.load_generator()
    return [
        Contest(
            f"requests a second, server and load on {place.name}",
            place.name,
            Bench(generator, place),
            chosen,
            rows,
        )
        for place in places
    ], missing


def _of_redis(options: argparse.Namespace, places: Sequence[Place]) -> Contests:
    rows = redis_benchmark.chosen(options.rows or "")
    program, peer = redis_benchmark.find(), redis_benchmark.redis_server()
    chosen = _subjects(options, redis_benchmark.OPTIONS) + ([peer] if peer else [])
    return [
        Contest(
            f"requests a second, redis-benchmark -P {depth}, server and load on {place.name}",
            f"redis {depth} {place.name}",
            Bench(program, place, ask=redis_benchmark.ask),
            chosen,
            [redis_benchmark.at_depth(row, depth) for row in rows],
            redis_benchmark.RIVALS,
        )
        for place in places
        for depth in redis_benchmark.DEPTHS
    ], [] if peer else [redis_benchmark.SERVER]


def _measured(contest: Contest, count: int, drawn: bool) -> Cells:
    """Measures, prints the table, and returns its cells."""
    here, rows = contest.subjects, contest.rows
    cells = measure.rounds(contest.bench, here, rows, count, _progress)
    _progress("")
    parts = [
        table.table(f"\n{contest.title}", here, rows, cells),
        table.ratios(here, rows, cells, contest.rivals),
        table.notes(here, rows, cells),
    ]
    print("\n\n".join(filter(None, parts)), flush=True)
    if drawn:
        path = subjects.BUILT / f"{contest.picture.replace(' ', '-')}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plot.table(contest.title, here, rows, cells))
        print(f"drawn: {path.relative_to(ROOT)}")
    return cells


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


def _as_json(contest: Contest, cells: Cells) -> dict:
    found = [
        {"server": name, "row": key, **dataclasses.asdict(cell)}
        for (name, key), cell in cells.items()
    ]
    return {"title": contest.title, "place": contest.bench.place.name, "cells": found}
