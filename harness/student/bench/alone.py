"""One server and one row, once, as a command: `make class` runs it in the isolation of a grade.

    python3 -m harness.student.bench.alone build SOURCE BINARY
    python3 -m harness.student.bench.alone run CHAPTER ROW BINARY GENERATOR CPU CPU

The first builds the server in SOURCE for measurements. The second measures it, with the server and
the load on one processor each, and prints one line of JSON: what measure.run() found, or why it
found nothing. Exit status: 0 built or measured, 1 not, and the last line says why.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.lab import chapters, command_line
from harness.lab.chapters import Chapter
from harness.server import build
from harness.student.bench import measure, redis_benchmark, subjects
from harness.student.bench.measure import Bench, Failed, Figures, Place
from harness.student.bench.subjects import ROWS, YOURS, Row

MODULE = "harness.student.bench.alone"


@dataclass(frozen=True)
class Contest:
    """What servers of one chapter are asked, with which options they start, and what asks them, see
    measure.Bench."""

    rows: tuple[Row, ...]
    options: tuple[str, ...] = ()
    ask: Callable | None = None


def contest(chapter: Chapter) -> Contest:
    """The rows of `make bench CH=` of this chapter."""
    if chapter.name != redis_benchmark.CHAPTER:
        return Contest(ROWS)
    depth = redis_benchmark.DEPTHS[0]
    rows = tuple(redis_benchmark.at_depth(row, depth) for row in redis_benchmark.ROWS)
    return Contest(rows, redis_benchmark.OPTIONS, redis_benchmark.ask)


def printed(text: str) -> Figures:
    """What the last line of `run` says. Raises Failed."""
    try:
        said = json.loads(text.strip().splitlines()[-1])
        if "failed" not in said:
            return Figures(said["found"], float(said["foreign"]))
    except (IndexError, KeyError, TypeError, ValueError):
        raise Failed("the measurement printed nothing that can be read") from None
    raise Failed(str(said["failed"]))


def main(arguments: list[str]) -> int:
    what, *words = arguments
    return {"build": _build, "run": _run}[what](*words)


def _build(source: str, binary: str) -> int:
    try:
        built = build.cached_server(Path(source), extra_flags=build.FASTEST).binary
    except build.BuildFailed:
        print("it cannot be built for the measurement")
        return 1
    shutil.copy2(built, binary)
    return 0


def _run(number: str, key: str, binary: str, generator: str, server: str, load: str) -> int:
    chapter = chapters.find(number)
    asked = contest(chapter)
    row = next(row for row in asked.rows if row.key == key)
    subject = subjects.of_binary("", YOURS, chapter, Path(binary), asked.options)
    bench = Bench(Path(generator), Place(int(server), int(load)), ask=asked.ask)
    try:
        figures = measure.run(bench, subject, row.load)
    except Failed as error:
        print(json.dumps({"failed": str(error)}))
        return 1
    print(json.dumps({"found": figures.found, "foreign": figures.foreign}))
    return 0


if __name__ == "__main__":
    sys.exit(command_line.program(lambda: main(sys.argv[1:])))
